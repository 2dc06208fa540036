// SPDX-License-Identifier: BSD-3-Clause
#include "base/output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/file_descriptor.hpp"

namespace sluice {
namespace {

constexpr mode_t kMode = 0666;  // what the user's mask leaves of it

// Why nothing is written; empty where it can be, and the file is empty then.
std::string prepare(int file) {
  struct stat about{};
  if (fstat(file, &about) != 0) return std::strerror(errno);
  if (S_ISCHR(about.st_mode)) return "";
  if (!S_ISREG(about.st_mode)) return "it is no regular file";
  if (about.st_uid != geteuid()) return "it belongs to another user";
  if (about.st_nlink > 1) return "it has another name, too";
  return ftruncate(file, 0) == 0 ? "" : std::strerror(errno);
}

std::string write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(file, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return std::strerror(errno);
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return "";
}

std::string why_not_open(int code) {
  if (code == ELOOP) return "it is a symbolic link, which is not followed";
  if (code == ENXIO) return "it is no regular file";  // a FIFO that nobody reads, or a socket
  return std::strerror(code);
}

}  // namespace

Status write_file(const std::string &path, std::string_view text, const char *what, const char *knob) {
  // Emptied only when it is known what it is.
  FileDescriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, kMode));
  std::string why = file.get() < 0 ? why_not_open(errno) : prepare(file.get());
  if (why.empty()) why = write_all(file.get(), text);
  if (const int code = file.close(); code != 0 && why.empty()) why = std::strerror(code);
  if (why.empty()) return {};
  return Status::error(ErrorKind::kInvalidArgument,
                       fmt::format("{} could not be written to {}: {}; check {}", what, path, why, knob));
}

}  // namespace sluice

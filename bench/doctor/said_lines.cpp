// SPDX-License-Identifier: BSD-3-Clause
// What the library below says on standard error while something runs.
#include "bench/doctor/said_lines.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <sstream>

namespace sluice::bench::doctor {
namespace {

std::string contents_of(int file) {
  std::string text;
  std::array<char, 4096> part{};
  off_t at = 0;
  for (ssize_t n = 0; (n = ::pread(file, part.data(), part.size(), at)) > 0; at += n) {
    text.append(part.data(), static_cast<std::size_t>(n));
  }
  return text;
}

}  // namespace

std::string warning_in(const std::string &line) {
  if (!line.starts_with("sluice[")) return "";
  std::istringstream words(line.substr(std::min(line.find("] "), line.size() - 1) + 1));
  std::string level;
  std::string room;
  std::string text;
  words >> level >> room;
  if (level != "warning" && level != "error") return "";
  std::getline(words >> std::ws, text);
  return text;
}

SaidLines::SaidLines() {
  std::fflush(stderr);
  caught_ = ::memfd_create("sluice-doctor", MFD_CLOEXEC);
  former_ = caught_ < 0 ? -1 : ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
  if (former_ >= 0 && ::dup2(caught_, STDERR_FILENO) < 0) {
    ::close(former_);
    former_ = -1;
  }
}

SaidLines::~SaidLines() {
  if (former_ >= 0) {
    put_back();
    fmt::print(stderr, "{}", contents_of(caught_));
  }
  if (caught_ >= 0) ::close(caught_);
}

void SaidLines::put_back() {
  if (former_ < 0) return;
  std::fflush(stderr);
  ::dup2(former_, STDERR_FILENO);
  ::close(former_);
  former_ = -1;
}

std::vector<std::string> SaidLines::take() {
  put_back();
  std::vector<std::string> warnings;
  if (caught_ < 0) return warnings;
  std::istringstream lines(contents_of(caught_));
  for (std::string line; std::getline(lines, line);) {
    const std::string warning = warning_in(line);
    if (warning.empty()) {
      fmt::print(stderr, "{}\n", line);
    } else {
      warnings.push_back(warning);
    }
  }
  return warnings;
}

}  // namespace sluice::bench::doctor

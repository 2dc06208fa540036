// SPDX-License-Identifier: BSD-3-Clause
#include "command/place/links.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <sstream>

#include "base/file_descriptor.hpp"
#include "base/own_program.hpp"

namespace sluice::command::place {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kCopies = 5;  // the first of them is also the one that warms up

// Memory of one device, made as a program makes it.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(const DeviceMemory &) = delete;
  DeviceMemory &operator=(const DeviceMemory &) = delete;
  ~DeviceMemory() {
    // A failure is of no consequence: this process ends soon.
    if (memory_ != nullptr) static_cast<void>(table_->program_free(memory_));
  }
  Status allocate(const device::Backend &backend, std::int32_t device) {
    table_ = &backend.table();
    if (table_->program_alloc == nullptr || table_->ipc_open == nullptr) {
      return Status::error(ErrorKind::kUnsupported,
                           fmt::format("{}: it lends no memory to other processes", backend.name()));
    }
    Status status = backend.check(table_->program_set_device(device), fmt::format("use device {}", device));
    if (!status.is_ok()) return status;
    return backend.check(table_->program_alloc(SLUICE_MEMORY_DEVICE, kLinkBytes, &memory_),
                         fmt::format("allocate {} bytes on device {}", kLinkBytes, device));
  }
  [[nodiscard]] void *get() const noexcept { return memory_; }

 private:
  const sluice_backend_t *table_ = nullptr;
  void *memory_ = nullptr;
};

// This program once more, which holds memory of one device; ends when this object does.
class Holder {
 public:
  Holder() = default;
  Holder(const Holder &) = delete;
  Holder &operator=(const Holder &) = delete;
  ~Holder() {
    // The other process ends when its input does.
    to_ = FileDescriptor();
    if (from_ != nullptr) std::fclose(from_);
    if (child_ > 0) {
      int ignored = 0;
      while (::waitpid(child_, &ignored, 0) < 0 && errno == EINTR) {
      }
    }
  }

  Status start(std::vector<std::string> words) {
    const std::string self = own_program();
    FileDescriptor input;
    FileDescriptor answers;
    FileDescriptor output;
    if (!open_pipe(&input, &to_) || !open_pipe(&answers, &output)) return failed("open a pipe");
    from_ = ::fdopen(answers.get(), "r");
    if (from_ == nullptr) return failed("read from a pipe");
    static_cast<void>(answers.release());  // its owner is from_ now
    std::vector<char *> arguments;
    arguments.reserve(words.size() + 1);
    for (std::string &word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    child_ = ::fork();
    if (child_ == 0) {
      // Standard error stays: what goes wrong there is for the user.
      if (::dup2(input.get(), STDIN_FILENO) >= 0 && ::dup2(output.get(), STDOUT_FILENO) >= 0) {
        ::execv(self.c_str(), arguments.data());
      }
      ::_exit(127);
    }
    return child_ > 0 ? Status() : failed("start a second process");
  }

  // Blocks until the other process has said its handle, or has ended.
  Status read_handle(sluice_ipc_handle_t *handle, std::uint64_t *offset) {
    std::array<char, 1024> line{};
    if (std::fgets(line.data(), static_cast<int>(line.size()), from_) == nullptr) {
      return Status::error(ErrorKind::kBackend,
                           "the process that was to hold the memory ended before it did; report this");
    }
    std::istringstream words(line.data());
    std::string word;
    std::string bytes;
    words >> word;
    if (word != "handle") {
      std::string said = line.data();
      while (!said.empty() && said.back() == '\n') said.pop_back();
      return Status::error(ErrorKind::kBackend, said);
    }
    words >> *offset >> bytes;
    if (bytes.size() != 2 * sizeof handle->bytes)
      return Status::error(ErrorKind::kInternal, "a handle of a wrong length; report this");
    for (std::size_t i = 0; i < sizeof handle->bytes; ++i) {
      handle->bytes[i] = static_cast<std::uint8_t>(std::stoul(bytes.substr(2 * i, 2), nullptr, 16));
    }
    return {};
  }

 private:
  static Status failed(const char *what) {
    return Status::error(
        ErrorKind::kInternal,
        fmt::format("cannot {}: {}; raise the limits of processes and open files (ulimit -u, ulimit -n)", what,
                    std::strerror(errno)));
  }

  FileDescriptor to_;
  std::FILE *from_ = nullptr;
  pid_t child_ = -1;
};

// The best of some copies, in seconds.
Status time_copies(const device::Backend &backend, std::int32_t device, void *dst, const void *src, double *best_s) {
  const sluice_backend_t &table = backend.table();
  sluice_queue_t *queue = nullptr;
  Status status = backend.check(table.queue_create(device, &queue), "create a queue");
  if (!status.is_ok()) return status;
  *best_s = std::numeric_limits<double>::max();
  for (int i = 0; i < kCopies && status.is_ok(); ++i) {
    const Clock::time_point begin = Clock::now();
    status = backend.check(table.copy(queue, dst, src, kLinkBytes), "copy");
    *best_s = std::min(*best_s, std::chrono::duration<double>(Clock::now() - begin).count());
  }
  const Status closed = backend.check(table.queue_destroy(queue), "destroy a queue");
  return status.is_ok() ? closed : status;
}

Status measure_link(const device::Backend &backend, const sluice_ipc_handle_t &handle, std::uint64_t offset,
                    Link *link) {
  const sluice_backend_t &table = backend.table();
  DeviceMemory mine;
  Status status = mine.allocate(backend, link->puller);
  if (!status.is_ok()) return status;
  void *base = nullptr;
  std::uint64_t mapped_bytes = 0;
  status = backend.check(table.ipc_open(link->puller, &handle, &base, &mapped_bytes), "map the other process's memory");
  if (!status.is_ok()) return status;
  double best_s = 0;
  status = time_copies(backend, link->puller, mine.get(), static_cast<const std::byte *>(base) + offset, &best_s);
  const Status closed = backend.check(table.ipc_close(link->puller, base), "unmap it");
  if (status.is_ok() && closed.is_ok()) link->gb_per_s = static_cast<double>(kLinkBytes) / best_s / 1e9;
  return status.is_ok() ? closed : status;
}

}  // namespace

std::vector<Link> measure_links(const Devices &devices, const std::vector<std::string> &words) {
  const auto n_devices = static_cast<std::int32_t>(devices.infos.size());
  std::vector<Link> links;
  for (std::int32_t owner = 0; owner < n_devices; ++owner) {
    std::vector<std::string> arguments = words;
    arguments.push_back(fmt::format("{}", owner));
    Holder holder;
    sluice_ipc_handle_t handle{};
    std::uint64_t offset = 0;
    Status held = holder.start(std::move(arguments));
    if (held.is_ok()) held = holder.read_handle(&handle, &offset);
    for (std::int32_t puller = 0; puller < n_devices; ++puller) {
      Link link{owner, puller, 0, ""};
      const Status status = held.is_ok() ? measure_link(*devices.backend, handle, offset, &link) : held;
      link.problem = status.message();
      links.push_back(std::move(link));
    }
  }
  return links;
}

int hold_memory(const Devices &devices, std::int32_t device) {
  DeviceMemory memory;
  Status status = memory.allocate(*devices.backend, device);
  sluice_ipc_handle_t handle{};
  std::uint64_t offset = 0;
  std::uint64_t size_bytes = kLinkBytes;
  if (status.is_ok()) {
    status = devices.backend->check(devices.backend->table().ipc_export(memory.get(), &handle, &offset, &size_bytes),
                                    "export device memory");
  }
  if (status.is_ok()) {
    std::string bytes;
    for (const std::uint8_t byte : handle.bytes) bytes += fmt::format("{:02x}", byte);
    fmt::print("handle {} {}\n", offset, bytes);
  } else {
    fmt::print("{}\n", status.message());
  }
  if (std::fflush(stdout) != 0) return 1;
  while (std::getchar() != EOF) {
  }
  return status.is_ok() ? 0 : 1;
}

}  // namespace sluice::command::place

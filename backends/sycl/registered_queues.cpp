// SPDX-License-Identifier: BSD-3-Clause
// Owns the copies of the program's queues, and the question whether an address holds one of them.
#include "registered_queues.h"

#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <map>
#include <mutex>

namespace sluice::backends::sycl {

namespace {

// The runtime's queue is a shared pointer: copies of one queue have the same bytes, and as long as one lives no other
// queue has them.
using Bytes = std::array<std::byte, sizeof(::sycl::queue)>;
static_assert(sizeof(::sycl::queue) == 2 * sizeof(void *), "a queue of this runtime is not told by its bytes");

Bytes bytes_of(const ::sycl::queue &queue) {
  Bytes bytes;
  std::memcpy(bytes.data(), static_cast<const void *>(&queue), bytes.size());
  return bytes;
}

// False: no memory there. Where the system forbids this way of reading (some sandboxes do), *is_forbidden.
bool read_bytes(const void *address, Bytes *bytes, bool *is_forbidden) {
  const iovec to = {bytes->data(), bytes->size()};
  const iovec from = {const_cast<void *>(address), bytes->size()};
  const ssize_t n_read = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
  *is_forbidden = n_read < 0 && (errno == EPERM || errno == ENOSYS);
  return n_read == static_cast<ssize_t>(bytes->size());
}

// Where it cannot be looked at, the address alone counts: it held a queue once.
bool is_still_there(const void *native, const ::sycl::queue &registered) {
  Bytes bytes;
  bool is_forbidden = false;
  if (!read_bytes(native, &bytes, &is_forbidden)) return is_forbidden;
  return bytes == bytes_of(registered);
}

struct Queues {
  std::mutex mutex;
  std::map<const void *, ::sycl::queue> by_address;
};

// Never destroyed: at exit the runtime may be gone before this module.
Queues &queues() {
  static auto *made = new Queues();
  return *made;
}

}  // namespace

void register_queue(const ::sycl::queue *native) {
  const std::scoped_lock lock(queues().mutex);
  std::erase_if(queues().by_address, [](const auto &entry) { return !is_still_there(entry.first, entry.second); });
  queues().by_address.insert_or_assign(native, *native);
}

std::optional<::sycl::queue> registered_queue(const void *native) {
  const std::scoped_lock lock(queues().mutex);
  const auto found = queues().by_address.find(native);
  if (found == queues().by_address.end() || !is_still_there(native, found->second)) return std::nullopt;
  return found->second;
}

void forget_queue(const void *native) {
  const std::scoped_lock lock(queues().mutex);
  queues().by_address.erase(native);
}

}  // namespace sluice::backends::sycl

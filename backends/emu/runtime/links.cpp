// SPDX-License-Identifier: BSD-3-Clause
// Links of one process or of several.
#include "runtime/links.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "runtime/error.h"

namespace emurt {

emu_result_t Links::share(const std::string &path) {
  constexpr size_t kBytes = sizeof own_;
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  void *mapped = MAP_FAILED;
  // Growing a file fills it with zeros: links that are free.
  if (file >= 0 && ftruncate(file, static_cast<off_t>(kBytes)) == 0) {
    mapped = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  const int error = errno;
  if (file >= 0) close(file);
  if (mapped == MAP_FAILED) {
    return fail(EMU_ERROR_CONFIGURATION, "SLUICE_EMU_MACHINE: link_file={}: {}; give a file that can be written", path,
                std::strerror(error));
  }
  free_at_ns_ = static_cast<Moment *>(mapped);
  return EMU_SUCCESS;
}

Clock::time_point Links::reserve(size_t device, Link link, Clock::time_point ready, Clock::duration duration) {
  using std::chrono::duration_cast;
  using std::chrono::nanoseconds;
  const int64_t ready_ns = duration_cast<nanoseconds>(ready.time_since_epoch()).count();
  const int64_t duration_ns = duration_cast<nanoseconds>(duration).count();
  Moment &free_at = free_at_ns_[device * kLinks + static_cast<size_t>(link)];
  int64_t before_ns = free_at.load(std::memory_order_relaxed);
  int64_t done_ns = 0;
  do {
    done_ns = std::max(ready_ns, before_ns) + duration_ns;
  } while (!free_at.compare_exchange_weak(before_ns, done_ns, std::memory_order_relaxed));
  return Clock::time_point(duration_cast<Clock::duration>(nanoseconds(done_ns)));
}

}  // namespace emurt

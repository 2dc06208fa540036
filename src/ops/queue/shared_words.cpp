// SPDX-License-Identifier: BSD-3-Clause
#include "ops/queue/shared_words.hpp"

#include <utility>

#include "base/log.hpp"

namespace sluice::ops::queue {

std::size_t SharedWords::whole_pages(std::size_t size_bytes) noexcept {
  constexpr std::size_t kPageBytes = 4096;
  return (size_bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

void SharedWords::close() noexcept {
  if (const device::Backend *backend = std::exchange(backend_, nullptr); backend != nullptr) {
    const Status status =
        backend->check(backend->table().host_unregister(device_, segment_.data()), "give back shared words");
    if (!status.is_ok()) log::warn_once("shared_words", "device", status.message());
  }
  segment_ = wire::SharedSegment();
  n_words_ = n_bytes_behind_ = 0;
}

Status SharedWords::create(std::size_t n_words, std::size_t n_bytes_behind, wire::SegmentName *name) {
  Status status = wire::SharedSegment::create(bytes_of(n_words, n_bytes_behind), &segment_, name);
  if (!status.is_ok()) return status;
  n_words_ = n_words;
  n_bytes_behind_ = n_bytes_behind;
  return {};
}

Status SharedWords::open(const wire::SegmentName &name, std::size_t n_words, std::size_t n_bytes_behind) {
  Status status = wire::SharedSegment::open(name, bytes_of(n_words, n_bytes_behind), &segment_);
  if (!status.is_ok()) return status;
  n_words_ = n_words;
  n_bytes_behind_ = n_bytes_behind;
  return {};
}

Status SharedWords::reach(const device::Backend *backend, std::int32_t device) {
  Status status =
      backend->check(backend->table().host_register(device, segment_.data(), bytes_of(n_words_, n_bytes_behind_)),
                     "let a device reach shared words");
  if (!status.is_ok()) return status;
  backend_ = backend;
  device_ = device;
  return {};
}

}  // namespace sluice::ops::queue

// SPDX-License-Identifier: BSD-3-Clause
#include "ops/queue/shared_words.hpp"

namespace sluice::ops::queue {

std::size_t SharedWords::whole_pages(std::size_t size_bytes) noexcept {
  constexpr std::size_t kPageBytes = 4096;
  return (size_bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

void SharedWords::close() noexcept {
  registration_.reset();
  segment_.reset();
  n_words_ = n_bytes_behind_ = 0;
}

Status SharedWords::create(std::size_t n_words, std::size_t n_bytes_behind, wire::SegmentName *name) {
  segment_ = std::make_shared<wire::SharedSegment>();
  Status status = wire::SharedSegment::create(bytes_of(n_words, n_bytes_behind), segment_.get(), name);
  if (!status.is_ok()) return status;
  n_words_ = n_words;
  n_bytes_behind_ = n_bytes_behind;
  return {};
}

Status SharedWords::open(const wire::SegmentName &name, std::size_t n_words, std::size_t n_bytes_behind) {
  segment_ = std::make_shared<wire::SharedSegment>();
  Status status = wire::SharedSegment::open(name, bytes_of(n_words, n_bytes_behind), segment_.get());
  if (!status.is_ok()) return status;
  n_words_ = n_words;
  n_bytes_behind_ = n_bytes_behind;
  return {};
}

Status SharedWords::reach(const device::Backend *backend, std::int32_t device) {
  return registration_.open(backend, device, segment_->data(), bytes_of(n_words_, n_bytes_behind_), segment_);
}

}  // namespace sluice::ops::queue

// SPDX-License-Identifier: BSD-3-Clause
#include "ops/queue/shared_words.hpp"

#include "base/log.hpp"

namespace sluice::ops::queue {

// Whole pages, as host_register has it.
std::size_t SharedWords::bytes_of(std::size_t n_words) noexcept {
  constexpr std::size_t kPageBytes = 4096;
  return (n_words * sizeof(std::uint64_t) + kPageBytes - 1) / kPageBytes * kPageBytes;
}

SharedWords::~SharedWords() {
  if (backend_ == nullptr) return;
  const Status status =
      backend_->check(backend_->table().host_unregister(device_, segment_.data()), "give back shared words");
  if (!status.is_ok()) log::warn_once("shared_words", "device", status.message());
}

Status SharedWords::create(std::size_t n_words, wire::SegmentName *name) {
  Status status = wire::SharedSegment::create(bytes_of(n_words), &segment_, name);
  if (status.is_ok()) n_words_ = n_words;
  return status;
}

Status SharedWords::open(const wire::SegmentName &name, std::size_t n_words) {
  Status status = wire::SharedSegment::open(name, bytes_of(n_words), &segment_);
  if (status.is_ok()) n_words_ = n_words;
  return status;
}

Status SharedWords::reach(const device::Backend *backend, std::int32_t device) {
  Status status = backend->check(backend->table().host_register(device, segment_.data(), bytes_of(n_words_)),
                                 "let a device reach shared words");
  if (!status.is_ok()) return status;
  backend_ = backend;
  device_ = device;
  return {};
}

}  // namespace sluice::ops::queue

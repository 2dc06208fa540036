// SPDX-License-Identifier: BSD-3-Clause
#include "ops/pack/byte_side.hpp"

#include <algorithm>

#include "device/copy.hpp"
#include "plan/policy.hpp"
#include "transfer/region.hpp"

namespace sluice::ops {

Status ByteSide::classify(const void *buffer, std::int64_t size_bytes, std::int64_t position) {
  // One type for both directions; what is only read stays so.
  buffer_ = static_cast<std::byte *>(const_cast<void *>(buffer));  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  size_bytes_ = size_bytes;
  position_ = position;
  if (position < 0 || size_bytes <= position) return {};  // for the host MPI to refuse, or nothing
  if (Status status = device::classify(data(), &place_); !status.is_ok()) return status;
  if (Status status = transfer::refuse_freed(place_, data()); !status.is_ok()) return status;
  is_staged_ = plan::choose({place_.kind, 1}, plan::policy_of(place_.backend, place_.device)).route == Route::kStaged;
  return {};
}

Status ByteSide::open(std::int64_t most_bytes) {
  opened_bytes_ = std::clamp<std::int64_t>(most_bytes, 0, room_bytes());
  const plan::Policy &policy = plan::policy_of(place_.backend, place_.device);
  return device::StagingPool::process().acquire({place_.backend, place_.device, policy.staging_memory},
                                                static_cast<std::size_t>(std::max<std::int64_t>(opened_bytes_, 1)),
                                                &lease_);
}

Status ByteSide::copy_down() const {
  return device::copy(place_, lease_.data(), data(), static_cast<std::size_t>(opened_bytes_));
}

Status ByteSide::copy_up(std::int64_t bytes) const {
  return device::copy(place_, data(), lease_.data(), static_cast<std::size_t>(std::min(bytes, opened_bytes_)));
}

}  // namespace sluice::ops

// SPDX-License-Identifier: BSD-3-Clause
#include "ops/rma/device_fetch.hpp"

#include <array>

#include "device/kernel_copies.hpp"
#include "device/reduction.hpp"
#include "ops/coll/reduction/reduction_pair.hpp"
#include "ops/rma/direct.hpp"
#include "ops/rma/side.hpp"

namespace sluice::ops::rma {
namespace {

// Above it copies of their own cost little beside what they move.
constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 10;

// Memory that commands of the target's device take as it is.
bool is_beside(const transfer::Region &target, const transfer::Region &region) {
  return are_on_one_device(target, region) && region.origin != nullptr && region.layout->is_contiguous;
}

}  // namespace

bool DeviceFetch::suits(const transfer::Region &target, const Arithmetic &arithmetic) {
  const std::uint64_t size_bytes = target.size_bytes();
  if (is_host(target) || !target.layout->is_contiguous || size_bytes == 0 || size_bytes > kMostBytes) return false;
  if (arithmetic.is_nothing() || arithmetic.is_replace()) return true;
  coll::ReductionPair pair{};
  return arithmetic.element->is_contiguous && coll::find_reduction_pair(arithmetic.type, arithmetic.op, &pair) &&
         device::has_kernel(target.place, pair.element, pair.operation);
}

Status DeviceFetch::prepare(const transfer::Region &target, const Arithmetic &arithmetic,
                            const transfer::Region &operand, const transfer::Region &result) {
  target_ = target;
  result_ = result;
  arithmetic_ = arithmetic;
  size_bytes_ = target.size_bytes();
  has_copy_kernel_ = device::has_copy_kernel(target.place);
  Status status = device::StagingPool::process().acquire(
      {target.place.backend, target.place.device_index(), StagingMemory::kRuntime}, 2 * size_bytes_, &staging_);
  if (!status.is_ok()) return status;
  before_ = is_beside(target, result) ? result.origin : staging_.data() + size_bytes_;
  if (arithmetic.is_nothing()) return {};
  operand_ = is_beside(target, operand) ? operand.origin : staging_.data();
  return operand_ == operand.origin ? Status() : read_payload(operand, size_bytes_, staging_.data());
}

Status DeviceFetch::enqueue_copy(std::byte *to, const std::byte *from) {
  const sluice_copy_t copy{to, from, size_bytes_};
  bool is_refused = !has_copy_kernel_;
  Status status = is_refused ? Status() : device::enqueue_kernel_copies(&queue_, {&copy, 1}, &is_refused);
  return is_refused ? queue_.enqueue({&copy, 1}) : status;
}

Status DeviceFetch::run(bool *is_done) {
  *is_done = false;
  Status status = queue_.acquire(target_.place);
  if (status.is_ok()) status = enqueue_copy(before_, target_.origin);
  if (!status.is_ok()) return status;
  bool is_refused = false;
  if (arithmetic_.is_replace()) {
    status = enqueue_copy(target_.origin, operand_);
  } else if (!arithmetic_.is_nothing()) {
    coll::ReductionPair pair{};
    static_cast<void>(coll::find_reduction_pair(arithmetic_.type, arithmetic_.op, &pair));
    // MPI's inout is the second operand.
    void *result = target_.origin;
    const std::array<const void *, 2> sources = {operand_, target_.origin};
    const sluice_reduction_t reduction{pair.element,
                                       pair.operation,
                                       &result,
                                       sources.data(),
                                       1,
                                       sources.size(),
                                       size_bytes_ / arithmetic_.element->size_bytes,
                                       0};
    status = device::enqueue_reductions(&queue_, {&reduction, 1}, &is_refused);
  }
  if (!status.is_ok() && !is_refused) return status;
  status = queue_.wait("fetch and update the memory of a window");
  *is_done = status.is_ok() && !is_refused;
  return status;
}

Status DeviceFetch::finish() {
  return before_ == result_.origin ? Status() : write_payload(result_, size_bytes_, before_);
}

}  // namespace sluice::ops::rma

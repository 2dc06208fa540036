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

bool DeviceFetch::suits_swap(const transfer::Region &target) {
  return !is_host(target) && target.layout->is_contiguous && target.size_bytes() <= SLUICE_SWAP_MAX_BYTES &&
         device::has_copy_kernel(target.place);
}

// *memory: the region's payload, in memory that the device of the target takes.
Status DeviceFetch::bring_near(const transfer::Region &region, std::byte *staged, const std::byte **memory) {
  *memory = is_beside(target_, region) ? region.origin : staged;
  return *memory == staged ? read_payload(region, size_bytes_, staged) : Status();
}

Status DeviceFetch::prepare(const transfer::Region &target, const Arithmetic &arithmetic,
                            const transfer::Region &operand, const transfer::Region *compare,
                            const transfer::Region &result) {
  target_ = target;
  result_ = result;
  arithmetic_ = arithmetic;
  size_bytes_ = target.size_bytes();
  has_copy_kernel_ = device::has_copy_kernel(target.place);
  Status status = device::StagingPool::process().acquire(
      {target.place.backend, target.place.device_index(), StagingMemory::kRuntime}, 3 * size_bytes_, &staging_);
  if (!status.is_ok()) return status;
  before_ = is_beside(target, result) ? result.origin : staging_.data() + size_bytes_;
  if (arithmetic.is_nothing()) return {};
  status = bring_near(operand, staging_.data(), &operand_);
  if (status.is_ok() && compare != nullptr) status = bring_near(*compare, staging_.data() + 2 * size_bytes_, &compare_);
  return status;
}

Status DeviceFetch::enqueue_copy(std::byte *to, const std::byte *from) {
  const sluice_copy_t copy{to, from, size_bytes_};
  bool is_refused = !has_copy_kernel_;
  Status status = is_refused ? Status() : device::enqueue_kernel_copies(&queue_, {&copy, 1}, &is_refused);
  return is_refused ? queue_.enqueue({&copy, 1}) : status;
}

Status DeviceFetch::enqueue(bool *is_refused) {
  if (compare_ != nullptr) {
    const sluice_swap_t swap{target_.origin, compare_, operand_, before_, size_bytes_};
    return device::enqueue_compare_and_swap(&queue_, swap, is_refused);
  }
  if (arithmetic_.is_nothing() || arithmetic_.is_replace()) {
    Status status = enqueue_copy(before_, target_.origin);
    return status.is_ok() && arithmetic_.is_replace() ? enqueue_copy(target_.origin, operand_) : status;
  }
  coll::ReductionPair pair{};
  static_cast<void>(coll::find_reduction_pair(arithmetic_.type, arithmetic_.op, &pair));
  // MPI's inout is the second operand.
  const std::array<void *, 2> results = {target_.origin, before_};
  const std::array<const void *, 2> sources = {operand_, target_.origin};
  const sluice_reduction_t reduction{.element = pair.element,
                                     .operation = pair.operation,
                                     .dsts = results.data(),
                                     .sources = sources.data(),
                                     .n_dsts = results.size(),
                                     .n_sources = sources.size(),
                                     .count = size_bytes_ / arithmetic_.element->size_bytes,
                                     .is_beside_copies = 0,
                                     .is_fetch = 1};
  return device::enqueue_reductions(&queue_, {&reduction, 1}, is_refused);
}

Status DeviceFetch::run(bool *is_done) {
  *is_done = false;
  Status status = queue_.acquire(target_.place);
  bool is_refused = false;
  if (status.is_ok()) status = enqueue(&is_refused);
  if (!status.is_ok() && !is_refused) return status;
  status = queue_.wait("fetch and update the memory of a window");
  *is_done = status.is_ok() && !is_refused;
  return status;
}

Status DeviceFetch::finish() {
  return before_ == result_.origin ? Status() : write_payload(result_, size_bytes_, before_);
}

}  // namespace sluice::ops::rma

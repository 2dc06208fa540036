// SPDX-License-Identifier: BSD-3-Clause
#include "ops/queue/batch_reserve.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "device/queue.hpp"
#include "device/staging_pool.hpp"
#include "plan/policy.hpp"
#include "transfer/blocks.hpp"

namespace sluice::ops::queue {
namespace {

// As many as a message has under way at once on one side.
constexpr std::uint32_t kBlocksOfAMessage = 4;

// What is taken and given back at once is idle in its pool afterwards.
template <typename Lease, typename Acquire>
void take_and_give_back(std::size_t n, Acquire acquire) {
  std::vector<Lease> leases(n);
  for (Lease &lease : leases) {
    if (const Status status = acquire(&lease); !status.is_ok()) {
      log::debug("ops", "not made ahead for a queue: " + std::string(status.message()));
      return;
    }
  }
}

}  // namespace

void BatchReserve::add(const device::Place &place, std::uint64_t size_bytes) {
  if (place.backend == nullptr || size_bytes == 0 || n_messages_ >= kMostMessages) return;
  if (++n_messages_ > n_queues_made_) {
    n_queues_made_ = n_messages_;
    take_and_give_back<device::Queue>(n_messages_, [&](device::Queue *queue) { return queue->acquire(place); });
  }
  const plan::Policy &policy = plan::policy_of(place.backend, place.device);
  const bool is_cut = size_bytes >= policy.pipeline_threshold_bytes;
  const transfer::BlockPlan plan =
      transfer::cut(is_cut ? policy.pipeline : Pipeline::kNone, size_bytes, policy.pipeline_blocks);
  const std::uint64_t block_bytes = std::bit_ceil(plan.largest_bytes());
  Blocks &blocks = blocks_[block_bytes];
  blocks.n_wanted += std::min(plan.n_blocks, kBlocksOfAMessage);
  if (blocks.n_wanted <= blocks.n_made) return;
  const std::uint64_t more_bytes = (blocks.n_wanted - blocks.n_made) * block_bytes;
  if (made_bytes_ + more_bytes > kMostBytes) return;
  made_bytes_ += more_bytes;
  blocks.n_made = blocks.n_wanted;
  const device::StagingSource source{place.backend, place.device, policy.staging_memory};
  take_and_give_back<device::StagingLease>(blocks.n_made, [&](device::StagingLease *lease) {
    return device::StagingPool::process().acquire(source, block_bytes, lease);
  });
}

void BatchReserve::begin_batch() noexcept {
  n_messages_ = 0;
  for (auto &[size, blocks] : blocks_) blocks.n_wanted = 0;
}

}  // namespace sluice::ops::queue

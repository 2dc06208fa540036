// SPDX-License-Identifier: BSD-3-Clause
#include "plan/policy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/knobs.hpp"
#include "base/log.hpp"
#include "base/short_mutex.hpp"
#include "device/kernel_copies.hpp"
#include "plan/tuning.hpp"

namespace sluice::plan {
namespace {

// The position of `text` in `words`; `none` when it is not among them.
template <typename Enum, std::size_t Size>
std::optional<Enum> choice_of(std::string_view text, const std::array<std::string_view, Size> &words) {
  const auto found = std::find(words.begin(), words.end(), text);
  if (found == words.end()) return std::nullopt;
  return static_cast<Enum>(found - words.begin());
}

// What depends on no backend.
Policy read_general() {
  const Knobs &knobs = Knobs::process();
  Policy read;
  read.allows_ipc = knobs.text("SLUICE_P2P_IPC") != "off";
  read.pipeline = choice_of<Pipeline>(knobs.text("SLUICE_P2P_PIPELINE"), kPipelineNames).value_or(Pipeline::kNone);
  read.pipeline_blocks = static_cast<std::uint32_t>(knobs.number("p2p_pipeline_blocks"));
  read.buffered_bytes = knobs.bytes("SLUICE_P2P_BUFFERED_BYTES");
  const std::string &pack = knobs.text("SLUICE_TRANSFER_PACK");
  read.pack.use = pack == "copies" ? PackUse::kCopies : pack == "kernel" ? PackUse::kKernel : PackUse::kByModel;
  return read;
}

// What does not change while the process runs: the knobs, and what a tuning table may say for the device.
struct Settled {
  Policy policy;  // without what the backend has to be asked for
  bool has_staging_memory = false;
  ReductionMeansLimits reduction_means;
};

Settled read_settled(const sluice_backend_t *backend, std::int32_t device) {
  std::vector<const TuningTable *> tables;
  sluice_device_info_t info{};
  if (backend != nullptr && backend->device_info(device, &info) == SLUICE_SUCCESS) {
    tables = find_tuning(process_tuning(), backend->name, info.name);
  }
  for (const TuningTable *table : tables)
    log::info("plan", fmt::format("{} device {} is tuned by {}", backend->name, device, table->path));
  const auto staging = choice_of<StagingMemory>(tuned_value(tables, "device_staging_memory"), kStagingMemoryNames);
  Policy policy = read_general();
  policy.staging_memory = staging.value_or(StagingMemory::kMalloc);
  policy.ipc_threshold_bytes = tuned_number(tables, "p2p_ipc_threshold");
  policy.direct_threshold_bytes = tuned_number(tables, "p2p_direct_threshold");
  policy.pipeline_threshold_bytes = tuned_number(tables, "p2p_pipeline_threshold");
  policy.coll_ipc_threshold_bytes = tuned_number(tables, "coll_ipc_threshold");
  policy.coll_reduce_threshold_bytes = tuned_number(tables, "coll_reduce_threshold");
  policy.coll_levels_threshold_bytes = tuned_number(tables, "coll_levels_threshold");
  policy.coll_segment_threshold_bytes = tuned_number(tables, "coll_segment_threshold");
  policy.coll_segment_bytes = tuned_number(tables, "coll_segment");
  policy.coll_chain_block_bytes = tuned_number(tables, "coll_chain_block");
  policy.coll_kernel_copy_bytes = tuned_number(tables, "coll_kernel_copy");
  policy.pack.from_runs = tuned_number(tables, "transfer_pack_from");
  policy.pack.copy_ns = tuned_number(tables, "transfer_copy");
  return {policy,
          staging.has_value(),
          {tuned_number(tables, "coll_reduce_engines"), tuned_number(tables, "coll_reduce_block")}};
}

// What the backend says of a device: it may learn more of one as it is used.
struct Asked {
  std::uint32_t traits = 0;
  bool can_pack = false;
  sluice_staging_memory_t preferred_staging = SLUICE_STAGING_MALLOC;

  bool operator==(const Asked &) const = default;
};

Asked ask(const sluice_backend_t &table, std::int32_t device) {
  Asked asked;
  if (table.device_traits != nullptr) asked.traits = table.device_traits(device);
  asked.can_pack = table.can_pack != nullptr && table.can_pack(std::max(device, 0)) != 0;
  asked.preferred_staging = table.preferred_staging(device);
  return asked;
}

// `wanted` is the knob's, where a device can do it and gains by it.
PackUse pack_use(PackUse wanted, const Asked &asked) {
  if (wanted == PackUse::kCopies || !asked.can_pack) return PackUse::kCopies;
  if (wanted == PackUse::kKernel) return PackUse::kKernel;
  return (asked.traits & SLUICE_DEVICE_COPIES_BY_CPU) != 0 ? PackUse::kCopies : PackUse::kByModel;
}

Policy resolve(const Settled &settled, const sluice_backend_t &table, const Asked &asked) {
  Policy policy = settled.policy;
  policy.pack.use = pack_use(policy.pack.use, asked);
  policy.allows_ipc &= table.ipc_export != nullptr && (asked.traits & SLUICE_DEVICE_NO_EXPORT) == 0;
  const bool copies_by_cpu = (asked.traits & SLUICE_DEVICE_COPIES_BY_CPU) != 0;
  policy.allows_relay = policy.allows_ipc && table.device_alloc != nullptr;
  policy.relays_pinned = policy.allows_relay && !copies_by_cpu;
  if (policy.pipeline == Pipeline::kAuto && copies_by_cpu) policy.pipeline = Pipeline::kNone;
  if (!settled.has_staging_memory) policy.staging_memory = static_cast<StagingMemory>(asked.preferred_staging);
  return policy;
}

// A device, as long as its backend says the same of it. Never changed nor destroyed: programs call MPI while they exit.
struct Known {
  const sluice_backend_t *table;
  std::int32_t device;
  Asked asked;
  Policy policy;
  ReductionMeansLimits reduction_means;
  const Known *next;
};

// Hot. There are as many as devices, and as answers that changed.
const Known &known_of(const sluice_backend_t *table, std::int32_t device, const Asked &asked) {
  static std::atomic<const Known *> first{nullptr};
  static ShortMutex growing;
  const std::int32_t index = std::max(device, 0);  // an unknown one counts as the first
  const auto find = [&]() -> const Known * {
    for (const Known *known = first.load(std::memory_order_acquire); known != nullptr; known = known->next) {
      if (known->table == table && known->device == index && known->asked == asked) return known;
    }
    return nullptr;
  };
  if (const Known *known = find()) return *known;
  const std::scoped_lock lock(growing);
  if (const Known *known = find()) return *known;
  const Settled settled = read_settled(table, index);
  const auto *known = new Known{table,
                                index,
                                asked,
                                resolve(settled, *table, asked),
                                settled.reduction_means,
                                first.load(std::memory_order_relaxed)};
  first.store(known, std::memory_order_release);
  return *known;
}

Policy read_for_host() {
  Policy policy = read_settled(nullptr, 0).policy;
  policy.allows_ipc = false;
  return policy;
}

}  // namespace

const Policy &policy_of(const device::Backend *backend, std::int32_t device) {
  if (backend == nullptr) {
    static const Policy host = read_for_host();
    return host;
  }
  const sluice_backend_t &table = backend->table();
  return known_of(&table, device, ask(table, device)).policy;
}

CopyMeans choose_copy_means_on(const device::Place &place, const CopyListQuery &query, std::uint64_t kernel_bytes,
                               std::string_view whose) {
  CopyListLimits limits{kernel_bytes, SLUICE_KERNEL_MAX_COPIES};
  CopyPlan plan = choose_copy_means(query, limits);
  if (plan.means == CopyMeans::kKernel && !device::has_copy_kernel(place)) {
    limits.most_copies = 0;
    plan = choose_copy_means(query, limits);
  }
  log::debug("plan", [&] { return fmt::format("{}: {}", whose, explain(query, plan)); });
  return plan.means;
}

ReductionMeansLimits reduction_means_limits_of(const device::Backend &backend, std::int32_t device) {
  return known_of(&backend.table(), device, ask(backend.table(), device)).reduction_means;
}

}  // namespace sluice::plan

// SPDX-License-Identifier: BSD-3-Clause
#include "plan/policy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "base/knobs.hpp"
#include "base/log.hpp"
#include "plan/gather.hpp"
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
const Policy &general_policy() {
  static const Policy policy = [] {
    const Knobs &knobs = Knobs::process();
    Policy read;
    read.stages_shared = knobs.text("SLUICE_DEVICE_SHARED") == "staged";
    read.allows_ipc = knobs.text("SLUICE_P2P_IPC") != "off";
    read.pipeline = choice_of<Pipeline>(knobs.text("SLUICE_P2P_PIPELINE"), kPipelineNames).value_or(Pipeline::kNone);
    read.buffered_bytes = knobs.bytes("SLUICE_P2P_BUFFERED_BYTES");
    return read;
  }();
  return policy;
}

// What a tuning table may say for a device; empty staging memory: auto.
struct Tuned {
  std::optional<StagingMemory> staging_memory;
  std::uint64_t ipc_threshold_bytes = 0;
  std::uint32_t pipeline_blocks = 0;
  std::uint64_t pipeline_threshold_bytes = 0;
  std::uint64_t coll_ipc_threshold_bytes = 0;
  std::uint64_t coll_reduce_threshold_bytes = 0;
  std::uint64_t coll_levels_threshold_bytes = 0;
  std::uint64_t coll_segment_threshold_bytes = 0;
  std::uint64_t coll_segment_bytes = 0;
  std::uint64_t coll_chain_block_bytes = 0;
  std::uint64_t coll_kernel_copy_bytes = 0;
  std::uint64_t pack_from_runs = 0;
  std::uint64_t copy_ns = 0;
  ReductionMeansLimits reduction_means;
};

std::uint64_t tuned_bytes(const TuningTable *table, const char *knob) {
  std::uint64_t number = 0;
  return parse_bytes(tuned_value(table, knob), &number) ? number : 0;
}

Tuned read_tuned(const sluice_backend_t *backend, std::int32_t device) {
  const TuningTable *table = nullptr;
  sluice_device_info_t info{};
  if (backend != nullptr && backend->device_info(device, &info) == SLUICE_SUCCESS) {
    table = find_tuning(process_tuning(), backend->name, info.name);
  }
  if (table != nullptr)
    log::info("plan", fmt::format("{} device {} is tuned by {}", backend->name, device, table->path));
  return {choice_of<StagingMemory>(tuned_value(table, "SLUICE_DEVICE_STAGING_MEMORY"), kStagingMemoryNames),
          tuned_bytes(table, "SLUICE_P2P_IPC_THRESHOLD"),
          static_cast<std::uint32_t>(tuned_bytes(table, "SLUICE_P2P_PIPELINE_BLOCKS")),
          tuned_bytes(table, "SLUICE_P2P_PIPELINE_THRESHOLD"),
          tuned_bytes(table, "SLUICE_COLL_IPC_THRESHOLD"),
          tuned_bytes(table, "SLUICE_COLL_REDUCE_THRESHOLD"),
          tuned_bytes(table, "SLUICE_COLL_LEVELS_THRESHOLD"),
          tuned_bytes(table, "SLUICE_COLL_SEGMENT_THRESHOLD"),
          tuned_bytes(table, "SLUICE_COLL_SEGMENT"),
          tuned_bytes(table, "SLUICE_COLL_CHAIN_BLOCK"),
          tuned_bytes(table, "SLUICE_COLL_KERNEL_COPY"),
          tuned_bytes(table, "SLUICE_TRANSFER_PACK_FROM"),
          tuned_bytes(table, "SLUICE_TRANSFER_COPY_NS"),
          {tuned_bytes(table, "SLUICE_COLL_REDUCE_ENGINES"), tuned_bytes(table, "SLUICE_COLL_REDUCE_BLOCK")}};
}

// The values for a device, which are looked up by name once for each thread. Hot.
const Tuned &tuned_of(const sluice_backend_t *backend, std::int32_t device) {
  if (backend == nullptr) {
    static const Tuned general = read_tuned(nullptr, 0);
    return general;
  }
  struct Known {
    const sluice_backend_t *backend = nullptr;
    std::int32_t device = 0;
    Tuned tuned;
  };
  constexpr std::size_t kSlots = 16;
  thread_local std::array<Known, kSlots> all;
  const std::int32_t index = std::max(device, 0);  // an unknown one counts as the first
  Known &known = all[static_cast<std::size_t>(index) % kSlots];
  if (known.backend != backend || known.device != index) {
    known = {backend, index, read_tuned(backend, index)};
  }
  return known.tuned;
}

PackUse pack_use(const sluice_backend_t &table, std::int32_t device, std::uint32_t traits) {
  static const std::string &use = Knobs::process().text("SLUICE_TRANSFER_PACK");
  if (use == "copies" || table.can_pack == nullptr || table.can_pack(std::max(device, 0)) == 0) {
    return PackUse::kCopies;
  }
  if (use == "kernel") return PackUse::kKernel;
  return (traits & SLUICE_DEVICE_COPIES_BY_CPU) != 0 ? PackUse::kCopies : PackUse::kByModel;
}

}  // namespace

Policy policy_of(const device::Backend *backend, std::int32_t device) {
  const Tuned &tuned = tuned_of(backend != nullptr ? &backend->table() : nullptr, device);
  Policy policy = general_policy();
  policy.staging_memory = tuned.staging_memory.value_or(StagingMemory::kMalloc);
  policy.ipc_threshold_bytes = tuned.ipc_threshold_bytes;
  policy.pipeline_blocks = tuned.pipeline_blocks;
  policy.pipeline_threshold_bytes = tuned.pipeline_threshold_bytes;
  policy.coll_ipc_threshold_bytes = tuned.coll_ipc_threshold_bytes;
  policy.coll_reduce_threshold_bytes = tuned.coll_reduce_threshold_bytes;
  policy.coll_levels_threshold_bytes = tuned.coll_levels_threshold_bytes;
  policy.coll_segment_threshold_bytes = tuned.coll_segment_threshold_bytes;
  policy.coll_segment_bytes = tuned.coll_segment_bytes;
  policy.coll_chain_block_bytes = tuned.coll_chain_block_bytes;
  policy.coll_kernel_copy_bytes = tuned.coll_kernel_copy_bytes;
  policy.pack.from_runs = tuned.pack_from_runs;
  policy.pack.copy_ns = tuned.copy_ns;
  policy.pack.gather_bytes = gather_limit_bytes();
  if (backend == nullptr) {
    policy.allows_ipc = false;
    return policy;
  }
  const sluice_backend_t &table = backend->table();
  const std::uint32_t traits = table.device_traits != nullptr ? table.device_traits(device) : 0;
  policy.pack.use = pack_use(table, device, traits);
  policy.allows_ipc &= table.ipc_export != nullptr && (traits & SLUICE_DEVICE_NO_EXPORT) == 0;
  if (policy.pipeline == Pipeline::kAuto && (traits & SLUICE_DEVICE_COPIES_BY_CPU) != 0) {
    policy.pipeline = Pipeline::kNone;
  }
  if (!tuned.staging_memory) policy.staging_memory = static_cast<StagingMemory>(table.preferred_staging(device));
  return policy;
}

ReductionMeansLimits reduction_means_limits_of(const device::Backend &backend, std::int32_t device) {
  return tuned_of(&backend.table(), device).reduction_means;
}

}  // namespace sluice::plan

// SPDX-License-Identifier: BSD-3-Clause
#include "plan/policy.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "base/knobs.hpp"

namespace sluice::plan {
namespace {

struct KnobChoice {
  std::optional<StagingMemory> staging_memory;  // empty: auto
  Policy policy;                                // what depends on no backend
};

// The position of the word that `knob` has in `words`; `none` when it is not among them.
template <typename Enum, std::size_t Size>
std::optional<Enum> choice_of(const char *knob, const std::array<std::string_view, Size> &words) {
  const auto found = std::find(words.begin(), words.end(), Knobs::process().text(knob));
  if (found == words.end()) return std::nullopt;
  return static_cast<Enum>(found - words.begin());
}

const KnobChoice &knob_choice() {
  static const KnobChoice choice = [] {
    const Knobs &knobs = Knobs::process();
    KnobChoice read;
    read.staging_memory = choice_of<StagingMemory>("SLUICE_DEVICE_STAGING_MEMORY", kStagingMemoryNames);
    read.policy.stages_shared = knobs.text("SLUICE_DEVICE_SHARED") == "staged";
    read.policy.allows_ipc = knobs.text("SLUICE_P2P_IPC") != "off";
    read.policy.ipc_threshold_bytes = knobs.bytes("SLUICE_P2P_IPC_THRESHOLD");
    read.policy.pipeline = choice_of<Pipeline>("SLUICE_P2P_PIPELINE", kPipelineNames).value_or(Pipeline::kNone);
    read.policy.pipeline_blocks = static_cast<std::uint32_t>(knobs.bytes("SLUICE_P2P_PIPELINE_BLOCKS"));
    read.policy.pipeline_threshold_bytes = knobs.bytes("SLUICE_P2P_PIPELINE_THRESHOLD");
    read.policy.buffered_bytes = knobs.bytes("SLUICE_P2P_BUFFERED_BYTES");
    return read;
  }();
  return choice;
}

}  // namespace

Policy policy_of(const device::Backend *backend, std::int32_t device) {
  const KnobChoice &choice = knob_choice();
  Policy policy = choice.policy;
  policy.staging_memory = choice.staging_memory.value_or(StagingMemory::kMalloc);
  if (backend == nullptr) {
    policy.allows_ipc = false;
    return policy;
  }
  const sluice_backend_t &table = backend->table();
  const std::uint32_t traits = table.device_traits != nullptr ? table.device_traits(device) : 0;
  policy.allows_ipc &= table.ipc_export != nullptr && (traits & SLUICE_DEVICE_NO_EXPORT) == 0;
  if (policy.pipeline == Pipeline::kAuto && (traits & SLUICE_DEVICE_COPIES_BY_CPU) != 0) {
    policy.pipeline = Pipeline::kNone;
  }
  if (!choice.staging_memory) policy.staging_memory = static_cast<StagingMemory>(table.preferred_staging(device));
  return policy;
}

}  // namespace sluice::plan

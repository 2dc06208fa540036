// SPDX-License-Identifier: BSD-3-Clause
#include "plan/policy.hpp"

#include <algorithm>
#include <optional>

#include "base/knobs.hpp"

namespace sluice::plan {
namespace {

struct KnobChoice {
  bool stages_shared;
  std::optional<StagingMemory> staging_memory;  // empty: auto
};

const KnobChoice &knob_choice() {
  static const KnobChoice choice = [] {
    const std::string &word = Knobs::process().text("SLUICE_DEVICE_STAGING_MEMORY");
    const auto found = std::find(kStagingMemoryNames.begin(), kStagingMemoryNames.end(), word);
    KnobChoice read{Knobs::process().text("SLUICE_DEVICE_SHARED") == "staged", std::nullopt};
    if (found != kStagingMemoryNames.end()) {
      read.staging_memory = static_cast<StagingMemory>(found - kStagingMemoryNames.begin());
    }
    return read;
  }();
  return choice;
}

}  // namespace

Policy policy_of(const device::Backend *backend, std::int32_t device) {
  const KnobChoice &choice = knob_choice();
  Policy policy{choice.stages_shared, choice.staging_memory.value_or(StagingMemory::kMalloc)};
  if (!choice.staging_memory && backend != nullptr) {
    policy.staging_memory = static_cast<StagingMemory>(backend->table().preferred_staging(device));
  }
  return policy;
}

}  // namespace sluice::plan

// SPDX-License-Identifier: BSD-3-Clause
// The choice of what brings a payload with gaps together or apart, by a model of what each way costs. Pure, as
// plan.hpp: a summary of the layout, the leg, what the device can do and the knobs in; the way, the time of each
// candidate and a sentence out (docs/adr/0048).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/settings.hpp"
#include "base/types.hpp"
#include "plan/gather.hpp"

namespace sluice::plan {

// What is known of the payload's runs of bytes without walking through them again.
struct RunSummary {
  std::uint64_t size_bytes = 0;  // of payload
  std::uint64_t n_runs = 0;
  std::uint64_t shortest_bytes = 0;  // of the runs
  std::uint64_t longest_bytes = 0;
  std::uint64_t span_bytes = 0;  // from the lowest byte to the highest; 0: too far apart to say
};

// Between what a payload moves.
enum class PackLeg : std::uint8_t {
  kStaging,  // the device's memory and staging memory of the host, one run there
  kImage,    // the same with its gaps, because the host MPI is given the program's own type (plan.hpp, Form)
  kPulled,   // the sender's device memory and the receiver's, in a node
  kDevice    // two buffers of one device, as MPI_Pack has it; by kernel or through the host
};
inline constexpr std::array<std::string_view, 4> kPackLegNames = {"staged", "staged as an image", "pulled",
                                                                  "on the device"};

struct PackQuery {
  RunSummary runs;
  PackLeg leg = PackLeg::kStaging;
  MemoryKind kind = MemoryKind::kDevice;
  bool can_gather = true;  // kPulled: nested strides, which a descriptor can tell of; a list it cannot
};

// SLUICE_TRANSFER_PACK for a device: copies where it has no kernel, too.
enum class PackUse : std::uint8_t { kCopies, kByModel, kKernel };

// The knobs, and with them the constants of the model that a machine is measured for.
struct PackLimits {
  PackUse use = PackUse::kCopies;
  std::uint64_t from_runs = default_number("transfer_pack_from");
  std::uint64_t copy_ns = default_number("transfer_copy");
};

// The constants that no knob has, in us and bytes for each us. Measured on H200s: a copy or a kernel from its launch to
// the sight of its end (docs/adr/0029), the slope of pinned copies down (docs/adr/0005), what the link between two
// devices moves while a copy is begun (docs/adr/0029), and long runs packed (docs/measurements/2026-11-23-one-h200).
inline constexpr double kFirstUs = 11.4;
inline constexpr double kHostBytesPerUs = 33e3;
inline constexpr double kLinkBytesPerUs = 210e3;
inline constexpr double kMemoryBytesPerUs = 1.8e6;
// Memory and links move whole pieces of this many bytes, however short a run is.
inline constexpr std::uint64_t kPieceBytes = 32;

// The candidates are PackMeans of base/types.hpp; a tie goes to the one that stands first there.
inline constexpr std::size_t kPackMeans = kPackMeansNames.size();
inline constexpr double kCannot = -1;  // for the time of what cannot be done

struct PackPlan {
  PackMeans means = PackMeans::kCopies;
  // How the runs are moved where one copy turns out not to do, because the span is not one allocation.
  PackMeans by_runs = PackMeans::kCopies;
  std::array<double, kPackMeans> times_us = {kCannot, kCannot, kCannot, kCannot, kCannot};
  std::string_view reason;

  // By the model; kCannot where it is no candidate.
  [[nodiscard]] constexpr double time_us(PackMeans which) const noexcept {
    return times_us[static_cast<std::size_t>(which)];
  }
};

// Whether a kernel can move them; 0 runs: they are not known. Hot. The one test of those whose other way leads through
// the host's memory and back, which takes longer for any number of runs.
[[nodiscard]] constexpr bool can_pack(std::uint64_t n_runs, const PackLimits &limits) noexcept {
  return n_runs != 0 && limits.use != PackUse::kCopies;
}

// Whether a kernel is worth a thought where a copy for each run is the other way. Hot.
[[nodiscard]] constexpr bool may_pack(std::uint64_t n_runs, const PackLimits &limits) noexcept {
  return can_pack(n_runs, limits) && (limits.use == PackUse::kKernel || n_runs >= limits.from_runs);
}

// By how much a kernel takes longer than one copy, without its bytes: half a copy less than transfer_pack_from
// runs cost, so that from so many short runs on it is the faster one. Not less than nothing.
[[nodiscard]] constexpr double kernel_us(const PackLimits &limits) noexcept {
  const double copies = static_cast<double>(limits.from_runs) - 1.5;
  return std::max(copies, 0.0) * static_cast<double>(limits.copy_ns) / 1000;
}

// A copy is begun while the one before it moves.
[[nodiscard]] constexpr double copies_us(const RunSummary &runs, double bytes_per_us,
                                         const PackLimits &limits) noexcept {
  const double begins_us = (static_cast<double>(runs.n_runs) - 1) * static_cast<double>(limits.copy_ns) / 1000;
  return kFirstUs + std::max(begins_us, static_cast<double>(runs.size_bytes) / bytes_per_us);
}

// What memory moves for the payload: whole pieces. By the mean length, which is near enough for uneven runs.
[[nodiscard]] constexpr double touched_bytes(const RunSummary &runs) noexcept {
  const std::uint64_t mean = runs.n_runs == 0 ? 0 : runs.size_bytes / runs.n_runs;
  if (mean == 0) return static_cast<double>(runs.size_bytes);
  const std::uint64_t beside = (kPieceBytes - mean % kPieceBytes) % kPieceBytes;
  return static_cast<double>(runs.size_bytes) + static_cast<double>(beside) * static_cast<double>(runs.n_runs);
}

// One kernel that reads the runs over the link between two devices.
[[nodiscard]] constexpr double gather_us(const RunSummary &runs, const PackLimits &limits) noexcept {
  return kFirstUs + kernel_us(limits) + touched_bytes(runs) / kLinkBytesPerUs;
}

namespace packing_model {

// What choose_packing() is made of: the times of one leg, and the least of them.
constexpr void set(PackPlan *plan, PackMeans means, double us) noexcept {
  plan->times_us[static_cast<std::size_t>(means)] = us;
}

constexpr void model_staged(const PackQuery &query, const PackLimits &limits, PackPlan *plan) noexcept {
  const RunSummary &runs = query.runs;
  const auto size = static_cast<double>(runs.size_bytes);
  const auto span = static_cast<double>(runs.span_bytes);
  const bool is_image = query.leg == PackLeg::kImage;
  if (is_image && runs.span_bytes != 0) set(plan, PackMeans::kOneCopy, kFirstUs + span / kHostBytesPerUs);
  set(plan, PackMeans::kCopies, copies_us(runs, kHostBytesPerUs, limits));
  if (limits.use == PackUse::kCopies) return;
  const double reads_us = touched_bytes(runs) / kMemoryBytesPerUs;
  // Runs that a kernel writes apart cross as whole pieces.
  const double crosses_us = (is_image ? touched_bytes(runs) : size) / kHostBytesPerUs;
  set(plan, PackMeans::kKernel, kFirstUs + kernel_us(limits) + std::max(reads_us, crosses_us));
  if (!is_image) {
    set(plan, PackMeans::kScratch,
        kFirstUs + kernel_us(limits) + reads_us + static_cast<double>(limits.copy_ns) / 1000 + size / kHostBytesPerUs);
  }
}

constexpr void model_pulled(const PackQuery &query, const PackLimits &limits, PackPlan *plan) noexcept {
  const auto size = static_cast<double>(query.runs.size_bytes);
  if (query.leg == PackLeg::kDevice) {  // else down and up again
    set(plan, PackMeans::kCopies, 2 * copies_us(query.runs, kHostBytesPerUs, limits));
    if (limits.use != PackUse::kCopies) {
      set(plan, PackMeans::kKernel, kFirstUs + kernel_us(limits) + touched_bytes(query.runs) / kMemoryBytesPerUs);
    }
    return;
  }
  set(plan, PackMeans::kCopies, copies_us(query.runs, kLinkBytesPerUs, limits));
  if (limits.use == PackUse::kCopies) return;
  // The sender's launch and its wait: as long as the link takes for kGatherBytes, which was measured so.
  const double sender_us = static_cast<double>(kGatherBytes) / kLinkBytesPerUs;
  set(plan, PackMeans::kScratch, kFirstUs + kernel_us(limits) + sender_us + size / kLinkBytesPerUs);
  if (query.can_gather) set(plan, PackMeans::kGather, gather_us(query.runs, limits));
}

constexpr PackMeans fastest(const PackPlan &plan) noexcept {
  std::size_t best = kPackMeans;
  for (std::size_t i = 0; i < kPackMeans; ++i) {
    if (plan.times_us[i] != kCannot && (best == kPackMeans || plan.times_us[i] < plan.times_us[best])) best = i;
  }
  return static_cast<PackMeans>(best);
}

// But for `without`.
constexpr PackMeans fastest_by_runs(PackPlan plan, PackMeans without) noexcept {
  set(&plan, PackMeans::kOneCopy, kCannot);
  set(&plan, without, kCannot);
  return fastest(plan);
}

}  // namespace packing_model

// The choice. Warm: some dozen operations on numbers, for data with gaps only.
[[nodiscard]] constexpr PackPlan choose_packing(const PackQuery &query, const PackLimits &limits) noexcept {
  PackPlan plan;
  if (query.leg == PackLeg::kStaging || query.leg == PackLeg::kImage) {
    packing_model::model_staged(query, limits, &plan);
  } else {
    packing_model::model_pulled(query, limits, &plan);
  }
  if (limits.use == PackUse::kCopies) {
    plan.reason = "no kernel packs here, or SLUICE_TRANSFER_PACK forbids it";
  } else if (!may_pack(query.runs.n_runs, limits)) {
    plan.reason = "fewer runs than transfer_pack_from";
  } else if (limits.use == PackUse::kKernel) {
    plan.by_runs = packing_model::fastest_by_runs(plan, PackMeans::kCopies);
    plan.reason = "SLUICE_TRANSFER_PACK asks for a kernel";
  } else {
    plan.by_runs = packing_model::fastest_by_runs(plan, PackMeans::kOneCopy);
    plan.reason = "the fastest by the model";
  }
  plan.means = plan.by_runs;
  const double one_copy_us = plan.time_us(PackMeans::kOneCopy);
  if (one_copy_us != kCannot && one_copy_us <= plan.time_us(plan.by_runs)) {
    plan.means = PackMeans::kOneCopy;
    plan.reason = "the gaps cost less than moving around them";
  }
  return plan;
}

// One line for people: "device 1048576 bytes in 16384 runs of 64, staged -> kernel: the fastest by the model (copies
// 81926.4 us, kernel 55.7 us, scratch 61.3 us)".
[[nodiscard]] std::string explain(const PackQuery &query, const PackPlan &plan);

}  // namespace sluice::plan

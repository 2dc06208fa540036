// SPDX-License-Identifier: BSD-3-Clause
// What every backend does around the kernel of kernels/check.hpp: its task from the probe's description, and the
// finding from what the items left.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>

#include "check.hpp"
#include "outcome.h"
#include "sluice/testing/probe.h"

namespace sluice::backends {

// Memory that host and device both reach, in which the tables lie and the items leave what they found.
class CheckTables {
 public:
  // Bytes that fill() wants.
  static size_t size_bytes(const sluice_memory_check_t &check, size_t n_items) {
    return check.n_segments * sizeof(sluice_check_segment_t) + check.n_sources * sizeof(sluice_check_source_t) +
           n_items * sizeof(kernels::CheckShare);
  }
  // Copies the tables to `memory`, aligned for all of them, and marks what no item has written yet.
  static kernels::CheckTask fill(const sluice_memory_check_t &check, size_t n_items, void *memory) {
    auto *const shares = static_cast<kernels::CheckShare *>(memory);
    auto *const segments = reinterpret_cast<sluice_check_segment_t *>(shares + n_items);
    auto *const sources = reinterpret_cast<sluice_check_source_t *>(segments + check.n_segments);
    std::fill_n(shares, n_items, kernels::CheckShare{0, 0});
    std::memcpy(segments, check.segments, check.n_segments * sizeof(*segments));
    std::memcpy(sources, check.sources, check.n_sources * sizeof(*sources));
    return {
        static_cast<const unsigned char *>(check.memory), sources, segments, check.n_segments, n_words(check), shares};
  }
  // The same task for a copy of `image`, which fill() wrote, in other memory.
  static kernels::CheckTask moved(kernels::CheckTask task, const void *image, void *copy) {
    const auto move = [&](auto *pointer) {
      const auto distance = reinterpret_cast<uintptr_t>(pointer) - reinterpret_cast<uintptr_t>(image);
      return reinterpret_cast<decltype(pointer)>(static_cast<char *>(copy) + distance);
    };
    task.sources = move(task.sources);
    task.segments = move(task.segments);
    task.shares = move(task.shares);
    return task;
  }
  static uint64_t n_words(const sluice_memory_check_t &check) {
    if (check.n_segments == 0) return 0;
    const sluice_check_segment_t &last = check.segments[check.n_segments - 1];
    return last.first_word + kernels::words_of(last);
  }
  // The kernel is done.
  static sluice_check_finding_t finding(const kernels::CheckShare *shares, size_t n_items) {
    sluice_check_finding_t finding = {kernels::kNothingWrong, 0};
    for (size_t item = 0; item < n_items; ++item) {
      finding.first_wrong = std::min(finding.first_wrong, shares[item].first_wrong);
      finding.n_bytes_checked += shares[item].n_bytes;
    }
    return finding;
  }
};

// SLUICE_ERROR_INVALID_ARGUMENT for null pointers, and for segments beyond the memory, the sources or each other.
inline Outcome examine_check(const sluice_memory_check_t *check, const sluice_check_finding_t *finding) {
  Outcome no = {SLUICE_ERROR_INVALID_ARGUMENT, "check_memory: null pointer"};
  if (check == nullptr || finding == nullptr) return no;
  if (check->n_segments == 0) return {};
  if (check->memory == nullptr || check->segments == nullptr || check->sources == nullptr) return no;
  uint64_t first_word = 0;
  for (uint64_t i = 0; i < check->n_segments; ++i) {
    const sluice_check_segment_t &segment = check->segments[i];
    const bool is_within = segment.size_bytes > 0 && segment.begin <= check->size_bytes &&
                           segment.size_bytes <= check->size_bytes - segment.begin;
    const bool is_source_known = segment.source < check->n_sources;
    if (!is_within || !is_source_known || segment.first_word != first_word) {
      return {SLUICE_ERROR_INVALID_ARGUMENT, "check_memory: segment " + std::to_string(i) +
                                                 " is outside the memory, or does not follow the one before"};
    }
    first_word += kernels::words_of(segment);
  }
  return {};
}

}  // namespace sluice::backends

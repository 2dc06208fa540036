// SPDX-License-Identifier: BSD-3-Clause
// What is wrong, and what to do about it: all of it.
#include "bench/doctor/conclusions.hpp"

#include <algorithm>

namespace sluice::bench::doctor {

std::vector<Conclusion> conclusions_of(const Findings &findings) {
  std::vector<Conclusion> all = conclusions_of_ranks(findings.ranks);
  for (const std::vector<Conclusion> &some :
       {conclusions_of_devices(findings.ranks, findings.backend), conclusions_of_pairs(findings)}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  std::ranges::stable_partition(all, [](const Conclusion &conclusion) { return conclusion.is_wrong; });
  return all;
}

bool has_fault(const std::vector<Conclusion> &conclusions) {
  return std::ranges::any_of(conclusions, [](const Conclusion &conclusion) { return conclusion.is_wrong; });
}

}  // namespace sluice::bench::doctor

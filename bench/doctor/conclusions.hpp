// SPDX-License-Identifier: BSD-3-Clause
// What is wrong, and what to do about it. Pure.
#pragma once

#include <string>
#include <vector>

#include "bench/doctor/findings.hpp"

namespace sluice::bench::doctor {

// All that follows from the facts of the ranks and from the pairs, the gravest first.
std::vector<Conclusion> conclusions_of(const Findings &findings);

// Of the ranks: the launcher, Sluice in each, what differs among them, variables, limits.
std::vector<Conclusion> conclusions_of_ranks(const std::vector<Json> &ranks);

// Of the devices: those that are hidden or missing, or that Sluice does not take.
std::vector<Conclusion> conclusions_of_devices(const std::vector<Json> &ranks, const std::string &backend);

// Of the pairs: wrong bytes, ways through the memory of the host, mechanisms that were refused.
std::vector<Conclusion> conclusions_of_pairs(const Findings &findings);

// Whether any of them is wrong.
bool has_fault(const std::vector<Conclusion> &conclusions);

}  // namespace sluice::bench::doctor

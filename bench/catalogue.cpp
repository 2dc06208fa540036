// SPDX-License-Identifier: BSD-3-Clause
// The tests there are, as they registered themselves.
#include "bench/catalogue.hpp"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

namespace sluice::bench {
namespace {

// Built before main() by the registrations of many files, whose order is not defined: sorted when it is first read.
std::vector<TestInfo> &tests() {
  static std::vector<TestInfo> all;
  return all;
}

}  // namespace

Registration::Registration(TestInfo test) {
  tests().push_back(std::move(test));
}

std::span<const TestInfo> query_tests() {
  static const bool is_sorted = [] {
    std::sort(tests().begin(), tests().end(), [](const TestInfo &a, const TestInfo &b) {
      return std::tie(a.family, a.name) < std::tie(b.family, b.name);
    });
    return true;
  }();
  static_cast<void>(is_sorted);
  return tests();
}

}  // namespace sluice::bench

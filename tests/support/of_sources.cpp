// SPDX-License-Identifier: BSD-3-Clause
#include "tests/support/of_sources.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

namespace sluice::tests {
namespace {

std::string_view name_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::set<std::string_view> split(std::string_view names) {
  std::set<std::string_view> all;
  while (!names.empty()) {
    const std::size_t comma = names.find(',');
    all.insert(names.substr(0, comma));
    names = comma == std::string_view::npos ? std::string_view() : names.substr(comma + 1);
  }
  return all;
}

}  // namespace

std::string choose_tests_of(std::string_view sources) {
  if (sources.empty()) return "";
  const std::string filter = GTEST_FLAG_GET(filter);
  const std::string left_out = filter == "*" ? "" : filter;
  if (!left_out.empty() && left_out.front() != '-') {
    return fmt::format("--gtest_filter={} names tests to run; beside --sources it may leave some out alone", filter);
  }
  const std::set<std::string_view> wanted = split(sources);
  std::set<std::string_view> missing = wanted;
  std::string chosen;
  const testing::UnitTest &all = *testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const testing::TestSuite &suite = *all.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      const std::string_view file = name_of(suite.GetTestInfo(j)->file());
      if (!wanted.contains(file)) continue;
      missing.erase(file);
      chosen += fmt::format("{}{}.{}", chosen.empty() ? "" : ":", suite.name(), suite.GetTestInfo(j)->name());
    }
  }
  if (!missing.empty()) return fmt::format("no test stands in {}", *missing.begin());
  GTEST_FLAG_SET(filter, chosen + left_out);
  return "";
}

}  // namespace sluice::tests

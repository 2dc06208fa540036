// SPDX-License-Identifier: BSD-3-Clause
// The test matrix.
#include "tests/support/matrix.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/session.hpp"

namespace sluice::tests {
namespace {

constexpr std::size_t kLargeBytes = std::size_t{8} << 20U;

}  // namespace

std::string describe(const Case &c) {
  return fmt::format("{} -> {}, {} bytes", kind_name(c.send), kind_name(c.recv), c.size_bytes);
}

std::vector<Case> kind_pairs(Breadth breadth) {
  const Session &session = Session::get();
  std::vector<Case> pairs;
  if (breadth == Breadth::wide || session.options().is_full) {
    for (const Kind send : session.kinds()) {
      for (const Kind recv : session.kinds()) {
        pairs.push_back({send, recv, 0});
      }
    }
    return pairs;
  }
  const std::vector<Case> wanted = {{Kind::device, Kind::device},
                                    {Kind::device, Kind::host},
                                    {Kind::host, Kind::device},
                                    {Kind::pinned, Kind::shared},
                                    {Kind::shared, Kind::device}};
  for (const Case &c : wanted) {
    if (session.has_kind(c.send) && session.has_kind(c.recv)) {
      pairs.push_back(c);
    }
  }
  if (pairs.empty()) {
    pairs.push_back({Kind::host, Kind::host});
  }
  return pairs;
}

std::vector<std::size_t> sizes(Breadth breadth) {
  if (Session::get().options().is_full) {
    return {0, 1, 777, 4095, 4096, 4097, 65535, 65536, 65537, 1048579, kLargeBytes};
  }
  if (breadth == Breadth::wide) {
    return {0, 1, 777, 4096, 65535, 65537};
  }
  return {0, 777, 65537};
}

void for_each_case(Breadth breadth, const std::vector<std::size_t> &sizes_bytes,
                   const std::function<void(const Case &)> &body) {
  const Session &session = Session::get();
  for (Case c : kind_pairs(breadth)) {
    for (const std::size_t size_bytes : sizes_bytes) {
      c.size_bytes = size_bytes;
      SCOPED_TRACE(describe(c));
      body(c);
      if (session.agree_any(testing::Test::HasFailure())) {
        return;
      }
    }
  }
}

void for_each_case(Breadth breadth, const std::function<void(const Case &)> &body) {
  for_each_case(breadth, sizes(breadth), body);
  const Session &session = Session::get();
  if (breadth == Breadth::wide && !session.options().is_full && !session.agree_any(testing::Test::HasFailure())) {
    const Kind kind = session.kinds().size() > 1 ? Kind::device : Kind::host;
    const Case large{kind, kind, kLargeBytes};
    SCOPED_TRACE(describe(large));
    body(large);
  }
}

}  // namespace sluice::tests

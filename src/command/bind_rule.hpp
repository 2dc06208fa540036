// SPDX-License-Identifier: BSD-3-Clause
// What `sluice run --bind` is told.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.hpp"

namespace sluice::command {

enum class BindKind : std::uint8_t {
  kNone,     // where the launcher puts them
  kClosest,  // the rank's number on its node, modulo the number of devices, is its device; it runs on the cores near it
  kList      // the same with the device at the rank's place in a list
};

struct BindRule {
  BindKind kind = BindKind::kNone;
  std::vector<std::int32_t> devices;  // of kList; not empty
};

// Reads "none", "closest" or "list:0,2,1". Errors: kInvalidArgument, with a line for the user. Pure.
Status parse_bind_rule(const std::string &text, BindRule *rule);

}  // namespace sluice::command

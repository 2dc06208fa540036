// SPDX-License-Identifier: BSD-3-Clause
// All that the doctor found, on rank 0. Each rank, and each pair of ranks, is a JSON object, as `--json` prints it:
// members are only ever added.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace sluice::bench::doctor {

using Json = nlohmann::ordered_json;

// One finding with what to do about it.
struct Conclusion {
  bool is_wrong = true;  // false: worth knowing, and no fault
  std::string what;
  std::string remedy;
};

struct Findings {
  std::vector<Json> ranks;  // facts_of_rank(), by rank
  std::string backend;      // whose devices the pairs used; empty: none has any
  std::vector<Json> pairs;  // measured ones
  std::vector<Conclusion> conclusions;
};

}  // namespace sluice::bench::doctor

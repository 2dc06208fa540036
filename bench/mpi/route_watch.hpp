// SPDX-License-Identifier: BSD-3-Clause
// Which route the messages really took, asked of the library below that moves them.
#pragma once

#include <sluice/backend.h>

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace sluice::bench {

// Operations of this rank by the route that ran.
struct RouteUse {
  std::uint64_t n_calls = 0;
  std::uint64_t n_bytes = 0;
};
using RouteUses = std::map<std::string, RouteUse>;

// What sluice_statistics_json of the library below says: null when there is none, discarded when it is no JSON. Local.
nlohmann::json library_statistics();

// Compares the library's statistics (sluice_statistics_json), which count what ran and not what was planned. Local.
class RouteWatch {
 public:
  // send, recv: where this rank's messages lie. Operations on other memory are the program's own talk and left out, and
  // so are those on host memory where one side is other memory; of those on host memory alone the ones that the library
  // only handed on count where it carried out no other.
  RouteWatch(sluice_memory_kind_t send, sluice_memory_kind_t recv);

  // False when no such library is below, or it is switched off.
  bool is_there() const { return count_ != nullptr; }
  // Between the two the library counts, which costs it some time for each operation; afterwards only if it did before.
  // end(): what ran since begin(); empty when nothing did. Throw DeviceError when the answer cannot be read.
  void begin();
  RouteUses end();

 private:
  RouteUses read() const;

  sluice_memory_kind_t memory_;
  sluice_memory_kind_t recv_memory_;
  int (*count_)(int) = nullptr;  // null where there is nothing to read, too
  int was_counting_ = 0;
  RouteUses before_;
};

// "ipc", or "ipc+staged" with the most used first.
std::string describe(const RouteUses &uses);

}  // namespace sluice::bench

// SPDX-License-Identifier: BSD-3-Clause
#include "ops/tool/counters.hpp"

#include <fmt/format.h>

#include "base/statistics.hpp"
#include "wire/mpi.hpp"

namespace sluice::ops::tool {
namespace {

template <std::uint64_t statistics::Sums::*kMember>
std::uint64_t of_route(int route) noexcept {
  return statistics::sums_of(static_cast<Route>(route)).*kMember;
}

std::vector<Counter> make_counters() {
  std::vector<Counter> made;
  for (std::size_t i = 0; i < static_cast<std::size_t>(Route::kUndecided); ++i) {
    const int route = static_cast<int>(i);
    const std::string_view word = kRouteNames[i];
    made.push_back({fmt::format("sluice_{}_calls", word),
                    fmt::format("Operations of which a buffer travelled by the route {}.", word),
                    MPI_T_PVAR_CLASS_COUNTER, route, &of_route<&statistics::Sums::calls>});
    made.push_back({fmt::format("sluice_{}_bytes", word),
                    fmt::format("Bytes of payload that travelled by the route {}.", word), MPI_T_PVAR_CLASS_AGGREGATE,
                    route, &of_route<&statistics::Sums::bytes>});
    made.push_back({fmt::format("sluice_{}_nanoseconds", word),
                    fmt::format("Time of the operations by the route {}, in nanoseconds.", word),
                    MPI_T_PVAR_CLASS_AGGREGATE, route, &of_route<&statistics::Sums::nanoseconds>});
  }
  made.push_back({"sluice_staging_bytes", "Bytes that the pool of staging memory holds.", MPI_T_PVAR_CLASS_LEVEL, 0,
                  [](int) noexcept -> std::uint64_t { return statistics::staging().bytes; }});
  made.push_back({"sluice_staging_most_bytes", "Most bytes that the pool of staging memory has held.",
                  MPI_T_PVAR_CLASS_HIGHWATERMARK, 0,
                  [](int) noexcept -> std::uint64_t { return statistics::staging().most_bytes; }});
  made.push_back({"sluice_fallbacks", "How often a mechanism was refused and a slower one ran instead.",
                  MPI_T_PVAR_CLASS_COUNTER, 0, [](int) noexcept { return statistics::n_fallbacks(); }});
  return made;
}

}  // namespace

const std::vector<Counter> &counters() {
  static const std::vector<Counter> made = make_counters();
  return made;
}

}  // namespace sluice::ops::tool

// SPDX-License-Identifier: BSD-3-Clause
// MPI_T_category_*: one category "sluice" beside those of the host MPI, and the numbers of variables in the host MPI's
// categories as the program knows them.
#include <algorithm>
#include <array>
#include <cstdint>

#include "base/knobs.hpp"
#include "generated/operations.hpp"
#include "ops/tool/counters.hpp"
#include "ops/tool/numbers.hpp"
#include "ops/tool/text.hpp"

namespace sluice::ops {
namespace {

using tool::give;
using tool::Numbers;

constexpr std::string_view kName = "sluice";
constexpr std::string_view kDoc =
    "Sluice, which gives this MPI device memory: its knobs, and what went by which route.";

Numbers &categories() {
  static Numbers numbers(&wire::Host::MPI_T_category_get_num, 1);
  return numbers;
}

// Asks for the numbers of categories and of `members`. Errors: the host MPI's code.
int ask(Numbers *members) {
  const int code = categories().ask();
  return code != MPI_SUCCESS ? code : members->ask();
}

// The numbers of the members of a category: Sluice's own `n_own`, or what `get` of the host MPI gives, as the program
// knows them.
using Get = int (*)(int, int, int *);
enum class Members : std::uint8_t { kControl, kPerformance, kCategories };

int give_members(int category, Members which, Numbers *members, int n_own, Get get, int len, int *indices) {
  if (const int code = ask(members); code != MPI_SUCCESS) return code;
  if (!categories().is_own(category)) {
    const int host_category = categories().to_host(category);
    std::array<int, 3> n_host{};
    int code = wire::host().MPI_T_category_get_info(host_category, nullptr, nullptr, nullptr, nullptr, &n_host[0],
                                                    &n_host[1], &n_host[2]);
    if (code == MPI_SUCCESS) code = get(host_category, len, indices);
    if (code != MPI_SUCCESS || indices == nullptr) return code;
    const int n = std::clamp(n_host[static_cast<std::size_t>(which)], 0, std::max(len, 0));
    std::for_each_n(indices, n, [&](int &index) { index = members->from_host(index); });
    return MPI_SUCCESS;
  }
  if (indices == nullptr) return len > 0 ? MPI_T_ERR_INVALID : MPI_SUCCESS;
  for (int i = 0; i < std::min(len, n_own); ++i) indices[i] = members->from_own(i);
  return MPI_SUCCESS;
}

}  // namespace

int t_category_get_num(int *num_cat) {
  if (const int code = categories().ask(); code != MPI_SUCCESS) return code;
  if (num_cat == nullptr) return MPI_T_ERR_INVALID;
  *num_cat = categories().total();
  return MPI_SUCCESS;
}

int t_category_get_info(int cat_index, char *name, int *name_len, char *desc, int *desc_len, int *num_cvars,
                        int *num_pvars, int *num_categories) {
  if (const int code = categories().ask(); code != MPI_SUCCESS) return code;
  if (!categories().is_own(cat_index)) {
    return wire::host().MPI_T_category_get_info(categories().to_host(cat_index), name, name_len, desc, desc_len,
                                                num_cvars, num_pvars, num_categories);
  }
  give(kName, name, name_len);
  give(kDoc, desc, desc_len);
  give(static_cast<int>(knob_lines().size()), num_cvars);
  give(static_cast<int>(tool::counters().size()), num_pvars);
  give(0, num_categories);
  return MPI_SUCCESS;
}

int t_category_get_index(const char *name, int *cat_index) {
  if (const int code = categories().ask(); code != MPI_SUCCESS) return code;
  if (name == nullptr || cat_index == nullptr) return MPI_T_ERR_INVALID;
  if (name == kName) {
    *cat_index = categories().from_own(0);
    return MPI_SUCCESS;
  }
  const int code = wire::host().MPI_T_category_get_index(name, cat_index);
  if (code == MPI_SUCCESS) *cat_index = categories().from_host(*cat_index);
  return code;
}

int t_category_get_cvars(int cat_index, int len, int indices[]) {
  return give_members(cat_index, Members::kControl, &tool::control_numbers(), static_cast<int>(knob_lines().size()),
                      wire::host().MPI_T_category_get_cvars, len, indices);
}

int t_category_get_pvars(int cat_index, int len, int indices[]) {
  return give_members(cat_index, Members::kPerformance, &tool::performance_numbers(),
                      static_cast<int>(tool::counters().size()), wire::host().MPI_T_category_get_pvars, len, indices);
}

int t_category_get_categories(int cat_index, int len, int indices[]) {
  return give_members(cat_index, Members::kCategories, &categories(), 0, wire::host().MPI_T_category_get_categories,
                      len, indices);
}

int t_category_get_num_events(int cat_index, int *num_events) {
  if (const int code = categories().ask(); code != MPI_SUCCESS) return code;
  if (!categories().is_own(cat_index)) {
    return wire::host().MPI_T_category_get_num_events(categories().to_host(cat_index), num_events);
  }
  if (num_events == nullptr) return MPI_T_ERR_INVALID;
  *num_events = 0;
  return MPI_SUCCESS;
}

int t_category_get_events(int cat_index, int len, int indices[]) {
  if (const int code = categories().ask(); code != MPI_SUCCESS) return code;
  if (categories().is_own(cat_index)) return MPI_SUCCESS;
  return wire::host().MPI_T_category_get_events(categories().to_host(cat_index), len, indices);
}

}  // namespace sluice::ops

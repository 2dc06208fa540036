// SPDX-License-Identifier: BSD-3-Clause
// The variants, and how the quick set is cut out of the full one.
#include "tests/ranks/coll/variants.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/host_mpi.hpp"

namespace sluice::tests {
namespace {

// Where the buffers of this rank lie.
struct Kinds {
  std::string name;
  Case kinds;
};

std::vector<Kinds> kinds_to_try(bool is_short) {
  const Session &session = Session::get();
  const std::vector<Kind> &kinds = session.kinds();
  const auto at = [&](int i) { return kinds[static_cast<std::size_t>(i) % kinds.size()]; };
  // Each rank has its own; as kinds are listed, host and device memory are beside each other.
  const Kinds mixed{"a kind for each rank", {at(session.rank() * 2), at(session.rank() * 2 + 2), 0}};
  if (kinds.size() == 1) {
    return {{"host", {Kind::host, Kind::host, 0}}};
  }
  if (session.options().is_full) {
    std::vector<Kinds> all{mixed};
    for (const Case &pair : kind_pairs(Breadth::wide)) {
      all.push_back({describe(pair), pair});
    }
    return all;
  }
  std::vector<Kinds> some{{"device", {Kind::device, Kind::device, 0}}, mixed};
  if (!is_short) {
    some.push_back({"host, device", {Kind::host, Kind::device, 0}});
    some.push_back({"device, host", {Kind::device, Kind::host, 0}});
    if (session.has_kind(Kind::shared)) {
      some.push_back({"shared", {Kind::shared, Kind::shared, 0}});
    }
  }
  return some;
}

const char *form_name(const Variant &variant) {
  switch (variant.form) {
    case Variant::Form::blocking:
      break;
    case Variant::Form::nonblocking:
      return "non-blocking";
    case Variant::Form::persistent:
      return "persistent";
  }
  return "blocking";
}

std::vector<Variant> forms_to_try() {
  std::vector<Variant> forms;
  for (const bool is_large : {false, true}) {
    for (const Variant::Form form : {Variant::Form::blocking, Variant::Form::nonblocking, Variant::Form::persistent}) {
#if MPI_VERSION < 4
      if (is_large || form == Variant::Form::persistent) {
        continue;
      }
#endif
      if (form == Variant::Form::persistent && breaks_persistent_collectives()) {
        continue;
      }
      Variant variant;
      variant.is_large = is_large;
      variant.form = form;
      forms.push_back(variant);
    }
  }
  return forms;
}

bool passes(const Variant &variant, const Kinds &kinds, const TrialOperation &operation) {
  SCOPED_TRACE(fmt::format("{}{}, {}, {} elements of {}, root {}{}", form_name(variant),
                           variant.is_large ? " with large counts" : "", kinds.name, variant.count,
                           variant.elements.name, variant.root, variant.is_in_place ? ", in place" : ""));
  compare_with_host(kinds.kinds, [&](Trial &run) { operation(run, variant); });
  return !Session::get().agree_any(testing::Test::HasFailure());
}

}  // namespace

void compare_each_variant(const Variety &variety, const TrialOperation &operation) {
  const Session &session = Session::get();
  const bool is_full = session.options().is_full;
  int n_tried = 0;
  for (Variant variant : forms_to_try()) {
    const bool is_plain = variant.form == Variant::Form::blocking && !variant.is_large;
    const bool is_wide = is_plain && session.size() <= 2;
    std::vector<int> counts{700};
    if (is_full) {
      counts = {0, 1, 5, 700, 40'000};
    } else if (is_wide) {
      counts = {0, 5, 3'000};
    }
    for (const Kinds &kinds : kinds_to_try(!is_wide)) {
      for (const Elements &elements : element_types()) {
        for (const int count : counts) {
          for (const bool is_in_place : {false, true}) {
            if (is_in_place && !variety.has_in_place) {
              continue;
            }
            variant.elements = elements;
            variant.count = count;
            variant.is_in_place = is_in_place;
            // Roots take turns.
            variant.root = variety.has_root ? n_tried++ / 2 % session.size() : 0;
            if (!passes(variant, kinds, operation)) {
              return;
            }
          }
        }
      }
    }
  }
}

}  // namespace sluice::tests

// SPDX-License-Identifier: BSD-3-Clause
// What every collective operation is tried with: its forms, kinds of memory, counts, types, roots, MPI_IN_PLACE.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/ranks/coll/elements.hpp"
#include "tests/support/oracle.hpp"

namespace sluice::tests {

struct Variant {
  bool is_large = false;  // the _c form
  enum class Form { blocking, nonblocking, persistent } form = Form::blocking;
  int count = 0;  // elements of a block
  Elements elements{};
  int root = 0;
  bool is_in_place = false;

  // The bytes of `n` elements.
  std::size_t bytes(long long n) const {
    return static_cast<std::size_t>(n) * static_cast<std::size_t>(elements.extent_ints) * sizeof(int);
  }
  bool is_contiguous() const { return elements.extent_ints == 1; }
  // The data of the last start is what is left in the buffers.
  int last_round() const { return form == Form::persistent ? 1 : 0; }
};

// What an operation has.
struct Variety {
  bool has_in_place = false;
  bool has_root = false;
};

// Compares each variant with its run on host copies; stops at the first that fails on any rank.
using TrialOperation = std::function<void(Trial &, const Variant &)>;
void compare_each_variant(const Variety &variety, const TrialOperation &operation);

// Calls `body` with a zero of the count type that the variant asks for.
template <class Body>
void with_count(const Variant &variant, Body body) {
#if MPI_VERSION >= 4
  if (variant.is_large) {
    body(MPI_Count{});
    return;
  }
#endif
  static_cast<void>(variant);
  body(0);
}

// The type of displacements beside counts of type `Count`.
template <class Count>
using Displacement = std::conditional_t<std::is_same_v<Count, int>, int, MPI_Aint>;

// A collective function in its forms, for one type of counts; the MPI of a program's header may lack the last one.
template <class... Arguments>
struct Forms {
  using Block = int (*)(Arguments...);
  using Start = int (*)(Arguments..., MPI_Request *);
  using Init = int (*)(Arguments..., MPI_Info, MPI_Request *);
  const char *name;
  Block block;
  Start start;
  Init init;
};

// Makes the call in a form; one with a request is under way then.
template <class... Arguments, class... Given>
void begin_form(Variant::Form form, const Forms<Arguments...> &forms, MPI_Request *request, Given... given) {
  if (form == Variant::Form::persistent) {
    EXPECT_EQ(forms.init(given..., MPI_INFO_NULL, request), MPI_SUCCESS);
    EXPECT_EQ(MPI_Start(request), MPI_SUCCESS);
  } else if (form == Variant::Form::nonblocking) {
    EXPECT_EQ(forms.start(given..., request), MPI_SUCCESS);
  } else {
    EXPECT_EQ(forms.block(given...), MPI_SUCCESS);
  }
}

template <class... Arguments>
Forms<Arguments...> forms_of(const char *name, int (*block)(Arguments...), typename Forms<Arguments...>::Start start,
                             typename Forms<Arguments...>::Init init) {
  return {name, block, start, init};
}

// bcast_forms<Count>() and the like.
#if MPI_VERSION >= 4
#define SLUICE_COLLECTIVE(Name, name)                                                           \
  template <class Count>                                                                        \
  auto name##_forms() {                                                                         \
    if constexpr (std::is_same_v<Count, int>) {                                                 \
      return forms_of("MPI_" #Name, MPI_##Name, MPI_I##name, MPI_##Name##_init);                \
    } else {                                                                                    \
      return forms_of("MPI_" #Name "_c", MPI_##Name##_c, MPI_I##name##_c, MPI_##Name##_init_c); \
    }                                                                                           \
  }
#else
#define SLUICE_COLLECTIVE(Name, name)                                \
  template <class Count>                                             \
  auto name##_forms() {                                              \
    return forms_of("MPI_" #Name, MPI_##Name, MPI_I##name, nullptr); \
  }
#endif

// Carries the operation out in the variant's form. `fill` writes the buffers before each start, which it is told.
template <class... Arguments, class... Given>
void perform(Trial &run, const Variant &variant, const Forms<Arguments...> &forms, const std::function<void(int)> &fill,
             Given... given) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (variant.form == Variant::Form::persistent) {
    run.call(forms.name, forms.init(given..., MPI_INFO_NULL, &request));
    for (int round = 0; round <= variant.last_round() && request != MPI_REQUEST_NULL; ++round) {
      fill(round);
      run.call("MPI_Start", MPI_Start(&request));
      run.call("MPI_Wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    run.call("MPI_Request_free", MPI_Request_free(&request));
    return;
  }
  fill(0);
  if (variant.form == Variant::Form::nonblocking) {
    run.call(forms.name, forms.start(given..., &request));
    run.call("MPI_Wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
  } else {
    run.call(forms.name, forms.block(given...));
  }
}

// Blocks of different lengths, from the last to the first with gaps between them.
template <class Count>
struct Blocks {
  std::vector<Count> counts;
  std::vector<Displacement<Count>> displacements;
  long long n_elements = 0;  // from the first to behind the last

  // `count_of(peer)` elements each; `gap` elements between two.
  template <class CountOf>
  Blocks(int n_peers, int gap, CountOf count_of)
      : counts(static_cast<std::size_t>(n_peers)), displacements(counts.size()) {
    for (int peer = n_peers - 1; peer >= 0; --peer) {
      const auto at = static_cast<std::size_t>(peer);
      counts[at] = count_of(peer);
      displacements[at] = static_cast<Displacement<Count>>(n_elements);
      n_elements += counts[at] + gap;
    }
  }
};

}  // namespace sluice::tests

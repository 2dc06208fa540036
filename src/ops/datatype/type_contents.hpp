// SPDX-License-Identifier: BSD-3-Clause
// TypeContents: how a datatype was made, in one form for the constructors with int counts and those with large ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "wire/owned_handle.hpp"

namespace sluice::ops {

// What MPI_Type_get_envelope says. Any thread may read it.
struct TypeEnvelope {
  int combiner = MPI_COMBINER_NAMED;
  MPI_Count n_integers = 0;
  MPI_Count n_addresses = 0;
  MPI_Count n_large_counts = 0;  // not 0 only for types that were made by an MPI_Type_..._c
  MPI_Count n_types = 0;

  // Predefined, or the result of MPI_Type_create_f90_...: such a handle is never freed.
  [[nodiscard]] bool is_predefined() const noexcept {
    return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
           combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
  }
};

// What MPI_Type_get_contents says. `numbers` are the constructor's counts and displacements in the order of its
// parameters, except for subarray and darray: `numbers` has their sizes (then subsizes and starts), and `modes` the
// rest.
struct TypeContents {
  int combiner = MPI_COMBINER_NAMED;
  std::vector<std::int64_t> numbers;
  std::vector<std::int64_t> modes;  // subarray: n, order; darray: size, rank, n, distributions, arguments, grid, order
  std::vector<MPI_Datatype> types;  // the caller frees those that are not predefined, once for each mention
};

// Both ask the host MPI, which communicates with nobody. Any thread. `envelope` is that of `type`. Errors: the host MPI
// refuses. The second may throw std::bad_alloc.
[[nodiscard]] Status read_envelope(MPI_Datatype type, TypeEnvelope *envelope);
[[nodiscard]] Status read_contents(MPI_Datatype type, const TypeEnvelope &envelope, TypeContents *contents);

// The owner of a type that the host MPI has answered with; of none when `type` is predefined, which nobody frees, or
// the host MPI says nothing of it. Any thread.
[[nodiscard]] wire::OwnedDatatype own_unless_predefined(MPI_Datatype type);

// The error for a call of the host MPI that should not have failed. Errors: always that one, kUnsupported. Any thread.
[[nodiscard]] Status host_refused(const char *function, int code);

}  // namespace sluice::ops

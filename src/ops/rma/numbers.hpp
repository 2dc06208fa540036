// SPDX-License-Identifier: BSD-3-Clause
// Numbers by which ranks name MPI's types and operations to each other in accumulates: the handles of some host MPIs
// are addresses, and differ from rank to rank. And the host MPI's arithmetic on packed elements. All of it: any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "transfer/layout.hpp"
#include "wire/mpi.hpp"

namespace sluice::ops::rma {

// What an accumulate does to elements: the numbers, and what they stand for here.
struct Arithmetic {
  std::uint32_t type_number = 0;
  std::uint32_t op_number = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
  transfer::LayoutPtr element;  // of the type

  [[nodiscard]] bool is_replace() const noexcept { return op == MPI_REPLACE; }
  [[nodiscard]] bool is_nothing() const noexcept { return op == MPI_NO_OP; }
};

// The predefined type that `type`, valid and committed, is made of. Warm. Errors: of several, or of none that MPI
// names.
[[nodiscard]] Status find_basic_type(MPI_Datatype type, MPI_Datatype *basic);

// For elements of `basic`, predefined. Warm: a look at tables, and a question to the host MPI about each pair once.
// Errors: an operation that is none of MPI's own, or that the host MPI does not have on that type.
[[nodiscard]] Status find_arithmetic(MPI_Datatype basic, MPI_Op op, Arithmetic *arithmetic);
// The same by the numbers of another rank, whatever they are; false for those that nothing stands for here.
[[nodiscard]] bool find_arithmetic(std::uint32_t type_number, std::uint32_t op_number, Arithmetic *arithmetic);

// inout := in op inout, element by element, of `size_bytes` of packed elements each, a whole number of them. By the
// host MPI, on memory of the host. Errors: those of the host MPI.
[[nodiscard]] Status compute(const Arithmetic &arithmetic, const std::byte *in, std::byte *inout,
                             std::uint64_t size_bytes);

}  // namespace sluice::ops::rma

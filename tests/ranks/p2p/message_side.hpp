// SPDX-License-Identifier: BSD-3-Clause
// The buffers and types of a random program's message.
#pragma once

#include <mpi.h>

#include <memory>

#include "tests/ranks/p2p/random_program.hpp"
#include "tests/support/oracle.hpp"
#include "tests/support/random_layouts.hpp"

namespace sluice::tests {

// The buffer and the type of one side of a message.
struct Side {
  const Memory *memory = nullptr;
  void *data = nullptr;  // may lie outside of the memory
  MPI_Datatype type = MPI_BYTE;
  int count = 0;
  std::unique_ptr<RandomLayout> layout;  // whose type it is
  bool has_own_type = false;

  void free_type();
};

// The memory belongs to `run`.
Side sending_side(Trial &run, const Message &message);
Side receiving_side(Trial &run, const Message &message);

}  // namespace sluice::tests

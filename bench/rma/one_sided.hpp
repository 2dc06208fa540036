// SPDX-License-Identifier: BSD-3-Clause
// What the driver (sweep.hpp) must know of a one-sided test: its call, and what the memories hold afterwards. A test
// registers itself.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <string>

namespace sluice::bench {

inline constexpr int kOrigin = 0;
inline constexpr int kTarget = 1;

// The arguments of one access.
struct Access {
  void *origin = nullptr;
  const void *compare = nullptr;
  void *result = nullptr;
  int count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
  MPI_Aint offset = 0;
  MPI_Win window = MPI_WIN_NULL;
};

// Whose data a memory holds. Before, origin memory holds the origin's and the window of each rank its own.
enum class Holds { origins, targets, reduced, own };

struct OneSided {
  std::string name;
  std::string title;
  bool is_bandwidth = false;    // a window of accesses (-W), then one synchronisation
  bool has_numbers = false;     // elements of -T and --op; else bytes
  bool is_one_element = false;  // of eight bytes: no sizes
  bool is_comparing = false;    // takes effect only where the target holds what is compared
  bool has_result = false;      // brings what the target held into memory of its own
  Holds origin_after = Holds::origins;
  Holds target_after = Holds::targets;
  std::function<int(const Access &)> access;
  std::function<int(const Access &, MPI_Request *)> requested_access = {};  // none where MPI has none
};

// At namespace scope: puts the test into the catalogue.
struct OneSidedRegistration {
  explicit OneSidedRegistration(OneSided test);
};

}  // namespace sluice::bench

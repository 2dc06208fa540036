// SPDX-License-Identifier: BSD-3-Clause
// What one rank gives to a random collective call: buffers of blocks, by the call's draws.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "tests/ranks/coll/places.hpp"
#include "tests/ranks/coll/random_calls.hpp"
#include "tests/ranks/coll/reducible_types.hpp"
#include "tests/support/oracle.hpp"
#include "tests/support/random_layouts.hpp"

namespace sluice::tests {

// An argument that is an array of numbers, as the forms of MPI take it.
class Numbers {
 public:
  // Nothing may be read there.
  Numbers() = default;
  explicit Numbers(const std::vector<long long> &values)
      : is_there_(true),
        ints_(values.begin(), values.end()),
        counts_(values.begin(), values.end()),
        addresses_(values.begin(), values.end()) {
    // So that an array of nothing has an address too.
    ints_.push_back(0);
    counts_.push_back(0);
    addresses_.push_back(0);
  }

  template <class Number>
  const Number *as() const {
    if (!is_there_) {
      return reinterpret_cast<const Number *>(0x10);
    }
    if constexpr (std::is_same_v<Number, int>) {
      return ints_.data();
    } else if constexpr (std::is_same_v<Number, MPI_Aint>) {
      return addresses_.data();
    } else {
      return counts_.data();
    }
  }

 private:
  bool is_there_ = false;
  std::vector<int> ints_;
  std::vector<MPI_Count> counts_;
  std::vector<MPI_Aint> addresses_;
};

// A buffer as MPI is told of it. As constructed: garbage, for arguments that mean nothing at a rank.
struct CallBuffer {
  const Memory *memory = nullptr;
  void *address = reinterpret_cast<void *>(0x10);
  long long count = -5;  // elements of each block
  Numbers counts;
  Numbers displacements;  // in extents; in bytes beside `types`
  MPI_Datatype type = MPI_DATATYPE_NULL;
  std::vector<MPI_Datatype> types;
  std::vector<std::shared_ptr<const RandomLayout>> layouts;  // whose types some of those are
  Content content = Content::bytes;
  bool is_filled = false;  // has input in it; else it begins as poison

  // Behind so many bytes of the memory the host MPI may leave what it likes.
  std::size_t told_bytes = ~std::size_t{0};

  // Makes the rest equal in all runs, when the call is complete.
  void forget_rest() const;
  const MPI_Datatype *type_array() const {
    return types.empty() ? reinterpret_cast<const MPI_Datatype *>(0x10) : types.data();
  }
  void fill(const Trial &run, int iteration) const;
};

struct CallBuffers {
  CallBuffer send;
  CallBuffer recv;  // of MPI_Bcast: the buffer
  int root = 0;
  MPI_Op op = MPI_OP_NULL;
};

// The memory belongs to `run`.
CallBuffers make_buffers(Trial &run, const CollectiveCall &call, const Place &place);

}  // namespace sluice::tests

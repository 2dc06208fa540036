// SPDX-License-Identifier: BSD-3-Clause
// Call: any collective call on buffers, its arguments by their meaning. The exported functions, generated from
// data/collective_forms.txt, fill one in; src/ops/coll carries it out. Threads: any, one at a time on a communicator,
// as MPI has collective calls.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/log.hpp"
#include "base/status.hpp"
#include "base/types.hpp"
#include "plan/call_facts.hpp"
#include "plan/ways.hpp"
#include "wire/mpi.hpp"

namespace sluice::ops::coll {

// An array of the program's (or of ours, in its place): int in the plain forms, 64 bits in the large-count ones. Any
// thread may read it.
class Numbers {
 public:
  Numbers() noexcept = default;
  template <typename Number>
  Numbers(const Number *values) noexcept  // NOLINT(google-explicit-constructor): stands for the argument
      : values_(values), is_wide_(sizeof(Number) > sizeof(int)), is_named_(true) {
    static_assert(sizeof(Number) == sizeof(std::int32_t) || sizeof(Number) == sizeof(std::int64_t));
  }

  // The call has such an argument; it may be null.
  [[nodiscard]] bool is_named() const noexcept { return is_named_; }
  [[nodiscard]] bool is_null() const noexcept { return values_ == nullptr; }
  [[nodiscard]] bool is_wide() const noexcept { return is_wide_; }
  [[nodiscard]] std::int64_t at(std::size_t i) const noexcept {
    return is_wide_ ? static_cast<const std::int64_t *>(values_)[i] : static_cast<const std::int32_t *>(values_)[i];
  }
  template <typename Number>
  [[nodiscard]] const Number *as() const noexcept {
    return static_cast<const Number *>(values_);
  }

 private:
  const void *values_ = nullptr;
  bool is_wide_ = false;
  bool is_named_ = false;
};

// A buffer with its counts and types. One thread at a time.
struct Argument {
  void *buffer = nullptr;
  MPI_Count count = 0;  // elements of each block, where there are no `counts`
  Numbers counts;       // elements of each block
  Numbers
      displacements;  // where each block begins: in extents of `type`, with `types` in bytes; else one after another
  MPI_Datatype type = MPI_DATATYPE_NULL;
  const MPI_Datatype *types = nullptr;  // one for each block
  bool has_types = false;               // it is `types` that counts, null or not

  // For the exported functions, which fill this in.
  void set_buffer(const void *address) noexcept {
    // Sending does not change the buffer; one pointer serves both directions.
    buffer = const_cast<void *>(address);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  }
  void set_types(const MPI_Datatype *of_blocks) noexcept {
    types = of_blocks;
    has_types = true;
  }
  // The count as the host MPI's function takes it; it came in such a type.
  template <typename Number>
  [[nodiscard]] Number count_as() const noexcept {
    return static_cast<Number>(count);
  }
  [[nodiscard]] bool is_in_place() const noexcept { return buffer == MPI_IN_PLACE; }
  // Elements of a block: each has a count of its own, or all have one.
  [[nodiscard]] std::int64_t count_at(std::size_t block) const noexcept {
    return counts.is_named() ? counts.at(block) : static_cast<std::int64_t>(count);
  }
};

using plan::is_of_neighbors;
using plan::is_reduction;
using plan::Pattern;

enum class Form : std::uint8_t { kBlocking, kNonBlocking, kPersistent };

struct Neighborhood;
using NeighborhoodPtr = std::shared_ptr<const Neighborhood>;

// A call and all that is known of it. One thread at a time.
struct Call {
  Operation operation{};
  Form form = Form::kBlocking;
  Pattern pattern = Pattern::kNone;  // who gives data to whom; the ways go by it (plan/ways.hpp)
  MPI_Comm comm = MPI_COMM_NULL;
  Argument send;  // what is only sent from
  Argument recv;  // what is received into; MPI_Bcast's buffer
  int root = 0;
  MPI_Op op = MPI_OP_NULL;
  MPI_Info info = MPI_INFO_NULL;
  MPI_Request *request = nullptr;
  // Of is_of_neighbors(): who they are at this rank.
  NeighborhoodPtr neighbors;
  // A blocking call must not be made by its non-blocking form; all members agree on that.
  bool comes_after_barrier = false;
  // What its ranks know of it, and what they try: from the beginning of the call on (call_facts.hpp).
  plan::CallFacts facts;
  plan::Ways ways;
  // The ranks of a node have found that it is too short for any of them to go together; all of them know it.
  bool is_short_for_all = false;
  // A reduction of ours, in whatever order: it may go in segments whatever its type and operation are.
  bool may_be_cut = false;
  // The host MPI's function for the arguments as they are here: the blocking one (of kBlocking), and the one that gives
  // a request (the persistent one of kPersistent, else the non-blocking one).
  int (*block)(const Call &call) = nullptr;
  int (*start)(const Call &call, MPI_Request *request) = nullptr;
  // Of kPersistent: the non-blocking one.
  int (*start_once)(const Call &call, MPI_Request *request) = nullptr;

  // What this rank reads: with MPI_IN_PLACE the input lies where the result will be.
  [[nodiscard]] const Argument &input() const noexcept { return send.is_in_place() ? recv : send; }
};

// Writes the plan that `explain` words into the log, behind the operation's name; asks for it only where it is written.
template <std::invocable Explain>
void log_plan(const Call &call, const Explain &explain) {
  log::debug("plan", [&] { return fmt::format("{}: {}", name(call.operation), explain()); });
}

// What a call returns at a rank when its ranks have heard that some failed: the rank's `own` error, or that another
// rank has one. Errors: always one of the two; of another rank kBackend.
[[nodiscard]] Status failure_for_all(const Call &call, const Status &own);

// One for each operation, in all its forms. `call` is changed. Return an error code, raised already.
int bcast(Call *call);
int gather(Call *call);     // and Gatherv
int scatter(Call *call);    // and Scatterv
int allgather(Call *call);  // and Allgatherv
int alltoall(Call *call);   // and Alltoallv, Alltoallw
int reduce(Call *call);
int allreduce(Call *call);
int reduce_scatter(Call *call);  // and Reduce_scatter_block
int scan(Call *call);
int exscan(Call *call);
int neighbor_allgather(Call *call);  // and Neighbor_allgatherv
int neighbor_alltoall(Call *call);   // and Neighbor_alltoallv, Neighbor_alltoallw

}  // namespace sluice::ops::coll

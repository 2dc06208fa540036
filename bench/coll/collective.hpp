// SPDX-License-Identifier: BSD-3-Clause
// What the driver (driver.hpp) must know of a collective; each is described in a file of its own and registers three
// tests: blocking, non-blocking (i...) and persistent (..._persistent).
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace sluice::bench {

// Who takes part, seen from one rank. Neighbours are filled for neighbourhood collectives only.
struct Circle {
  int group = 0;  // of several that run at the same time; ranks are counted within it
  int rank = 0;
  int n_ranks = 1;
  int root = 0;
  bool has_uneven_blocks = false;  // where the collective has counts for each pair of ranks
  std::vector<int> sources;
  std::vector<int> destinations;
  // Which of its blocks the source sends here, for each source.
  std::vector<std::uint64_t> source_blocks;

  bool is_root() const { return rank == root; }
};

// A part of a buffer, in elements, and whose data it must hold: those of one rank, or of several, reduced.
struct Block {
  std::uint64_t begin = 0;
  std::uint64_t n = 0;
  int rank = 0;
  int n_ranks = 1;
  std::uint64_t message = 0;  // number of the block among those that the rank sends
  std::uint64_t element = 0;  // where the block begins in that message
};

// Both buffers of a rank: what it sends, and what it must have received. No blocks: the buffer is not significant.
struct Layout {
  std::vector<Block> send = {};
  std::vector<Block> recv = {};
  bool is_recv_preset = false;  // the receive buffer is what this rank sends from (the root of bcast)
};

// The arguments of one call.
struct Call {
  const void *send = nullptr;
  void *recv = nullptr;
  int count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
  int root = 0;
  MPI_Comm comm = MPI_COMM_NULL;
  // For each block, in elements (v forms and reduce_scatter) and in bytes (w forms).
  std::vector<int> send_counts, send_offsets, recv_counts, recv_offsets;
  std::vector<int> shares;  // of a vector, for each rank
  std::vector<int> send_byte_offsets, recv_byte_offsets;
  std::vector<MPI_Aint> send_addresses, recv_addresses;
  std::vector<MPI_Datatype> send_types, recv_types;
};

// The three forms of a collective. Functions return MPI's error codes.
struct Forms {
  std::function<int(const Call &)> block;
  std::function<int(const Call &, MPI_Request *)> start;
  std::string init_name;  // of the persistent form, which not every MPI has
  std::function<int(void *init, const Call &, MPI_Request *)> init;
};

// Blocking, Start: MPI_X and MPI_Ix. arguments: the tuple of MPI_X's arguments for a Call.
template <auto Blocking, auto Start, class Arguments>
Forms make_forms(const char *init_name, Arguments arguments) {
  const auto init = [arguments]<class... P>(int (*)(P...), void *function, const Call &call, MPI_Request *request) {
    const auto persistent = reinterpret_cast<int (*)(P..., MPI_Info, MPI_Request *)>(function);
    return std::apply([&](auto... a) { return persistent(a..., MPI_INFO_NULL, request); }, arguments(call));
  };
  return {[arguments](const Call &call) { return std::apply(Blocking, arguments(call)); },
          [arguments](const Call &call, MPI_Request *request) {
            return std::apply([request](auto... a) { return Start(a..., request); }, arguments(call));
          },
          init_name,
          [init](void *function, const Call &call, MPI_Request *request) {
            return init(Blocking, function, call, request);
          }};
}

struct Collective {
  std::string name;
  std::string title;
  bool is_reduction = false;
  bool is_neighborhood = false;
  bool has_block_layouts = false;  // its layout looks at Circle::has_uneven_blocks
  bool has_data = true;            // false: barrier
  bool has_two_buffers = true;     // false: bcast, which sends from what others receive into
  // n: elements of a block, or of the vector.
  std::function<Layout(const Circle &, std::uint64_t n)> layout = {};
  Forms forms;
  // Elements that the call's count says; none: n.
  std::function<std::uint64_t(const Circle &, std::uint64_t n)> count = {};
  // Algorithm bandwidth is size * this over time; bus bandwidth is algorithm bandwidth * bus_factor.
  std::function<double(const Circle &)> moved_sizes = {};
  std::function<double(const Circle &)> bus_factor = {};
};

// At namespace scope: puts the three tests into the catalogue.
struct CollectiveRegistration {
  explicit CollectiveRegistration(Collective collective);
};

}  // namespace sluice::bench

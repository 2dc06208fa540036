// SPDX-License-Identifier: BSD-3-Clause
// MPI_Neighbor_allgather(v), MPI_Neighbor_alltoall(v, w) on a grid with borders and on a graph. Blocks at the border
// belong to nobody, and stay as they are.
#include <gtest/gtest.h>

#include "tests/ranks/coll/variants.hpp"

namespace sluice::tests::neighbors_test {
namespace {

SLUICE_COLLECTIVE(Neighbor_allgather, neighbor_allgather)
SLUICE_COLLECTIVE(Neighbor_allgatherv, neighbor_allgatherv)
SLUICE_COLLECTIVE(Neighbor_alltoall, neighbor_alltoall)
SLUICE_COLLECTIVE(Neighbor_alltoallv, neighbor_alltoallv)
SLUICE_COLLECTIVE(Neighbor_alltoallw, neighbor_alltoallw)

// A communicator with a topology. Frees it.
class Topology {
 public:
  explicit Topology(bool is_grid) {
    const Session &session = Session::get();
    const int size = session.size();
    if (is_grid) {
      // One direction ends at borders, the other goes round.
      const int extents[2] = {size % 2 == 0 ? size / 2 : size, size % 2 == 0 ? 2 : 1};
      const int goes_round[2] = {0, 1};
      MPI_Cart_create(session.comm(), 2, extents, goes_round, 0, &comm_);
      n_sources_ = n_destinations_ = 4;
    } else {
      // To the next rank and the one after, from the two before.
      const int sources[2] = {(session.rank() + size - 1) % size, (session.rank() + 2 * size - 2) % size};
      const int destinations[2] = {(session.rank() + 1) % size, (session.rank() + 2) % size};
      MPI_Dist_graph_create_adjacent(session.comm(), 2, sources, MPI_UNWEIGHTED, 2, destinations, MPI_UNWEIGHTED,
                                     MPI_INFO_NULL, 0, &comm_);
      n_sources_ = n_destinations_ = 2;
    }
  }
  Topology(const Topology &) = delete;
  Topology &operator=(const Topology &) = delete;
  ~Topology() { MPI_Comm_free(&comm_); }

  MPI_Comm comm() const { return comm_; }
  int n_sources() const { return n_sources_; }
  int n_destinations() const { return n_destinations_; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  int n_sources_ = 0;
  int n_destinations_ = 0;
};

using TopologyOperation = std::function<void(Trial &, const Variant &, const Topology &)>;

void compare_on_both(const TopologyOperation &operation) {
  for (const bool is_grid : {true, false}) {
    const Topology topology(is_grid);
    compare_each_variant({}, [&](Trial &run, const Variant &s) { operation(run, s, topology); });
  }
}

void fill(const Memory &memory, int round) {
  memory.fill_pattern(Session::get().rank(), round);
}

TEST(NeighborAllgather, BringsTheNeighboursBlocks_InEveryForm) {
  compare_on_both([](Trial &run, const Variant &s, const Topology &topology) {
    with_count(s, [&](auto zero) {
      using Count = decltype(zero);
      const Memory &in = run.input(s.bytes(s.count));
      const Memory &out = run.output(s.bytes(s.count) * static_cast<std::size_t>(topology.n_sources()));
      perform(
          run, s, neighbor_allgather_forms<Count>(), [&](int round) { fill(in, round); }, in.data(), Count{s.count},
          s.elements.type, out.data(), Count{s.count}, s.elements.type, topology.comm());
    });
  });
}

TEST(NeighborAllgatherv, BringsTheNeighboursBlocks_InEveryForm) {
  compare_on_both([](Trial &run, const Variant &s, const Topology &topology) {
    with_count(s, [&](auto zero) {
      using Count = decltype(zero);
      const Blocks<Count> blocks(topology.n_sources(), 2, [&](int /*peer*/) { return s.count; });
      const Memory &in = run.input(s.bytes(s.count));
      const Memory &out = run.output(s.bytes(blocks.n_elements));
      perform(
          run, s, neighbor_allgatherv_forms<Count>(), [&](int round) { fill(in, round); }, in.data(), Count{s.count},
          s.elements.type, out.data(), blocks.counts.data(), blocks.displacements.data(), s.elements.type,
          topology.comm());
    });
  });
}

TEST(NeighborAlltoall, ExchangesBlocks_InEveryForm) {
  compare_on_both([](Trial &run, const Variant &s, const Topology &topology) {
    with_count(s, [&](auto zero) {
      using Count = decltype(zero);
      const Memory &in = run.input(s.bytes(s.count) * static_cast<std::size_t>(topology.n_destinations()));
      const Memory &out = run.output(s.bytes(s.count) * static_cast<std::size_t>(topology.n_sources()));
      perform(
          run, s, neighbor_alltoall_forms<Count>(), [&](int round) { fill(in, round); }, in.data(), Count{s.count},
          s.elements.type, out.data(), Count{s.count}, s.elements.type, topology.comm());
    });
  });
}

TEST(NeighborAlltoallv, ExchangesBlocks_InEveryForm) {
  compare_on_both([](Trial &run, const Variant &s, const Topology &topology) {
    with_count(s, [&](auto zero) {
      using Count = decltype(zero);
      const Blocks<Count> sent(topology.n_destinations(), 1, [&](int /*peer*/) { return s.count; });
      const Blocks<Count> received(topology.n_sources(), 3 * s.count, [&](int /*peer*/) { return s.count; });
      const Memory &in = run.input(s.bytes(sent.n_elements));
      const Memory &out = run.output(s.bytes(received.n_elements));
      perform(
          run, s, neighbor_alltoallv_forms<Count>(), [&](int round) { fill(in, round); }, in.data(), sent.counts.data(),
          sent.displacements.data(), s.elements.type, out.data(), received.counts.data(), received.displacements.data(),
          s.elements.type, topology.comm());
    });
  });
}

TEST(NeighborAlltoallw, ExchangesBlocks_InEveryForm) {
  compare_on_both([](Trial &run, const Variant &s, const Topology &topology) {
    with_count(s, [&](auto zero) {
      using Count = decltype(zero);
      const Blocks<Count> sent(topology.n_destinations(), 1, [&](int /*peer*/) { return s.count; });
      const Blocks<Count> received(topology.n_sources(), 3 * s.count, [&](int /*peer*/) { return s.count; });
      // Addresses in both forms.
      std::vector<MPI_Aint> sent_at;
      std::vector<MPI_Aint> received_at;
      for (const auto at : sent.displacements) {
        sent_at.push_back(static_cast<MPI_Aint>(s.bytes(at)));
      }
      for (const auto at : received.displacements) {
        received_at.push_back(static_cast<MPI_Aint>(s.bytes(at)));
      }
      const std::vector<MPI_Datatype> types(4, s.elements.type);
      const Memory &in = run.input(s.bytes(sent.n_elements));
      const Memory &out = run.output(s.bytes(received.n_elements));
      perform(
          run, s, neighbor_alltoallw_forms<Count>(), [&](int round) { fill(in, round); }, in.data(), sent.counts.data(),
          sent_at.data(), types.data(), out.data(), received.counts.data(), received_at.data(), types.data(),
          topology.comm());
    });
  });
}

}  // namespace
}  // namespace sluice::tests::neighbors_test

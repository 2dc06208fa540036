// SPDX-License-Identifier: BSD-3-Clause
// MPI_Gatherv, MPI_Scatterv, MPI_Allgatherv, MPI_Alltoallv, MPI_Alltoallw: blocks of different lengths, some of none,
// out of order, with little and with much between them.
#include <gtest/gtest.h>

#include "tests/ranks/coll/variants.hpp"
#include "tests/support/host_mpi.hpp"

namespace sluice::tests::vectors_test {
namespace {

SLUICE_COLLECTIVE(Gatherv, gatherv)
SLUICE_COLLECTIVE(Scatterv, scatterv)
SLUICE_COLLECTIVE(Allgatherv, allgatherv)
SLUICE_COLLECTIVE(Alltoallv, alltoallv)
SLUICE_COLLECTIVE(Alltoallw, alltoallw)

void fill(const Memory &memory, int round) {
  memory.fill_pattern(Session::get().rank(), round);
}

// Every third block is empty.
int count_of(const Variant &s, int peer) {
  return peer % 3 == 1 ? 0 : s.count + peer;
}

// The same between two ranks, seen from either.
int count_between(const Variant &s, int one, int other) {
  return count_of(s, one + other);
}

// Left out: a rank has nothing to exchange in place.
bool is_left_out(const Variant &s) {
  return s.is_in_place && s.count == 0 && s.form == Variant::Form::nonblocking && hangs_after_empty_ialltoallv();
}

// For each variant twice: gaps of one element, and gaps that are longer than the blocks.
void compare_with_gaps(const Variety &variety, const std::function<void(Trial &, const Variant &, int)> &operation) {
  for (const bool is_sparse : {false, true}) {
    compare_each_variant(variety,
                         [&](Trial &run, const Variant &s) { operation(run, s, is_sparse ? 3 * s.count + 5 : 1); });
  }
}

TEST(Gatherv, BringsAllBlocksToTheRoot_InEveryForm) {
  compare_with_gaps({.has_in_place = true, .has_root = true}, [](Trial &run, const Variant &s, int gap) {
    with_count(s, [&](auto zero) {
      using Count = decltype(zero);
      const Session &session = Session::get();
      const bool is_root = session.rank() == s.root;
      const Blocks<Count> blocks(session.size(), gap, [&](int peer) { return count_of(s, peer); });
      const int own = count_of(s, session.rank());
      const Memory &in = run.input(s.bytes(own));
      const Memory &out = run.output(is_root ? s.bytes(blocks.n_elements) : 0);
      const bool is_in_place = is_root && s.is_in_place;
      perform(
          run, s, gatherv_forms<Count>(),
          [&](int round) {
            fill(in, round);
            if (is_in_place) {
              fill(out, round);
            }
          },
          is_in_place ? MPI_IN_PLACE : in.data(), Count{own}, s.elements.type, out.data(), blocks.counts.data(),
          blocks.displacements.data(), s.elements.type, s.root, session.comm());
    });
  });
}

TEST(Scatterv, BringsEverybodyABlock_InEveryForm) {
  compare_with_gaps({.has_in_place = true, .has_root = true}, [](Trial &run, const Variant &s, int gap) {
    with_count(s, [&](auto zero) {
      using Count = decltype(zero);
      const Session &session = Session::get();
      const bool is_root = session.rank() == s.root;
      const Blocks<Count> blocks(session.size(), gap, [&](int peer) { return count_of(s, peer); });
      const int own = count_of(s, session.rank());
      const Memory &in = run.buffer(run.send_kind(), is_root ? s.bytes(blocks.n_elements) : 0);
      const Memory &out = run.output(s.bytes(own));
      const bool is_in_place = is_root && s.is_in_place;
      perform(
          run, s, scatterv_forms<Count>(), [&](int round) { fill(in, round); }, in.data(), blocks.counts.data(),
          blocks.displacements.data(), s.elements.type, is_in_place ? MPI_IN_PLACE : out.data(), Count{own},
          s.elements.type, s.root, session.comm());
    });
  });
}

TEST(Allgatherv, BringsAllBlocksEverywhere_InEveryForm) {
  compare_with_gaps({.has_in_place = true}, [](Trial &run, const Variant &s, int gap) {
    with_count(s, [&](auto zero) {
      using Count = decltype(zero);
      const Session &session = Session::get();
      const Blocks<Count> blocks(session.size(), gap, [&](int peer) { return count_of(s, peer); });
      const int own = count_of(s, session.rank());
      const Memory &in = run.input(s.bytes(own));
      const Memory &out = run.output(s.bytes(blocks.n_elements));
      perform(
          run, s, allgatherv_forms<Count>(),
          [&](int round) {
            fill(in, round);
            if (s.is_in_place) {
              fill(out, round);
            }
          },
          s.is_in_place ? MPI_IN_PLACE : in.data(), Count{own}, s.elements.type, out.data(), blocks.counts.data(),
          blocks.displacements.data(), s.elements.type, session.comm());
    });
  });
}

TEST(Alltoallv, ExchangesTheBlocks_InEveryForm) {
  compare_with_gaps({.has_in_place = true}, [](Trial &run, const Variant &s, int gap) {
    if (is_left_out(s)) {
      return;
    }
    with_count(s, [&](auto zero) {
      using Count = decltype(zero);
      const Session &session = Session::get();
      const Blocks<Count> blocks(session.size(), gap, [&](int peer) { return count_between(s, session.rank(), peer); });
      const Memory &in = run.input(s.bytes(blocks.n_elements));
      const Memory &out = run.output(s.bytes(blocks.n_elements));
      perform(
          run, s, alltoallv_forms<Count>(), [&](int round) { fill(s.is_in_place ? out : in, round); },
          s.is_in_place ? MPI_IN_PLACE : in.data(), blocks.counts.data(), blocks.displacements.data(), s.elements.type,
          out.data(), blocks.counts.data(), blocks.displacements.data(), s.elements.type, session.comm());
    });
  });
}

TEST(Alltoallw, ExchangesTheBlocks_InEveryForm) {
  compare_with_gaps({.has_in_place = true}, [](Trial &run, const Variant &s, int gap) {
    if (is_left_out(s)) {
      return;
    }
    with_count(s, [&](auto zero) {
      using Count = decltype(zero);
      const Session &session = Session::get();
      Blocks<Count> blocks(session.size(), gap, [&](int peer) { return count_between(s, session.rank(), peer); });
      // Ints with one half of the peers.
      const bool is_mixed = !s.is_in_place || !mixes_types_in_place();
      std::vector<MPI_Datatype> types(blocks.counts.size(), s.elements.type);
      for (std::size_t peer = 0; peer < types.size(); ++peer) {
        blocks.displacements[peer] *= static_cast<Displacement<Count>>(s.bytes(1));
        if (is_mixed && (peer + static_cast<std::size_t>(session.rank())) % 2 == 1) {
          types[peer] = MPI_INT;
        }
      }
      const Memory &in = run.input(s.bytes(blocks.n_elements));
      const Memory &out = run.output(s.bytes(blocks.n_elements));
      perform(
          run, s, alltoallw_forms<Count>(), [&](int round) { fill(s.is_in_place ? out : in, round); },
          s.is_in_place ? MPI_IN_PLACE : in.data(), blocks.counts.data(), blocks.displacements.data(), types.data(),
          out.data(), blocks.counts.data(), blocks.displacements.data(), types.data(), session.comm());
    });
  });
}

}  // namespace
}  // namespace sluice::tests::vectors_test

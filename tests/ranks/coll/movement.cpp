// SPDX-License-Identifier: BSD-3-Clause
// MPI_Bcast, MPI_Gather, MPI_Scatter, MPI_Allgather, MPI_Alltoall.
#include <gtest/gtest.h>

#include "tests/ranks/coll/variants.hpp"

namespace sluice::tests::movement_test {
namespace {

SLUICE_COLLECTIVE(Bcast, bcast)
SLUICE_COLLECTIVE(Gather, gather)
SLUICE_COLLECTIVE(Scatter, scatter)
SLUICE_COLLECTIVE(Allgather, allgather)
SLUICE_COLLECTIVE(Alltoall, alltoall)

// Fails unless block `block` of `memory`, of contiguous data, is block `position` of what rank `source` had.
void expect_block(const Memory &memory, const Variant &s, int block, int source, int position) {
  if (!s.is_contiguous()) {
    return;
  }
  const std::size_t bytes = s.bytes(s.count);
  const Bytes got = memory.read(static_cast<std::size_t>(block) * bytes, bytes);
  Bytes wanted(bytes);
  const std::size_t first = static_cast<std::size_t>(position) * bytes;
  for (std::size_t i = 0; i < bytes; ++i) {
    wanted[i] = pattern_byte(source, first + i, s.last_round());
  }
  const std::string difference = find_difference(wanted, got);
  EXPECT_TRUE(difference.empty()) << "block " << block << " from rank " << source << ": " << difference;
}

void fill(const Memory &memory, int round) {
  memory.fill_pattern(Session::get().rank(), round);
}

TEST(Bcast, BringsTheRootsData_InEveryForm) {
  compare_each_variant({.has_root = true}, [](Trial &run, const Variant &s) {
    with_count(s, [&](auto zero) {
      using Count = decltype(zero);
      const Session &session = Session::get();
      const bool is_root = session.rank() == s.root;
      const Memory &buffer = run.buffer(is_root ? run.send_kind() : run.recv_kind(), s.bytes(s.count));
      perform(
          run, s, bcast_forms<Count>(),
          [&](int round) {
            if (is_root) {
              fill(buffer, round);
            }
          },
          buffer.data(), Count{s.count}, s.elements.type, s.root, session.comm());
      expect_block(buffer, s, 0, s.root, 0);
    });
  });
}

TEST(Gather, BringsAllBlocksToTheRoot_InEveryForm) {
  compare_each_variant({.has_in_place = true, .has_root = true}, [](Trial &run, const Variant &s) {
    with_count(s, [&](auto zero) {
      using Count = decltype(zero);
      const Session &session = Session::get();
      const bool is_root = session.rank() == s.root;
      const Memory &in = run.input(s.bytes(s.count));
      const Memory &out = run.output(is_root ? s.bytes(s.count) * static_cast<std::size_t>(session.size()) : 0);
      const bool is_in_place = is_root && s.is_in_place;
      perform(
          run, s, gather_forms<Count>(),
          [&](int round) {
            fill(in, round);
            if (is_in_place) {
              const Bytes own = in.read();
              out.write(static_cast<std::size_t>(s.root) * own.size(), own.data(), own.size());
            }
          },
          is_in_place ? MPI_IN_PLACE : in.data(), Count{s.count}, s.elements.type, out.data(), Count{s.count},
          s.elements.type, s.root, session.comm());
      for (int rank = 0; is_root && rank < session.size(); ++rank) {
        expect_block(out, s, rank, rank, 0);
      }
    });
  });
}

TEST(Scatter, BringsEverybodyABlock_InEveryForm) {
  compare_each_variant({.has_in_place = true, .has_root = true}, [](Trial &run, const Variant &s) {
    with_count(s, [&](auto zero) {
      using Count = decltype(zero);
      const Session &session = Session::get();
      const bool is_root = session.rank() == s.root;
      const Memory &in =
          run.buffer(run.send_kind(), is_root ? s.bytes(s.count) * static_cast<std::size_t>(session.size()) : 0);
      const Memory &out = run.output(s.bytes(s.count));
      const bool is_in_place = is_root && s.is_in_place;
      perform(
          run, s, scatter_forms<Count>(), [&](int round) { fill(in, round); }, in.data(), Count{s.count},
          s.elements.type, is_in_place ? MPI_IN_PLACE : out.data(), Count{s.count}, s.elements.type, s.root,
          session.comm());
      if (!is_in_place) {
        expect_block(out, s, 0, s.root, session.rank());
      }
    });
  });
}

TEST(Allgather, BringsAllBlocksEverywhere_InEveryForm) {
  compare_each_variant({.has_in_place = true}, [](Trial &run, const Variant &s) {
    with_count(s, [&](auto zero) {
      using Count = decltype(zero);
      const Session &session = Session::get();
      const Memory &in = run.input(s.bytes(s.count));
      const Memory &out = run.output(s.bytes(s.count) * static_cast<std::size_t>(session.size()));
      perform(
          run, s, allgather_forms<Count>(),
          [&](int round) {
            fill(in, round);
            if (s.is_in_place) {
              const Bytes own = in.read();
              out.write(static_cast<std::size_t>(session.rank()) * own.size(), own.data(), own.size());
            }
          },
          s.is_in_place ? MPI_IN_PLACE : in.data(), Count{s.count}, s.elements.type, out.data(), Count{s.count},
          s.elements.type, session.comm());
      for (int rank = 0; rank < session.size(); ++rank) {
        expect_block(out, s, rank, rank, 0);
      }
    });
  });
}

TEST(Alltoall, ExchangesTheBlocks_InEveryForm) {
  compare_each_variant({.has_in_place = true}, [](Trial &run, const Variant &s) {
    with_count(s, [&](auto zero) {
      using Count = decltype(zero);
      const Session &session = Session::get();
      const std::size_t bytes = s.bytes(s.count) * static_cast<std::size_t>(session.size());
      const Memory &in = run.input(bytes);
      const Memory &out = run.output(bytes);
      perform(
          run, s, alltoall_forms<Count>(), [&](int round) { fill(s.is_in_place ? out : in, round); },
          s.is_in_place ? MPI_IN_PLACE : in.data(), Count{s.count}, s.elements.type, out.data(), Count{s.count},
          s.elements.type, session.comm());
      for (int rank = 0; rank < session.size(); ++rank) {
        expect_block(out, s, rank, rank, session.rank());
      }
    });
  });
}

}  // namespace
}  // namespace sluice::tests::movement_test

// SPDX-License-Identifier: BSD-3-Clause
// MPI_Reduce, MPI_Allreduce, MPI_Scan, MPI_Exscan, MPI_Reduce_scatter, MPI_Reduce_scatter_block, MPI_Reduce_local.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "tests/ranks/coll/variants.hpp"
#include "tests/support/given_setting.hpp"
#include "tests/support/host_mpi.hpp"

namespace sluice::tests::reductions_test {
namespace {

SLUICE_COLLECTIVE(Reduce, reduce)
SLUICE_COLLECTIVE(Allreduce, allreduce)
SLUICE_COLLECTIVE(Scan, scan)
SLUICE_COLLECTIVE(Exscan, exscan)
SLUICE_COLLECTIVE(Reduce_scatter, reduce_scatter)
SLUICE_COLLECTIVE(Reduce_scatter_block, reduce_scatter_block)

// Plain ints by one of MPI's operations, the others by the program's.
MPI_Op op_for(const Variant &s) {
  return s.is_contiguous() && s.count % 2 == 1 ? MPI_BXOR : ordered_op();
}

// The buffers of a reduction: what goes in, what comes out, and the input inside of the output.
struct Reduction {
  const Memory &in;
  const Memory &out;
  bool is_in_place;

  void fill(int round) const {
    in.fill_pattern(Session::get().rank(), round);
    if (is_in_place) {
      out.fill_pattern(Session::get().rank(), round);
    }
  }
  const void *input() const { return is_in_place ? MPI_IN_PLACE : in.data(); }
};

// Fails unless the ints are the exclusive or of what the first `n_ranks` ranks had.
void expect_xor(const Memory &out, const Variant &s, int n_ranks) {
  if (!s.is_contiguous() || op_for(s) != MPI_BXOR) {
    return;
  }
  Bytes wanted(s.bytes(s.count));
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    for (int rank = 0; rank < n_ranks; ++rank) {
      wanted[i] ^= pattern_byte(rank, i, s.last_round());
    }
  }
  const std::string difference = find_difference(wanted, out.read(0, wanted.size()));
  EXPECT_TRUE(difference.empty()) << "the result " << difference;
}

TEST(Reduce, LeavesTheResultAtTheRoot_InEveryForm) {
  compare_each_variant({.has_in_place = true, .has_root = true}, [](Trial &run, const Variant &s) {
    with_count(s, [&](auto zero) {
      using Count = decltype(zero);
      const Session &session = Session::get();
      const bool is_root = session.rank() == s.root;
      const Reduction r{run.input(s.bytes(s.count)), run.output(s.bytes(s.count)), is_root && s.is_in_place};
      perform(
          run, s, reduce_forms<Count>(), [&](int round) { r.fill(round); }, r.input(), r.out.data(), Count{s.count},
          s.elements.type, op_for(s), s.root, session.comm());
      if (is_root) {
        expect_xor(r.out, s, session.size());
      }
    });
  });
}

// The four that differ in the function alone. `n_ranks`: how many ranks' data is in this rank's result.
template <class FormsOf>
void compare_reductions(FormsOf forms_of_count, int n_ranks) {
  compare_each_variant({.has_in_place = true}, [&](Trial &run, const Variant &s) {
    with_count(s, [&](auto zero) {
      using Count = decltype(zero);
      const Reduction r{run.input(s.bytes(s.count)), run.output(s.bytes(s.count)), s.is_in_place};
      perform(
          run, s, forms_of_count(zero), [&](int round) { r.fill(round); }, r.input(), r.out.data(), Count{s.count},
          s.elements.type, op_for(s), Session::get().comm());
      if (n_ranks > 0) {
        expect_xor(r.out, s, n_ranks);
      }
    });
  });
}

TEST(Allreduce, LeavesTheResultEverywhere_InEveryForm) {
  compare_reductions([](auto zero) { return allreduce_forms<decltype(zero)>(); }, Session::get().size());
}

TEST(Scan, LeavesTheResultOfTheRanksSoFar_InEveryForm) {
  compare_reductions([](auto zero) { return scan_forms<decltype(zero)>(); }, Session::get().rank() + 1);
}

TEST(Exscan, LeavesTheResultOfTheRanksBefore_InEveryForm) {
  compare_reductions([](auto zero) { return exscan_forms<decltype(zero)>(); }, Session::get().rank());
}

// What lies behind the result of a reduction in place is the host MPI's to leave or to change: the same in all runs.
void forget_behind(const Memory &memory, std::size_t result_bytes) {
  const Bytes poison(memory.size_bytes() - result_bytes, kPoison);
  memory.write(result_bytes, poison.data(), poison.size());
}

TEST(ReduceScatter, LeavesABlockOfTheResult_InEveryForm) {
  compare_each_variant({.has_in_place = true}, [](Trial &run, const Variant &s) {
    with_count(s, [&](auto zero) {
      using Count = decltype(zero);
      const Session &session = Session::get();
      // Of one rank all blocks have one length; of more they do not here.
      if (session.size() == 1 && s.form == Variant::Form::persistent && s.count > 1 && !s.is_contiguous() &&
          overruns_in_reduce_scatter_block()) {
        return;
      }
      std::vector<Count> counts;
      long long all = 0;
      for (int rank = 0; rank < session.size(); ++rank) {
        counts.push_back(rank % 3 == 1 ? 0 : s.count + rank);
        all += counts.back();
      }
      const long long own = counts[static_cast<std::size_t>(session.rank())];
      const Reduction r{run.input(s.bytes(all)), run.output(s.bytes(s.is_in_place ? all : own)), s.is_in_place};
      perform(
          run, s, reduce_scatter_forms<Count>(), [&](int round) { r.fill(round); }, r.input(), r.out.data(),
          counts.data(), s.elements.type, op_for(s), session.comm());
      forget_behind(r.out, s.bytes(own));
    });
  });
}

TEST(ReduceScatterBlock, LeavesABlockOfTheResult_InEveryForm) {
  compare_each_variant({.has_in_place = true}, [](Trial &run, const Variant &s) {
    with_count(s, [&](auto zero) {
      using Count = decltype(zero);
      if (!s.is_contiguous() && overruns_in_reduce_scatter_block()) {
        return;
      }
      const long long all = static_cast<long long>(s.count) * Session::get().size();
      const Reduction r{run.input(s.bytes(all)), run.output(s.bytes(s.is_in_place ? all : s.count)), s.is_in_place};
      perform(
          run, s, reduce_scatter_block_forms<Count>(), [&](int round) { r.fill(round); }, r.input(), r.out.data(),
          Count{s.count}, s.elements.type, op_for(s), Session::get().comm());
      forget_behind(r.out, s.bytes(s.count));
    });
  });
}

TEST(ReduceLocal, CombinesTwoBuffers) {
  compare_each_variant({}, [](Trial &run, const Variant &s) {
    const Memory &in = run.input(s.bytes(s.count), 0);
    const Memory &inout = run.buffer(run.recv_kind(), s.bytes(s.count));
    run.refill(inout, 1);
#if MPI_VERSION >= 4
    if (s.is_large) {
      run.call("MPI_Reduce_local_c", MPI_Reduce_local_c(in.data(), inout.data(), s.count, s.elements.type, op_for(s)));
      return;
    }
#endif
    run.call("MPI_Reduce_local", MPI_Reduce_local(in.data(), inout.data(), s.count, s.elements.type, op_for(s)));
  });
}

// Numbers whose sum depends on the order, unless the order may be another: devices keep that of the ranks.
double number(std::size_t i, int rank) {
  static const bool is_exact = given_setting("coll_reduce_threshold").has_value();
  const auto whole = static_cast<double>(i * 7 + static_cast<std::size_t>(rank) * 13 + 3);
  return is_exact ? whole / 64.0 : 1.0 / whole;
}

// And pairs with a gap of their own.
TEST(Allreduce, GivesTheHostMpisResult_ForFloatingPointAndPairs) {
  struct Pair {
    double value;
    int place;
  };
  for (const int count : {1, 300, 20'000}) {
    for_each_case(Breadth::narrow, {static_cast<std::size_t>(count)}, [&](const Case &c) {
      compare_with_host(c, [&](Trial &run) {
        const Session &session = Session::get();
        const auto n = static_cast<std::size_t>(count);
        std::vector<double> numbers(n);
        std::vector<Pair> pairs(n);
        std::memset(pairs.data(), 0, n * sizeof(Pair));
        for (std::size_t i = 0; i < n; ++i) {
          numbers[i] = number(i, session.rank());
          pairs[i].value = static_cast<double>((i * 31 + static_cast<std::size_t>(session.rank()) * 17) % 23);
          pairs[i].place = session.rank();
        }
        const Memory &in = run.buffer(run.send_kind(), n * sizeof(double));
        const Memory &out = run.output(n * sizeof(double));
        in.write(0, numbers.data(), n * sizeof(double));
        run.call("MPI_SUM", MPI_Allreduce(in.data(), out.data(), count, MPI_DOUBLE, MPI_SUM, session.comm()));
        const Memory &pairs_in = run.buffer(run.send_kind(), n * sizeof(Pair));
        const Memory &pairs_out = run.output(n * sizeof(Pair));
        pairs_in.write(0, pairs.data(), n * sizeof(Pair));
        // The gap in a pair is nobody's: the values alone are compared.
        run.call("MPI_MAXLOC",
                 MPI_Allreduce(pairs_in.data(), pairs_out.data(), count, MPI_DOUBLE_INT, MPI_MAXLOC, session.comm()));
        const Bytes result = pairs_out.read();
        long long sum = 0;
        for (std::size_t i = 0; i < n; ++i) {
          Pair pair{};
          std::memcpy(&pair, result.data() + i * sizeof(Pair), sizeof(Pair));
          sum += static_cast<long long>(pair.value) * 100 + pair.place;
        }
        run.note("pairs", sum);
        pairs_out.fill(0);
      });
    });
  }
}

}  // namespace
}  // namespace sluice::tests::reductions_test

// SPDX-License-Identifier: BSD-3-Clause
// Collective operations between two groups: who is the root, and how many blocks a buffer has, is another matter there.
#include <gtest/gtest.h>

#include "tests/ranks/coll/variants.hpp"
#include "tests/support/host_mpi.hpp"

namespace sluice::tests::intercommunicators_test {
namespace {

SLUICE_COLLECTIVE(Bcast, bcast)
SLUICE_COLLECTIVE(Gather, gather)
SLUICE_COLLECTIVE(Gatherv, gatherv)
SLUICE_COLLECTIVE(Scatter, scatter)
SLUICE_COLLECTIVE(Scatterv, scatterv)
SLUICE_COLLECTIVE(Allgather, allgather)
SLUICE_COLLECTIVE(Allgatherv, allgatherv)
SLUICE_COLLECTIVE(Alltoall, alltoall)
SLUICE_COLLECTIVE(Alltoallv, alltoallv)
SLUICE_COLLECTIVE(Alltoallw, alltoallw)
SLUICE_COLLECTIVE(Reduce, reduce)
SLUICE_COLLECTIVE(Allreduce, allreduce)
SLUICE_COLLECTIVE(Reduce_scatter, reduce_scatter)
SLUICE_COLLECTIVE(Reduce_scatter_block, reduce_scatter_block)

// The even ranks and the odd ones.
class Intercommunicator : public testing::Test {
 protected:
  void SetUp() override {
    const Session &session = Session::get();
    if (session.size() < 2) {
      GTEST_SKIP() << "two groups need two ranks";
    }
    MPI_Comm_split(session.comm(), session.rank() % 2, session.rank(), &group_);
    MPI_Intercomm_create(group_, 0, session.comm(), 1 - session.rank() % 2, 7, &comm_);
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    MPI_Comm_size(comm_, &size_);
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_remote_size(comm_, &remote_size_);
  }

  void TearDown() override {
    if (comm_ != MPI_COMM_NULL) {
      MPI_Comm_free(&comm_);
      MPI_Comm_free(&group_);
    }
  }

  // The last of the even ranks is the root.
  bool is_in_roots_group() const { return Session::get().rank() % 2 == 0; }
  int roots_rank() const { return (is_in_roots_group() ? size_ : remote_size_) - 1; }
  bool is_root() const { return is_in_roots_group() && rank_ == roots_rank(); }
  int root() const {
    if (!is_in_roots_group()) {
      return roots_rank();
    }
    return is_root() ? MPI_ROOT : MPI_PROC_NULL;
  }
  // What is sent by the own group alone has other lengths in the other.
  std::size_t blocks(const Variant &s, int n) const { return s.bytes(s.count) * static_cast<std::size_t>(n); }

  // What goes between this rank and one of the other group, the way of the root's group or back.
  int count_with(const Variant &s, int peer, bool is_from_roots) const;

  // Pointers that nothing may be done with, on ranks for which they mean nothing.
  static void *nowhere() { return reinterpret_cast<void *>(0x10); }

  MPI_Comm group_ = MPI_COMM_NULL;
  MPI_Comm comm_ = MPI_COMM_NULL;
  int size_ = 0;
  int rank_ = 0;
  int remote_size_ = 0;
};

void fill(const Memory &memory, int round) {
  memory.fill_pattern(Session::get().rank(), round);
}

// Those that are compared on fewer numbers of ranks and host MPIs.
class IntercommunicatorForms : public Intercommunicator {};

TEST_F(Intercommunicator, Bcast) {
  compare_each_variant({}, [this](Trial &run, const Variant &s) {
    if (s.form != Variant::Form::blocking && loses_data_between_groups()) {
      return;
    }
    with_count(s, [&](auto zero) {
      using Count = decltype(zero);
      const Memory &buffer = run.buffer(is_root() ? run.send_kind() : run.recv_kind(), blocks(s, 1));
      const bool is_idle = is_in_roots_group() && !is_root();
      perform(
          run, s, bcast_forms<Count>(),
          [&](int round) {
            if (is_root()) {
              fill(buffer, round);
            }
          },
          is_idle ? nowhere() : buffer.data(), Count{s.count}, s.elements.type, root(), comm_);
    });
  });
}

TEST_F(Intercommunicator, Gather) {
  compare_each_variant({}, [this](Trial &run, const Variant &s) {
    with_count(s, [&](auto zero) {
      using Count = decltype(zero);
      const Memory &in = run.input(blocks(s, 1));
      const Memory &out = run.output(blocks(s, is_root() ? remote_size_ : 0));
      perform(
          run, s, gather_forms<Count>(), [&](int round) { fill(in, round); },
          is_in_roots_group() ? nowhere() : in.data(), Count{s.count}, s.elements.type,
          is_root() ? out.data() : nowhere(), Count{s.count}, s.elements.type, root(), comm_);
    });
  });
}

TEST_F(IntercommunicatorForms, Gatherv) {
  compare_each_variant({}, [this](Trial &run, const Variant &s) {
    with_count(s, [&](auto zero) {
      using Count = decltype(zero);
      const Blocks<Count> received(is_root() ? remote_size_ : 1, 2, [&](int peer) { return s.count + 2 * peer; });
      const int own = s.count + 2 * rank_;
      const Memory &in = run.input(s.bytes(own));
      const Memory &out = run.output(s.bytes(received.n_elements));
      perform(
          run, s, gatherv_forms<Count>(), [&](int round) { fill(in, round); },
          is_in_roots_group() ? nowhere() : in.data(), Count{own}, s.elements.type, is_root() ? out.data() : nowhere(),
          received.counts.data(), received.displacements.data(), s.elements.type, root(), comm_);
    });
  });
}

TEST_F(IntercommunicatorForms, Scatter) {
  compare_each_variant({}, [this](Trial &run, const Variant &s) {
    with_count(s, [&](auto zero) {
      using Count = decltype(zero);
      const Memory &in = run.input(blocks(s, is_root() ? remote_size_ : 0));
      const Memory &out = run.output(blocks(s, 1));
      perform(
          run, s, scatter_forms<Count>(), [&](int round) { fill(in, round); }, is_root() ? in.data() : nowhere(),
          Count{s.count}, s.elements.type, is_in_roots_group() ? nowhere() : out.data(), Count{s.count},
          s.elements.type, root(), comm_);
    });
  });
}

TEST_F(Intercommunicator, Scatterv) {
  compare_each_variant({}, [this](Trial &run, const Variant &s) {
    with_count(s, [&](auto zero) {
      using Count = decltype(zero);
      const Blocks<Count> sent(is_root() ? remote_size_ : 1, 2, [&](int peer) { return s.count + peer; });
      const Memory &in = run.input(s.bytes(sent.n_elements));
      const Memory &out = run.output(s.bytes(s.count + rank_));
      perform(
          run, s, scatterv_forms<Count>(), [&](int round) { fill(in, round); }, is_root() ? in.data() : nowhere(),
          sent.counts.data(), sent.displacements.data(), s.elements.type, is_in_roots_group() ? nowhere() : out.data(),
          Count{s.count + rank_}, s.elements.type, root(), comm_);
    });
  });
}

TEST_F(Intercommunicator, Allgather) {
  compare_each_variant({}, [this](Trial &run, const Variant &s) {
    with_count(s, [&](auto zero) {
      using Count = decltype(zero);
      const Memory &in = run.input(blocks(s, 1));
      const Memory &out = run.output(blocks(s, remote_size_));
      perform(
          run, s, allgather_forms<Count>(), [&](int round) { fill(in, round); }, in.data(), Count{s.count},
          s.elements.type, out.data(), Count{s.count}, s.elements.type, comm_);
    });
  });
}

// The groups give blocks of other lengths; some are empty.
TEST_F(IntercommunicatorForms, Allgatherv) {
  compare_each_variant({}, [this](Trial &run, const Variant &s) {
    with_count(s, [&](auto zero) {
      using Count = decltype(zero);
      const int more = is_in_roots_group() ? 3 : 0;
      const auto count_of = [&](int peer, int extra) { return peer % 3 == 1 ? 0 : s.count + peer + extra; };
      const Blocks<Count> received(remote_size_, 2, [&](int peer) { return count_of(peer, 3 - more); });
      const int own = count_of(rank_, more);
      const Memory &in = run.input(s.bytes(own));
      const Memory &out = run.output(s.bytes(received.n_elements));
      perform(
          run, s, allgatherv_forms<Count>(), [&](int round) { fill(in, round); }, in.data(), Count{own},
          s.elements.type, out.data(), received.counts.data(), received.displacements.data(), s.elements.type, comm_);
    });
  });
}

// Between a rank of the root's group and one of the other: more one way than the other, and sometimes nothing.
int count_between(const Variant &s, int rank_of_roots, int rank_of_others, bool is_from_roots) {
  if ((rank_of_roots + 2 * rank_of_others) % 3 == 1) return 0;
  return s.count + rank_of_roots + (is_from_roots ? 2 : 0);
}

int Intercommunicator::count_with(const Variant &s, int peer, bool is_from_roots) const {
  return is_in_roots_group() ? count_between(s, rank_, peer, is_from_roots)
                             : count_between(s, peer, rank_, is_from_roots);
}

TEST_F(IntercommunicatorForms, Alltoallv) {
  compare_each_variant({}, [this](Trial &run, const Variant &s) {
    with_count(s, [&](auto zero) {
      using Count = decltype(zero);
      const Blocks<Count> sent(remote_size_, 1, [&](int peer) { return count_with(s, peer, is_in_roots_group()); });
      const Blocks<Count> received(remote_size_, 2,
                                   [&](int peer) { return count_with(s, peer, !is_in_roots_group()); });
      const Memory &in = run.input(s.bytes(sent.n_elements));
      const Memory &out = run.output(s.bytes(received.n_elements));
      perform(
          run, s, alltoallv_forms<Count>(), [&](int round) { fill(in, round); }, in.data(), sent.counts.data(),
          sent.displacements.data(), s.elements.type, out.data(), received.counts.data(), received.displacements.data(),
          s.elements.type, comm_);
    });
  });
}

TEST_F(IntercommunicatorForms, Alltoallw) {
  compare_each_variant({}, [this](Trial &run, const Variant &s) {
    with_count(s, [&](auto zero) {
      using Count = decltype(zero);
      Blocks<Count> sent(remote_size_, 1, [&](int peer) { return count_with(s, peer, is_in_roots_group()); });
      Blocks<Count> received(remote_size_, 2, [&](int peer) { return count_with(s, peer, !is_in_roots_group()); });
      // Ints with every second peer.
      std::vector<MPI_Datatype> types(sent.counts.size(), s.elements.type);
      for (std::size_t peer = 0; peer < types.size(); ++peer) {
        for (Blocks<Count> *blocks : {&sent, &received}) {
          blocks->displacements[peer] *= static_cast<Displacement<Count>>(s.bytes(1));
        }
        if ((peer + static_cast<std::size_t>(rank_)) % 2 == 1) types[peer] = MPI_INT;
      }
      const Memory &in = run.input(s.bytes(sent.n_elements));
      const Memory &out = run.output(s.bytes(received.n_elements));
      perform(
          run, s, alltoallw_forms<Count>(), [&](int round) { fill(in, round); }, in.data(), sent.counts.data(),
          sent.displacements.data(), types.data(), out.data(), received.counts.data(), received.displacements.data(),
          types.data(), comm_);
    });
  });
}

TEST_F(Intercommunicator, Alltoall) {
  compare_each_variant({}, [this](Trial &run, const Variant &s) {
    with_count(s, [&](auto zero) {
      using Count = decltype(zero);
      const Memory &in = run.input(blocks(s, remote_size_));
      const Memory &out = run.output(blocks(s, remote_size_));
      perform(
          run, s, alltoall_forms<Count>(), [&](int round) { fill(in, round); }, in.data(), Count{s.count},
          s.elements.type, out.data(), Count{s.count}, s.elements.type, comm_);
    });
  });
}

// MPI's own operations take plain ints alone.
template <class Operation>
void compare_plain_ints(Operation operation) {
  compare_each_variant({}, [&](Trial &run, const Variant &s) {
    if (s.is_contiguous()) {
      operation(run, s);
    }
  });
}

TEST_F(Intercommunicator, Reduce) {
  compare_plain_ints([this](Trial &run, const Variant &s) {
    with_count(s, [&](auto zero) {
      using Count = decltype(zero);
      const Memory &in = run.input(blocks(s, 1));
      const Memory &out = run.output(blocks(s, 1));
      perform(
          run, s, reduce_forms<Count>(), [&](int round) { fill(in, round); },
          is_in_roots_group() ? nowhere() : in.data(), is_root() ? out.data() : nowhere(), Count{s.count}, MPI_INT,
          MPI_BXOR, root(), comm_);
    });
  });
}

TEST_F(Intercommunicator, Allreduce) {
  compare_plain_ints([this](Trial &run, const Variant &s) {
    with_count(s, [&](auto zero) {
      using Count = decltype(zero);
      const Memory &in = run.input(blocks(s, 1));
      const Memory &out = run.output(blocks(s, 1));
      perform(
          run, s, allreduce_forms<Count>(), [&](int round) { fill(in, round); }, in.data(), out.data(), Count{s.count},
          MPI_INT, MPI_BXOR, comm_);
    });
  });
}

TEST_F(Intercommunicator, ReduceScatterBlock) {
  compare_plain_ints([this](Trial &run, const Variant &s) {
    with_count(s, [&](auto zero) {
      using Count = decltype(zero);
      // Both groups give as much: a block for each rank of the own.
      const int own = s.count * remote_size_;
      const Memory &in = run.input(s.bytes(static_cast<long long>(own) * size_));
      const Memory &out = run.output(s.bytes(own));
      perform(
          run, s, reduce_scatter_block_forms<Count>(), [&](int round) { fill(in, round); }, in.data(), out.data(),
          Count{own}, MPI_INT, MPI_BXOR, comm_);
    });
  });
}

TEST_F(IntercommunicatorForms, ReduceScatter) {
  compare_plain_ints([this](Trial &run, const Variant &s) {
    with_count(s, [&](auto zero) {
      using Count = decltype(zero);
      // Both groups give as many elements; the last rank of each gets what the others leave.
      const int all = (s.count + 2) * size_ * remote_size_;
      std::vector<Count> counts;
      int left = all;
      for (int rank = 0; rank < size_; ++rank) {
        const int own = rank == size_ - 1 ? left : rank % 2 == 1 ? 0 : s.count + 1;
        counts.push_back(own);
        left -= own;
      }
      const Memory &in = run.input(s.bytes(all));
      const Memory &out = run.output(s.bytes(counts[static_cast<std::size_t>(rank_)]));
      perform(
          run, s, reduce_scatter_forms<Count>(), [&](int round) { fill(in, round); }, in.data(), out.data(),
          counts.data(), MPI_INT, MPI_BXOR, comm_);
    });
  });
}

}  // namespace
}  // namespace sluice::tests::intercommunicators_test

// SPDX-License-Identifier: BSD-3-Clause
// Collective operations over IPC on blocks with gaps of which the others cannot be told run by run: every byte is
// compared with the host MPI's own call on host copies, and the statistics say that it went over IPC, and by how many
// kernels. Started as together.cpp says.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/ranks/coll/gapped.hpp"
#include "tests/ranks/coll/moving.hpp"
#include "tests/ranks/coll/topologies.hpp"
#include "tests/ranks/coll/variants.hpp"
#include "tests/support/host_mpi.hpp"

namespace sluice::tests::together_packed_test {
namespace {

using Form = Variant::Form;

SLUICE_COLLECTIVE(Bcast, bcast)
SLUICE_COLLECTIVE(Gatherv, gatherv)
SLUICE_COLLECTIVE(Scatterv, scatterv)
SLUICE_COLLECTIVE(Allgatherv, allgatherv)
SLUICE_COLLECTIVE(Alltoallv, alltoallv)
SLUICE_COLLECTIVE(Alltoallw, alltoallw)
SLUICE_COLLECTIVE(Neighbor_alltoallw, neighbor_alltoallw)

constexpr int kLastRound = 1;  // of a persistent call

// Elements from one rank to another: none, one or two.
int count_between(int source, int destination) {
  return (source + 2 * destination + 1) % 3;
}

// Elements of one type one after the other in a buffer.
struct Row {
  Row(MPI_Datatype type, long long n_elements) {
    MPI_Aint true_extent = 0;
    MPI_Aint lower = 0;
    MPI_Aint extent = 0;
    MPI_Type_get_true_extent(type, &low, &true_extent);
    MPI_Type_get_extent(type, &lower, &extent);
    size_bytes = n_elements == 0 ? 128 : static_cast<std::size_t>(128 + true_extent + (n_elements - 1) * extent);
  }
  void *origin(const Memory &memory) const { return static_cast<std::byte *>(memory.data()) + 64 - low; }

  MPI_Aint low = 0;
  std::size_t size_bytes = 0;
};

// A call of one of the operations at this rank: its form, its buffers, what it is told, and what is under way of it.
class Exchange {
 public:
  // `turn`: which rank takes which type, and which one is the root. `round`: which data it sends.
  Exchange(Trial *run, const GappedTypes &types, int turn, Form form, int round = 0)
      : run_(*run), types_(types), turn_(turn), form_(form), round_(round) {}

  void alltoallw() { exchange_blocks(false); }
  // What is sent to one rank is sent to the next as well, as far as it reaches.
  void alltoallw_of_overlapping() { exchange_blocks(true); }

  void alltoallv() {
    const auto type_in = type(rank_);
    const auto type_out = type(rank_ + 4);
    describe([&](int peer) { return count_between(rank_, peer); },
             [&](int peer) { return count_between(peer, rank_); });
    const Row in = take_in(type_in, sent_.n_elements);
    const Row out = take_out(type_out, received_.n_elements);
    begin(alltoallv_forms<int>(), in.origin(*in_), sent_.counts.data(), sent_.displacements.data(), type_in,
          out.origin(*out_), received_.counts.data(), received_.displacements.data(), type_out, comm_);
  }

  void allgatherv() { gather_all(false); }
  void allgatherv_in_place() { gather_all(true); }

  void gatherv() {
    const auto type_in = type(rank_);
    const auto type_out = type(rank_ + 3);
    const bool is_root = rank_ == root();
    describe([](int) { return 0; }, [&](int peer) { return is_root ? count_between(peer, 0) : 0; });
    const Row in = take_in(type_in, count_between(rank_, 0));
    const Row out = take_out(type_out, received_.n_elements);
    begin(gatherv_forms<int>(), in.origin(*in_), count_between(rank_, 0), type_in, out.origin(*out_),
          received_.counts.data(), received_.displacements.data(), type_out, root(), comm_);
  }

  void scatterv() {
    const auto type_in = type(rank_);
    const auto type_out = type(rank_ + 5);
    const bool is_root = rank_ == root();
    describe([&](int peer) { return is_root ? count_between(0, peer) : 0; }, [](int) { return 0; });
    const Row in = take_in(type_in, sent_.n_elements);
    const Row out = take_out(type_out, count_between(0, rank_));
    begin(scatterv_forms<int>(), in.origin(*in_), sent_.counts.data(), sent_.displacements.data(), type_in,
          out.origin(*out_), count_between(0, rank_), type_out, root(), comm_);
  }

  // From any type into any, and into one run, along a chain where there is one.
  void bcast() { broadcast(type(rank_)); }
  void bcast_to_one_run() { broadcast(rank_ == root() ? type(0) : types_.at(GappedTypes::kWithout)); }

  void neighbor_alltoallw(const Topology &topology) {
    for (std::size_t i = 0; i < topology.destinations().size(); ++i) {
      const int destination = topology.destinations()[i];
      const int count = destination == MPI_PROC_NULL ? 1 : 1 + count_between(topology.rank(), destination) % 2;
      sent_blocks_.add(type(topology.rank() + static_cast<int>(i)), count);
    }
    for (std::size_t i = 0; i < topology.sources().size(); ++i) {
      const int source = topology.sources()[i];
      const int count = source == MPI_PROC_NULL ? 1 : 1 + count_between(source, topology.rank()) % 2;
      received_blocks_.add(type(topology.rank() + 2 + static_cast<int>(i)), count);
    }
    begin_with_types(neighbor_alltoallw_forms<int>(), sent_blocks_.displacements().data(),
                     received_blocks_.displacements().data(), topology.comm());
  }

  // Of a non-blocking call or a persistent one.
  void complete() { EXPECT_EQ(MPI_Wait(&request_, MPI_STATUS_IGNORE), MPI_SUCCESS); }

  // Starts a persistent one once more, with other data, and gives it back.
  void repeat() {
    if (form_ != Form::persistent) return;
    for (const Memory *read : {in_, read_back_}) {
      if (read != nullptr) run_.refill(*read, kLastRound);
    }
    EXPECT_EQ(MPI_Start(&request_), MPI_SUCCESS);
    complete();
    EXPECT_EQ(MPI_Request_free(&request_), MPI_SUCCESS);
  }

 private:
  int root() const { return turn_ % size_; }
  MPI_Datatype type(int i) const { return types_.at(i + turn_); }

  template <class CountSent, class CountReceived>
  void describe(CountSent sent, CountReceived received) {
    sent_ = Blocks<int>(size_, 1, sent);
    received_ = Blocks<int>(size_, 1, received);
  }

  Row take_in(MPI_Datatype type, long long n_elements) {
    const Row row(type, n_elements);
    in_ = &run_.input(row.size_bytes, round_);
    return row;
  }

  Row take_out(MPI_Datatype type, long long n_elements) {
    const Row row(type, n_elements);
    out_ = &run_.output(row.size_bytes);
    return row;
  }

  void exchange_blocks(bool overlaps) {
    for (int peer = 0; peer < size_; ++peer) {
      const int count = count_between(rank_, peer);
      overlaps ? sent_blocks_.add_above_first(type(rank_ + peer), count) : sent_blocks_.add(type(rank_ + peer), count);
      received_blocks_.add(type(2 * rank_ + peer + 1), count_between(peer, rank_));
    }
    sent_places_ = sent_blocks_.int_displacements();
    received_places_ = received_blocks_.int_displacements();
    begin_with_types(alltoallw_forms<int>(), sent_places_.data(), received_places_.data(), comm_);
  }

  template <class AllForms, class Displacements>
  void begin_with_types(AllForms forms, const Displacements *sent, const Displacements *received, MPI_Comm comm) {
    in_ = &run_.input(sent_blocks_.size_bytes(), round_);
    out_ = &run_.output(received_blocks_.size_bytes());
    begin(forms, in_->data(), sent_blocks_.counts().data(), sent, sent_blocks_.types().data(), out_->data(),
          received_blocks_.counts().data(), received, received_blocks_.types().data(), comm);
  }

  void gather_all(bool is_in_place) {
    const auto type_in = type(rank_);
    // One type for all: MPICH cuts long blocks by the extents of each rank's own, and waits for ever where they differ.
    const auto type_out = type(3);
    describe([](int) { return 0; }, [](int peer) { return count_between(peer, 0); });
    const Row in = take_in(type_in, count_between(rank_, 0));
    const Row out = take_out(type_out, received_.n_elements);
    if (is_in_place) {
      read_back_ = out_;
      run_.refill(*out_, round_);
    }
    begin(allgatherv_forms<int>(), is_in_place ? MPI_IN_PLACE : in.origin(*in_), count_between(rank_, 0), type_in,
          out.origin(*out_), received_.counts.data(), received_.displacements.data(), type_out, comm_);
  }

  void broadcast(MPI_Datatype type) {
    const Row row = take_out(type, 2);
    if (rank_ == root()) {
      read_back_ = out_;
      run_.refill(*out_, round_);
    }
    begin(bcast_forms<int>(), row.origin(*out_), 2, type, root(), comm_);
  }

  template <class... Arguments, class... Given>
  void begin(const Forms<Arguments...> &forms, Given... given) {
    begin_form(form_, forms, &request_, given...);
  }

  Trial &run_;
  const GappedTypes &types_;
  const int turn_;
  const Form form_;
  const int round_;
  const int rank_ = Session::get().rank();
  const int size_ = Session::get().size();
  const MPI_Comm comm_ = Session::get().comm();
  const Memory *in_ = nullptr;
  const Memory *out_ = nullptr;
  const Memory *read_back_ = nullptr;  // out_, where it is read from too
  Blocks<int> sent_{0, 0, [](int) { return 0; }};
  Blocks<int> received_{0, 0, [](int) { return 0; }};
  PlacedBlocks sent_blocks_;
  PlacedBlocks received_blocks_;
  std::vector<int> sent_places_;
  std::vector<int> received_places_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

struct PackedOperation {
  const char *name;  // behind "MPI_"
  void (Exchange::*begin)();
};

constexpr PackedOperation kOperations[] = {{"Alltoallw", &Exchange::alltoallw},
                                           {"Alltoallw", &Exchange::alltoallw_of_overlapping},
                                           {"Alltoallv", &Exchange::alltoallv},
                                           {"Allgatherv", &Exchange::allgatherv},
                                           {"Allgatherv", &Exchange::allgatherv_in_place},
                                           {"Gatherv", &Exchange::gatherv},
                                           {"Scatterv", &Exchange::scatterv},
                                           {"Bcast", &Exchange::bcast},
                                           {"Bcast", &Exchange::bcast_to_one_run}};

// As the statistics name it.
std::string name_of(const std::string &operation, Form form) {
  if (form != Form::nonblocking) return "MPI_" + operation + (form == Form::persistent ? "_init" : "");
  std::string lower = operation;
  lower[0] = static_cast<char>(lower[0] - 'A' + 'a');
  return "MPI_I" + lower;
}

std::vector<Form> forms() {
#if MPI_VERSION >= 4
  return {Form::blocking, Form::nonblocking, Form::persistent};
#else
  return {Form::blocking, Form::nonblocking};
#endif
}

class TogetherPacked : public Together {
 protected:
  void SetUp() override {
    Together::SetUp();
    if (IsSkipped()) return;
    types_ = std::make_unique<GappedTypes>();
    // A backend may have no memory that others reach, or no kernel that packs here.
    if (std::getenv("TEST_MOVES_TOGETHER") != nullptr) return;
    const long long by_ipc = calls_by("MPI_Bcast", "ipc");
    compare_with_host({Kind::device, Kind::device, 0}, [&](Trial &run) {
      Exchange exchange(&run, *types_, 0, Form::blocking);
      exchange.bcast_to_one_run();
    });
    if (calls_by("MPI_Bcast", "ipc") == by_ipc) GTEST_SKIP() << "missing: device memory that others reach, packed";
  }

  // One call of each run; the whole of it, persistent ones started twice. Where the host MPI's persistent form is at
  // fault its non-blocking one says what is right.
  void compare(const std::string &operation, int turn, Form form, const std::function<void(Exchange &)> &begin) const {
    const std::string name = name_of(operation, form);
    SCOPED_TRACE(name + ", turn " + std::to_string(turn));
    const long long by_ipc = calls_by(name, "ipc");
    const long long staged = calls_by(name, "staged");
    ASSERT_GE(by_ipc, 0) << "no statistics";
    bool is_reference = true;
    compare_with_host({Kind::device, Kind::device, 0}, [&](Trial &run) {
      const bool stands_in = is_reference && form == Form::persistent && breaks_persistent_collectives();
      Exchange exchange(&run, *types_, turn, stands_in ? Form::nonblocking : form, stands_in ? kLastRound : 0);
      begin(exchange);
      if (form != Form::blocking) exchange.complete();
      exchange.repeat();
      is_reference = false;
    });
    EXPECT_GT(calls_by(name, "ipc"), by_ipc) << "was not carried out together";
    EXPECT_EQ(calls_by(name, "staged"), staged);
  }

  // How many kernels have packed or unpacked in a blocking MPI_Alltoallw of one element for each rank.
  long long launches_of(MPI_Datatype sent, MPI_Datatype received) const {
    const auto n_ranks = static_cast<std::size_t>(session_.size());
    const long long before = pack_launches();
    const long long by_ipc = calls_by("MPI_Alltoallw", "ipc");
    compare_with_host({Kind::device, Kind::device, 0}, [&](Trial &run) {
      PlacedBlocks in;
      PlacedBlocks out;
      for (std::size_t i = 0; i < n_ranks; ++i) in.add(sent, 1);
      for (std::size_t i = 0; i < n_ranks; ++i) out.add(received, 1);
      const Memory &input = run.input(in.size_bytes());
      const Memory &output = run.output(out.size_bytes());
      run.call("MPI_Alltoallw", MPI_Alltoallw(input.data(), in.counts().data(), in.int_displacements().data(),
                                              in.types().data(), output.data(), out.counts().data(),
                                              out.int_displacements().data(), out.types().data(), session_.comm()));
    });
    EXPECT_EQ(calls_by("MPI_Alltoallw", "ipc"), by_ipc + 2) << "two buffers";
    return pack_launches() - before;
  }

  std::unique_ptr<GappedTypes> types_;
};

TEST_F(TogetherPacked, GoOverIpc_WhateverTheGaps) {
  for (const Form form : forms()) {
    const int n_turns = types_->size();
    for (int turn = 0; turn < n_turns; turn += form == Form::blocking ? 1 : 4) {
      for (const PackedOperation &operation : kOperations) {
        compare(operation.name, turn, form, [&](Exchange &exchange) { (exchange.*operation.begin)(); });
        if (session_.agree_any(HasFailure())) return;
      }
    }
  }
}

TEST_F(TogetherPacked, GoOverIpc_BetweenNeighbors) {
  for (const Shape shape : {Shape::ring, Shape::line, Shape::torus, Shape::repeated_edges}) {
    const Topology topology(shape);
    for (const Form form : forms()) {
      for (const int turn : {0, 3}) {
        SCOPED_TRACE(name_of(shape));
        compare("Neighbor_alltoallw", turn, form, [&](Exchange &exchange) { exchange.neighbor_alltoallw(topology); });
        if (session_.agree_any(HasFailure())) return;
      }
    }
  }
}

// A sender packs for each other rank; a receiver has a kernel for each block, its own from the one buffer to the other.
TEST_F(TogetherPacked, TakeOneKernelABlock) {
  const long long n = session_.size();
  const MPI_Datatype nested = types_->at(GappedTypes::kNested);
  const MPI_Datatype even = types_->at(GappedTypes::kEven);
  const MPI_Datatype without = types_->at(GappedTypes::kWithout);
  EXPECT_EQ(launches_of(nested, nested), n - 1 + n);
  EXPECT_EQ(launches_of(nested, without), n - 1 + 1) << "what comes in one run is copied";
  EXPECT_EQ(launches_of(without, nested), n);
  EXPECT_EQ(launches_of(even, without), n) << "nobody packs what the others can be told of";
  EXPECT_EQ(launches_of(even, nested), n);
  EXPECT_EQ(launches_of(nested, even), n - 1 + n);
  EXPECT_EQ(launches_of(without, without), 0);
}

// More than there are slots; what one has packed stays until all have read it.
TEST_F(TogetherPacked, KeepTheirData_WhenSeveralAreUnderWay) {
  for (int round = 0; round < 3; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    compare_with_host({Kind::device, Kind::device, 0}, [&](Trial &run) {
      std::vector<std::unique_ptr<Exchange>> all;
      for (int i = 0; i < 11; ++i) {
        const auto at = static_cast<std::size_t>(i + 3 * round) % std::size(kOperations);
        all.push_back(std::make_unique<Exchange>(&run, *types_, i + round, Form::nonblocking, i));
        ((*all.back()).*kOperations[at].begin)();
        if (i % 4 != round) continue;
        Exchange blocking(&run, *types_, i, Form::blocking, i + 20);
        blocking.alltoallw();
      }
      std::reverse(all.begin(), all.end());
      for (const auto &each : all) each->complete();
    });
    if (session_.agree_any(HasFailure())) return;
  }
}

}  // namespace
}  // namespace sluice::tests::together_packed_test

// SPDX-License-Identifier: BSD-3-Clause
// Neighbourhood operations that the ranks of a node carry out together, in every topology: every byte is compared with
// the host MPI's own call on host copies, and the statistics say that it went over IPC. Started as together.cpp says.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "tests/ranks/coll/moving.hpp"
#include "tests/ranks/coll/topologies.hpp"
#include "tests/ranks/coll/variants.hpp"
#include "tests/support/host_mpi.hpp"

namespace sluice::tests::together_neighbors_test {
namespace {

using Form = Variant::Form;

SLUICE_COLLECTIVE(Neighbor_allgather, neighbor_allgather)
SLUICE_COLLECTIVE(Neighbor_allgatherv, neighbor_allgatherv)
SLUICE_COLLECTIVE(Neighbor_alltoall, neighbor_alltoall)
SLUICE_COLLECTIVE(Neighbor_alltoallv, neighbor_alltoallv)
SLUICE_COLLECTIVE(Neighbor_alltoallw, neighbor_alltoallw)

constexpr int kCount = 700;    // ints
constexpr int kLastRound = 1;  // of a persistent call

// Both ends of an edge know its length, as many times as there is one between the same two ranks.
int count_of(int source, int destination) {
  return 300 + 34 * source + 12 * destination;
}

// Two ints with room for one between them.
class Pairs {
 public:
  Pairs() {
    MPI_Type_vector(2, 1, 2, MPI_INT, &type_);
    MPI_Type_commit(&type_);
  }
  Pairs(const Pairs &) = delete;
  Pairs &operator=(const Pairs &) = delete;
  ~Pairs() { MPI_Type_free(&type_); }
  MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

std::size_t ints(long long n) {
  return static_cast<std::size_t>(n) * sizeof(int);
}

// A call of one of the operations at this rank: its form, its buffers, what it is told, and what is under way of it.
class Exchange {
 public:
  // `round`: which data it sends.
  Exchange(Trial *run, const Topology &topology, Form form, int round = 0)
      : run_(*run), topology_(topology), form_(form), round_(round) {}

  void allgather() {
    in_ = &run_.input(ints(kCount), round_);
    out_ = &run_.output(ints(kCount) * topology_.sources().size());
    begin(neighbor_allgather_forms<int>(), in_->data(), kCount, MPI_INT, out_->data(), kCount, MPI_INT,
          topology_.comm());
  }

  void allgatherv() {
    const auto own = count_of(topology_.rank(), 0);
    received_ = blocks(topology_.sources(), 2, [](int source) { return count_of(source, 0); });
    in_ = &run_.input(ints(own), round_);
    out_ = &run_.output(ints(received_.n_elements));
    begin(neighbor_allgatherv_forms<int>(), in_->data(), own, MPI_INT, out_->data(), received_.counts.data(),
          received_.displacements.data(), MPI_INT, topology_.comm());
  }

  void alltoall() {
    in_ = &run_.input(ints(kCount) * topology_.destinations().size(), round_);
    out_ = &run_.output(ints(kCount) * topology_.sources().size());
    begin(neighbor_alltoall_forms<int>(), in_->data(), kCount, MPI_INT, out_->data(), kCount, MPI_INT,
          topology_.comm());
  }

  void alltoallv() {
    describe_blocks(false);
    begin(neighbor_alltoallv_forms<int>(), in_->data(), sent_.counts.data(), sent_.displacements.data(), MPI_INT,
          out_->data(), received_.counts.data(), received_.displacements.data(), MPI_INT, topology_.comm());
  }

  // Every second block comes as pairs, which leave gaps; the places are in bytes.
  void alltoallw() {
    describe_blocks(true);
    for (const int at : sent_.displacements) sent_at_.push_back(static_cast<MPI_Aint>(ints(at)));
    for (const int at : received_.displacements) received_at_.push_back(static_cast<MPI_Aint>(ints(at)));
    sent_types_.assign(sent_.counts.size() + 1, MPI_INT);
    received_types_ = sent_types_;
    received_types_.resize(received_.counts.size() + 1, MPI_INT);
    for (std::size_t i = 0; i < received_.counts.size(); i += 2) {
      received_types_[i] = pairs_.get();
      received_.counts[i] /= 2;
    }
    begin(neighbor_alltoallw_forms<int>(), in_->data(), sent_.counts.data(), sent_at_.data(), sent_types_.data(),
          out_->data(), received_.counts.data(), received_at_.data(), received_types_.data(), topology_.comm());
  }

  // Of a non-blocking call or a persistent one.
  void complete() { EXPECT_EQ(MPI_Wait(&request_, MPI_STATUS_IGNORE), MPI_SUCCESS); }

  // Starts a persistent one once more, with other data, and gives it back.
  void repeat() {
    if (form_ != Form::persistent) return;
    run_.refill(*in_, kLastRound);
    EXPECT_EQ(MPI_Start(&request_), MPI_SUCCESS);
    complete();
    EXPECT_EQ(MPI_Request_free(&request_), MPI_SUCCESS);
  }

 private:
  template <class CountOf>
  static Blocks<int> blocks(const std::vector<int> &ranks, int gap, CountOf count) {
    Blocks<int> made(static_cast<int>(ranks.size()), gap,
                     [&](int i) { return count(ranks[static_cast<std::size_t>(i)]); });
    // An address, even for none.
    made.counts.reserve(1);
    made.displacements.reserve(1);
    return made;
  }

  // `leaves_gaps`: short and even, with room for the gaps.
  void describe_blocks(bool leaves_gaps) {
    const int rank = topology_.rank();
    const auto length = [leaves_gaps](int source, int destination) {
      return leaves_gaps ? count_of(source, destination) / 8 * 2 : count_of(source, destination);
    };
    const int gap = leaves_gaps ? 200 : 3;
    sent_ = blocks(topology_.destinations(), 1, [&](int destination) { return length(rank, destination); });
    received_ = blocks(topology_.sources(), gap, [&](int source) { return length(source, rank); });
    in_ = &run_.input(ints(sent_.n_elements), round_);
    out_ = &run_.output(ints(received_.n_elements));
  }

  template <class... Arguments, class... Given>
  void begin(const Forms<Arguments...> &forms, Given... given) {
    begin_form(form_, forms, &request_, given...);
  }

  Trial &run_;
  const Topology &topology_;
  const Form form_;
  const int round_;
  const Memory *in_ = nullptr;
  const Memory *out_ = nullptr;
  Blocks<int> sent_{0, 0, [](int) { return 0; }};
  Blocks<int> received_{0, 0, [](int) { return 0; }};
  std::vector<MPI_Aint> sent_at_;
  std::vector<MPI_Aint> received_at_;
  std::vector<MPI_Datatype> sent_types_;
  std::vector<MPI_Datatype> received_types_;
  Pairs pairs_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

struct NeighborOperation {
  const char *name;  // behind "MPI_Neighbor_"
  void (Exchange::*begin)();
};

constexpr NeighborOperation kOperations[] = {{"allgather", &Exchange::allgather},
                                             {"allgatherv", &Exchange::allgatherv},
                                             {"alltoall", &Exchange::alltoall},
                                             {"alltoallv", &Exchange::alltoallv},
                                             {"alltoallw", &Exchange::alltoallw}};

// As the statistics name it.
std::string name_of(const NeighborOperation &operation, Form form) {
  if (form == Form::nonblocking) return std::string("MPI_Ineighbor_") + operation.name;
  return std::string("MPI_Neighbor_") + operation.name + (form == Form::persistent ? "_init" : "");
}

std::vector<Form> forms() {
#if MPI_VERSION >= 4
  return {Form::blocking, Form::nonblocking, Form::persistent};
#else
  return {Form::blocking, Form::nonblocking};
#endif
}

// The whole of one call, persistent ones started twice. Where the host MPI's persistent form is at fault its
// non-blocking one says what is right.
void carry_out(Trial *run, const Topology &topology, const NeighborOperation &operation, Form form, bool is_reference) {
  const bool stands_in = is_reference && form == Form::persistent && breaks_persistent_collectives();
  Exchange exchange(run, topology, stands_in ? Form::nonblocking : form, stands_in ? kLastRound : 0);
  (exchange.*operation.begin)();
  if (form != Form::blocking) exchange.complete();
  exchange.repeat();
}

class ComparedNeighbors : public Together {
 protected:
  // How many buffers of `operation` this rank brought over IPC in one comparison with the host MPI.
  static long long compare(const Topology &topology, const NeighborOperation &operation, Form form, Kind kind) {
    const std::string name = name_of(operation, form);
    const long long before = calls_by(name, "ipc");
    bool is_reference = true;
    compare_with_host({kind, kind, 0}, [&](Trial &run) {
      carry_out(&run, topology, operation, form, is_reference);
      is_reference = false;
    });
    return calls_by(name, "ipc") - before;
  }
};

// Started with a fault in force on one rank: it never reaches the others' memory.
using TogetherNeighborsFault = ComparedNeighbors;

class TogetherNeighbors : public ComparedNeighbors {
 protected:
  // Whether the ranks can move data together on this machine: a backend may have no memory that others reach.
  void SetUp() override {
    ComparedNeighbors::SetUp();
    if (IsSkipped()) return;
    const Buffers buffers(Kind::device, 0);
    const long long before = calls_by("MPI_Allgather", "ipc");
    ASSERT_GE(before, 0) << "no statistics";
    ASSERT_EQ(movement("MPI_Allgather").call(buffers, 0, session_.comm()), MPI_SUCCESS);
    is_together_ = calls_by("MPI_Allgather", "ipc") > before;
    if (std::getenv("TEST_MOVES_TOGETHER") != nullptr) {
      ASSERT_TRUE(is_together_);
    }
  }

  // How many buffers that is when all of it goes over IPC.
  long long expected(const Topology &topology, Form form) const {
    if (!is_together_) return 0;
    const int n_buffers = (topology.sources().empty() ? 0 : 1) + (topology.destinations().empty() ? 0 : 1);
    return n_buffers * (form == Form::persistent ? 2 : 1);
  }

  bool is_together_ = false;
};

// The first call on a communicator comes in every form.
TEST_F(TogetherNeighbors, PullOverIpc_InEveryTopology) {
  for (const Shape shape : all_shapes()) {
    if (is_uneven(shape) && fails_on_uneven_graphs()) continue;
    for (const Form form : forms()) {
      const Topology topology(shape);
      for (const NeighborOperation &operation : kOperations) {
        SCOPED_TRACE(name_of(operation, form) + " on " + name_of(shape));
        const long long by_ipc = compare(topology, operation, form, Kind::device);
        // Some host MPIs cannot be asked about those.
        const bool is_staged = shape == Shape::uneven_twice && std::string(operation.name) == "alltoallw";
        EXPECT_EQ(by_ipc, is_staged ? 0 : expected(topology, form));
        if (session_.agree_any(HasFailure())) return;
      }
    }
  }
}

TEST_F(TogetherNeighbors, StageEverywhere_WhenOneRankHasHostMemory) {
  const bool is_last = session_.rank() == session_.size() - 1;
  for (const Form form : forms()) {
    if (form == Form::persistent && breaks_persistent_collectives()) continue;
    for (const Shape shape : {Shape::ring, Shape::repeated_edges}) {
      const Topology topology(shape);
      for (const NeighborOperation &operation : kOperations) {
        SCOPED_TRACE(name_of(operation, form) + " on " + name_of(shape));
        EXPECT_EQ(compare(topology, operation, form, is_last ? Kind::host : Kind::device), 0);
        if (session_.agree_any(HasFailure())) return;
      }
    }
  }
}

// So many between two ranks that a rank cannot tell where all of its blocks are.
TEST_F(TogetherNeighbors, StageEverywhere_WhenThereAreTooManyEdges) {
  for (const Form form : forms()) {
    if (form == Form::persistent && breaks_persistent_collectives()) continue;
    const Topology topology(Shape::many_edges);
    for (const NeighborOperation &operation : kOperations) {
      SCOPED_TRACE(name_of(operation, form));
      const bool is_gathered = std::string(operation.name).find("gather") != std::string::npos;
      EXPECT_EQ(compare(topology, operation, form, Kind::device), is_gathered ? expected(topology, form) : 0);
      if (session_.agree_any(HasFailure())) return;
    }
  }
}

// Several under way, with blocking ones among them, completed from the last to the first; host memory in some.
TEST_F(TogetherNeighbors, KeepTheirOrder_WhenSeveralAreUnderWay) {
  for (const Shape shape : {Shape::ring, Shape::torus, Shape::repeated_edges, Shape::graph}) {
    const Topology topology(shape);
    for (int round = 0; round < 3; ++round) {
      SCOPED_TRACE(std::string(name_of(shape)) + ", round " + std::to_string(round));
      const bool is_odd_one = round == 1 && session_.rank() == 0;
      const Kind kind = is_odd_one ? Kind::host : Kind::device;
      compare_with_host({kind, kind, 0}, [&](Trial &run) {
        std::vector<std::unique_ptr<Exchange>> all;
        for (int i = 0; i < 11; ++i) {
          all.push_back(std::make_unique<Exchange>(&run, topology, Form::nonblocking));
          ((*all.back()).*kOperations[i % 5].begin)();
          if (i % 4 != round) continue;
          Exchange blocking(&run, topology, Form::blocking);
          (blocking.*kOperations[(i + 2) % 5].begin)();
        }
        std::reverse(all.begin(), all.end());
        for (const auto &each : all) each->complete();
      });
      if (session_.agree_any(HasFailure())) return;
    }
  }
}

// All stage; what has a request does it over communicators of Sluice's, which have the same edges.
TEST_F(TogetherNeighborsFault, StageInTheSameTopology_WhenARankReachesNobody) {
  for (const Shape shape : all_shapes()) {
    if (is_uneven(shape) && fails_on_uneven_graphs()) continue;
    for (const Form form : forms()) {
      const Topology topology(shape);
      for (const NeighborOperation &operation : kOperations) {
        SCOPED_TRACE(name_of(operation, form) + " on " + name_of(shape));
        EXPECT_EQ(compare(topology, operation, form, Kind::device), 0);
        if (session_.agree_any(HasFailure())) return;
      }
    }
  }
}

}  // namespace
}  // namespace sluice::tests::together_neighbors_test

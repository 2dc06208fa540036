// SPDX-License-Identifier: BSD-3-Clause
// Collective operations of which no rank knows how long they are for the others, short and long in turns, as a program
// has them that sets a threshold alone: the first long one after many short ones goes over IPC, whoever has the long
// block, and those with host memory are looked at less and less often. Every byte is compared with what was sent.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "tests/ranks/coll/random_calls.hpp"
#include "tests/ranks/coll/threshold_alone.hpp"
#include "tests/ranks/coll/topologies.hpp"
#include "tests/support/session.hpp"
#include "tests/support/statistics.hpp"

namespace sluice::tests::short_calls_test {
namespace {

constexpr int kLongBytes = 20'000;  // of one block; the threshold is 8 KiB
constexpr int kShortBytes = 24;
constexpr unsigned kOffsetOfBlocks = 131;  // so that a block for one rank is none for another

enum class Function : std::uint8_t {
  gatherv,
  scatterv,
  alltoallv,
  alltoallw,
  neighbor_allgather,
  neighbor_allgatherv,
  neighbor_alltoall,
  neighbor_alltoallv,
  neighbor_alltoallw
};
constexpr std::array kFunctions = {
    Function::gatherv,           Function::scatterv,           Function::alltoallv,
    Function::alltoallw,         Function::neighbor_allgather, Function::neighbor_allgatherv,
    Function::neighbor_alltoall, Function::neighbor_alltoallv, Function::neighbor_alltoallw};

const char *name_of(Function function) {
  constexpr std::array kNames = {"MPI_Gatherv",           "MPI_Scatterv",           "MPI_Alltoallv",
                                 "MPI_Alltoallw",         "MPI_Neighbor_allgather", "MPI_Neighbor_allgatherv",
                                 "MPI_Neighbor_alltoall", "MPI_Neighbor_alltoallv", "MPI_Neighbor_alltoallw"};
  return kNames[static_cast<std::size_t>(function)];
}

bool is_of_neighbors(Function function) {
  return function >= Function::neighbor_allgather;
}
bool is_gathered(Function function) {
  return function == Function::neighbor_allgather || function == Function::neighbor_allgatherv;
}
bool is_of_equal_blocks(Function function) {
  return function == Function::neighbor_allgather || function == Function::neighbor_alltoall;
}

// A communicator of its own, on which nothing has been called yet: a row, in which nobody is a neighbour twice.
class Place {
 public:
  explicit Place(Function function) {
    if (is_of_neighbors(function)) {
      line_ = std::make_unique<Topology>(Shape::line);
      comm_ = line_->comm();
      rank_ = line_->rank();
      sources_ = line_->sources();
      destinations_ = line_->destinations();
      return;
    }
    EXPECT_EQ(MPI_Comm_dup(Session::get().comm(), &comm_), MPI_SUCCESS);
    rank_ = Session::get().rank();
    const int last = Session::get().size() - 1;
    std::vector<int> all(static_cast<std::size_t>(last) + 1);
    std::iota(all.begin(), all.end(), 0);
    const bool has_root = function == Function::gatherv || function == Function::scatterv;
    const bool is_idle = has_root && rank_ != (function == Function::gatherv ? last : 0);
    sources_ = function == Function::scatterv ? std::vector{0} : all;
    destinations_ = function == Function::gatherv ? std::vector{last} : all;
    if (is_idle) (function == Function::gatherv ? sources_ : destinations_).clear();
  }
  Place(const Place &) = delete;
  Place &operator=(const Place &) = delete;
  ~Place() {
    if (line_ == nullptr) {
      EXPECT_EQ(MPI_Comm_free(&comm_), MPI_SUCCESS);
    }
  }

  MPI_Comm comm() const { return comm_; }
  int rank() const { return rank_; }
  // The roots: of MPI_Gatherv the last rank, of MPI_Scatterv the first.
  const std::vector<int> &sources() const { return sources_; }
  const std::vector<int> &destinations() const { return destinations_; }

 private:
  std::unique_ptr<Topology> line_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  std::vector<int> sources_;
  std::vector<int> destinations_;
};

// Bytes of the block that goes from one rank to another; the same function on all ranks.
using Length = std::function<int(int from, int to)>;

struct BlockList {
  std::vector<int> counts;
  std::vector<int> places;
  std::vector<MPI_Aint> wide_places;
  std::vector<MPI_Datatype> types;
  int size_bytes = 0;

  // An address, even for none.
  template <class LengthOf>
  BlockList(const std::vector<int> &ranks, LengthOf length_of) {
    counts.reserve(1);
    places.reserve(1);
    for (const int rank : ranks) {
      counts.push_back(rank == MPI_PROC_NULL ? length_of(0) : length_of(rank));
      places.push_back(size_bytes);
      wide_places.push_back(size_bytes);
      size_bytes += counts.back();
    }
    wide_places.reserve(1);
    types.assign(ranks.size() + 1, MPI_BYTE);
  }
};

// One call at this rank. Checked when it is complete: all that it sends and all that it gets, with the guards.
class Exchange {
 public:
  Exchange(Function function, const Place &place, const Length &length, Kind kind, int round)
      : function_(function),
        place_(place),
        round_(round),
        sent_(is_gathered(function) ? std::vector{0} : place.destinations(),
              [&](int to) { return length(place.rank(), is_gathered(function) ? 0 : to); }),
        received_(place.sources(), [&](int from) { return length(from, is_gathered(function) ? 0 : place.rank()); }),
        in_(Session::get().module(), kind, static_cast<std::size_t>(sent_.size_bytes)),
        out_(Session::get().module(), kind, static_cast<std::size_t>(received_.size_bytes)) {
    const Bytes given = content(sent_, is_gathered(function) ? std::vector{0} : place.destinations(), true);
    if (sent_.size_bytes != 0) in_.write(0, given.data(), static_cast<std::size_t>(sent_.size_bytes));
  }

  // The blocking form, and the non-blocking one with a request.
  int call() { return begin(nullptr); }
  int start(MPI_Request *request) { return begin(request); }

  // As the statistics count them.
  int n_buffers() const { return (place_.sources().empty() ? 0 : 1) + (place_.destinations().empty() ? 0 : 1); }

  void expect_right() const {
    const auto &sent_to = is_gathered(function_) ? std::vector{0} : place_.destinations();
    EXPECT_EQ(find_difference(content(sent_, sent_to, true), in_.read_with_guards()), "") << "what was sent";
    EXPECT_EQ(find_difference(content(received_, place_.sources(), false), out_.read_with_guards()), "")
        << "round " << round_;
  }

 private:
  // What lies in a buffer in the end. At the border of a grid nothing comes.
  Bytes content(const BlockList &blocks, const std::vector<int> &ranks, bool is_sent) const {
    Bytes bytes(static_cast<std::size_t>(blocks.size_bytes) + kGuardBytes, kPoison);
    for (std::size_t block = 0; block < ranks.size(); ++block) {
      if (!is_sent && ranks[block] == MPI_PROC_NULL) continue;
      const int from = is_sent ? place_.rank() : ranks[block];
      const int to = is_gathered(function_) ? 0 : is_sent ? std::max(ranks[block], 0) : place_.rank();
      for (int i = 0; i < blocks.counts[block]; ++i) {
        bytes[static_cast<std::size_t>(blocks.places[block]) + static_cast<std::size_t>(i)] =
            pattern_byte(from, static_cast<std::size_t>(i) + kOffsetOfBlocks * static_cast<std::size_t>(to), round_);
      }
    }
    return bytes;
  }

  int begin(MPI_Request *request) {
    const void *const in = in_.data();
    void *const out = out_.data();
    const MPI_Comm comm = place_.comm();
    const int n_sent = sent_.counts.empty() ? 0 : sent_.counts.front();
    const int n_received = received_.counts.empty() ? 0 : received_.counts.front();
    const int last = Session::get().size() - 1;
    switch (function_) {
      case Function::gatherv:
        return MPI_Gatherv(in, n_sent, MPI_BYTE, out, received_.counts.data(), received_.places.data(), MPI_BYTE, last,
                           comm);
      case Function::scatterv:
        return MPI_Scatterv(in, sent_.counts.data(), sent_.places.data(), MPI_BYTE, out, n_received, MPI_BYTE, 0, comm);
      case Function::alltoallv:
        if (request != nullptr) {
          return MPI_Ialltoallv(in, sent_.counts.data(), sent_.places.data(), MPI_BYTE, out, received_.counts.data(),
                                received_.places.data(), MPI_BYTE, comm, request);
        }
        return MPI_Alltoallv(in, sent_.counts.data(), sent_.places.data(), MPI_BYTE, out, received_.counts.data(),
                             received_.places.data(), MPI_BYTE, comm);
      case Function::alltoallw:
        return MPI_Alltoallw(in, sent_.counts.data(), sent_.places.data(), sent_.types.data(), out,
                             received_.counts.data(), received_.places.data(), received_.types.data(), comm);
      default:
        return begin_with_neighbors(request);
    }
  }

  int begin_with_neighbors(MPI_Request *request) {
    const void *const in = in_.data();
    void *const out = out_.data();
    const MPI_Comm comm = place_.comm();
    const int n_sent = sent_.counts.front();
    switch (function_) {
      case Function::neighbor_allgather:
        return MPI_Neighbor_allgather(in, n_sent, MPI_BYTE, out, received_.counts.front(), MPI_BYTE, comm);
      case Function::neighbor_allgatherv:
        return MPI_Neighbor_allgatherv(in, n_sent, MPI_BYTE, out, received_.counts.data(), received_.places.data(),
                                       MPI_BYTE, comm);
      case Function::neighbor_alltoall:
        return MPI_Neighbor_alltoall(in, n_sent, MPI_BYTE, out, received_.counts.front(), MPI_BYTE, comm);
      case Function::neighbor_alltoallv:
        if (request != nullptr) {
          return MPI_Ineighbor_alltoallv(in, sent_.counts.data(), sent_.places.data(), MPI_BYTE, out,
                                         received_.counts.data(), received_.places.data(), MPI_BYTE, comm, request);
        }
        return MPI_Neighbor_alltoallv(in, sent_.counts.data(), sent_.places.data(), MPI_BYTE, out,
                                      received_.counts.data(), received_.places.data(), MPI_BYTE, comm);
      default:
        return MPI_Neighbor_alltoallw(in, sent_.counts.data(), sent_.wide_places.data(), sent_.types.data(), out,
                                      received_.counts.data(), received_.wide_places.data(), received_.types.data(),
                                      comm);
    }
  }

  const Function function_;
  const Place &place_;
  const int round_;
  BlockList sent_;
  BlockList received_;
  Memory in_;
  Memory out_;
};

class ShortCalls : public testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_THRESHOLD_ALONE();
    ASSERT_GE(calls_by("MPI_Alltoallv", "ipc"), 0) << "no statistics";
  }

  // Makes one blocking call. Whether all of it went over IPC; all that or nothing.
  bool goes_together(Function function, const Place &place, const Length &length, Kind kind = Kind::device) {
    Exchange exchange(function, place, length, kind, ++n_rounds_);
    const long long before = calls_by(name_of(function), "ipc");
    EXPECT_EQ(exchange.call(), MPI_SUCCESS);
    exchange.expect_right();
    const long long by_ipc = calls_by(name_of(function), "ipc") - before;
    EXPECT_TRUE(by_ipc == 0 || by_ipc == exchange.n_buffers()) << by_ipc;
    return by_ipc != 0;
  }

  // The same for a non-blocking one.
  bool goes_together_started(Function function, const Place &place, const Length &length) {
    const std::string name = function == Function::alltoallv ? "MPI_Ialltoallv" : "MPI_Ineighbor_alltoallv";
    Exchange exchange(function, place, length, Kind::device, ++n_rounds_);
    const long long before = calls_by(name, "ipc");
    MPI_Request request = MPI_REQUEST_NULL;
    EXPECT_EQ(exchange.start(&request), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    exchange.expect_right();
    return calls_by(name, "ipc") != before;
  }

  // Of a short call.
  Length short_ones(Function function) const {
    const bool are_equal = is_of_equal_blocks(function);
    return [are_equal, round = n_rounds_](int from, int to) {
      return are_equal ? kShortBytes : 1 + (from * 5 + to * 3 + round) % kShortBytes;
    };
  }
  // Of a call that is long for two ranks alone, unless all blocks are of one length.
  Length one_long(Function function) const {
    const Length others = short_ones(function);
    const bool are_equal = is_of_equal_blocks(function);
    const int last = session_.size() - 1;
    return [=](int from, int to) {
      if (are_equal) return kLongBytes;
      const bool is_long = is_of_neighbors(function) ? from == 0 : from == 0 && to == last;
      return is_long ? kLongBytes : others(from, to);
    };
  }

  const Session &session_ = Session::get();
  int n_rounds_ = 0;
};

TEST_F(ShortCalls, LetTheNextLongOneGoOverIpc) {
  for (const Function function : kFunctions) {
    SCOPED_TRACE(name_of(function));
    const Place place(function);
    for (const int n_short : {70, 1, 5}) {
      for (int i = 0; i < n_short; ++i) {
        EXPECT_FALSE(goes_together(function, place, short_ones(function))) << "short call " << i;
      }
      EXPECT_TRUE(goes_together(function, place, one_long(function))) << "after " << n_short << " short calls";
    }
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(goes_together(function, place, one_long(function))) << "long call " << i;
    if (session_.agree_any(HasFailure())) return;
  }
}

// How non-blocking calls go hangs on how the last blocking one came out.
TEST_F(ShortCalls, LetNonBlockingOnesGoOverIpc) {
  for (const Function function : {Function::alltoallv, Function::neighbor_alltoallv}) {
    SCOPED_TRACE(name_of(function));
    const Place place(function);
    for (int round = 0; round < 5; ++round) {
      EXPECT_TRUE(goes_together_started(function, place, one_long(function))) << "round " << round;
      // The first short one after a long one is described, those that follow are voted on.
      if (round != 0) {
        EXPECT_TRUE(goes_together(function, place, one_long(function)));
      }
      for (int i = 0; i <= round / 2; ++i) EXPECT_FALSE(goes_together(function, place, short_ones(function)));
    }
    if (session_.agree_any(HasFailure())) return;
  }
}

// Calls with no bytes at all say nothing either, though all ranks take part in them.
TEST_F(ShortCalls, LetTheNextLongOneGoOverIpc_WhenTheyAreEmpty) {
  for (const Function function : {Function::scatterv, Function::alltoallv, Function::neighbor_allgather}) {
    SCOPED_TRACE(name_of(function));
    const Place place(function);
    for (int i = 0; i < 70; ++i) EXPECT_FALSE(goes_together(function, place, [](int, int) { return 0; }));
    EXPECT_TRUE(goes_together(function, place, one_long(function)));
    if (session_.agree_any(HasFailure())) return;
  }
}

// With host memory on one rank calls are looked at less and less often: of these the 1st, 2nd, 5th, 12th, 25th, 56th
// and 123rd (ops/comm/attempts.hpp). Short ones of device memory are among those that are left out.
TEST_F(ShortCalls, AreLookedAtLessOften_WhereARankHasHostMemory) {
  constexpr int kWithHostMemory = 100;
  constexpr int kNextLook = 123;
  const Kind kind = session_.rank() == session_.size() - 1 ? Kind::host : Kind::device;
  for (const Function function : {Function::gatherv, Function::alltoallw, Function::neighbor_alltoall}) {
    for (const int n_short : {0, 20}) {
      SCOPED_TRACE(std::string(name_of(function)) + ", " + std::to_string(n_short) + " short calls");
      const Place place(function);
      int n_calls = 0;
      for (; n_calls < kWithHostMemory; ++n_calls) {
        EXPECT_FALSE(
            goes_together(function, place, n_calls % 2 == 0 ? short_ones(function) : one_long(function), kind));
      }
      for (int i = 0; i < n_short; ++i, ++n_calls) EXPECT_FALSE(goes_together(function, place, short_ones(function)));
      while (++n_calls < kNextLook) EXPECT_FALSE(goes_together(function, place, one_long(function))) << n_calls;
      EXPECT_TRUE(goes_together(function, place, one_long(function)));
      EXPECT_TRUE(goes_together(function, place, one_long(function)));
      if (session_.agree_any(HasFailure())) return;
    }
  }
}

// Where calls have gone together many on host memory are borne with.
TEST_F(ShortCalls, LetTheNextLongOneGoOverIpc_AmongCallsOnHostMemory) {
  constexpr Function kGatherv = Function::gatherv;
  const Place place(kGatherv);
  for (const int n_on_host : {0, 10, 1, 64}) {
    for (int i = 0; i < n_on_host; ++i) goes_together(kGatherv, place, one_long(kGatherv), Kind::host);
    EXPECT_TRUE(goes_together(kGatherv, place, one_long(kGatherv))) << "after " << n_on_host << " on host memory";
  }
}

// Whatever the ranks have, all come to the same, or some would wait for ever.
TEST_F(ShortCalls, AreAgreedOn_WhenLengthsAndMemoryAreRandom) {
  const int n_calls = session_.options().is_full ? 2000 : 60;
  for (const Function function : kFunctions) {
    SCOPED_TRACE(name_of(function));
    const Place place(function);
    for (int number = 0; number < n_calls; ++number) {
      const Draws draws(session_.options().seed * 1'000'003 + static_cast<std::uint64_t>(number));
      const bool is_host = draws.one_in(40, 1, place.rank(), 0);
      const Length length = [&](int from, int to) {
        if (is_of_equal_blocks(function)) from = to = 0;
        if (is_gathered(function)) to = 0;
        if (draws.one_in(8, 2, from, to)) return kLongBytes;
        return static_cast<int>(draws.below(kShortBytes, 3, from, to));
      };
      goes_together(function, place, length, is_host ? Kind::host : Kind::device);
    }
    if (session_.agree_any(HasFailure())) return;
  }
}

}  // namespace
}  // namespace sluice::tests::short_calls_test

// SPDX-License-Identifier: BSD-3-Clause
// The v and w forms staged in segments: blocks of any lengths, many of none, in any order with gaps between them, types
// and kinds of memory of each rank's own, in place; compared with the host MPI, and that they go in segments exactly
// where they should. Started as segments.cpp says.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/ranks/coll/moving.hpp"
#include "tests/ranks/coll/random_calls.hpp"
#include "tests/ranks/coll/variants.hpp"
#include "tests/support/given_setting.hpp"

namespace sluice::tests::unequal_segments_test {
namespace {

SLUICE_COLLECTIVE(Gatherv, gatherv)
SLUICE_COLLECTIVE(Scatterv, scatterv)
SLUICE_COLLECTIVE(Allgatherv, allgatherv)
SLUICE_COLLECTIVE(Alltoallv, alltoallv)
SLUICE_COLLECTIVE(Alltoallw, alltoallw)

enum Question : int { kWhichRoot, kIsNone, kIsShort, kLength, kHasDevice, kType, kGap, kOrder };
enum class Vector : std::uint8_t { gatherv, scatterv, allgatherv, alltoallv, alltoallw };
constexpr std::array<const char *, 5> kNames = {"MPI_Gatherv", "MPI_Scatterv", "MPI_Allgatherv", "MPI_Alltoallv",
                                                "MPI_Alltoallw"};
// Blocks are so many units of six ints, which each of the types divides.
constexpr std::size_t kUnitBytes = 6 * sizeof(int);
constexpr std::array kIntsOfTypes = {1, 2, 3, 6};

class Types {
 public:
  Types() {
    for (const int n_ints : kIntsOfTypes) {
      MPI_Datatype type = MPI_DATATYPE_NULL;
      EXPECT_EQ(MPI_Type_contiguous(n_ints, MPI_INT, &type), MPI_SUCCESS);
      EXPECT_EQ(MPI_Type_commit(&type), MPI_SUCCESS);
      types_.push_back(type);
    }
  }
  ~Types() {
    for (MPI_Datatype &type : types_) EXPECT_EQ(MPI_Type_free(&type), MPI_SUCCESS);
  }
  Types(const Types &) = delete;
  Types &operator=(const Types &) = delete;

  MPI_Datatype at(std::size_t index) const { return types_[index]; }

 private:
  std::vector<MPI_Datatype> types_;
};

// One call, the same on all ranks.
struct Exchange {
  Draws draws;
  Vector what;
  Variant variant;  // its form, root and whether it is in place

  // Each call in place and not, in each form, in turn; the rest is random.
  static Exchange random(std::uint64_t seed, std::uint64_t number, int n_ranks) {
    Exchange made{Draws(seed + number), static_cast<Vector>(number % kNames.size()), {}};
    number /= kNames.size();
    // In place MPI_Alltoallv and MPI_Alltoallw stay whole.
    made.variant.is_in_place = number % 2 == 1 && !is_exchange(made.what);
    constexpr std::array kForms = {Variant::Form::blocking, Variant::Form::nonblocking, Variant::Form::blocking,
                                   Variant::Form::persistent};
    made.variant.form = kForms[number / 2 % (MPI_VERSION >= 4 ? 4 : 2)];
    made.variant.root = static_cast<int>(made.draws.below(static_cast<std::uint64_t>(n_ranks), kWhichRoot));
    return made;
  }
  static bool is_exchange(Vector what) { return what == Vector::alltoallv || what == Vector::alltoallw; }
  const char *name() const { return kNames[static_cast<std::size_t>(what)]; }

  // What goes from one to the other.
  int units(int from, int to) const {
    if (what == Vector::gatherv || what == Vector::allgatherv) to = 0;
    if (what == Vector::scatterv) from = 0;
    if (draws.one_in(4, kIsNone, from, to)) return 0;
    const std::uint64_t most = draws.one_in(3, kIsShort, from, to) ? 60 : 2000;
    return static_cast<int>(draws.below(most + 1, kLength, from, to));
  }
  Kind kind(int rank, bool is_sent) const {
    return draws.one_in(4, kHasDevice, rank, is_sent ? 1 : 0) ? Kind::host : Kind::device;
  }

  // Whom a rank sends blocks to or gets them from; nobody: it has no such buffer.
  std::vector<int> peers(int rank, bool is_sent) const {
    const bool is_root = rank == variant.root;
    const bool has_one = (what == Vector::gatherv && is_sent) || (what == Vector::scatterv && !is_sent) ||
                         (what == Vector::allgatherv && is_sent);
    if (has_one && variant.is_in_place && (is_root || what == Vector::allgatherv)) return {};
    if (has_one) return {is_sent ? variant.root : rank};
    if (((what == Vector::gatherv && !is_sent) || (what == Vector::scatterv && is_sent)) && !is_root) return {};
    std::vector<int> all(static_cast<std::size_t>(Session::get().size()));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  int units_of(int rank, int peer, bool is_sent) const { return is_sent ? units(rank, peer) : units(peer, rank); }

  // Whether it goes in segments, where the call blocks.
  bool is_cut(std::size_t segment_bytes) const {
    std::size_t longest = 0;
    bool has_device = false;
    for (int rank = 0; rank < Session::get().size(); ++rank) {
      for (const bool is_sent : {true, false}) {
        std::size_t bytes = 0;
        for (const int peer : peers(rank, is_sent)) {
          bytes += kUnitBytes * static_cast<std::size_t>(units_of(rank, peer, is_sent));
        }
        longest = std::max(longest, bytes);
        has_device |= bytes != 0 && kind(rank, is_sent) == Kind::device;
      }
    }
    return has_device && longest > segment_bytes;
  }
};

// One buffer of a rank, as the call is told of it.
struct Described {
  std::vector<int> counts;
  std::vector<int> places;       // in elements of the only type
  std::vector<int> byte_places;  // and in bytes
  std::vector<MPI_Datatype> types;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  std::size_t size_bytes = 0;

  // In any order, with gaps; MPI_Alltoallw's types are one for each block.
  Described(const Exchange &call, bool is_sent, const Types &all_types) {
    const int rank = Session::get().rank();
    const std::vector<int> peers = call.peers(rank, is_sent);
    const int side = is_sent ? 1 : 0;
    const auto type_of = [&](int peer) {
      const int which = call.what == Vector::alltoallw ? peer + 1 : 0;
      // MPICH 4.0's own MPI_Allgatherv brings other bytes, or aborts, where the ranks' types have unlike extents.
      const int whose = call.what == Vector::allgatherv ? 0 : 2 * rank + side;
      return static_cast<std::size_t>(call.draws.below(kIntsOfTypes.size(), kType, whose, which));
    };
    counts.resize(peers.size());
    places.resize(peers.size());
    byte_places.resize(peers.size());
    types.resize(peers.size());
    std::vector<std::size_t> order(peers.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t one, std::size_t other) {
      const auto key = [&](std::size_t i) {
        return call.draws.below(1000, kOrder, 2 * rank + side, static_cast<int>(i));
      };
      return std::pair(key(one), one) < std::pair(key(other), other);
    });
    type = all_types.at(type_of(0));
    for (const std::size_t i : order) {
      const std::size_t which = type_of(peers[i]);
      const int per_unit = 6 / kIntsOfTypes[which];
      const int n_units = call.units_of(rank, peers[i], is_sent);
      const auto gap_units = static_cast<std::size_t>(call.draws.below(3, kGap, 2 * rank + side, static_cast<int>(i)));
      types[i] = all_types.at(which);
      counts[i] = n_units * per_unit;
      places[i] = static_cast<int>(size_bytes / kUnitBytes) * per_unit;
      byte_places[i] = static_cast<int>(size_bytes);
      size_bytes += (static_cast<std::size_t>(n_units) + gap_units) * kUnitBytes;
    }
  }
  int first_count() const { return counts.empty() ? 0 : counts[0]; }
};

// The call as the host MPI and as Sluice get it. One block alone may lie behind a gap nowhere: it is at the front.
void carry_out(Trial &run, const Exchange &call, const Types &types) {
  const Session &session = Session::get();
  const Variant &variant = call.variant;
  const bool is_root = session.rank() == variant.root;
  const Described sent(call, true, types);
  const Described received(call, false, types);
  const bool keeps_own = variant.is_in_place && (is_root || call.what == Vector::allgatherv);
  const Memory &in = run.input(sent.size_bytes);
  const Memory &out = run.output(received.size_bytes);
  const auto fill = [&](int round) {
    run.refill(in, round);
    if (keeps_own && call.what != Vector::scatterv) run.refill(out, round);
  };
  const void *const from = keeps_own && call.what != Vector::scatterv ? MPI_IN_PLACE : in.data();
  void *const into = keeps_own && call.what == Vector::scatterv ? MPI_IN_PLACE : out.data();
  switch (call.what) {
    case Vector::gatherv:
      perform(run, variant, gatherv_forms<int>(), fill, from, sent.first_count(), sent.type, into,
              received.counts.data(), received.places.data(), received.type, variant.root, session.comm());
      break;
    case Vector::scatterv:
      perform(run, variant, scatterv_forms<int>(), fill, from, sent.counts.data(), sent.places.data(), sent.type, into,
              received.first_count(), received.type, variant.root, session.comm());
      break;
    case Vector::allgatherv:
      perform(run, variant, allgatherv_forms<int>(), fill, from, sent.first_count(), sent.type, into,
              received.counts.data(), received.places.data(), received.type, session.comm());
      break;
    case Vector::alltoallv:
      perform(run, variant, alltoallv_forms<int>(), fill, from, sent.counts.data(), sent.places.data(), sent.type, into,
              received.counts.data(), received.places.data(), received.type, session.comm());
      break;
    case Vector::alltoallw:
      perform(run, variant, alltoallw_forms<int>(), fill, from, sent.counts.data(), sent.byte_places.data(),
              sent.types.data(), into, received.counts.data(), received.byte_places.data(), received.types.data(),
              session.comm());
      break;
  }
}

bool is_started_for_it() {
  const char *mode = std::getenv("SLUICE_COLL_SEGMENTS");
  const Session &session = Session::get();
  return session.has_kind(Kind::device) && mode != nullptr && std::string_view(mode) == "always" && session.size() > 1;
}

TEST(UnequalSegments, BringTheSameAsTheHostMpi_AndAreTakenWhereSomeoneGains) {
  if (!is_started_for_it()) GTEST_SKIP() << "missing: device memory, SLUICE_COLL_SEGMENTS=always, or a second rank";
  const Session &session = Session::get();
  const std::size_t segment_bytes = std::strtoul(given_setting("coll_segment").value_or("0").c_str(), nullptr, 10);
  ASSERT_GT(segment_bytes, 0U);
  const Types types;
  const std::uint64_t n_calls = session.options().is_full ? 600 : 60;
  for (std::uint64_t i = 0; i < n_calls && !session.agree_any(testing::Test::HasFailure()); ++i) {
    const Exchange call = Exchange::random(session.options().seed * 1'000'000, i, session.size());
    SCOPED_TRACE(std::string(call.name()) + " call " + std::to_string(i));
    const long long before = calls_by(call.name(), "pipelined");
    ASSERT_GE(before, 0) << "no statistics";
    compare_with_host({call.kind(session.rank(), true), call.kind(session.rank(), false), 0},
                      [&](Trial &run) { carry_out(run, call, types); });
    const bool is_cut = session.agree_any(calls_by(call.name(), "pipelined") != before);
    if (call.variant.form == Variant::Form::blocking) {
      EXPECT_EQ(is_cut, call.is_cut(segment_bytes));
    }
  }
}

// With a fault in force on one rank: one of its copies fails, once. All get an error, and the next calls work; a rank
// that has nothing to move gets it too.
TEST(UnequalSegmentFault, ComesToAll_WhenACopyFails) {
  if (!is_started_for_it()) GTEST_SKIP() << "missing: device memory, SLUICE_COLL_SEGMENTS=always, or a second rank";
  const Session &session = Session::get();
  const auto exchange = [&](int round) {
    const Buffers buffers(Kind::device, round);
    std::vector<int> counts(buffers.counts.size(), 0);
    const bool moves = session.rank() != 0;
    for (std::size_t peer = 1; peer < counts.size() && moves; ++peer) counts[peer] = kBlockCount;
    const int code = MPI_Alltoallv(buffers.in.data(), counts.data(), buffers.places.data(), MPI_BYTE,
                                   buffers.out.data(), counts.data(), buffers.places.data(), MPI_BYTE, session.comm());
    if (code != MPI_SUCCESS) return code;
    for (int peer = 1; peer < session.size() && moves; ++peer) {
      const auto own = static_cast<std::size_t>(session.rank()) * kBlockBytes;
      const auto place = static_cast<std::size_t>(peer) * kBlockBytes;
      EXPECT_EQ(find_pattern_error(buffers.out.read(place, kBlockBytes), peer, round, own), "") << "from " << peer;
    }
    return code;
  };
  EXPECT_NE(exchange(0), MPI_SUCCESS);
  EXPECT_EQ(exchange(1), MPI_SUCCESS);
  EXPECT_EQ(exchange(2), MPI_SUCCESS);
}

}  // namespace
}  // namespace sluice::tests::unequal_segments_test

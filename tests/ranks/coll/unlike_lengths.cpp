// SPDX-License-Identifier: BSD-3-Clause
// Calls in which one rank gives another length than the others, which MPI forbids and programs do. What the host MPI
// alone says of the same call on host memory is right: the same class of error at each rank, and where there is none
// the same bytes, those included that did not come.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "tests/support/host_mpi.hpp"
#include "tests/support/memory.hpp"
#include "tests/support/session.hpp"

namespace sluice::tests::unlike_lengths_test {
namespace {

// Calls of one communicator until its ranks meet, as shipped.
constexpr int kCallsUntilMeeting = 40;

enum class PassedOn : std::uint8_t { kNever, kByThirdRanks, kAlways };

struct Operation {
  const char *name;
  PassedOn is_passed_on;
};
constexpr std::array kOperations{
    Operation{"bcast", PassedOn::kNever},           Operation{"gather", PassedOn::kByThirdRanks},
    Operation{"scatter", PassedOn::kByThirdRanks},  Operation{"allgather", PassedOn::kAlways},
    Operation{"alltoall", PassedOn::kByThirdRanks}, Operation{"gatherv", PassedOn::kNever},
    Operation{"scatterv", PassedOn::kNever},        Operation{"allgatherv", PassedOn::kAlways},
    Operation{"alltoallv", PassedOn::kNever},       Operation{"allreduce", PassedOn::kAlways},
    Operation{"reduce", PassedOn::kAlways},         Operation{"scan", PassedOn::kAlways},
    Operation{"exscan", PassedOn::kAlways},         Operation{"reduce_scatter_block", PassedOn::kAlways},
};

// One call's arguments at this rank.
struct Given {
  void *from;
  void *into;
  int own;    // bytes that this rank says
  int usual;  // bytes that the others say
};

// The host MPI's functions, or Sluice's.
class Functions {
 public:
  explicit Functions(bool is_host) : is_host_(is_host) {}

  int call(std::string_view name, const Given &given, MPI_Comm comm) const {
    const auto [from, into, own, usual] = given;
    const auto n = static_cast<std::size_t>(Session::get().size());
    const bool is_root = Session::get().rank() == 0;
    const std::vector<int> all(n, usual);
    const std::vector<int> mine(n, own);
    std::vector<int> places;
    for (std::size_t i = 0; i < n; ++i) places.push_back(static_cast<int>(i) * usual);
    void *const at_root = is_root ? into : nullptr;
    if (name == "bcast") return find("PMPI_Bcast", &MPI_Bcast)(is_root ? from : into, own, MPI_BYTE, 0, comm);
    if (name == "gather") {
      return find("PMPI_Gather", &MPI_Gather)(from, own, MPI_BYTE, at_root, own, MPI_BYTE, 0, comm);
    }
    if (name == "scatter") {
      return find("PMPI_Scatter", &MPI_Scatter)(is_root ? from : nullptr, own, MPI_BYTE, into, own, MPI_BYTE, 0, comm);
    }
    if (name == "allgather") {
      return find("PMPI_Allgather", &MPI_Allgather)(from, own, MPI_BYTE, into, own, MPI_BYTE, comm);
    }
    if (name == "alltoall") {
      return find("PMPI_Alltoall", &MPI_Alltoall)(from, own, MPI_BYTE, into, own, MPI_BYTE, comm);
    }
    if (name == "gatherv") {
      return find("PMPI_Gatherv", &MPI_Gatherv)(from, own, MPI_BYTE, at_root, all.data(), places.data(), MPI_BYTE, 0,
                                                comm);
    }
    if (name == "scatterv") {
      return find("PMPI_Scatterv", &MPI_Scatterv)(is_root ? from : nullptr, all.data(), places.data(), MPI_BYTE, into,
                                                  own, MPI_BYTE, 0, comm);
    }
    if (name == "allgatherv") {
      return find("PMPI_Allgatherv", &MPI_Allgatherv)(from, own, MPI_BYTE, into, all.data(), places.data(), MPI_BYTE,
                                                      comm);
    }
    if (name == "alltoallv") {
      return find("PMPI_Alltoallv", &MPI_Alltoallv)(from, mine.data(), places.data(), MPI_BYTE, into, all.data(),
                                                    places.data(), MPI_BYTE, comm);
    }
    if (name == "allreduce") return find("PMPI_Allreduce", &MPI_Allreduce)(from, into, own, MPI_BYTE, MPI_BXOR, comm);
    if (name == "reduce") return find("PMPI_Reduce", &MPI_Reduce)(from, at_root, own, MPI_BYTE, MPI_BXOR, 0, comm);
    if (name == "scan") return find("PMPI_Scan", &MPI_Scan)(from, into, own, MPI_BYTE, MPI_BXOR, comm);
    if (name == "exscan") return find("PMPI_Exscan", &MPI_Exscan)(from, into, own, MPI_BYTE, MPI_BXOR, comm);
    return find("PMPI_Reduce_scatter_block", &MPI_Reduce_scatter_block)(from, into, own, MPI_BYTE, MPI_BXOR, comm);
  }

 private:
  template <typename Function>
  Function *find(const char *name, Function *visible) const {
    return is_host_ ? host_function(name, visible) : visible;
  }

  bool is_host_;
};

int class_of(int code) {
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  return error_class;
}

struct Said {
  int error_class;
  Bytes bytes;  // of the buffer that is received into, with its guards
};

// Name, bytes that the others give, bytes that the last rank gives, whether the ranks have met before.
using Case = std::tuple<Operation, int, int, bool>;

class UnlikeLengths : public testing::TestWithParam<Case> {
 protected:
  Said run(bool is_host, Kind kind) {
    const auto [operation, usual, other, meets] = GetParam();
    MPI_Comm comm = MPI_COMM_NULL;
    EXPECT_EQ(host_function("PMPI_Comm_dup", &MPI_Comm_dup)(session_.comm(), &comm), MPI_SUCCESS);
    if (meets) bring_together(is_host, comm);
    const auto n = static_cast<std::size_t>(session_.size());
    const std::size_t bytes = n * static_cast<std::size_t>(std::max(usual, other));
    const Memory from(session_.module(), kind, bytes);
    const Memory into(session_.module(), kind, bytes);
    from.fill_pattern(session_.rank(), usual + other);
    const int own = session_.rank() == session_.size() - 1 ? other : usual;
    const int code = Functions(is_host).call(operation.name, {from.data(), into.data(), own, usual}, comm);
    // Each rank is through before what is left of the call goes with its communicator.
    EXPECT_EQ(host_function("PMPI_Barrier", &MPI_Barrier)(session_.comm()), MPI_SUCCESS);
    return {class_of(code), into.read_with_guards()};
  }

  // Host MPIs that pass blocks on through memory of their own leave in the result what was in that.
  bool shows_bytes() const {
    const Operation &operation = std::get<0>(GetParam());
    return operation.is_passed_on == PassedOn::kNever ||
           (operation.is_passed_on == PassedOn::kByThirdRanks && session_.size() == 2);
  }

  const Session &session_ = Session::get();

 private:
  // Host MPIs, too, do other things in a communicator's first calls.
  static void bring_together(bool is_host, MPI_Comm comm) {
    for (int i = 0; i < kCallsUntilMeeting; ++i) {
      int value = 0;
      ASSERT_EQ(Functions(is_host).call("bcast", {&value, &value, 4, 4}, comm), MPI_SUCCESS);
    }
  }
};

TEST_P(UnlikeLengths, EndAsTheHostMpiAloneSays) {
  const auto [operation, usual, other, meets] = GetParam();
  if (never_ends_with_unlike_lengths(operation.name, other > usual)) {
    GTEST_SKIP() << "missing: a host MPI whose own call ends";
  }
  const Said alone = run(true, Kind::host);
  for (const Kind kind : {Kind::host, Kind::device}) {
    if (!session_.has_kind(kind)) continue;
    const Said said = run(false, kind);
    EXPECT_EQ(said.error_class, alone.error_class) << kind_name(kind);
    if (alone.error_class == MPI_SUCCESS && shows_bytes()) {
      EXPECT_EQ(find_difference(alone.bytes, said.bytes), "") << kind_name(kind);
    }
  }
}

std::string name_of(const testing::TestParamInfo<Case> &info) {
  const auto [operation, usual, other, meets] = info.param;
  return std::string(operation.name) + "_" + std::to_string(usual) + "_" + std::to_string(other) +
         (meets ? "_met" : "_first");
}

INSTANTIATE_TEST_SUITE_P(Calls, UnlikeLengths,
                         testing::Combine(testing::ValuesIn(kOperations), testing::Values(5000),
                                          testing::Values(2500, 10'000), testing::Bool()),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Short, UnlikeLengths,
                         testing::Combine(testing::ValuesIn(kOperations), testing::Values(100),
                                          testing::Values(60, 160), testing::Bool()),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Long, UnlikeLengths,
                         testing::Combine(testing::ValuesIn(kOperations), testing::Values(300'000),
                                          testing::Values(200'000, 400'000), testing::Bool()),
                         name_of);

// One buffer where MPI wants two.
class OneBuffer : public testing::TestWithParam<Operation> {
 protected:
  Said run(bool is_host, Kind kind) {
    constexpr int kBytes = 5000;
    MPI_Comm comm = MPI_COMM_NULL;
    EXPECT_EQ(host_function("PMPI_Comm_dup", &MPI_Comm_dup)(session_.comm(), &comm), MPI_SUCCESS);
    const Memory both(session_.module(), kind, static_cast<std::size_t>(session_.size()) * kBytes);
    both.fill_pattern(session_.rank(), 1);
    // Where a rank's block goes to all it lies where it goes at this rank: MPICH compares that.
    const bool is_own_block = std::string_view(GetParam().name) == "allgather";
    void *const from = both.at(is_own_block ? static_cast<std::size_t>(session_.rank()) * kBytes : 0);
    const Given given{from, both.data(), kBytes, kBytes};
    const int code = Functions(is_host).call(GetParam().name, given, comm);
    EXPECT_EQ(host_function("PMPI_Barrier", &MPI_Barrier)(session_.comm()), MPI_SUCCESS);
    return {class_of(code), both.read_with_guards()};
  }

  const Session &session_ = Session::get();
};

TEST_P(OneBuffer, EndsAsTheHostMpiAloneSays) {
  const Said alone = run(true, Kind::host);
  for (const Kind kind : {Kind::host, Kind::device}) {
    if (!session_.has_kind(kind)) continue;
    const Said said = run(false, kind);
    EXPECT_EQ(said.error_class, alone.error_class) << kind_name(kind);
    // A host MPI that takes such a call reads what it may have written already.
    if (alone.error_class != MPI_SUCCESS || GetParam().is_passed_on == PassedOn::kNever) {
      EXPECT_EQ(find_difference(alone.bytes, said.bytes), "") << kind_name(kind);
    }
  }
}

// Of MPI_Reduce the root alone hears of it, and the others wait for ever, without Sluice too.
INSTANTIATE_TEST_SUITE_P(Calls, OneBuffer,
                         testing::Values(Operation{"gather", PassedOn::kNever},
                                         Operation{"allgather", PassedOn::kNever},
                                         Operation{"alltoall", PassedOn::kAlways},
                                         Operation{"allreduce", PassedOn::kNever}, Operation{"scan", PassedOn::kNever}),
                         [](const auto &one) { return std::string(one.param.name); });

}  // namespace
}  // namespace sluice::tests::unlike_lengths_test

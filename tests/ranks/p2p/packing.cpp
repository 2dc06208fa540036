// SPDX-License-Identifier: BSD-3-Clause
// MPI_Pack, MPI_Unpack and their external forms on device memory; and how many kernels a message with gaps takes.
#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "tests/ranks/p2p/layouts.hpp"
#include "tests/ranks/p2p/pack_kernel.hpp"
#include "tests/support/host_mpi.hpp"
#include "tests/support/oracle.hpp"
#include "tests/support/statistics.hpp"

namespace sluice::tests::packing_test {
namespace {

constexpr int kTag = 23;

// Two elements' worth more than is packed, so that what lies around it is seen to stay.
void pack_and_unpack(Trial &run, const Layout &layout, int count) {
  const MPI_Comm comm = Session::get().comm();
  int bytes = 0;
  run.call("MPI_Pack_size", MPI_Pack_size(count, layout.type(), comm, &bytes));
  const int room = 2 * bytes + 40;
  const Memory &in = run.input(layout.span_bytes(count));
  const Memory &packed = run.output(static_cast<std::size_t>(room));
  const Memory &out = run.output(layout.span_bytes(count));
  int position = 5;
  for (int k = 0; k < 2; ++k) {
    run.call("MPI_Pack",
             MPI_Pack(in.at(layout.origin_bytes(count)), count, layout.type(), packed.data(), room, &position, comm));
    run.note("position", position);
  }
  position = (position - 5) / 2 + 5;  // the second one
  run.call("MPI_Unpack",
           MPI_Unpack(packed.data(), room, &position, out.at(layout.origin_bytes(count)), count, layout.type(), comm));
  run.note("position", position);
}

void pack_and_unpack_externally(Trial &run, MPI_Datatype type, int count) {
  const char *const representation = "external32";
  MPI_Aint bytes = 0;
  run.call("MPI_Pack_external_size", MPI_Pack_external_size(representation, count, type, &bytes));
  MPI_Aint low = 0;
  MPI_Aint extent = 0;
  MPI_Type_get_extent(type, &low, &extent);
  const MPI_Aint room = bytes + 40;
  const auto span = static_cast<std::size_t>(extent) * static_cast<std::size_t>(count) + 64;
  const Memory &in = run.input(span);
  const Memory &packed = run.output(static_cast<std::size_t>(room));
  const Memory &out = run.output(span);
  MPI_Aint position = 0;
  run.call("MPI_Pack_external",
           MPI_Pack_external(representation, in.data(), count, type, packed.data(), room, &position));
  run.note("position", position);
  position = 0;
  run.call("MPI_Unpack_external",
           MPI_Unpack_external(representation, packed.data(), room, &position, out.data(), count, type));
  run.note("position", position);
}

void pack_each(const std::vector<Layout> &layouts, std::size_t count) {
  for (const Layout &layout : layouts) {
    SCOPED_TRACE(layout.name());
    compare_each_case(Breadth::narrow, {count},
                      [&](Trial &run, const Case &c) { pack_and_unpack(run, layout, static_cast<int>(c.size_bytes)); });
  }
}

TEST(Packing, DeliversBytes_WhenMpiPacks) {
  pack_each(gapped_layouts(), 600);
  pack_each(contiguous_layouts(), 7);
}

// MPICH 4.0.2 ends the program over the external size of some structures (an unreachable statement of its own), so
// these are arrays.
TEST(Packing, DeliversBytes_WhenMpiPacksExternally) {
  MPI_Datatype types[3] = {};
  const int lengths[4] = {1, 3, 2, 1};
  const int places[4] = {0, 2, 7, 12};
  std::vector<std::size_t> counts = {7, 600};
  if (!aborts_on_external_unpack_of_nothing()) counts.push_back(0);
  MPI_Type_vector(6, 1, 3, MPI_DOUBLE, &types[0]);
  MPI_Type_indexed(4, lengths, places, MPI_INT, &types[1]);
  MPI_Type_contiguous(5, MPI_SHORT, &types[2]);
  for (MPI_Datatype &type : types) {
    MPI_Type_commit(&type);
    compare_each_case(Breadth::narrow, counts, [&](Trial &run, const Case &c) {
      pack_and_unpack_externally(run, type, static_cast<int>(c.size_bytes));
    });
    MPI_Type_free(&type);
  }
}

TEST(Packing, IsRefused_WhenThereIsNoRoomOnTheDevice) {
  if (!Session::get().has_kind(Kind::device)) GTEST_SKIP() << "missing: device memory";
  Trial run({Kind::device, Kind::device, 0}, 1);
  const Memory &in = run.input(64);
  const Memory &out = run.output(64);
  int position = 40;
  EXPECT_NE(MPI_Pack(in.data(), 32, MPI_BYTE, out.data(), 64, &position, Session::get().comm()), MPI_SUCCESS);
  EXPECT_EQ(position, 40);
}

// A block behind the end of the memory, on a backend that can tell (the faulty ones can): no kernel runs, and the error
// says which bytes they were.
TEST(Packing, IsAnErrorThatNamesTheBytes_WhenATypeReachesOutOfItsAllocation) {
  if (!Session::get().has_kind(Kind::device)) GTEST_SKIP() << "missing: device memory";
  const MPI_Comm comm = Session::get().comm();
  Trial run({Kind::device, Kind::host, 0}, 1);
  const Memory &in = run.input(std::size_t{64} << 10);
  constexpr int kTooMany = 512 << 10;
  const Memory &out = run.output(std::size_t{kTooMany} + 64);
  const int lengths[5] = {8, 8, 8, 8, kTooMany};
  const MPI_Aint places[5] = {0, 64, 160, 200, 256};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  ASSERT_EQ(MPI_Type_create_hindexed(5, lengths, places, MPI_BYTE, &type), MPI_SUCCESS);
  ASSERT_EQ(MPI_Type_commit(&type), MPI_SUCCESS);
  int position = 0;
  const int code = MPI_Pack(in.data(), 1, type, out.data(), kTooMany + 64, &position, comm);
  MPI_Type_free(&type);
  ASSERT_NE(code, MPI_SUCCESS);
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  ASSERT_EQ(MPI_Error_string(code, text, &length), MPI_SUCCESS);
  EXPECT_NE(std::string_view(text).find("bytes at"), std::string_view::npos) << text;
  EXPECT_EQ(position, 0);
}

// `n` runs of 8 bytes, and a type of as many blocks without any order.
std::vector<MPI_Datatype> types_of(int n) {
  std::vector<MPI_Datatype> types(2);
  MPI_Type_vector(n, 2, 6, MPI_INT, types.data());
  std::vector<int> places;
  for (int k = 0; k < n; ++k) places.push_back(6 * k + k % 3);
  MPI_Type_create_indexed_block(n, 2, places.data(), MPI_INT, &types[1]);
  for (MPI_Datatype &type : types) MPI_Type_commit(&type);
  return types;
}

// How many kernels `operation` takes at this rank, in its run on device memory.
template <typename Function>
long long launches_of(Function operation) {
  const long long before = pack_launches();
  compare_with_host({device_or_host(), device_or_host(), 0}, operation);
  return pack_launches() - before;
}

constexpr int kRuns = 5000;
constexpr std::size_t kArrayBytes = std::size_t{kRuns} * 6 * sizeof(int);

// But for strides that are pulled: those the receiver's kernel reads where they are.
TEST(PackingLaunches, AreOneForEachSide_OfAMessage) {
  if (!count_statistics()) GTEST_SKIP() << "missing: Sluice's statistics";
  const Session &session = Session::get();
  bool is_strided = true;
  for (MPI_Datatype type : types_of(kRuns)) {
    const long long pulled = calls_by("MPI_Ssend", "ipc");
    const long long launches = launches_of([&](Trial &run) {
      const Memory &in = run.input(kArrayBytes);
      const Memory &out = run.output(kArrayBytes);
      MPI_Status status;
      in_turn([&] { run.call("MPI_Ssend", MPI_Ssend(in.data(), 1, type, session.partner(), kTag, session.comm())); },
              [&] {
                run.call("MPI_Recv", MPI_Recv(out.data(), 1, type, session.partner(), kTag, session.comm(), &status));
                run.note_status("MPI_Recv", status, type);
              });
    });
    // This rank has sent one and received one.
    const bool is_gathered = is_strided && calls_by("MPI_Ssend", "ipc") > pulled;
    EXPECT_EQ(launches, has_pack_kernel() ? 2 - (is_gathered ? 1 : 0) : 0);
    is_strided = false;
    MPI_Type_free(&type);
  }
}

TEST(PackingLaunches, AreOneForEachStart_OfAPersistentMessage) {
  if (!count_statistics()) GTEST_SKIP() << "missing: Sluice's statistics";
  const Session &session = Session::get();
  std::vector<MPI_Datatype> types = types_of(kRuns);
  MPI_Datatype type = types[1];
  const long long launches = launches_of([&](Trial &run) {
    const Memory &in = run.input(kArrayBytes);
    const Memory &out = run.output(kArrayBytes);
    MPI_Request requests[2] = {};
    run.call("MPI_Recv_init",
             MPI_Recv_init(out.data(), 1, type, session.partner(), kTag, session.comm(), &requests[0]));
    run.call("MPI_Send_init", MPI_Send_init(in.data(), 1, type, session.partner(), kTag, session.comm(), &requests[1]));
    for (int k = 0; k < 3; ++k) {
      run.refill(in, k);  // a start sends what is there then
      run.call("MPI_Startall", MPI_Startall(2, requests));
      run.call("MPI_Waitall", MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    }
    for (MPI_Request &request : requests) MPI_Request_free(&request);
  });
  EXPECT_EQ(launches, has_pack_kernel() ? 6 : 0);
  for (MPI_Datatype &one : types) MPI_Type_free(&one);
}

// Staged there is one for each buffer; over IPC one for each block that a rank gets, and one for all that it sends.
TEST(PackingLaunches, AreAtMostOneForEachBlock_OfACollectiveOperation) {
  if (!count_statistics()) GTEST_SKIP() << "missing: Sluice's statistics";
  const Session &session = Session::get();
  for (MPI_Datatype type : types_of(kRuns)) {
    const long long launches = launches_of([&](Trial &run) {
      const Memory &in = run.input(kArrayBytes);
      const Memory &out = run.output(kArrayBytes * static_cast<std::size_t>(session.size()));
      run.call("MPI_Allgather", MPI_Allgather(in.data(), 1, type, out.data(), 1, type, session.comm()));
      const Memory &buffer = session.rank() == 0 ? run.input(kArrayBytes) : run.output(kArrayBytes);
      run.call("MPI_Bcast", MPI_Bcast(buffer.data(), 1, type, 0, session.comm()));
    });
    EXPECT_LE(launches, session.size() + 2);
    EXPECT_GE(launches, has_pack_kernel() ? 1 : 0);
    MPI_Type_free(&type);
  }
}

}  // namespace
}  // namespace sluice::tests::packing_test

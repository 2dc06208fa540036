// SPDX-License-Identifier: BSD-3-Clause
// Datatypes on device buffers: every gap must be untouched, every element in its place.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tests/ranks/p2p/layouts.hpp"
#include "tests/support/matrix_rows.hpp"
#include "tests/support/oracle.hpp"

namespace sluice::tests::datatypes_test {
namespace {

constexpr int kTag = 81;

// A buffer for `count` elements of a layout, and the pointer to hand to MPI.
struct Typed {
  const Memory *memory;
  void *pointer;
};

Typed typed_input(Trial &run, const Layout &layout, int count) {
  const Memory &memory = run.input(layout.span_bytes(count));
  return {&memory, memory.at(layout.origin_bytes(count))};
}

Typed typed_output(Trial &run, const Layout &layout, int count) {
  const Memory &memory = run.output(layout.span_bytes(count));
  return {&memory, memory.at(layout.origin_bytes(count))};
}

// Counts that give few bytes, and more than the largest threshold.
std::vector<std::size_t> element_counts() {
  return Session::get().options().is_full ? std::vector<std::size_t>{0, 1, 7, 600, 3000}
                                          : std::vector<std::size_t>{0, 7, 3000};
}

void exchange(Trial &run, const Layout &layout, int count) {
  const Session &session = Session::get();
  const Typed in = typed_input(run, layout, count);
  const Typed out = typed_output(run, layout, count);
  MPI_Status status;
  run.call("MPI_Sendrecv", MPI_Sendrecv(in.pointer, count, layout.type(), session.partner(), kTag, out.pointer, count,
                                        layout.type(), session.partner(), kTag, session.comm(), &status));
  run.note_status("MPI_Sendrecv", status, layout.type());
}

void exchange_nonblocking(Trial &run, const Layout &layout, int count) {
  const Session &session = Session::get();
  const Typed in = typed_input(run, layout, count);
  const Typed out = typed_output(run, layout, count);
  MPI_Request requests[2] = {};
  MPI_Status statuses[2];
  // The receive could hold one element more.
  run.call("MPI_Irecv",
           MPI_Irecv(out.pointer, count, layout.type(), session.partner(), kTag, session.comm(), &requests[0]));
  run.call("MPI_Isend",
           MPI_Isend(in.pointer, count, layout.type(), session.partner(), kTag, session.comm(), &requests[1]));
  run.call("MPI_Waitall", MPI_Waitall(2, requests, statuses));
  run.note_status("receive", statuses[0], layout.type());
}

// One side uses the layout, the other plain ints.
void exchange_with_ints(Trial &run, const Layout &layout, int count) {
  const Session &session = Session::get();
  const int n_ints = count * layout.n_ints();
  const std::size_t int_bytes = static_cast<std::size_t>(n_ints) * sizeof(int);
  in_turn(
      [&] {
        const Typed in = typed_input(run, layout, count);
        run.call("MPI_Send", MPI_Send(in.pointer, count, layout.type(), session.partner(), kTag, session.comm()));
        const Memory &ints = run.input(int_bytes, 1);
        run.call("MPI_Send", MPI_Send(ints.data(), n_ints, MPI_INT, session.partner(), kTag, session.comm()));
      },
      [&] {
        MPI_Status status;
        const Memory &ints = run.output(int_bytes);
        run.call("MPI_Recv", MPI_Recv(ints.data(), n_ints, MPI_INT, session.partner(), kTag, session.comm(), &status));
        run.note_status("ints", status, MPI_INT);
        const Typed out = typed_output(run, layout, count);
        run.call("MPI_Recv",
                 MPI_Recv(out.pointer, count, layout.type(), session.partner(), kTag, session.comm(), &status));
        run.note_status("layout", status, layout.type());
      });
}

using Exchange = void (*)(Trial &, const Layout &, int);

void exchange_each(const std::vector<Layout> &layouts, Exchange function) {
  for (const Layout &layout : layouts) {
    SCOPED_TRACE(layout.name());
    if (function == exchange_with_ints && layout.n_ints() == 0) {
      continue;
    }
    // size_bytes is the number of elements here.
    compare_each_case(Breadth::narrow, element_counts(),
                      [&](Trial &run, const Case &c) { function(run, layout, static_cast<int>(c.size_bytes)); });
  }
}

TEST(ContiguousTypes, DeliverBytes_OfEveryConstruction) {
  exchange_each(contiguous_layouts(), exchange);
}

TEST(ContiguousTypes, MeetPlainInts) {
  exchange_each(contiguous_layouts(), exchange_with_ints);
}

TEST(GappedTypes, LeaveGapsUntouched) {
  exchange_each(gapped_layouts(), exchange);
}

TEST(GappedTypes, LeaveGapsUntouched_WhenNonBlocking) {
  exchange_each(gapped_layouts(), exchange_nonblocking);
}

TEST(GappedTypes, MeetPlainInts) {
  exchange_each(gapped_layouts(), exchange_with_ints);
}

// One run that does not begin where the buffer does, so long that a host MPI cuts it, sent and received by that type.
TEST(GappedTypes, ArriveByTheirType_WhenTheyAreOneLongRun) {
  constexpr int kColumns = 50'000;
  constexpr std::size_t kBytes = std::size_t{6} * kColumns * sizeof(int);
  MPI_Datatype rows = rows_of_matrix(6, kColumns, MPI_INT);
  const Session &session = Session::get();
  for (const Kind sending : {device_or_host(), Kind::host}) {
    for (const Kind receiving : {device_or_host(), Kind::host}) {
      compare_with_host({sending, receiving, 0}, [&](Trial &run) {
        const Memory &in = run.input(kBytes);
        const Memory &out = run.output(kBytes);
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Status status;
        run.call("MPI_Irecv", MPI_Irecv(out.data(), 1, rows, session.partner(), 7, session.comm(), &request));
        run.call("MPI_Send", MPI_Send(in.data(), 1, rows, session.partner(), 7, session.comm()));
        run.call("MPI_Wait", MPI_Wait(&request, &status));
        run.note_status("MPI_Wait", status, rows);
        run.call("MPI_Sendrecv_replace", MPI_Sendrecv_replace(out.data(), 1, rows, session.partner(), 8,
                                                              session.partner(), 8, session.comm(), &status));
        run.note_status("MPI_Sendrecv_replace", status, rows);
      });
    }
  }
  MPI_Type_free(&rows);
}

// No whole number of elements is as long as a descriptor, so that host memory has room of ours in its place: what is
// sent from it lies there, too.
TEST(GappedTypes, AreReplaced_WhenADescriptorEndsWithinAnElement) {
  constexpr int kElements = 100;
  constexpr std::size_t kExtent = 16;
  constexpr std::size_t kBytes = kElements * kExtent;
  // 12 bytes of payload: a descriptor would end within a double.
  const int lengths[] = {1, 1};
  const MPI_Aint places[] = {0, sizeof(double)};
  const MPI_Datatype types[] = {MPI_DOUBLE, MPI_INT};
  MPI_Datatype pair = MPI_DATATYPE_NULL;
  MPI_Datatype element = MPI_DATATYPE_NULL;
  MPI_Type_create_struct(2, lengths, places, types, &pair);
  MPI_Type_create_resized(pair, 0, kExtent, &element);
  MPI_Type_commit(&element);
  const Session &session = Session::get();
  for (const Kind kind : {device_or_host(), Kind::host}) {
    compare_with_host({kind, kind, 0}, [&](Trial &run) {
      const Memory &buffer = run.input(kBytes);
      MPI_Status status;
      run.call("MPI_Sendrecv_replace", MPI_Sendrecv_replace(buffer.data(), kElements, element, session.partner(), 8,
                                                            session.partner(), 8, session.comm(), &status));
      run.note_status("MPI_Sendrecv_replace", status, element);
    });
  }
  MPI_Type_free(&element);
  MPI_Type_free(&pair);
}

// Two receives into the same array, one for the even places and one for the odd ones, both in flight: whoever reads
// the gaps when posting and writes them back when completing destroys the other's data.
TEST(GappedTypes, KeepBothHalves_WhenTwoReceivesInterleave) {
  compare_each_case(Breadth::narrow, {1, 100, 20'000}, [](Trial &run, const Case &c) {
    const Session &session = Session::get();
    const int n = static_cast<int>(c.size_bytes);
    MPI_Datatype every_second = MPI_DATATYPE_NULL;
    MPI_Type_vector(n, 1, 2, MPI_INT, &every_second);
    MPI_Type_commit(&every_second);
    const std::size_t array_bytes = static_cast<std::size_t>(n) * 2 * sizeof(int);
    const Memory &array = run.output(array_bytes);
    const Memory &in = run.input(array_bytes);
    MPI_Request requests[4] = {};
    for (int half = 0; half < 2; ++half) {
      run.call("MPI_Irecv", MPI_Irecv(array.at(static_cast<std::size_t>(half) * sizeof(int)), 1, every_second,
                                      session.partner(), half, session.comm(), &requests[half]));
    }
    for (int half = 1; half >= 0; --half) {
      run.call("MPI_Isend", MPI_Isend(in.at(static_cast<std::size_t>(half) * sizeof(int)), 1, every_second,
                                      session.partner(), half, session.comm(), &requests[2 + half]));
    }
    run.call("MPI_Waitall", MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
    MPI_Type_free(&every_second);
    run.expect_pattern(array, session.partner(), 0, array_bytes);
  });
}

// A type may be freed as soon as the call has returned.
TEST(GappedTypes, MayBeFreed_WhileTheRequestIsActive) {
  compare_each_case(Breadth::narrow, {50, 9000}, [](Trial &run, const Case &c) {
    const Session &session = Session::get();
    const int n = static_cast<int>(c.size_bytes);
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_vector(n, 2, 3, MPI_INT, &type);
    MPI_Type_commit(&type);
    const std::size_t array_bytes = static_cast<std::size_t>(n) * 3 * sizeof(int);
    MPI_Request requests[2] = {};
    run.call("MPI_Irecv",
             MPI_Irecv(run.output(array_bytes).data(), 1, type, session.partner(), kTag, session.comm(), &requests[0]));
    run.call("MPI_Isend",
             MPI_Isend(run.input(array_bytes).data(), 1, type, session.partner(), kTag, session.comm(), &requests[1]));
    MPI_Type_free(&type);
    run.call("MPI_Waitall", MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  });
}

// Types built from absolute addresses, sent from MPI_BOTTOM.
void exchange_absolute(Trial &run, const Case &c, Kind second_send, Kind second_recv) {
  const Session &session = Session::get();
  const Memory *blocks[4] = {&run.input(c.size_bytes, 1), &run.buffer(second_send, c.size_bytes + 40),
                             &run.output(c.size_bytes), &run.buffer(second_recv, c.size_bytes + 40)};
  run.refill(*blocks[1], 2);
  MPI_Datatype types[2] = {MPI_DATATYPE_NULL, MPI_DATATYPE_NULL};
  for (int side = 0; side < 2; ++side) {
    const int lengths[2] = {static_cast<int>(c.size_bytes), static_cast<int>(c.size_bytes) + 40};
    MPI_Aint places[2] = {};
    MPI_Get_address(blocks[2 * side]->data(), &places[0]);
    MPI_Get_address(blocks[2 * side + 1]->data(), &places[1]);
    MPI_Type_create_hindexed(2, lengths, places, MPI_BYTE, &types[side]);
    MPI_Type_commit(&types[side]);
  }
  MPI_Status status;
  run.call("MPI_Sendrecv", MPI_Sendrecv(MPI_BOTTOM, 1, types[0], session.partner(), kTag, MPI_BOTTOM, 1, types[1],
                                        session.partner(), kTag, session.comm(), &status));
  run.note_status("MPI_Sendrecv", status, MPI_BYTE);
  MPI_Type_free(&types[0]);
  MPI_Type_free(&types[1]);
  run.expect_pattern(*blocks[2], session.partner(), 1, c.size_bytes);
  run.expect_pattern(*blocks[3], session.partner(), 2, c.size_bytes + 40);
}

TEST(Bottom, DeliversBytes_WithAbsoluteTypes) {
  compare_each_case(Breadth::narrow, {40, 70'000},
                    [](Trial &run, const Case &c) { exchange_absolute(run, c, run.send_kind(), run.recv_kind()); });
}

// Memory among which two allocations may lie side by side: whole pages, with room of twice their length between them
// that was given back, and taken again. Other ranges are freed in between, for runtimes that keep those for a while.
std::vector<Memory> crowded_memory(std::size_t bytes) {
  const BackendModule *const module = Session::get().module();
  std::vector<Memory> all;
  std::vector<Memory> between;
  for (int i = 0; i < 24; ++i) {
    (i % 2 == 0 ? all : between).emplace_back(module, Kind::device, bytes - kGuardBytes);
  }
  between.clear();
  for (int i = 0; i < 80; ++i) Memory(module, Kind::device, 1);
  for (int i = 0; i < 12; ++i) all.emplace_back(module, Kind::device, 2 * bytes - kGuardBytes);
  return all;
}

// Two allocations that lie side by side: one run of bytes, as far as addresses go.
TEST(Bottom, DeliversBytes_WhenAllocationsAreNeighbors) {
  const Session &session = Session::get();
  if (!session.has_kind(Kind::device)) GTEST_SKIP() << "missing: device memory";
  constexpr std::size_t kPart = 50'000;
  const std::vector<Memory> all = crowded_memory(128 << 10);
  sluice_pointer_info_t info = {};
  ASSERT_EQ(session.module()->table().query_pointer(all.front().data(), &info), SLUICE_SUCCESS);
  if (session.agree_any(info.allocation_id == 0)) GTEST_SKIP() << "missing: a runtime that tells allocations apart";
  const Memory *low = nullptr;
  const Memory *high = nullptr;
  for (const Memory &one : all) {
    for (const Memory &other : all) {
      if (one.at(one.size_bytes() + kGuardBytes) == other.data()) {
        low = &one;
        high = &other;
      }
    }
  }
  if (session.agree_any(low == nullptr)) GTEST_SKIP() << "missing: two allocations that lie side by side";
  // The guard of the first one is of the message, so that the two parts touch each other.
  const std::size_t begin = low->size_bytes() + kGuardBytes - kPart;
  const int lengths[2] = {static_cast<int>(kPart), static_cast<int>(kPart)};
  MPI_Aint places[2] = {};
  MPI_Get_address(low->at(begin), &places[0]);
  MPI_Get_address(high->data(), &places[1]);
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_hindexed(2, lengths, places, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  Bytes first(kPart - kGuardBytes);
  for (std::size_t i = 0; i < first.size(); ++i) first[i] = pattern_byte(session.rank(), i, 1);
  low->write(begin, first.data(), first.size());
  high->fill_pattern(session.rank(), 2);
  EXPECT_EQ(MPI_Sendrecv_replace(MPI_BOTTOM, 1, type, session.partner(), kTag, session.partner(), kTag, session.comm(),
                                 MPI_STATUS_IGNORE),
            MPI_SUCCESS);
  MPI_Type_free(&type);
  EXPECT_EQ(find_pattern_error(high->read(0, kPart), session.partner(), 2), "");
  EXPECT_EQ(find_pattern_error(low->read(begin, first.size()), session.partner(), 1), "");
}

TEST(Bottom, DeliversBytes_WhenOneTypeReachesHostAndDeviceMemory) {
  compare_each_case(Breadth::narrow, {40, 70'000},
                    [](Trial &run, const Case &c) { exchange_absolute(run, c, Kind::host, Kind::host); });
}

}  // namespace
}  // namespace sluice::tests::datatypes_test

// SPDX-License-Identifier: BSD-3-Clause
// What only shows when messages travel as descriptors: receivers that are busy elsewhere, probes that have to read, and
// mappings that come and go. (T4, T5, T15 of the failure cases that GPU-aware MPIs are known for.)
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/oracle.hpp"

namespace sluice::tests::routes_test {
namespace {

constexpr int kTag = 17;
constexpr std::size_t kBytes = 50'000;

Case between_devices() {
  return {device_or_host(), device_or_host(), kBytes};
}

// A blocking call of `partner` while this rank's blocking send to it is not received yet.
struct BusyReceiver {
  const char *name;
  std::function<int(MPI_Comm)> call;
};

std::vector<BusyReceiver> busy_receivers() {
  return {
      {"MPI_Barrier", [](MPI_Comm comm) { return MPI_Barrier(comm); }},
      {"MPI_Bcast",
       [](MPI_Comm comm) {
         int value = 1;
         return MPI_Bcast(&value, 1, MPI_INT, 0, comm);
       }},
      {"MPI_Allreduce",
       [](MPI_Comm comm) {
         int value = 1;
         return MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, comm);
       }},
      {"MPI_Comm_split",
       [](MPI_Comm comm) {
         MPI_Comm made = MPI_COMM_NULL;
         const int code = MPI_Comm_split(comm, 0, 0, &made);
         return code == MPI_SUCCESS ? MPI_Comm_free(&made) : code;
       }},
      {"MPI_Comm_dup",
       [](MPI_Comm comm) {
         MPI_Comm made = MPI_COMM_NULL;
         const int code = MPI_Comm_dup(comm, &made);
         return code == MPI_SUCCESS ? MPI_Comm_free(&made) : code;
       }},
  };
}

TEST(Progress, EndsASend_WhenItsReceiverWaitsInACollective) {
  for (const BusyReceiver &busy : busy_receivers()) {
    SCOPED_TRACE(busy.name);
    compare_with_host(between_devices(), [&](Trial &run) {
      const Session &session = Session::get();
      const int count = static_cast<int>(kBytes);
      if (session.begins()) {
        const Memory &in = run.input(kBytes);
        run.call("MPI_Ssend", MPI_Ssend(in.data(), count, MPI_BYTE, session.partner(), kTag, session.comm()));
        run.call(busy.name, busy.call(session.comm()));
      } else {
        const Memory &out = run.output(kBytes);
        MPI_Request request = MPI_REQUEST_NULL;
        run.call("MPI_Irecv",
                 MPI_Irecv(out.data(), count, MPI_BYTE, session.partner(), kTag, session.comm(), &request));
        run.call(busy.name, busy.call(session.comm()));
        run.call("MPI_Wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
        run.expect_pattern(out, session.partner(), 0, kBytes);
      }
    });
  }
}

TEST(Progress, EndsASend_WhenItsReceiverWaitsForAnotherMessage) {
  compare_with_host(between_devices(), [&](Trial &run) {
    const Session &session = Session::get();
    const int count = static_cast<int>(kBytes);
    int word = 5;
    if (session.begins()) {
      const Memory &in = run.input(kBytes);
      run.call("MPI_Send", MPI_Send(in.data(), count, MPI_BYTE, session.partner(), kTag, session.comm()));
      run.call("MPI_Send", MPI_Send(&word, 1, MPI_INT, session.partner(), kTag + 1, session.comm()));
      run.call("MPI_Send", MPI_Send(in.data(), count, MPI_BYTE, session.partner(), kTag, session.comm()));
      run.call("MPI_Send", MPI_Send(&word, 1, MPI_INT, session.partner(), kTag + 1, session.comm()));
    } else {
      for (const bool probes : {false, true}) {
        const Memory &out = run.output(kBytes);
        MPI_Request request = MPI_REQUEST_NULL;
        run.call("MPI_Irecv",
                 MPI_Irecv(out.data(), count, MPI_BYTE, session.partner(), kTag, session.comm(), &request));
        MPI_Status status;
        if (probes) run.call("MPI_Probe", MPI_Probe(session.partner(), kTag + 1, session.comm(), &status));
        run.call("MPI_Recv", MPI_Recv(&word, 1, MPI_INT, session.partner(), kTag + 1, session.comm(), &status));
        run.call("MPI_Wait", MPI_Wait(&request, &status));
        run.note_status("MPI_Wait", status, MPI_BYTE);
        run.expect_pattern(out, session.partner(), 0, kBytes);
      }
    }
  });
}

// A probe for the second message claims the first one with it: a receive for both takes them in their order.
TEST(Claims, KeepTheOrder_WhenTheProbeWasForALaterMessage) {
  for (const std::size_t first_bytes : {std::size_t{40}, std::size_t{256}, kBytes}) {
    compare_with_host(between_devices(), [&](Trial &run) {
      const Session &session = Session::get();
      const int n_first = static_cast<int>(first_bytes);
      const int n_second = static_cast<int>(kBytes);
      if (session.begins()) {
        MPI_Request requests[2] = {};
        run.call("MPI_Isend", MPI_Isend(run.input(first_bytes, 1).data(), n_first, MPI_BYTE, session.partner(), kTag,
                                        session.comm(), &requests[0]));
        run.call("MPI_Isend", MPI_Isend(run.input(kBytes, 2).data(), n_second, MPI_BYTE, session.partner(), kTag + 1,
                                        session.comm(), &requests[1]));
        run.call("MPI_Waitall", MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        return;
      }
      MPI_Status status;
      run.call("MPI_Probe", MPI_Probe(session.partner(), kTag + 1, session.comm(), &status));
      run.note_envelope("MPI_Probe", status, MPI_BYTE);
      for (int message = 1; message <= 2; ++message) {
        const Memory &out = run.output(kBytes);
        run.call("MPI_Recv",
                 MPI_Recv(out.data(), n_second, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, session.comm(), &status));
        run.note_status("MPI_Recv", status, MPI_BYTE);
        run.expect_pattern(out, session.partner(), message, message == 1 ? first_bytes : kBytes);
      }
    });
  }
}

// A persistent receive that is started after a probe has claimed its message, completed in each way.
TEST(Claims, AreTakenByAPersistentReceive_ForEveryCompletion) {
  for (int way = 0; way < 4; ++way) {
    SCOPED_TRACE(way);
    compare_with_host(between_devices(), [&](Trial &run) {
      const Session &session = Session::get();
      const int count = static_cast<int>(kBytes);
      if (session.begins()) {
        for (int round = 0; round < 2; ++round) {
          run.call("MPI_Send",
                   MPI_Send(run.input(kBytes, round).data(), count, MPI_BYTE, session.partner(), kTag, session.comm()));
        }
        return;
      }
      const Memory &out = run.output(kBytes);
      MPI_Request request = MPI_REQUEST_NULL;
      run.call("MPI_Recv_init",
               MPI_Recv_init(out.data(), count, MPI_BYTE, session.partner(), kTag, session.comm(), &request));
      for (int round = 0; round < 2; ++round) {
        MPI_Status status;
        // The second start takes its message from the host MPI.
        if (round == 0) run.call("MPI_Probe", MPI_Probe(session.partner(), kTag, session.comm(), &status));
        run.call("MPI_Start", MPI_Start(&request));
        int index = 0;
        int n_done = 0;
        switch (way) {
          case 0:
            run.call("MPI_Wait", MPI_Wait(&request, &status));
            break;
          case 1:
            run.call("MPI_Waitany", MPI_Waitany(1, &request, &index, &status));
            break;
          case 2:
            run.call("MPI_Waitsome", MPI_Waitsome(1, &request, &n_done, &index, &status));
            break;
          default:
            while (n_done == 0) ASSERT_EQ(MPI_Test(&request, &n_done, &status), MPI_SUCCESS);
        }
        run.note("index", index);
        run.note_status("completion", status, MPI_BYTE);
        run.expect_pattern(out, session.partner(), round, kBytes);
      }
      run.call("MPI_Request_free", MPI_Request_free(&request));
    });
  }
}

// More allocations than mappings are kept, with many messages out of each under way. (p2p_ipc_handles=1.)
TEST(Mappings, AreNotTakenAwayInUse_WhenTooManyAreNeeded) {
  constexpr int kAllocations = 20;
  constexpr int kSlices = 6;
  for (const std::size_t slice_bytes : {std::size_t{512}, std::size_t{4096}, std::size_t{300'000}}) {
    const Session &session = Session::get();
    const Kind kind = device_or_host();
    std::vector<std::unique_ptr<Memory>> in;
    std::vector<std::unique_ptr<Memory>> out;
    std::vector<MPI_Request> requests;
    const int count = static_cast<int>(slice_bytes);
    for (int i = 0; i < kAllocations; ++i) {
      in.push_back(std::make_unique<Memory>(session.module(), kind, slice_bytes * kSlices));
      out.push_back(std::make_unique<Memory>(session.module(), kind, slice_bytes * kSlices));
      in.back()->fill_pattern(session.rank(), i);
      for (std::size_t slice = 0; slice < kSlices; ++slice) {
        const int tag = i * kSlices + static_cast<int>(slice);
        auto *to = static_cast<std::byte *>(out.back()->data()) + slice * slice_bytes;
        auto *from = static_cast<std::byte *>(in.back()->data()) + slice * slice_bytes;
        ASSERT_EQ(MPI_Irecv(to, count, MPI_BYTE, session.partner(), tag, session.comm(), &requests.emplace_back()),
                  MPI_SUCCESS);
        ASSERT_EQ(MPI_Isend(from, count, MPI_BYTE, session.partner(), tag, session.comm(), &requests.emplace_back()),
                  MPI_SUCCESS);
      }
    }
    ASSERT_EQ(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
    for (int i = 0; i < kAllocations; ++i) {
      EXPECT_EQ(find_pattern_error(out[static_cast<std::size_t>(i)]->read(), session.partner(), i), "");
    }
  }
}

std::size_t open_files() {
  std::size_t n = 0;
  for ([[maybe_unused]] const auto &entry : std::filesystem::directory_iterator("/proc/self/fd")) ++n;
  return n;
}

[[maybe_unused]] std::size_t mappings() {
  std::ifstream maps("/proc/self/maps");
  std::size_t n = 0;
  for (std::string line; std::getline(maps, line);) ++n;
  return n;
}

TEST(Mappings, StayAsMany_WhileMemoryComesAndGoes) {
  const Session &session = Session::get();
  const Kind kind = device_or_host();
  const int n_cycles = session.options().is_full ? 10'000 : 600;
  std::size_t files_before = 0;
  [[maybe_unused]] std::size_t mappings_before = 0;
  for (int cycle = 0; cycle < n_cycles; ++cycle) {
    // Growing, and again from the beginning: freed addresses are used for other sizes.
    const std::size_t size_bytes = 512 + static_cast<std::size_t>(cycle % 200) * 997;
    const Memory in(session.module(), kind, size_bytes);
    const Memory out(session.module(), kind, size_bytes);
    in.fill_pattern(session.rank(), cycle);
    ASSERT_EQ(MPI_Sendrecv(in.data(), static_cast<int>(size_bytes), MPI_BYTE, session.partner(), kTag, out.data(),
                           static_cast<int>(size_bytes), MPI_BYTE, session.partner(), kTag, session.comm(),
                           MPI_STATUS_IGNORE),
              MPI_SUCCESS);
    ASSERT_EQ(find_pattern_error(out.read(), session.partner(), cycle), "") << "cycle " << cycle;
    if (cycle == 299) {  // all caches are full by now
      files_before = open_files();
      mappings_before = mappings();
    }
  }
  EXPECT_LE(open_files(), files_before + 2);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // those map memory of their own as they go
  // The heap's arenas come and go a little.
  EXPECT_LE(mappings(), mappings_before + 16);
#endif
}

}  // namespace
}  // namespace sluice::tests::routes_test

// SPDX-License-Identifier: BSD-3-Clause
// Completion of arrays that mix requests on device buffers, on host buffers, null and inactive persistent ones.
#include <gtest/gtest.h>

#include <vector>

#include "tests/support/completers.hpp"
#include "tests/support/oracle.hpp"

namespace sluice::tests::completion_test {
namespace {

constexpr std::size_t kMessages = 6;

// Room for one array of requests and what belongs to it.
struct Array {
  std::vector<MPI_Request> requests;
  std::vector<const Memory *> outputs;  // null where the request is no receive
};

// Even places: the receiver's kind, odd ones: host memory.
void add_receives(Trial &run, Array &array, std::size_t size_bytes) {
  const Session &session = Session::get();
  for (std::size_t i = 0; i < kMessages; ++i) {
    const Memory &out = run.buffer(i % 2 == 0 ? run.recv_kind() : Kind::host, size_bytes + i);
    array.outputs.push_back(&out);
    run.call("MPI_Irecv",
             MPI_Irecv(out.data(), static_cast<int>(size_bytes + i), MPI_BYTE, session.partner(), static_cast<int>(i),
                       session.comm(), &array.requests.emplace_back(MPI_REQUEST_NULL)));
    if (i == 2) {
      array.requests.push_back(MPI_REQUEST_NULL);
      array.outputs.push_back(nullptr);
    }
  }
}

void add_sends(Trial &run, Array &array, std::size_t size_bytes) {
  const Session &session = Session::get();
  for (std::size_t i = kMessages; i-- > 0;) {
    const Memory &in = run.buffer(i % 3 == 0 ? Kind::host : run.send_kind(), size_bytes + i);
    run.refill(in, static_cast<int>(i));
    run.call("MPI_Isend",
             MPI_Isend(in.data(), static_cast<int>(size_bytes + i), MPI_BYTE, session.partner(), static_cast<int>(i),
                       session.comm(), &array.requests.emplace_back(MPI_REQUEST_NULL)));
    array.outputs.push_back(nullptr);
  }
}

// A persistent receive on a device buffer that is never started. Freed by the caller.
void add_inactive(Trial &run, Array &array) {
  const Session &session = Session::get();
  const Memory &out = run.output(64);
  run.call("MPI_Recv_init", MPI_Recv_init(out.data(), 64, MPI_BYTE, session.partner(), 999, session.comm(),
                                          &array.requests.emplace_back(MPI_REQUEST_NULL)));
  array.outputs.push_back(nullptr);
}

void check(Trial &run, const Array &array, const std::vector<MPI_Status> *statuses, std::size_t size_bytes) {
  int message = 0;
  for (std::size_t i = 0; i < array.outputs.size(); ++i) {
    if (array.outputs[i] == nullptr) {
      continue;
    }
    const std::size_t bytes = size_bytes + static_cast<std::size_t>(message);
    run.expect_pattern(*array.outputs[i], Session::get().partner(), message, bytes);
    if (statuses != nullptr) {
      run.note_status("receive", (*statuses)[i], MPI_BYTE);
    }
    ++message;
  }
}

void complete_mixed(const Completer &completer, bool wants_statuses) {
  compare_each_case(Breadth::narrow, {0, 900, 70'000}, [&](Trial &run, const Case &c) {
    Array array;
    add_receives(run, array, c.size_bytes);
    add_inactive(run, array);
    const std::size_t inactive = array.requests.size() - 1;
    add_sends(run, array, c.size_bytes);
    std::vector<MPI_Status> statuses(array.requests.size());
    completer.complete(run, array.requests, wants_statuses ? &statuses : nullptr);
    for (std::size_t i = 0; i < array.requests.size(); ++i) {
      EXPECT_EQ(array.requests[i] != MPI_REQUEST_NULL, i == inactive) << "request " << i;
    }
    check(run, array, wants_statuses ? &statuses : nullptr, c.size_bytes);
    run.call("MPI_Request_free", MPI_Request_free(&array.requests[inactive]));
  });
}

TEST(Completion, DeliversBytesAndStatuses_ForMixedArrays) {
  for (const Completer &completer : completers()) {
    SCOPED_TRACE(completer.name);
    complete_mixed(completer, true);
  }
}

TEST(Completion, DeliversBytes_WhenStatusesAreIgnored) {
  for (const Completer &completer : completers()) {
    SCOPED_TRACE(completer.name);
    complete_mixed(completer, false);
  }
}

TEST(Completion, ReturnsAtOnce_WhenNothingIsActive) {
  compare_each_case(Breadth::narrow, {0}, [](Trial &run, const Case &) {
    std::vector<MPI_Request> requests(3, MPI_REQUEST_NULL);
    std::vector<MPI_Status> statuses(3);
    std::vector<int> indices(3);
    int number = 0;
    int flag = 0;
    run.call("MPI_Wait", MPI_Wait(requests.data(), statuses.data()));
    run.note_status("MPI_Wait", statuses[0], MPI_BYTE);
    run.call("MPI_Waitany", MPI_Waitany(3, requests.data(), &number, statuses.data()));
    run.note("MPI_Waitany", number);
    run.call("MPI_Waitsome", MPI_Waitsome(3, requests.data(), &number, indices.data(), statuses.data()));
    run.note("MPI_Waitsome", number);
    run.call("MPI_Waitall", MPI_Waitall(3, requests.data(), statuses.data()));
    run.note_status("MPI_Waitall", statuses[2], MPI_BYTE);
    run.call("MPI_Waitall", MPI_Waitall(0, nullptr, nullptr));
    run.call("MPI_Test", MPI_Test(requests.data(), &flag, statuses.data()));
    run.note("MPI_Test", flag);
    run.call("MPI_Testany", MPI_Testany(3, requests.data(), &number, &flag, statuses.data()));
    run.note("MPI_Testany", number);
    run.note("MPI_Testany flag", flag);
    run.call("MPI_Testsome", MPI_Testsome(3, requests.data(), &number, indices.data(), statuses.data()));
    run.note("MPI_Testsome", number);
    run.call("MPI_Testall", MPI_Testall(3, requests.data(), &flag, statuses.data()));
    run.note("MPI_Testall", flag);
  });
}

// Requests on device buffers are polled while the message cannot have come: no test may claim it.
TEST(Test, SaysNotDone_UntilTheMessageIsSent) {
  compare_each_case(Breadth::narrow, {16, 70'000}, [](Trial &run, const Case &c) {
    const Session &session = Session::get();
    const int count = static_cast<int>(c.size_bytes);
    const Memory &out = run.output(c.size_bytes);
    MPI_Request request = MPI_REQUEST_NULL;
    run.call("MPI_Irecv", MPI_Irecv(out.data(), count, MPI_BYTE, session.partner(), 5, session.comm(), &request));
    int is_done = 0;
    int index = 0;
    MPI_Status status;
    for (int i = 0; i < 20 && is_done == 0; ++i) {
      run.call("MPI_Test", MPI_Test(&request, &is_done, &status));
      EXPECT_EQ(is_done, 0);
      run.call("MPI_Testany", MPI_Testany(1, &request, &index, &is_done, &status));
      EXPECT_EQ(is_done, 0);
      run.call("MPI_Testall", MPI_Testall(1, &request, &is_done, &status));
      EXPECT_EQ(is_done, 0);
    }
    MPI_Barrier(session.comm());
    run.call("MPI_Send", MPI_Send(run.input(c.size_bytes).data(), 0, MPI_BYTE, session.partner(), 6, session.comm()));
    run.call("MPI_Recv", MPI_Recv(nullptr, 0, MPI_BYTE, session.partner(), 6, session.comm(), MPI_STATUS_IGNORE));
    MPI_Request send = MPI_REQUEST_NULL;
    run.call("MPI_Isend", MPI_Isend(run.input(c.size_bytes, 1).data(), count, MPI_BYTE, session.partner(), 5,
                                    session.comm(), &send));
    run.call("MPI_Wait", MPI_Wait(&request, &status));
    run.note_status("MPI_Wait", status, MPI_BYTE);
    run.call("MPI_Wait", MPI_Wait(&send, MPI_STATUS_IGNORE));
    run.expect_pattern(out, session.partner(), 1, c.size_bytes);
  });
}

}  // namespace
}  // namespace sluice::tests::completion_test

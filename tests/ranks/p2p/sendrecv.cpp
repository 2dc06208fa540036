// SPDX-License-Identifier: BSD-3-Clause
// The combined calls: Sendrecv, Sendrecv_replace and their non-blocking forms.
#include <gtest/gtest.h>

#include "tests/support/oracle.hpp"

namespace sluice::tests::sendrecv_test {
namespace {

// Each direction of a pair has its own tag.
int send_tag() {
  return 20 + Session::get().rank() % 2;
}
int recv_tag() {
  return 20 + Session::get().partner() % 2;
}

TEST(Sendrecv, ExchangesBytes_ForEveryKindAndSize) {
  compare_each_case(Breadth::wide, [](Trial &run, const Case &c) {
    const Session &session = Session::get();
    const Memory &in = run.input(c.size_bytes);
    const Memory &out = run.output(c.size_bytes + 16);
    MPI_Status status;
    run.call("MPI_Sendrecv", MPI_Sendrecv(in.data(), static_cast<int>(c.size_bytes), MPI_BYTE, session.partner(),
                                          send_tag(), out.data(), static_cast<int>(c.size_bytes) + 16, MPI_BYTE,
                                          session.partner(), recv_tag(), session.comm(), &status));
    run.note_status("MPI_Sendrecv", status, MPI_BYTE);
    run.expect_pattern(out, session.partner(), 0, c.size_bytes);
  });
}

TEST(Sendrecv, SkipsASide_WhenItIsProcNull) {
  compare_each_case(Breadth::narrow, [](Trial &run, const Case &c) {
    const Session &session = Session::get();
    const int count = static_cast<int>(c.size_bytes);
    const Memory &in = run.input(c.size_bytes);
    const Memory &out = run.output(c.size_bytes);
    const int to = session.begins() ? session.partner() : MPI_PROC_NULL;
    const int from = session.begins() ? MPI_PROC_NULL : session.partner();
    MPI_Status status;
    run.call("MPI_Sendrecv", MPI_Sendrecv(in.data(), count, MPI_BYTE, to, 5, out.data(), count, MPI_BYTE, from, 5,
                                          session.comm(), &status));
    run.note_status("MPI_Sendrecv", status, MPI_BYTE);
  });
}

TEST(SendrecvReplace, ExchangesBytes_ForEveryKindAndSize) {
  compare_each_case(Breadth::narrow, [](Trial &run, const Case &c) {
    const Session &session = Session::get();
    const Memory &memory = run.input(c.size_bytes);
    MPI_Status status;
    run.call("MPI_Sendrecv_replace",
             MPI_Sendrecv_replace(memory.data(), static_cast<int>(c.size_bytes), MPI_BYTE, session.partner(),
                                  send_tag(), session.partner(), recv_tag(), session.comm(), &status));
    run.note_status("MPI_Sendrecv_replace", status, MPI_BYTE);
    run.expect_pattern(memory, session.partner(), 0, c.size_bytes);
  });
}

#if MPI_VERSION >= 4
TEST(Isendrecv, ExchangesBytes_ForEveryKindAndSize) {
  compare_each_case(Breadth::narrow, [](Trial &run, const Case &c) {
    const Session &session = Session::get();
    const int count = static_cast<int>(c.size_bytes);
    const Memory &in = run.input(c.size_bytes);
    const Memory &out = run.output(c.size_bytes);
    MPI_Request request = MPI_REQUEST_NULL;
    run.call("MPI_Isendrecv", MPI_Isendrecv(in.data(), count, MPI_BYTE, session.partner(), send_tag(), out.data(),
                                            count, MPI_BYTE, session.partner(), recv_tag(), session.comm(), &request));
    MPI_Status status;
    run.call("MPI_Wait", MPI_Wait(&request, &status));
    run.note("request is null", request == MPI_REQUEST_NULL ? 1 : 0);
    run.expect_pattern(out, session.partner(), 0, c.size_bytes);
  });
}

TEST(IsendrecvReplace, ExchangesBytes_ForEveryKindAndSize) {
  compare_each_case(Breadth::narrow, [](Trial &run, const Case &c) {
    const Session &session = Session::get();
    const Memory &memory = run.input(c.size_bytes);
    MPI_Request request = MPI_REQUEST_NULL;
    run.call("MPI_Isendrecv_replace",
             MPI_Isendrecv_replace(memory.data(), static_cast<int>(c.size_bytes), MPI_BYTE, session.partner(),
                                   send_tag(), session.partner(), recv_tag(), session.comm(), &request));
    run.call("MPI_Wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
    run.expect_pattern(memory, session.partner(), 0, c.size_bytes);
  });
}

TEST(Sendrecv, ExchangesBytes_InTheLargeCountForm) {
  compare_each_case(Breadth::narrow, [](Trial &run, const Case &c) {
    const Session &session = Session::get();
    const auto count = static_cast<MPI_Count>(c.size_bytes);
    const Memory &in = run.input(c.size_bytes);
    const Memory &out = run.output(c.size_bytes);
    MPI_Status status;
    run.call("MPI_Sendrecv_c", MPI_Sendrecv_c(in.data(), count, MPI_BYTE, session.partner(), send_tag(), out.data(),
                                              count, MPI_BYTE, session.partner(), recv_tag(), session.comm(), &status));
    run.note_status("MPI_Sendrecv_c", status, MPI_BYTE);
    run.call("MPI_Sendrecv_replace_c",
             MPI_Sendrecv_replace_c(out.data(), count, MPI_BYTE, session.partner(), send_tag(), session.partner(),
                                    recv_tag(), session.comm(), &status));
    // What this rank sent came back.
    run.expect_pattern(out, session.rank(), 0, c.size_bytes);
  });
}
#endif

}  // namespace
}  // namespace sluice::tests::sendrecv_test

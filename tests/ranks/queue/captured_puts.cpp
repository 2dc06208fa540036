// SPDX-License-Identifier: BSD-3-Clause
// Puts and signals of a window captured into a graph.
#include <vector>

#include "tests/ranks/queue/one_sided_case.hpp"

namespace sluice::tests::captured_puts_test {
namespace {

// Graphs have operations only where streams reach windows.
#define SKIP_WITHOUT_GRAPHS_OF_WINDOWS() \
  SKIP_WITHOUT_GRAPHS();                 \
  SKIP_WITHOUT_WINDOWS();                \
  if (!streams_reach_windows()) GTEST_SKIP() << "missing: windows that streams reach"

}  // namespace

// Each launch of a graph puts what is there then, and what stands behind the wait keeps what has come; an answer keeps
// the other side from the next round.
TEST(CapturedPuts, EachLaunchOfAGraph_PutsWhatIsThereThen) {
  SKIP_WITHOUT_GRAPHS_OF_WINDOWS();
  constexpr std::size_t kLaunches = 9;
  const Session &session = Session::get();
  for (const std::size_t size_bytes : {3001UL, 150001UL}) {
    const Memory memory = make_memory(Kind::device, size_bytes + kGuardBytes);
    const Memory out = make_memory(Kind::device, size_bytes);
    const Tape sent(size_bytes, kLaunches);
    const Tape kept(size_bytes, kLaunches);
    ProgramStream stream;
    const TestQueue queue(stream);
    QueueWindow window(memory);
    CapturedGraph graph(stream);
    sent.play(stream, out);
    window.put(queue, out.data(), size_bytes, 0);
    window.signal(queue);
    window.wait_signal(queue);
    queue.start();
    queue.wait();
    kept.keep(stream, memory);
    window.signal(queue);
    window.wait_signal(queue);
    queue.start();
    queue.wait();
    graph.end();
    window.complete();
    sent.record(session.rank(), 60);
    for (std::size_t k = 0; k < kLaunches; ++k) graph.launch();
    stream.synchronize();
    kept.expect_kept(session.partner(), 60, kLaunches);
    EXPECT_TRUE(is_poison(memory.read(size_bytes, kGuardBytes)));
    EXPECT_MPI(MPI_Barrier(session.comm()));
  }
}

TEST(CapturedPuts, WhatAGraphCannotHave_IsRefused) {
  SKIP_WITHOUT_GRAPHS_OF_WINDOWS();
  const Memory memory = make_memory(Kind::device, 4096);
  const Memory of_host = make_memory(Kind::host, 4096);
  ProgramStream stream;
  const TestQueue queue(stream);
  QueueWindow window(memory);
  MPI_Request request = MPI_REQUEST_NULL;
  CapturedGraph graph(stream);
  expect_refused(one_sided().put(of_host.data(), 8, MPI_BYTE, QueueWindow::peer(), 0, 8, MPI_BYTE, window.get(),
                                 queue.get(), &request),
                 MPI_ERR_OTHER, "captured into a graph");
  expect_refused(one_sided().signal(Session::get().rank(), window.get(), queue.get(), &request), MPI_ERR_OTHER,
                 "captured into a graph");
  stream.copy(memory.at(8), memory.data(), 8);  // a graph of nothing is none
  graph.end();
}

}  // namespace sluice::tests::captured_puts_test

// SPDX-License-Identifier: BSD-3-Clause
// The differential test: random programs, run on host copies and on random kinds of memory, must agree in every byte
// and status. --seed and --programs choose them; a failure prints the seed that repeats it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <deque>

#include "tests/ranks/p2p/completers.hpp"
#include "tests/ranks/p2p/random_program.hpp"
#include "tests/support/oracle.hpp"

namespace sluice::tests {
namespace {

constexpr std::size_t kIntBytes = sizeof(int);

// The buffer and the type of one side of a message. A stride above 1 spreads the ints, with gaps between them.
struct Side {
  const Memory *memory = nullptr;
  MPI_Datatype type = MPI_BYTE;
  int count = 0;
};

Side make_side(Trial &run, const Message &message, std::size_t size_bytes, Kind kind) {
  Side side;
  if (message.stride == 1) {
    side.memory = &run.buffer(kind, size_bytes);
    side.count = static_cast<int>(size_bytes);
    return side;
  }
  const auto n_ints = size_bytes / kIntBytes;
  side.memory = &run.buffer(kind, n_ints * static_cast<std::size_t>(message.stride) * kIntBytes);
  MPI_Datatype one = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(MPI_INT, 0, message.stride * static_cast<MPI_Aint>(kIntBytes), &one);
  MPI_Type_commit(&one);
  side.type = one;
  side.count = static_cast<int>(n_ints);
  return side;
}

// One rank's part of one round.
class RoundRun {
 public:
  RoundRun(Trial &run, const Round &round, int first_iteration)
      : run_(run), round_(round), iteration_(first_iteration) {}

  void execute() {
    post_receives();
    // Ready sends and blocking sends rely on it: every receive that is posted at all is posted now.
    MPI_Barrier(Session::get().comm());
    start_sends();
    receive_late();
    complete();
  }

 private:
  static bool is_late(const Message &message) {
    return message.recv_mode == RecvMode::late_recv || message.recv_mode == RecvMode::late_mrecv;
  }

  static int source_of(const Message &message) { return message.any_source ? MPI_ANY_SOURCE : message.source; }

  MPI_Request &new_request(int message) {
    messages_.push_back(message);
    return requests_.emplace_back(MPI_REQUEST_NULL);
  }

  Side receive_side(const Message &message) {
    const Side side = make_side(run_, message, message.size_bytes + message.spare_bytes, message.recv_kind);
    keep_type(side);
    return side;
  }

  void keep_type(const Side &side) {
    if (side.type != MPI_BYTE) {
      types_.push_back(side.type);
    }
  }

  void post_receives() {
    const Session &session = Session::get();
    for (std::size_t i = 0; i < round_.messages.size(); ++i) {
      const Message &message = round_.messages[i];
      if (message.destination != session.rank() || is_late(message)) {
        continue;
      }
      const Side side = receive_side(message);
      MPI_Request &request = new_request(static_cast<int>(i));
      if (message.recv_mode == RecvMode::persistent) {
        run_.call("MPI_Recv_init", MPI_Recv_init(side.memory->data(), side.count, side.type, source_of(message),
                                                 message.tag, session.comm(), &request));
        run_.call("MPI_Start", MPI_Start(&request));
      } else {
        run_.call("MPI_Irecv", MPI_Irecv(side.memory->data(), side.count, side.type, source_of(message), message.tag,
                                         session.comm(), &request));
      }
    }
  }

  void start_sends() {
    for (std::size_t i = 0; i < round_.messages.size(); ++i) {
      const Message &message = round_.messages[i];
      if (message.source == Session::get().rank()) {
        const Side side = make_side(run_, message, message.size_bytes, message.send_kind);
        keep_type(side);
        run_.refill(*side.memory, iteration_ + static_cast<int>(i));
        send(message, side);
      }
    }
  }

  void send(const Message &message, const Side &side) {
    const MPI_Comm comm = Session::get().comm();
    void *data = side.memory->data();
    const int to = message.destination;
    switch (message.send_mode) {
      case SendMode::send:
        run_.call("MPI_Send", MPI_Send(data, side.count, side.type, to, message.tag, comm));
        return;
      case SendMode::ssend:
        run_.call("MPI_Ssend", MPI_Ssend(data, side.count, side.type, to, message.tag, comm));
        return;
      case SendMode::isend:
        run_.call("MPI_Isend", MPI_Isend(data, side.count, side.type, to, message.tag, comm, &new_request(-1)));
        return;
      case SendMode::issend:
        run_.call("MPI_Issend", MPI_Issend(data, side.count, side.type, to, message.tag, comm, &new_request(-1)));
        return;
      case SendMode::irsend:
        run_.call("MPI_Irsend", MPI_Irsend(data, side.count, side.type, to, message.tag, comm, &new_request(-1)));
        return;
      case SendMode::persistent: {
        MPI_Request &request = new_request(-1);
        run_.call("MPI_Send_init", MPI_Send_init(data, side.count, side.type, to, message.tag, comm, &request));
        run_.call("MPI_Start", MPI_Start(&request));
        return;
      }
    }
  }

  void receive_late() {
    const Session &session = Session::get();
    for (const Message &message : round_.messages) {
      if (message.destination != session.rank() || !is_late(message)) {
        continue;
      }
      const Side side = receive_side(message);
      MPI_Status status;
      if (message.recv_mode == RecvMode::late_recv) {
        run_.call("MPI_Recv", MPI_Recv(side.memory->data(), side.count, side.type, source_of(message), message.tag,
                                       session.comm(), &status));
      } else {
        MPI_Message matched = MPI_MESSAGE_NULL;
        run_.call("MPI_Mprobe", MPI_Mprobe(source_of(message), message.tag, session.comm(), &matched, &status));
        run_.note_envelope("MPI_Mprobe", status, side.type);
        run_.call("MPI_Mrecv", MPI_Mrecv(side.memory->data(), side.count, side.type, &matched, &status));
      }
      run_.note_status("late receive", status, side.type);
    }
  }

  void complete() {
    const std::vector<MPI_Request> before(requests_.begin(), requests_.end());
    std::vector<MPI_Request> requests = before;
    std::vector<MPI_Status> statuses(requests.size());
    completers()[round_.completer].complete(run_, requests, &statuses);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (messages_[i] >= 0) {
        run_.note_status(fmt::format("receive of message {}", messages_[i]), statuses[i], MPI_BYTE);
      }
      if (requests[i] != MPI_REQUEST_NULL) {
        run_.call("MPI_Request_free", MPI_Request_free(&requests[i]));
      }
    }
    for (MPI_Datatype &type : types_) {
      MPI_Type_free(&type);
    }
  }

  Trial &run_;
  const Round &round_;
  int iteration_;
  std::deque<MPI_Request> requests_;  // a deque: references to its elements stay good
  std::vector<int> messages_;         // which message a request receives; -1 for sends
  std::vector<MPI_Datatype> types_;
};

// All buffers take host memory in the reference run; Trial sees to that through its kinds.
void run_program(Trial &run, const Program &program) {
  constexpr int kIterationsPerRound = 100;
  int first_iteration = 0;
  for (const Round &round : program.rounds) {
    RoundRun(run, round, first_iteration).execute();
    first_iteration += kIterationsPerRound;
  }
}

TEST(Differential, ProgramsAgreeWithTheirHostRun) {
  const Session &session = Session::get();
  const Options &options = session.options();
  const int n_programs = options.n_programs > 0 ? options.n_programs : options.is_full ? 2000 : 200;
  // Only tells Trial that this is no reference run.
  const Case kinds{session.kinds().back(), session.kinds().back(), 0};
  for (int i = 0; i < n_programs; ++i) {
    const std::uint64_t seed = options.seed + static_cast<std::uint64_t>(i);
    SCOPED_TRACE(fmt::format("repeat with: --gtest_filter=Differential.* --seed {} --programs 1", seed));
    const Program program = make_program(seed, session.size(), session.kinds());
    compare_with_host(kinds, [&](Trial &run) { run_program(run, program); });
    if (session.agree_any(HasFailure())) {
      return;
    }
  }
  if (session.rank() == 0) {
    fmt::print("{} programs from seed {}\n", n_programs, options.seed);
  }
}

}  // namespace
}  // namespace sluice::tests

// SPDX-License-Identifier: BSD-3-Clause
// One round: posts receives, sends, receives late, completes everything in one array; as often as it is started.
#include "tests/ranks/p2p/program_run.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "tests/ranks/p2p/message_side.hpp"
#include "tests/support/completers.hpp"
#include "tests/support/host_mpi.hpp"

namespace sluice::tests {
namespace {

constexpr int kIdleTag = 999;

// One rank's part of one round.
class RoundRun {
 public:
  RoundRun(Trial &run, const Round &round, const LaneComms &comms, int first_iteration)
      : run_(run), round_(round), comms_(comms), first_iteration_(first_iteration), messages_(round.messages.size()) {}

  void execute() {
    make_sides();
    for (start_ = 0; start_ < round_.n_starts; ++start_) {
      slots_.clear();
      post_receives();
      // Ready sends and blocking sends rely on it: every receive that is posted at all is posted now.
      MPI_Barrier(comms_.posted);
      start_sends();
      receive_late();
      complete();
      note_results();
    }
    free_all();
  }

 private:
  // What this rank has of one message.
  struct Part {
    Side send;
    Side recv;
    MPI_Request persistent_send = MPI_REQUEST_NULL;
    MPI_Request persistent_recv = MPI_REQUEST_NULL;
    MPI_Status found;     // of a late message: by the probe, or by the receive if there was none
    MPI_Status received;  // unless statuses are ignored
  };
  // A request of this start, and the message that it receives; -1 for sends.
  struct Slot {
    MPI_Request request;
    int message;
    MPI_Request *persistent;  // the part's, which is the same
  };

  const Message &message(int index) const { return round_.messages[static_cast<std::size_t>(index)]; }
  Part &part(int index) { return messages_[static_cast<std::size_t>(index)]; }
  int n_messages() const { return static_cast<int>(round_.messages.size()); }
  bool is_sent_here(int index) const { return message(index).source == Session::get().rank(); }
  bool is_received_here(int index) const { return message(index).destination == Session::get().rank(); }
  MPI_Comm comm_of(const Message &message) const { return is_late(message.recv_mode) ? comms_.late : comms_.posted; }

  void make_sides() {
    for (int i = 0; i < n_messages(); ++i) {
      const Message &m = message(i);
      if (is_received_here(i)) {
        part(i).recv = receiving_side(run_, m);
      }
      if (is_sent_here(i)) {
        part(i).send = sending_side(run_, m);
      }
    }
    if (round_.has_idle) {
      run_.call("MPI_Recv_init", MPI_Recv_init(nullptr, 0, MPI_BYTE, 0, kIdleTag, comms_.posted, &idle_));
    }
  }

  // Persistent requests wait here to be started together with their neighbours.
  void start_later(int index, MPI_Request *persistent, bool is_receive) {
    to_start_.push_back({*persistent, is_receive ? index : -1, persistent});
    if (!round_.uses_startall) {
      flush();
    }
  }

  void flush() {
    if (to_start_.size() == 1) {
      run_.call("MPI_Start", MPI_Start(&to_start_[0].request));
    } else if (to_start_.size() > 1) {
      std::vector<MPI_Request> requests;
      for (const Slot &slot : to_start_) requests.push_back(slot.request);
      run_.call("MPI_Startall", MPI_Startall(static_cast<int>(requests.size()), requests.data()));
    }
    slots_.insert(slots_.end(), to_start_.begin(), to_start_.end());
    to_start_.clear();
  }

  MPI_Request &new_request(int message) {
    return slots_.emplace_back(Slot{MPI_REQUEST_NULL, message, nullptr}).request;
  }

  void post_receives() {
    for (int i = 0; i < n_messages(); ++i) {
      if (!is_received_here(i)) {
        continue;
      }
      const Message &m = message(i);
      const Side &side = part(i).recv;
      if (start_ > 0) {
        side.memory->fill(kPoison);
      }
      const int source = m.any_source ? MPI_ANY_SOURCE : m.source;
      if (m.recv_mode == RecvMode::recv_init) {
        MPI_Request *request = &part(i).persistent_recv;
        if (start_ == 0) {
          run_.call("MPI_Recv_init",
                    MPI_Recv_init(side.data, side.count, side.type, source, m.tag, comms_.posted, request));
        }
        start_later(i, request, true);
      } else if (m.recv_mode == RecvMode::irecv) {
        flush();
        run_.call("MPI_Irecv",
                  MPI_Irecv(side.data, side.count, side.type, source, m.tag, comms_.posted, &new_request(i)));
      }
    }
    flush();
  }

  void start_sends() {
    for (int i = 0; i < n_messages(); ++i) {
      if (!is_sent_here(i)) {
        continue;
      }
      run_.refill(*part(i).send.memory, first_iteration_ + start_ * kMostMessages + i);
      if (is_persistent(message(i).send_mode)) {
        start_persistent_send(i);
      } else {
        flush();
        send(message(i), part(i).send);
      }
    }
    flush();
    for (int i = 0; i < n_messages(); ++i) {
      const bool is_last = start_ + 1 == round_.n_starts || is_persistent(message(i).send_mode);
      if (is_sent_here(i) && is_last && message(i).frees_type_early) part(i).send.free_type();
    }
  }

  void start_persistent_send(int index) {
    const Message &m = message(index);
    const Side &side = part(index).send;
    MPI_Request *request = &part(index).persistent_send;
    if (start_ == 0) {
      const bool is_bsend = m.send_mode == SendMode::bsend_init && !loses_data_in_restarted_bsend();
      const auto init = is_bsend                              ? MPI_Bsend_init
                        : m.send_mode == SendMode::ssend_init ? MPI_Ssend_init
                        : m.send_mode == SendMode::rsend_init ? MPI_Rsend_init
                                                              : MPI_Send_init;
      run_.call("a persistent send", init(side.data, side.count, side.type, m.destination, m.tag, comm_of(m), request));
    }
    start_later(index, request, false);
  }

  void send(const Message &m, const Side &side) {
    using Blocking = int (*)(const void *, int, MPI_Datatype, int, int, MPI_Comm);
    using NonBlocking = int (*)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
    static constexpr Blocking kBlocking[] = {MPI_Send, MPI_Ssend, MPI_Rsend, MPI_Bsend};
    static constexpr NonBlocking kNonBlocking[] = {MPI_Isend, MPI_Issend, MPI_Irsend, MPI_Ibsend};
    void *data = side.data;
    const auto mode = static_cast<std::size_t>(m.send_mode);
    if (m.send_mode < SendMode::isend) {
      run_.call("a blocking send", kBlocking[mode](data, side.count, side.type, m.destination, m.tag, comm_of(m)));
    } else {
      run_.call("a non-blocking send",
                kNonBlocking[mode - static_cast<std::size_t>(SendMode::isend)](
                    data, side.count, side.type, m.destination, m.tag, comm_of(m), &new_request(-1)));
    }
  }

  void receive_late() {
    std::vector<int> late;
    for (int i = 0; i < n_messages(); ++i) {
      if (is_received_here(i) && is_late(message(i).recv_mode)) late.push_back(i);
    }
    std::vector<int> waiting = late;
    for (const int how : late) {
      const int received = receive_one(message(how), waiting);
      if (received < 0) {
        return;
      }
      waiting.erase(std::find(waiting.begin(), waiting.end(), received));
    }
  }

  // Receives one of the messages that are `waiting`, in the way of `how`; -1 after a failure.
  int receive_one(const Message &how, const std::vector<int> &waiting) {
    const Message &oldest = message(waiting.front());
    if (how.recv_mode == RecvMode::recv) {
      // Its buffer is chosen before it is known what comes, so that only one message may.
      const bool is_alone = how.any_source && oldest.tag >= kOwnTags;
      Part &mine = part(waiting.front());
      const int code = MPI_Recv(mine.recv.data, mine.recv.count, mine.recv.type,
                                is_alone ? MPI_ANY_SOURCE : oldest.source, oldest.tag, comms_.late, &mine.received);
      run_.call("MPI_Recv", code);
      mine.found = mine.received;
      return code == MPI_SUCCESS ? waiting.front() : -1;
    }
    MPI_Status status;
    MPI_Message matched = MPI_MESSAGE_NULL;
    if (!probe(how, how.any_source ? MPI_ANY_SOURCE : oldest.source, how.any_tag ? MPI_ANY_TAG : oldest.tag, &matched,
               &status)) {
      return -1;
    }
    // Messages of one source arrive in the order in which they were sent.
    const auto found = std::find_if(waiting.begin(), waiting.end(), [&](int i) {
      return message(i).source == status.MPI_SOURCE && (how.any_tag || message(i).tag == status.MPI_TAG);
    });
    if (found == waiting.end() || message(*found).tag != status.MPI_TAG) {
      ADD_FAILURE() << "a probe found a message from " << status.MPI_SOURCE << " with tag " << status.MPI_TAG
                    << " that was not the next";
      return -1;
    }
    part(*found).found = status;
    receive_probed(how, *found, &matched);
    return *found;
  }

  // True when a message was found.
  bool probe(const Message &how, int source, int tag, MPI_Message *matched, MPI_Status *status) {
    int is_found = 0;
    int code = MPI_SUCCESS;
    while (is_found == 0 && code == MPI_SUCCESS) {
      switch (how.recv_mode) {
        case RecvMode::probe_recv:
          code = MPI_Probe(source, tag, comms_.late, status);
          is_found = 1;
          break;
        case RecvMode::iprobe_recv:
          code = MPI_Iprobe(source, tag, comms_.late, &is_found, status);
          break;
        case RecvMode::mprobe_mrecv:
        case RecvMode::mprobe_imrecv:
          code = MPI_Mprobe(source, tag, comms_.late, matched, status);
          is_found = 1;
          break;
        default:
          code = MPI_Improbe(source, tag, comms_.late, &is_found, matched, status);
      }
      if (is_found == 0) {
        std::this_thread::yield();
      }
    }
    run_.call("a probe", code);
    return code == MPI_SUCCESS;
  }

  void receive_probed(const Message &how, int index, MPI_Message *matched) {
    Part &mine = part(index);
    void *data = mine.recv.data;
    const int count = mine.recv.count;
    if (how.recv_mode == RecvMode::mprobe_imrecv || how.recv_mode == RecvMode::improbe_imrecv) {
      run_.call("MPI_Imrecv", MPI_Imrecv(data, count, mine.recv.type, matched, &new_request(index)));
      return;
    }
    if (how.recv_mode == RecvMode::mprobe_mrecv || how.recv_mode == RecvMode::improbe_mrecv) {
      run_.call("MPI_Mrecv", MPI_Mrecv(data, count, mine.recv.type, matched, &mine.received));
    } else {
      run_.call("MPI_Recv", MPI_Recv(data, count, mine.recv.type, mine.found.MPI_SOURCE, mine.found.MPI_TAG,
                                     comms_.late, &mine.received));
    }
  }

  void complete() {
    const std::size_t n = slots_.size();
    if (n != 0) {
      std::rotate(slots_.begin(), slots_.begin() + static_cast<std::ptrdiff_t>(round_.rotation % n), slots_.end());
    }
    std::vector<MPI_Request> requests;
    for (const Slot &slot : slots_) requests.push_back(slot.request);
    if (round_.has_idle) {
      requests.push_back(idle_);
      requests.push_back(MPI_REQUEST_NULL);
    }
    std::vector<MPI_Status> statuses(requests.size());
    completers()[round_.completer].complete(run_, requests, round_.ignores_statuses ? nullptr : &statuses);
    for (std::size_t i = 0; i < n; ++i) {
      EXPECT_EQ(requests[i], slots_[i].persistent != nullptr ? *slots_[i].persistent : MPI_REQUEST_NULL);
      if (slots_[i].message >= 0 && !round_.ignores_statuses) {
        part(slots_[i].message).received = statuses[i];
      }
    }
  }

  // By message, whatever the order in which they came; and the same of each, as another one may come first and be
  // probed and waited for in its place in the next run.
  void note_results() {
    for (int i = 0; i < n_messages(); ++i) {
      if (!is_received_here(i)) {
        continue;
      }
      Part &mine = part(i);
      const std::string name = fmt::format("message {}", i);
      if (is_late(message(i).recv_mode)) run_.note_envelope(name + " found", mine.found, mine.recv.type);
      if (!round_.ignores_statuses) run_.note_status(name, mine.received, mine.recv.type);
      // The last contents are compared byte by byte.
      if (start_ + 1 < round_.n_starts) {
        run_.note(name + " contents", static_cast<long long>(hash_of(mine.recv.memory->read_with_guards())));
      }
    }
  }

  void free_all() {
    for (Part &mine : messages_) {
      for (MPI_Request *request : {&mine.persistent_send, &mine.persistent_recv}) {
        if (*request != MPI_REQUEST_NULL) run_.call("MPI_Request_free", MPI_Request_free(request));
      }
      for (Side *side : {&mine.send, &mine.recv}) {
        side->free_type();
      }
    }
    if (idle_ != MPI_REQUEST_NULL) run_.call("MPI_Request_free", MPI_Request_free(&idle_));
  }

  Trial &run_;
  const Round &round_;
  const LaneComms &comms_;
  int first_iteration_;
  int start_ = 0;
  std::vector<Part> messages_;
  std::vector<Slot> slots_;  // the requests of this start
  std::vector<Slot> to_start_;
  MPI_Request idle_ = MPI_REQUEST_NULL;
};

}  // namespace

void run_lane(Trial &run, const Lane &lane, int lane_index, const LaneComms &comms) {
  int round_index = lane_index * kMostRounds;
  for (const Round &round : lane.rounds) {
    RoundRun(run, round, comms, round_index * kMostStarts * kMostMessages).execute();
    ++round_index;
  }
}

}  // namespace sluice::tests

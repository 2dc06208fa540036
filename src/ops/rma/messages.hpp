// SPDX-License-Identifier: BSD-3-Clause
// Messages: what the ranks of a window ask each other on a communicator of its own, for memory that the asking rank
// does not reach, for locks of other nodes, and for MPI_Win_post and MPI_Win_complete. Every message is answered, so
// that nothing is under way when a window is freed. A task of the engine: a rank serves the others in its MPI calls.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/trace.hpp"
#include "ops/rma/locks.hpp"
#include "ops/rma/own_memory.hpp"
#include "ops/rma/window_request.hpp"
#include "progress/engine.hpp"
#include "transfer/window_message.hpp"

namespace sluice::ops::rma {

// One operation that goes in messages: it is complete when all of them are answered. Its parts change under the lock of
// Messages until it is done.
struct Asked {
  // Where the answers' data go; without a layout they are dropped.
  transfer::Region result;
  std::vector<std::byte> packed;  // of a result with gaps, until all has come
  std::shared_ptr<WindowRequest> request;
  bool has_owner = false;  // who looks at `outcome`, so that take_failure() does not tell of it
  int n_unanswered = 0;
  bool is_all_asked = false;
  std::atomic<bool> is_done{false};
  Status outcome;    // when it is done
  trace::Span span;  // until then
  trace::Message message;
  std::uint64_t size_bytes = 0;  // of the payload
};
using AskedPtr = std::shared_ptr<Asked>;

// Threads: any, for all that has no other word; each function holds the lock of Messages, and only ask() waits.
// `target` and `rank` are ranks of the window, which the caller has checked. What other ranks send is checked before it
// is used.
class Messages final : public progress::Task {
 public:
  // `comm` returns errors, and stays until end(); so do `memory` and `locks`.
  Messages(MPI_Comm comm, int rank, int n_ranks, OwnMemory *memory, Locks *locks);

  // Asks `target`: the header's reply, nonce and n_runs are filled in here. `position`: of the message in the payload.
  // `operand` is copied; `asked` is kept until the answer has come. Blocks: in turns, while too many messages are
  // unanswered; not for the answer. Errors: the host MPI's. State: then this message is not under way, and earlier ones
  // of `asked` still are, so that close() is due.
  [[nodiscard]] Status ask(int target, transfer::WindowHeader header, std::span<const transfer::Block> runs,
                           std::span<const std::byte> operand, const AskedPtr &asked, std::uint64_t position = 0);
  // The same without blocking. False: too many messages are unanswered, and nothing was done; else *status is the
  // outcome.
  [[nodiscard]] bool try_ask(int target, transfer::WindowHeader header, std::span<const transfer::Block> runs,
                             std::span<const std::byte> operand, const AskedPtr &asked, std::uint64_t position,
                             Status *status);
  // Whether try_ask() would find room now. Others may take it.
  [[nodiscard]] bool has_room();
  // Ends `asked`: all its messages were sent. `why`: the error that kept some from being sent, or success. The outcome
  // is there when asked->is_done says so: the first of `why`, of the answers' errors, and of a copy's into `result`.
  void close(const AskedPtr &asked, const Status &why);

  // Whether `target` (-1: every rank) has answered all.
  [[nodiscard]] bool is_quiet(int target);
  // Errors: the first one of operations without a request since the last call, which forgets it.
  [[nodiscard]] Status take_failure();
  // Keeps `failure` for take_failure(), unless there is one already.
  void note_failure(const Status &failure);

  // Consumes one post of `rank`. True: one was there.
  [[nodiscard]] bool take_post(int rank);
  // The same of one MPI_Win_complete of each of `ranks`: of all of them, or of none.
  [[nodiscard]] bool take_completes(std::span<const int> ranks);

  // Whether all that others were told has left.
  [[nodiscard]] bool has_answered_all();
  // The engine forgets this in its next turn, and nothing more is done. The caller has seen that all is quiet, here and
  // at the other ranks.
  void end();

  // progress::Task
  [[nodiscard]] bool advance() override;

 private:
  struct Unanswered {
    int target = 0;
    std::uint32_t reply = 0;
    std::uint64_t position = 0;
    std::uint64_t answer_bytes = 0;  // of data
    AskedPtr asked;
    std::vector<std::byte> message;
    std::vector<std::byte> answer;
    MPI_Request sent = MPI_REQUEST_NULL;
    MPI_Request received = MPI_REQUEST_NULL;
  };
  struct Incoming {
    int source = 0;
    std::vector<std::byte> bytes;
    MPI_Request received = MPI_REQUEST_NULL;
    bool is_there = false;
  };
  struct Answer {
    std::vector<std::byte> bytes;
    MPI_Request sent = MPI_REQUEST_NULL;
  };
  struct Waiting {  // for this rank's lock
    int source;
    std::uint32_t reply;
    LockHold hold;
  };
  // What a rank elsewhere has done to this one, by messages.
  struct Peer {
    std::uint32_t n_posts = 0;
    std::uint32_t n_completes = 0;
    bool is_locked = false;  // it has asked for this rank's lock
    bool is_alone = false;
    bool has_lock = false;
    int n_unanswered = 0;  // of what this rank has asked it
  };

  // All with the lock held.
  [[nodiscard]] Status send(Unanswered *one);
  void receive();
  void serve();
  // False: it cannot be served yet.
  [[nodiscard]] bool serve(const Incoming &incoming);
  [[nodiscard]] Status serve_synchronisation(const transfer::WindowHeader &header, int source, bool *is_answered);
  void serve_waiting();
  void answer(int source, std::uint32_t reply, const Status &status, std::span<const std::byte> data);
  void settle_answers();
  void settle();
  void take_answer(Unanswered *one, int code);
  void finish(const AskedPtr &asked);

  const MPI_Comm comm_;
  const int rank_;
  OwnMemory *const memory_;
  Locks *const locks_;
  std::mutex mutex_;
  bool is_over_ = false;
  std::vector<Peer> peers_;
  std::list<Unanswered> unanswered_;
  std::vector<std::uint32_t> free_replies_;
  std::deque<Incoming> incoming_;
  std::list<Answer> answers_;
  std::list<Waiting> waiting_;
  Status failure_;
};

}  // namespace sluice::ops::rma

// SPDX-License-Identifier: BSD-3-Clause
// BatchQueue: what a program enqueues into one stream of its own, in batches (arXiv 2208.04817, section IV.B). The
// stream counts up the trigger word; the progress thread, or whoever is inside MPI, sees it in a turn and begins the
// batch's messages. Each wait of the stream is a gate with the messages that it is for; gates have numbers in the order
// in which the stream comes to them, and the turn in which the messages of a gate are complete, and those of all gates
// before, counts up the completion word, for which the stream waits. Messages may have the stream do some of that by
// itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "device/moving_stream.hpp"
#include "device/stream.hpp"
#include "ops/comm/comm_memo.hpp"
#include "ops/queue/aside_choice.hpp"
#include "ops/queue/batch_reserve.hpp"
#include "ops/queue/carriers.hpp"
#include "ops/queue/host_messages.hpp"
#include "ops/queue/message.hpp"
#include "ops/queue/one_sided.hpp"
#include "progress/engine.hpp"

namespace sluice::ops::queue {

// Calls may come from any thread: they go one at a time, and none waits for a message. start() alone may wait for the
// stream, up to queue_patience. Errors of all of them: was_freed().
class BatchQueue final : public progress::RecurringTask {
 public:
  // What its waits are for. Where some are for some messages alone, nothing is received aside of the stream: the stream
  // joins all of that at once.
  enum class Waits : std::uint8_t { kForAll, kForSome };
  // A queue for messages on `comm` (MPI_COMM_NULL: on their own) over a stream that lives until the queue is freed or
  // abandoned. `carriers` are of make_carriers() for both.
  BatchQueue(MPI_Comm comm, std::unique_ptr<device::Stream> stream, std::unique_ptr<Carriers> carriers, Waits waits)
      : comm_(comm),
        waits_(waits),
        stream_(std::move(stream)),
        carriers_(std::move(carriers)),
        aside_(*stream_, carriers_->can_go_aside()),
        copies_messages_(waits == Waits::kForSome && carriers_->match_in_host() && stream_->can_copy()) {}

  // The error of a call for a queue that was freed. Errors: always that one, kInvalidArgument.
  [[nodiscard]] static Status was_freed();
  [[nodiscard]] MPI_Comm comm() const noexcept { return comm_; }

  // Whether the host MPI was shown as much as these arguments and took them: the same direction, peer, tag,
  // communicator and type, any buffer and a count that is none too few. The next message then needs no call of it: with
  // a progress thread at work each may have to wait for the host MPI's lock. Hot.
  [[nodiscard]] bool has_taken(const Arguments &given);
  // The host MPI took them. Only types and communicators are kept of which it is known when their handles are given to
  // others: predefined types, and communicators with a state (ops/comm/comm_state.hpp).
  void note_taken(const Arguments &given);

  // A receive may leave open from whom it comes, or with which tag.
  [[nodiscard]] bool takes_wildcards() const noexcept { return carriers_->match_in_host(); }

  // Makes a message as it is to travel. `given` was taken by the host MPI. Errors: the buffer, as classify_buffer() has
  // it; the carriers refuse.
  [[nodiscard]] Status make(const Arguments &given, MessagePtr *message);
  // The same for a collective operation. Errors: those of make_collective_message().
  [[nodiscard]] Status make(const CollectiveArguments &given, MessagePtr *message) const;
  // Adds a message to the batch that the next start() ends, and makes its request; a null `request`: none, and
  // Message::leave() says what becomes of its errors. Errors: make()'s; the host MPI refuses the request.
  [[nodiscard]] Status enqueue(const Arguments &given, MPI_Request *request);
  [[nodiscard]] Status enqueue(const MessagePtr &message, MPI_Request *request);
  // Takes a message out of the batch that was not started, and its request back: start() failed. False: another thread
  // has started it.
  [[nodiscard]] bool take_back(const MessagePtr &message, MPI_Request *request);
  // Adds a put or a get (`call.operation`) on a window. Errors: those of OneSided; the host MPI refuses the request.
  [[nodiscard]] Status enqueue_access(const rma::WindowPtr &window, const rma::Call &call, MPI_Request *request);
  // Adds a signal of a window, or the wait for one: `peer` is a rank of the window. Errors: the same.
  [[nodiscard]] Status enqueue_signal(const rma::WindowPtr &window, bool is_send, int peer, MPI_Request *request);
  // Ends the batch, and has the stream start it. Errors: the stream refuses, or has not moved for queue_patience; the
  // batch is open as before.
  [[nodiscard]] Status start();
  // Has the stream wait for the batches so far, what it sends by itself included. Errors: none was started, the stream
  // refuses.
  [[nodiscard]] Status wait();
  // The same for some of the messages that were started, and no others; in a graph, for all that were captured so far.
  // Errors: the stream refuses.
  [[nodiscard]] Status wait_for(std::span<const MessagePtr> messages);
  [[nodiscard]] bool waits_for_some() const noexcept { return waits_ == Waits::kForSome; }
  // Its messages are complete, or will be without the stream, and it takes no more. It may outlive that for a while:
  // the progress engine lets go of it at a turn.
  [[nodiscard]] bool is_freed();
  // All messages so far are complete, or will be without the stream's coming any further.
  [[nodiscard]] bool is_idle();
  // Lets go of the stream, which need not live any longer. Errors: a message is not complete; nothing has changed.
  [[nodiscard]] Status free();
  // The same when the stream may be gone already. Last call.
  void abandon() noexcept { stream_->abandon(); }

  // progress::Task
  [[nodiscard]] bool advance() override;

 private:
  struct Batch {
    std::uint64_t number = 0;  // what the stream writes
    std::vector<MessagePtr> messages;
    bool is_begun = false;
  };
  using BatchList = std::list<Batch>;  // batches go from one to the other without an allocation that might fail
  struct Gate {
    std::uint64_t number = 0;  // for which the stream waits
    std::vector<MessagePtr> messages;
  };

  // The program captures the stream into a graph, and the carriers have messages for graphs.
  [[nodiscard]] bool is_captured() const noexcept { return carriers_->can_capture() && stream_->is_captured(); }
  [[nodiscard]] Status start_captured();
  // Waits until the stream has come so far that another batch may be enqueued. A runtime that has no room in a stream
  // holds up its caller, and may hold up every other thread that asks anything of it, among them the one that would
  // carry the message that the stream waits for. Holds nothing up here: the progress thread goes on. Errors: the stream
  // has not moved for queue_patience; nothing was enqueued.
  [[nodiscard]] Status await_room();
  // The newest trigger that the stream is to have come to before another batch is enqueued.
  [[nodiscard]] std::uint64_t least_trigger();
  // Where errors of one-sided operations are raised.
  [[nodiscard]] MPI_Comm comm_of_errors() const noexcept { return comm_ != MPI_COMM_NULL ? comm_ : MPI_COMM_SELF; }
  // Asks the messages of the batch what the stream is to copy: into copies_.
  void plan_copies();
  // Takes the last of them into rider_, if it is short: it needs no command of its own where one tells of it.
  void take_rider();
  [[nodiscard]] sluice_stream_send_t *find_only_signal();
  // Gives `rider` to the command that tells of it. *goes_along: whether the trigger goes with the sends. Errors: the
  // stream refuses.
  [[nodiscard]] Status place_rider(const sluice_copy_t &rider, sluice_stream_send_t *trigger, bool *goes_along,
                                   unsigned *n_commands);
  // Has the stream make the copies of the batch, before what tells others that the data is there. Then asks the
  // messages what the stream is to do for them: into sends_ and planned_, and into receives_ and planned_receives_ what
  // it is to receive aside.
  [[nodiscard]] Status plan_starts(bool is_aside, bool are_received_aside);
  // Has the stream do it. *is_triggered: the trigger went along, as one command more of the same call. Errors: the
  // stream refuses a copy, which no other way is left for.
  [[nodiscard]] Status enqueue_starts(std::uint64_t number, bool is_aside, unsigned *n_commands, bool *is_triggered);
  // Has it receive what is to be received aside, behind its last command or beside what it was to send just before.
  void enqueue_receives_aside(bool is_with_sends, unsigned *n_commands);
  // Tells the messages that were planned whether they are in the stream: the first ones are. Failures are theirs to
  // make good.
  static void tell(std::vector<MessagePtr> *planned, std::size_t n_in_stream, const Status &status,
                   void (Message::*told)(bool));
  // Has the stream wait for `messages`, by itself for those for which it can.
  [[nodiscard]] Status await(std::span<const MessagePtr> messages);
  // That first half: *polled are those that are left, which a turn sees complete.
  void enqueue_waits(std::span<const MessagePtr> messages, std::vector<MessagePtr> *polled, unsigned *n_commands);
  // The second half, for those that are not complete by now. Errors: the stream refuses.
  [[nodiscard]] Status enqueue_gate(std::vector<MessagePtr> messages);
  // Has the stream bring what `messages` received by way of pinned memory, which is kept until it has. Errors: the
  // stream refuses.
  [[nodiscard]] Status enqueue_backs(std::span<const MessagePtr> messages);
  // Lets go of what the stream has brought.
  void release_backs();
  // The same in the end, when nothing else is started.
  [[nodiscard]] bool release_last_backs();

  const MPI_Comm comm_;
  const Waits waits_;
  const std::unique_ptr<device::Stream> stream_;
  const std::unique_ptr<Carriers> carriers_;  // over the stream

  // All of these with calls_, which a call of the program's holds; mutex_ comes behind it.
  std::mutex calls_;
  bool is_freed_ = false;
  CommMemo<Arguments, 64> taken_;  // as many as an exchange with all neighbours in three dimensions has, both ways
  BatchReserve reserve_;
  AsideChoice aside_;
  const bool copies_messages_;  // the stream does so by itself, where messages can go so
  OneSided one_sided_;
  std::vector<MessagePtr> open_;
  std::uint64_t n_started_ = 0;  // batches
  device::MovingStream moving_{[this] { return stream_->triggered(); }};
  std::uint64_t n_awaited_ = 0;        // batches that a wait was enqueued for
  std::vector<MessagePtr> unawaited_;  // started, and no wait was enqueued for them
  std::uint64_t n_gates_ = 0;
  // What the stream copies from and to.
  struct Backs {
    std::uint64_t number = 0;  // that the stream triggers behind the copies
    std::vector<MessagePtr> messages;
  };
  std::deque<Backs> backs_;
  // What a call tells the stream, and whose messages these are. Members, so that their memory is there at the next
  // call.
  std::vector<sluice_copy_t> copies_;
  std::optional<sluice_copy_t> rider_;
  std::vector<sluice_stream_send_t> sends_;
  std::vector<sluice_stream_receive_t> receives_;
  std::vector<MessagePtr> planned_;
  std::vector<MessagePtr> planned_receives_;
  struct Commands {
    std::uint64_t batch = 0;
    unsigned count = 0;
  };
  std::deque<Commands> commands_;  // in the stream, of batches that it may not have come to

  BatchList started_;                   // with mutex_: not yet seen by a turn
  std::vector<MessagePtr> incomplete_;  // with mutex_: started, and not known to be complete
  std::deque<Gate> gates_;              // with mutex_: closed, in the stream's order
  BatchList running_;                   // belongs to the turn
  // Messages of graphs that do not know their other side yet: with mutex_, not yet seen by a turn; and the turn's.
  std::vector<MessagePtr> started_captured_;
  std::vector<MessagePtr> captured_;
};

}  // namespace sluice::ops::queue

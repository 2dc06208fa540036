// SPDX-License-Identifier: BSD-3-Clause
// The engine `thread` (arXiv 2208.04817, section IV.B): a stream counts up the trigger word; the progress thread, or
// whoever is inside MPI, sees it in a turn and starts the batch's messages by the ordinary routes; when all of a batch
// are complete it counts up the completion word, for which the stream waits. Carriers may have the stream do some of
// that by itself.
#include <algorithm>
#include <deque>
#include <list>
#include <mutex>
#include <ranges>
#include <utility>
#include <vector>

#include "base/knobs.hpp"
#include "base/log.hpp"
#include "device/moving_stream.hpp"
#include "ops/queue/aside_choice.hpp"
#include "ops/queue/captured.hpp"
#include "ops/queue/engine.hpp"
#include "plan/stream_channel.hpp"
#include "progress/engine.hpp"
#include "progress/thread.hpp"
#include "wire/host.hpp"

namespace sluice::ops::queue {
namespace {

struct Batch {
  std::uint64_t number = 0;  // what the stream writes
  std::vector<MessagePtr> messages;
  bool is_begun = false;
};

using BatchList = std::list<Batch>;  // batches go from one to the other without an allocation that might fail

class ThreadEngine final : public Engine, public progress::RecurringTask {
 public:
  ThreadEngine(std::unique_ptr<device::Stream> stream, std::unique_ptr<Carriers> carriers)
      : stream_(std::move(stream)),
        carriers_(std::move(carriers)),
        aside_(*stream_, carriers_ != nullptr && carriers_->route() == Route::kQueueDevice) {}

  [[nodiscard]] Route route() const noexcept override {
    return carriers_ != nullptr ? carriers_->route() : Route::kThread;
  }
  [[nodiscard]] Status carry(const Arguments &given, const device::Place &place, CarrierPtr *carrier,
                             Route *route) override;
  void enqueue(MessagePtr message) override { open_.push_back(std::move(message)); }
  [[nodiscard]] Status start() override;
  [[nodiscard]] Status wait() override;
  [[nodiscard]] Pending pending() override;
  void close() noexcept override { stream_->close(); }
  void abandon() noexcept override { stream_->abandon(); }

  // progress::Task
  [[nodiscard]] bool advance() override;

 private:
  static void forget_complete(std::vector<MessagePtr> *messages) {
    std::erase_if(*messages, [](const MessagePtr &message) { return message->is_complete(); });
  }

  // The program captures the stream into a graph, and the carriers have messages for graphs.
  [[nodiscard]] bool is_captured() const noexcept {
    return carriers_ != nullptr && carriers_->route() == Route::kQueueDevice && stream_->is_captured();
  }
  [[nodiscard]] Status start_captured();
  // The newest trigger that the stream is to have come to before another batch is enqueued.
  [[nodiscard]] std::uint64_t least_trigger();
  [[nodiscard]] std::unique_lock<std::mutex> hold() {
    return carriers_ != nullptr ? carriers_->hold() : std::unique_lock<std::mutex>();
  }
  // Asks the messages of the batch what the stream is to do for them: into sends_ and planned_, and into receives_ and
  // planned_receives_ what it is to receive aside.
  [[nodiscard]] Status plan_starts(bool are_received_aside);
  // Has the stream do it. True: the trigger went along, as one command more of the same call.
  [[nodiscard]] bool enqueue_starts(std::uint64_t trigger, bool is_aside, unsigned *n_commands);
  // Has it receive what is to be received aside, behind its last command or beside what it was to send just before.
  void enqueue_receives_aside(bool is_with_sends, unsigned *n_commands);
  // True: the stream waits for all that was started by itself, so it has to wait for nobody else.
  [[nodiscard]] bool enqueue_waits(unsigned *n_commands);
  // Tells the messages that were planned whether they are in the stream: the first ones are. Failures are theirs to
  // make good.
  static void tell(std::vector<MessagePtr> *planned, std::size_t n_in_stream, const Status &status,
                   void (Message::*told)(bool));

  const std::unique_ptr<device::Stream> stream_;
  const std::unique_ptr<Carriers> carriers_;  // over the stream; null: the host MPI is the only one
  std::vector<MessagePtr> open_;              // of the caller
  AsideChoice aside_;                         // of the caller
  std::uint64_t n_started_ = 0;               // batches; of the caller
  device::MovingStream moving_{[this] { return stream_->triggered(); }};  // of the caller
  std::uint64_t n_awaited_ = 0;        // batches that a wait was enqueued for; of the caller
  std::vector<MessagePtr> unawaited_;  // of batches that no wait was enqueued for; of the caller
  // What a call tells the stream, and whose messages these are; of the caller. Members, so
  // that their memory is there at the next call.
  std::vector<sluice_stream_send_t> sends_;
  std::vector<sluice_stream_receive_t> receives_;
  std::vector<MessagePtr> planned_;
  std::vector<MessagePtr> planned_receives_;
  struct Commands {
    std::uint64_t batch = 0;
    unsigned count = 0;
  };
  std::deque<Commands> commands_;       // in the stream, of batches that it may not have come to; of the caller
  BatchList started_;                   // with mutex_: not yet seen by a turn
  std::vector<MessagePtr> incomplete_;  // with mutex_: started, and not known to be complete
  BatchList running_;                   // belongs to the turn
  // Messages of graphs that do not know their other side yet: with mutex_, not yet seen by a turn; and the turn's.
  std::vector<MessagePtr> started_captured_;
  std::vector<MessagePtr> captured_;
};

Status ThreadEngine::carry(const Arguments &given, const device::Place &place, CarrierPtr *carrier, Route *route) {
  if (is_captured()) {
    *route = carriers_->route();
    return carriers_->capture(given, place, carrier);
  }
  *route = Route::kThread;
  if (carriers_ != nullptr) {
    if (Status status = carriers_->carry(given, place, carrier); !status.is_ok()) return status;
    if (*carrier != nullptr) *route = carriers_->route();
  }
  return *carrier != nullptr ? Status() : make_plain_carrier(given, carrier);
}

// As many batches as queue_depth says may be ahead of the stream, and with messages of many commands fewer: runtimes
// take about a thousand commands (docs/adr/0032).
std::uint64_t ThreadEngine::least_trigger() {
  static const std::uint64_t depth = Knobs::process().number("queue_depth");
  constexpr std::uint64_t kCommandsOfABatch = 8;
  const std::uint64_t triggered = stream_->triggered();
  while (!commands_.empty() && commands_.front().batch < triggered) commands_.pop_front();
  std::uint64_t least = n_started_ >= depth ? n_started_ - depth + 1 : 0;
  std::uint64_t n_commands = 0;
  for (const Commands &batch : std::views::reverse(commands_)) {
    n_commands += batch.count;
    if (n_commands <= depth * kCommandsOfABatch) continue;
    least = std::max(least, batch.batch);
    break;
  }
  return std::min(least, n_started_);
}

Status ThreadEngine::plan_starts(bool are_received_aside) {
  sends_.clear();
  planned_.clear();
  receives_.clear();
  planned_receives_.clear();
  sends_.reserve(open_.size() + 1);
  planned_.reserve(open_.size());
  receives_.reserve(SLUICE_STREAM_MOST_RECEIVES_ASIDE);
  planned_receives_.reserve(SLUICE_STREAM_MOST_RECEIVES_ASIDE);
  auto lock = hold();
  std::uint64_t n_ahead = plan::kNoLimit;
  for (const MessagePtr &message : open_) {
    if (Status status = message->prepare(); !status.is_ok()) return status;
    n_ahead = std::min(n_ahead, message->batches_with_room());
  }
  // A stream that is far behind has not sent yet what is in the way of long messages.
  if (n_started_ >= n_ahead && stream_->triggered() < n_started_ - n_ahead + 1) {
    if (lock.owns_lock()) lock.unlock();
    moving_.await(n_started_ - n_ahead + 1);
    lock = hold();
  }
  for (const MessagePtr &message : open_) {
    sluice_stream_send_t send{};
    if (!message->plan_start(*stream_, &send)) continue;
    sends_.push_back(send);
    planned_.push_back(message);
  }
  if (!are_received_aside) return {};
  for (const MessagePtr &message : open_) {
    if (receives_.size() == SLUICE_STREAM_MOST_RECEIVES_ASIDE) break;  // the others at the wait
    sluice_stream_receive_t receive{};
    if (!message->plan_aside(*stream_, &receive)) continue;
    receives_.push_back(receive);
    planned_receives_.push_back(message);
  }
  return {};
}

void ThreadEngine::tell(std::vector<MessagePtr> *planned, std::size_t n_in_stream, const Status &status,
                        void (Message::*told)(bool)) {
  if (!status.is_ok()) {
    log::warn_once("queue_channel", "ops", status.message() + "; such messages go by the progress thread");
  }
  for (std::size_t k = 0; k < planned->size(); ++k) (*(*planned)[k].*told)(k < n_in_stream);
  planned->clear();
}

// What the stream does by itself comes before the trigger or beside it: that is for the host, which is not on the way.
// Behind a batch that went aside a trigger goes there alone, too: in the stream it might be seen before the earlier
// one.
bool ThreadEngine::enqueue_starts(std::uint64_t trigger, bool is_aside, unsigned *n_commands) {
  if (sends_.empty() && !stream_->is_unjoined()) return false;
  sends_.push_back(stream_->trigger(trigger));
  sluice_stream_enqueued_t enqueued{};
  const Status status =
      is_aside ? stream_->enqueue_sends_aside(sends_, &enqueued) : stream_->enqueue_sends(sends_, &enqueued);
  const bool is_triggered = enqueued.n_messages == sends_.size();
  sends_.clear();
  *n_commands += enqueued.n_commands;
  tell(&planned_, enqueued.n_messages, status, &Message::start_enqueued);
  return is_triggered;
}

void ThreadEngine::enqueue_receives_aside(bool is_with_sends, unsigned *n_commands) {
  if (planned_receives_.empty()) return;
  sluice_stream_enqueued_t enqueued{};
  const Status status = stream_->enqueue_receives_aside(receives_, is_with_sends, &enqueued);
  receives_.clear();
  *n_commands += enqueued.n_commands;
  tell(&planned_receives_, enqueued.n_messages, status, &Message::wait_enqueued);
}

// No lock is held while the stream is told: a runtime may block there until the stream has room, which it may not have
// before a turn completes what it waits for. So the stream may come to the trigger before a turn knows of the batch;
// the next one does.
Status ThreadEngine::start() {
  if (is_captured()) return start_captured();
  if (std::ranges::any_of(open_, &Message::is_captured)) return started_outside_of_capture();
  if (Status status = await_room(*stream_, n_started_, least_trigger()); !status.is_ok()) return status;
  BatchList batch;
  batch.push_back({n_started_ + 1, open_, false});
  {
    const std::scoped_lock lock(mutex_);
    forget_complete(&incomplete_);
    incomplete_.reserve(incomplete_.size() + open_.size());
  }
  forget_complete(&unawaited_);
  unawaited_.reserve(unawaited_.size() + open_.size());
  const plan::QueueAsidePlan aside = aside_.sends();
  commands_.push_back({n_started_ + 1, 1});  // here, because behind the plans nothing may throw
  if (Status status = plan_starts(aside_.receives(aside)); !status.is_ok()) {
    commands_.pop_back();
    return status;
  }
  const bool is_triggered = enqueue_starts(n_started_ + 1, aside.is_aside, &commands_.back().count);
  if (!is_triggered) {
    if (Status status = stream_->enqueue_trigger(n_started_ + 1); !status.is_ok()) {
      tell(&planned_receives_, 0, {}, &Message::wait_enqueued);
      commands_.pop_back();
      return status;
    }
  }
  enqueue_receives_aside(is_triggered && aside.is_aside, &commands_.back().count);
  ++n_started_;
  if (carriers_ != nullptr) unawaited_.insert(unawaited_.end(), open_.begin(), open_.end());
  const std::scoped_lock lock(mutex_);
  incomplete_.insert(incomplete_.end(), open_.begin(), open_.end());
  open_.clear();
  started_.splice(started_.end(), batch);
  come();
  aside_.note_start();
  return {};
}

// There is nothing for the stream to trigger: each launch of the graph starts the messages. What is left for the turns
// is to let both sides know of each other.
Status ThreadEngine::start_captured() {
  {
    const std::scoped_lock lock(mutex_);
    forget_complete(&incomplete_);
    incomplete_.reserve(incomplete_.size() + open_.size());
    started_captured_.reserve(started_captured_.size() + open_.size());
  }
  {
    const auto lock = hold();
    if (Status status = capture_batch(*stream_, open_); !status.is_ok()) return status;
  }
  const std::scoped_lock lock(mutex_);
  incomplete_.insert(incomplete_.end(), open_.begin(), open_.end());
  started_captured_.insert(started_captured_.end(), open_.begin(), open_.end());
  open_.clear();
  come();
  return {};
}

bool ThreadEngine::enqueue_waits(unsigned *n_commands) {
  if (carriers_ == nullptr) return false;
  receives_.clear();
  planned_.clear();
  receives_.reserve(unawaited_.size());
  planned_.reserve(unawaited_.size());
  bool is_by_stream = true;
  {
    const auto lock = hold();
    for (const MessagePtr &message : unawaited_) {
      sluice_stream_receive_t receive{};
      const Carrier::Wait wait = message->plan_wait(*stream_, &receive);
      if (wait == Carrier::Wait::kForPoll) is_by_stream = false;
      if (wait != Carrier::Wait::kCommand) continue;
      receives_.push_back(receive);
      planned_.push_back(message);
    }
  }
  if (planned_.empty()) return is_by_stream;
  sluice_stream_enqueued_t enqueued{};
  const Status status = stream_->enqueue_receives(receives_, &enqueued);
  receives_.clear();
  *n_commands += enqueued.n_commands;
  is_by_stream = is_by_stream && enqueued.n_messages == planned_.size();
  tell(&planned_, enqueued.n_messages, status, &Message::wait_enqueued);
  return is_by_stream;
}

Status ThreadEngine::wait() {
  if (is_captured()) return stream_->capture_join();
  if (n_started_ == 0) {
    return Status::error(ErrorKind::kInvalidArgument,
                         "nothing was started on this queue, so there is nothing to wait for; call MPIX_Enqueue_start "
                         "before MPIX_Enqueue_wait");
  }
  // The stream is past it when it comes here: it waited for as much before.
  if (n_awaited_ == n_started_) return {};
  aside_.note_wait();
  unsigned n_commands = 1;
  for (const bool is_unjoined : {stream_->is_unjoined(), stream_->are_receives_unjoined()}) {
    if (is_unjoined) n_commands += device::Stream::kCommandsOfJoin;
  }
  // Before the stream waits for anybody else: what comes behind may change what is being sent, and need not know how;
  // and before it takes anything else out of the same channels.
  if (Status status = stream_->join_all(); !status.is_ok()) return status;
  const bool is_by_stream = enqueue_waits(&n_commands);
  if (!commands_.empty()) commands_.back().count += n_commands;
  Status status;
  if (!is_by_stream) status = stream_->enqueue_wait(n_started_);
  if (!status.is_ok()) return status;
  unawaited_.clear();
  n_awaited_ = n_started_;
  return {};
}

Engine::Pending ThreadEngine::pending() {
  // A stream that is past its wait has said so; it may be that nobody has looked since.
  progress::turn_until([this] {
    const std::scoped_lock lock(mutex_);
    forget_complete(&incomplete_);
    return std::ranges::none_of(incomplete_, [](const MessagePtr &message) { return message->is_done_by_stream(); });
  });
  const std::scoped_lock lock(mutex_);
  return {open_.size(), incomplete_.size()};
}

bool ThreadEngine::advance() {
  {
    const std::scoped_lock lock(mutex_);
    running_.splice(running_.end(), started_);
    captured_.insert(captured_.end(), started_captured_.begin(), started_captured_.end());
    started_captured_.clear();
  }
  // No lock from here on: messages may call an error handler of the program's, which may call MPI.
  if (carriers_ != nullptr) carriers_->turn();
  const std::uint64_t triggered = stream_->triggered();
  std::size_t n_complete = std::erase_if(captured_, [](const MessagePtr &message) { return message->poll(); });
  for (Batch &batch : running_) {
    if (batch.number > triggered) break;
    if (!batch.is_begun) {
      batch.is_begun = true;
      for (const MessagePtr &message : batch.messages) message->begin();
    }
    n_complete += std::erase_if(batch.messages, [](const MessagePtr &message) { return message->poll(); });
  }
  while (!running_.empty() && running_.front().is_begun && running_.front().messages.empty()) {
    stream_->complete(running_.front().number);
    running_.pop_front();
  }
  const std::scoped_lock lock(mutex_);
  // Here rather than at the next start, which the program waits for.
  if (n_complete != 0) forget_complete(&incomplete_);
  const bool has_messages = !running_.empty() || !started_.empty() || !captured_.empty() || !started_captured_.empty();
  return may_go(!has_messages && (carriers_ == nullptr || carriers_->is_idle()));
}

// The progress thread is what looks at the trigger while the program computes.
Status run_progress_thread() {
  static std::mutex mutex;
  const std::scoped_lock lock(mutex);
  int provided = MPI_THREAD_SINGLE;
  if (wire::host().MPI_Query_thread(&provided) != MPI_SUCCESS || provided != MPI_THREAD_MULTIPLE) {
    return Status::error(ErrorKind::kUnsupported,
                         "queues need MPI_THREAD_MULTIPLE, for a thread that starts their messages; ask for it with "
                         "MPI_Init_thread, or set SLUICE_PROGRESS_THREAD=1, which does");
  }
  return progress::ProgressThread::process().start();
}

}  // namespace

Status make_thread_engine(std::unique_ptr<device::Stream> stream, std::unique_ptr<Carriers> carriers,
                          std::shared_ptr<Engine> *engine) {
  if (Status status = run_progress_thread(); !status.is_ok()) return status;
  *engine = std::make_shared<ThreadEngine>(std::move(stream), std::move(carriers));
  return {};
}

}  // namespace sluice::ops::queue

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
#include "ops/queue/engine.hpp"
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
      : stream_(std::move(stream)), carriers_(std::move(carriers)) {}

  [[nodiscard]] Route route() const noexcept override {
    return carriers_ != nullptr ? carriers_->route() : Route::kThread;
  }
  [[nodiscard]] Status carry(const Arguments &given, CarrierPtr *carrier, Route *route) override;
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

  // The newest trigger that the stream is to have come to before another batch is enqueued.
  [[nodiscard]] std::uint64_t least_trigger();

  const std::unique_ptr<device::Stream> stream_;
  const std::unique_ptr<Carriers> carriers_;  // over the stream; null: the host MPI is the only one
  std::vector<MessagePtr> open_;              // of the caller
  std::uint64_t n_started_ = 0;               // batches; of the caller
  std::uint64_t n_awaited_ = 0;               // batches that a wait was enqueued for; of the caller
  std::vector<MessagePtr> unawaited_;         // of batches that no wait was enqueued for; of the caller
  struct Commands {
    std::uint64_t batch = 0;
    unsigned count = 0;
  };
  std::deque<Commands> commands_;       // in the stream, of batches that it may not have come to; of the caller
  BatchList started_;                   // with mutex_: not yet seen by a turn
  std::vector<MessagePtr> incomplete_;  // with mutex_: started, and not known to be complete
  BatchList running_;                   // belongs to the turn
};

Status ThreadEngine::carry(const Arguments &given, CarrierPtr *carrier, Route *route) {
  *route = Route::kThread;
  if (carriers_ != nullptr) {
    if (Status status = carriers_->carry(given, carrier); !status.is_ok()) return status;
    if (*carrier != nullptr) *route = carriers_->route();
  }
  return *carrier != nullptr ? Status() : make_plain_carrier(given, carrier);
}

// SLUICE_QUEUE_DEPTH batches may be ahead of the stream, and with messages of many commands fewer: runtimes take about
// a thousand commands (docs/adr/0032).
std::uint64_t ThreadEngine::least_trigger() {
  static const std::uint64_t depth = Knobs::process().bytes("SLUICE_QUEUE_DEPTH");
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

// No lock is held while the stream is told: a runtime may block there until the stream has room, which it may not have
// before a turn completes what it waits for. So the stream may come to the trigger before a turn knows of the batch;
// the next one does.
Status ThreadEngine::start() {
  if (Status status = await_room(*stream_, n_started_, least_trigger()); !status.is_ok()) return status;
  for (const MessagePtr &message : open_) {
    if (Status status = message->prepare(); !status.is_ok()) return status;
  }
  BatchList batch;
  batch.push_back({n_started_ + 1, open_, false});
  {
    const std::scoped_lock lock(mutex_);
    forget_complete(&incomplete_);
    incomplete_.reserve(incomplete_.size() + open_.size());
  }
  std::erase_if(unawaited_, [](const MessagePtr &message) { return message->is_complete(); });
  unawaited_.reserve(unawaited_.size() + open_.size());
  commands_.push_back({n_started_ + 1, 1});
  // What the stream does by itself comes first: the trigger is for the host, which is not on the way of that.
  for (const MessagePtr &message : open_) commands_.back().count += message->enqueue_start(*stream_);
  if (Status status = stream_->enqueue_trigger(n_started_ + 1); !status.is_ok()) {
    commands_.pop_back();
    return status;
  }
  ++n_started_;
  if (carriers_ != nullptr) unawaited_.insert(unawaited_.end(), open_.begin(), open_.end());
  const std::scoped_lock lock(mutex_);
  incomplete_.insert(incomplete_.end(), open_.begin(), open_.end());
  open_.clear();
  started_.splice(started_.end(), batch);
  come();
  return {};
}

Status ThreadEngine::wait() {
  if (n_started_ == 0) {
    return Status::error(ErrorKind::kInvalidArgument,
                         "nothing was started on this queue, so there is nothing to wait for; call MPIX_Enqueue_start "
                         "before MPIX_Enqueue_wait");
  }
  // The stream is past it when it comes here: it waited for as much before.
  if (n_awaited_ == n_started_) return {};
  // Where the stream does it all by itself, it has to wait for nobody else.
  bool is_by_stream = carriers_ != nullptr;
  unsigned n_commands = 1;
  for (const MessagePtr &message : unawaited_) {
    if (!message->enqueue_wait(*stream_, &n_commands)) is_by_stream = false;
  }
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
  }
  // No lock from here on: messages may call an error handler of the program's, which may call MPI.
  if (carriers_ != nullptr) carriers_->turn();
  const std::uint64_t triggered = stream_->triggered();
  for (Batch &batch : running_) {
    if (batch.number > triggered) break;
    if (!batch.is_begun) {
      batch.is_begun = true;
      for (const MessagePtr &message : batch.messages) message->begin();
    }
    std::erase_if(batch.messages, [](const MessagePtr &message) { return message->poll(); });
  }
  while (!running_.empty() && running_.front().is_begun && running_.front().messages.empty()) {
    stream_->complete(running_.front().number);
    running_.pop_front();
  }
  const std::scoped_lock lock(mutex_);
  return may_go(running_.empty() && started_.empty());
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

// SPDX-License-Identifier: BSD-3-Clause
// Channels: what the engine `device` of queues shares in one process: a communicator of its own, the ends of all
// channels, and the short messages by which two ends learn of each other (docs/adr/0033).
//
// Nothing waits for an answer: the sender says when it begins a channel (kOpen), the receiver where its slots are
// (kOffer), the sender that it has the words, whose name can go then (kOpened). For each message that the sender's
// thread sends itself it says so (kByThread), and the data follows with a tag of the channel's. When a communicator is
// freed the sender says when it has let go of the slots (kGone).
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/status.hpp"
#include "ops/queue/channel_end.hpp"
#include "wire/mpi.hpp"

namespace sluice::ops::queue {

// Threads: any, but for open() and close(). "With the mutex": the caller has what hold() gave. A channel lives from its
// first message until its communicator is freed, or close(). What other ranks send is checked before it is used.
class Channels {
 public:
  // The process's. Never destroyed.
  static Channels &process();

  // Collective over MPI_COMM_WORLD, where the channel is open and all ranks asked for this engine. In MPI_Init. Blocks:
  // for the other ranks. No error: where a rank cannot, none does, and is_open() stays false.
  void open() noexcept;
  // Collective where it is open; after the last message, in MPI_Finalize. Blocks: until the other ranks do the same, so
  // that nobody's slots go while they are mapped.
  void close();
  [[nodiscard]] bool is_open() const noexcept { return comm_ != MPI_COMM_NULL; }

  // Held by whoever touches an end; not while something is enqueued into a stream, which a runtime may hold up. Others
  // hold it for a microsecond or two, so the caller looks again and again before it sleeps.
  [[nodiscard]] std::unique_lock<std::mutex> hold() {
    constexpr unsigned kLooks = 20'000;
    std::unique_lock lock(mutex_, std::try_to_lock);
    bool holds = lock.owns_lock();
    for (unsigned k = 0; !holds && k < kLooks; ++k) holds = lock.try_lock();
    if (!holds) lock.lock();
    return lock;
  }
  // The end of that name, made by the first call. With the mutex. A new sender's end tells the other side.
  // `size_bytes`: of a message of a graph. Errors: the host MPI refuses. State: *end is as it
  // was then, and the next call tries again.
  [[nodiscard]] Status find_sender(const ChannelKey &key, SenderEndPtr *end, std::uint64_t size_bytes = 0);
  [[nodiscard]] ReceiverEndPtr find_receiver(const ChannelKey &key);
  // The number of the next message of a graph on that channel, in the order in which they are captured. With the mutex.
  [[nodiscard]] std::uint32_t number_captured(const ChannelKey &key, bool is_send) {
    return ++(is_send ? n_captured_sends_ : n_captured_receives_)[key];
  }
  // The slots were made; tells the sender, if it is known. With the mutex.
  void offer(ReceiverEnd *end);
  // The sender's thread sends message `number`, whose data follows with data_tag(). With the mutex. Errors: the host
  // MPI refuses; then the data is not to be sent.
  [[nodiscard]] Status announce(const SenderEnd &end, std::uint64_t number);
  // For a message's data, on comm().
  [[nodiscard]] MPI_Comm comm() const noexcept { return comm_; }
  [[nodiscard]] static int data_tag(const ChannelEnd &end) noexcept {
    return kFirstDataTag + static_cast<int>(end.sender_id);
  }

  // Takes in what came. Any thread, often; within a turn too. Returns at once where another thread is at it, or was a
  // moment ago.
  void turn() noexcept;
  // The same, with the mutex.
  void take_in_held() noexcept;
  // No note is on its way out: the host MPI may need more turns for it, and the other side waits. Any thread.
  [[nodiscard]] bool has_sent_all() {
    const auto lock = hold();
    return sending_.empty();
  }
  // The communicators of that number are gone: their channels go when nothing is under way on them. `signals_tag`: the
  // window whose signals have that tag is gone, and no communicator. Any thread.
  void forget(std::uint32_t comm, int signals_tag = 0) noexcept;

 private:
  enum class Kind : std::uint32_t { kOpen = 1, kOffer, kOpened, kByThread, kGone };
  struct Note;
  struct Sending;
  static constexpr int kNoteTag = 1;
  static constexpr int kFirstDataTag = 2;

  // False: the host MPI refuses.
  [[nodiscard]] bool turn_locked();
  void take_in_the_last();
  [[nodiscard]] Status post();
  [[nodiscard]] Status send(const Note &note, int to);
  void take_in(const Note &note, int from);
  void take_open(const Note &note, int from);
  void take_to_sender(const Note &note, int from);
  void take_to_receiver(const Note &note, int from);
  [[nodiscard]] ReceiverEnd *find_by_sender(int from, std::uint32_t sender_id) noexcept;
  // What a sender said when it began a channel.
  struct Opening {
    std::uint32_t sender_id = 0;
    std::uint64_t size_bytes = 0;  // of a message of a graph
  };
  void meet(ReceiverEnd *end, const Opening &opening);
  void drop_forgotten();

  std::mutex mutex_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::uint32_t most_senders_ = 0;  // as many as there are tags for
  std::uint32_t last_sender_ = 0;
  std::map<ChannelKey, SenderEndPtr> senders_;
  std::map<ChannelKey, ReceiverEndPtr> receivers_;
  std::map<ChannelKey, std::deque<Opening>> waiting_opens_;  // of ends that are not there yet
  std::map<ChannelKey, std::uint32_t> n_captured_sends_;
  std::map<ChannelKey, std::uint32_t> n_captured_receives_;
  std::map<std::pair<int, std::uint32_t>, std::deque<std::uint64_t>> waiting_numbers_;  // the same, said by kByThread
  std::vector<SenderEndPtr> forgotten_senders_;
  std::vector<ReceiverEndPtr> forgotten_receivers_;
  std::list<Sending> sending_;
  std::vector<std::uint64_t> n_sent_;  // notes, by rank
  std::uint64_t n_taken_in_ = 0;
  std::unique_ptr<Note> coming_;
  MPI_Request receive_ = MPI_REQUEST_NULL;
  std::chrono::steady_clock::time_point last_look_;  // of turn()
};

}  // namespace sluice::ops::queue

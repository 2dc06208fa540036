// SPDX-License-Identifier: BSD-3-Clause
// PartitionedRequest: what a partitioned operation (MPI_Psend_init, MPI_Precv_init) on device buffers owes. Staged: a
// partition is brought down before the host MPI hears that it is ready, and up, once for each start, when it has
// arrived. Else the receiver copies it out of the sender's memory, and the program's request, which is the host
// MPI's, is never started (docs/adr/0071). Which of the two is known some time after the operation was made; the first
// start may come before. Partitions of a send may also be made ready by streams and kernels (docs/adr/0076); so there
// is one beside a send of host memory, too, where a device's runtime is in the process, and it is the host MPI's to
// move.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "device/stream.hpp"
#include "ops/p2p/partition_flags.hpp"
#include "ops/p2p/shared_partitions.hpp"
#include "ops/p2p/side.hpp"
#include "progress/engine.hpp"
#include "progress/tracked_requests.hpp"
#include "sluice/partition_flags.h"

namespace sluice::ops {

// Threads: any where that is said, and for is_hidden() and completes_without_host(); the engine's turns for advance(),
// and for who tells which way it goes. All else one at a time: who makes it, then who starts and who completes it.
class PartitionedRequest final : public progress::Tracked,
                                 public progress::Task,
                                 public std::enable_shared_from_this<PartitionedRequest> {
 public:
  // The program's arguments: `n_partitions` (> 0) with `count` elements each.
  struct Arguments {
    int n_partitions;
    MPI_Count count;
    int peer;
    int tag;
  };
  PartitionedRequest(Operation operation, MPI_Comm communicator, const Arguments &arguments);

  // All partitions, one after the other: what is received into, or sent, never as an image. If it is staged, it is open
  // before the first start.
  Side side;

  [[nodiscard]] bool is_sender() const noexcept { return operation_ == Operation::kPsendInit; }
  [[nodiscard]] bool has_partition(int index) const noexcept { return index >= 0 && index < arguments_.n_partitions; }
  // The host MPI moves the data, from now on at every start. Any thread.
  [[nodiscard]] bool is_staged() const noexcept { return way() == Way::kStaged; }

  // What this stands beside. Before anybody else knows of this.
  void name(MPI_Request request) noexcept { request_ = request; }
  // Which way it goes is to be found out yet. Before anybody else knows of this.
  void await_match() noexcept { way_.store(Way::kUndecided, std::memory_order_release); }
  // Makes the words of a send that may go directly, under a name for the receiver. The same. Errors: the system's.
  [[nodiscard]] Status make_words(wire::SegmentName *name) {
    return words_.create(static_cast<std::uint64_t>(arguments_.n_partitions), name);
  }
  // It was found out, once; a start that waits for that goes on. Within a turn.
  void go_staged();
  // Of a send: `landing` is where the receiver's partitions lie, which is `world_peer`.
  void go_directly(const PartitionMemory &landing, int world_peer);
  void go_directly(std::unique_ptr<PartitionTaker> taker);

  // Makes ready, of a send, the partitions from `low` to `high`, whatever their numbers. *tells_host: the host MPI is
  // to be told of them, too. Blocks. Any thread, also while another one is in a completion call for this request.
  // Errors: kInvalidArgument: a receive, no such partition, not started, or ready before; those of copying down. None
  // was made ready then.
  [[nodiscard]] Status ready(int low, int high, bool *tells_host);

  // The same for streams and kernels (stream_partitions.cpp).
  // When `native` comes to this point, a partition is ready. Where the receiver has begun its start, the stream copies
  // the partition there itself. `native` lives until this is destroyed. Blocks for the runtime alone. Any thread.
  // Errors: those of MPI_Pready, of device::Stream and of PartitionFlags::make(); another device. Nothing was made
  // ready then.
  [[nodiscard]] Status ready_on_stream(int partition, void *native);
  // For kernels of the buffer's device, in all starts. The same. Errors: a receive; the buffer is no runtime's memory,
  // or its streams work on another device; those of PartitionFlags::make().
  [[nodiscard]] Status give_flags(sluice_partition_flags_t *flags);
  // Hands on what streams and kernels have made ready where the receiver does not see that. True: nothing is left to do
  // in this start. Within a turn.
  [[nodiscard]] bool take_flags();

  // Brings up, of a receive that is staged, `n` partitions from `first` on, which have arrived; those that no other
  // call has brought up since the start, and waits for what other threads are bringing up. Blocks. Any thread. Errors:
  // those of transfer::Staged; partitions that did not come up are still owed.
  [[nodiscard]] Status arrived(int first, int n);
  // Whether a partition of a request that is not staged has arrived. Errors: it has not and will not. Any thread.
  [[nodiscard]] Status look(int partition, bool *has_arrived);

  // Does nothing, for it is MPI_Pready that says when the data is there.
  [[nodiscard]] Status prepare() override { return {}; }
  // From now on the partitions of a receive are owed.
  [[nodiscard]] int start_again(const std::shared_ptr<Tracked> &self, MPI_Request *request) override;
  // Brings up what MPI_Parrived has not.
  [[nodiscard]] Status finish(MPI_Status *status) override;
  [[nodiscard]] Status recall(MPI_Status *status) override;
  [[nodiscard]] bool is_hidden() const noexcept override { return is_hidden_.load(std::memory_order_acquire); }
  [[nodiscard]] bool completes_without_host() const noexcept override { return is_apart() && !is_hidden(); }
  // To cancel an active partitioned request is an error of the program's; half of the partitions must not stay away.
  [[nodiscard]] bool ignores_cancel() const noexcept override { return true; }

  // progress::Task: a start that goes directly.
  [[nodiscard]] bool advance() override;

 private:
  enum class Way : std::uint8_t { kUndecided, kStaged, kDirect };
  [[nodiscard]] Way way() const noexcept { return way_.load(std::memory_order_acquire); }
  // The last start was none of the host MPI's.
  [[nodiscard]] bool is_apart() const noexcept { return is_apart_.load(std::memory_order_acquire); }
  enum class Stage : std::uint8_t { kDone, kOwed, kCopying };
  [[nodiscard]] std::atomic<Stage> &stage(int partition) const noexcept {
    return stages_[static_cast<std::size_t>(partition)];
  }
  [[nodiscard]] bool claim(int partition) const noexcept;
  void set_stages(int first, int end, Stage stage) const noexcept;
  [[nodiscard]] int start_host(const std::shared_ptr<Tracked> &self, MPI_Request *request);
  void begin_direct();
  void decide_directly();
  [[nodiscard]] Status bring_down(int low, int high);
  [[nodiscard]] Status mark_ready(int low, int high, bool *tells_host);
  [[nodiscard]] Status not_to_send() const;
  [[nodiscard]] Status refuse_ready(int low, int high) const;
  [[nodiscard]] Status find_stream(void *native, device::Stream **stream);
  [[nodiscard]] Status make_flags(const device::Place &place);
  void map_landing(const device::Place &place);
  [[nodiscard]] Status give_to_stream(int partition, sluice_stream_send_t *send);
  [[nodiscard]] bool does_receiver_look() const noexcept;
  void look_at_flags();
  [[nodiscard]] bool next_set(int *low, int *high);
  void hand_on(int low, int high);
  [[nodiscard]] bool have_streams_come();
  [[nodiscard]] bool go_on();
  bool complete(Status outcome) noexcept;
  void record(std::uint64_t calls, std::uint64_t bytes, std::chrono::nanoseconds time, Route route) const noexcept;
  [[nodiscard]] std::uint64_t bytes_of(int n_partitions) const noexcept {
    const transfer::LayoutPtr &layout = side.region().layout;
    return layout == nullptr ? 0 : static_cast<std::uint64_t>(n_partitions * arguments_.count) * layout->size_bytes;
  }

  const Operation operation_;
  const Arguments arguments_;
  const std::unique_ptr<std::atomic<Stage>[]> stages_;  // of a receive, one for each partition
  MPI_Request request_ = MPI_REQUEST_NULL;
  std::atomic<Way> way_{Way::kStaged};
  std::atomic<bool> is_apart_{false};
  std::atomic<bool> is_hidden_{false};

  // Held for a look or two, and by nobody who calls the host MPI.
  std::mutex mutex_;
  std::uint64_t start_ = 0;                  // the number of the last one that goes directly, or may
  bool is_waiting_ = false;                  // a start waits for the way
  std::vector<std::uint64_t> ready_starts_;  // of a send, by partition: the start in which it was made ready last
  std::vector<std::uint64_t> given_starts_;  // the same: in which it was given to a stream last
  PartitionWords words_;                     // of a send that goes directly, or may
  std::unique_ptr<PartitionTaker> taker_;    // of a receive that does
  unsigned n_steps_ = 0;
  Status outcome_;  // of the last start that was apart, once it is no longer hidden

  // Held over what prepares streams and kernels, and what streams are told; mutex_ comes behind it.
  std::mutex preparing_;
  std::vector<std::unique_ptr<device::Stream>> streams_;  // that have made partitions ready
  PartitionMemory landing_;  // of a send that goes directly: where the receiver's partitions lie; until they are mapped
  int world_peer_ = -1;
  device::ImportedPtr landing_memory_;
  std::byte *landing_begin_ = nullptr;  // null: streams copy nothing there

  // With mutex_.
  std::unique_ptr<PartitionFlags> flags_;  // null: no stream or kernel was given any; they stay
  bool are_flags_given_ = false;           // to kernels
  bool is_looked_at_ = false;              // take_flags() is called in turns
  Status handing_on_;                      // of this start's partitions, which are complete all the same
};

}  // namespace sluice::ops

// SPDX-License-Identifier: BSD-3-Clause
// Copies in command lists of Level Zero: all copies of a batch in one list, which a command queue of our own executes.
// Nothing here knows the runtime above.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "level_zero.h"

namespace sluice::backends::sycl::level_zero {

// The ordinal of the group whose engines copy. Groups that only copy come first, for they leave kernels alone; among
// them the one with the fewest engines: devices with copy engines for links to other devices have one engine more for
// all other copies, in a group of its own, and that one copies from and to everywhere. None: no group copies.
std::optional<std::uint32_t> choose_group(std::span<const QueueGroup> groups);

// One command queue, in order. One thread at a time; several objects are independent of each other.
class CopyLists {
 public:
  // Lists that may be in flight; the next one waits for the oldest.
  static constexpr std::size_t kMostInFlight = 16;

  // Makes the command queue; lists and fences come when they are needed, and are used again. `calls` has all functions
  // of check_list_calls(); `context` outlives the object. On an error nothing is left.
  static Outcome make(const Calls &calls, Context context, Device device, std::unique_ptr<CopyLists> *made);
  // As close(), whose answer is lost.
  ~CopyLists();
  CopyLists(const CopyLists &) = delete;
  CopyLists &operator=(const CopyLists &) = delete;

  // Executes the copies behind all earlier batches, in any order among themselves, and returns before they are done;
  // those of no bytes are left out. *batch is a number for test() and wait(), larger than all before. Memory as
  // enqueue_copies of the contract. SLUICE_ERROR_UNSUPPORTED: Level Zero refused before anything was executed, and the
  // text says what; another way may be tried. Any other error is final: some may have been copied, and all later calls
  // fail.
  Outcome enqueue(std::span<const sluice_copy_t> copies, std::uint64_t *batch);
  // Success when that batch and all before are done, their data visible to the host and to all devices;
  // SLUICE_NOT_READY (no text) when not. Never blocks.
  Outcome test(std::uint64_t batch);
  // Blocks until test() would not say SLUICE_NOT_READY.
  Outcome wait(std::uint64_t batch);
  // Waits for everything and gives all back; only the destructor may follow. After a final error Level Zero may still
  // use the objects, so they are left to the end of the process.
  Outcome close();

 private:
  // Closed from append to execution to reset, else open and empty. Its fence goes with it.
  struct List {
    void *native = nullptr;
    void *fence = nullptr;
  };
  struct InFlight {
    List list;
    std::uint64_t batch;
  };

  CopyLists(const Calls &calls, Context context, Device device, std::uint32_t ordinal);

  Outcome create_queue();
  Outcome create(List *list);
  void destroy(const List &list);
  Outcome take(List *list);
  Outcome fill(const List &list, std::span<const sluice_copy_t> copies);
  // Of the oldest in flight, which is done: makes it ready to be used again.
  Outcome retire_oldest();
  Outcome retire_done();
  Outcome end_by(Outcome outcome);

  const Calls &calls_;
  Context context_;
  Device device_;
  std::uint32_t ordinal_;
  void *queue_ = nullptr;
  std::vector<List> idle_;
  std::deque<InFlight> in_flight_;
  std::uint64_t last_batch_ = 0;
  std::uint64_t done_batch_ = 0;
  Outcome end_;  // the error that ended it
};

}  // namespace sluice::backends::sycl::level_zero

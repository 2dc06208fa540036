// SPDX-License-Identifier: BSD-3-Clause
// An in-order queue: a thread that runs what is enqueued, and tickets that say how far it is.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "emurt.h"
#include "runtime/copy_engine.h"

namespace emurt {

class Queue {
 public:
  // Starts the thread. EMU_ERROR_QUEUE_FAILED when the system gives none.
  static emu_result_t create(int32_t device, CopyEngine &engine, std::shared_ptr<Queue> *queue);
  ~Queue();
  Queue(const Queue &) = delete;
  Queue &operator=(const Queue &) = delete;

  int32_t device() const { return device_; }

  // As the functions of emurt.h with the same names. One thread at a time enqueues; any may query and wait.
  emu_result_t enqueue(const emu_copy_t *copies, size_t n_copies);
  emu_result_t launch(emu_kernel_t kernel, const void *arguments, size_t arguments_bytes,
                      std::span<const emu_range_t> ranges, size_t n_written);
  emu_result_t copy(void *dst, const void *src, size_t size_bytes);
  emu_result_t write_word(uint64_t *word, uint64_t value);
  emu_result_t await_word(const uint64_t *word, uint64_t least);
  emu_result_t check_word(const uint64_t *word);
  static emu_result_t pause_kernel();
  emu_result_t take(void *dst, const emu_range_t &from, size_t unit_bytes, size_t most_bytes, const uint64_t *word);
  emu_result_t run_on_host(emu_host_function_t function, const void *arguments, size_t arguments_bytes);
  emu_result_t await_queue(std::shared_ptr<Queue> other);
  emu_result_t record(uint64_t *ticket);
  emu_result_t query(uint64_t ticket);
  emu_result_t wait(uint64_t ticket);
  void hold();
  void release();

  // One command. What of it is shared is never changed: a graph has copies of it.
  struct Awaited {
    std::shared_ptr<Queue> queue;  // null: none
    uint64_t n_run = 0;            // so many operations of it have run when the wait is over
  };
  struct HostFunction {
    emu_host_function_t function = nullptr;  // null: none
    std::vector<std::byte> arguments;
  };
  struct Operation {
    std::vector<CheckedCopy> copies;
    uint64_t ticket = 0;                          // 0: none
    std::shared_ptr<const CheckedLaunch> launch;  // null: none
    std::shared_ptr<const CheckedWord> word;      // null: none
    Awaited awaited;
    HostFunction function;
  };
  using Graph = std::vector<Operation>;
  emu_result_t begin_capture();
  emu_result_t end_capture(std::unique_ptr<Graph> *graph);
  uint64_t capture() const { return captured_ != nullptr ? capture_id_ : 0; }
  emu_result_t launch(const Graph &graph);

  // Blocks until all that was enqueued before has run; takes no error away from a ticket.
  void drain();
  // Ends the thread after the operation under way; tickets not yet done answer EMU_ERROR_SHUT_DOWN. Joins. Idempotent.
  void stop();

 private:
  struct Failure {
    emu_result_t code = EMU_SUCCESS;
    std::string text;
  };

  Queue(int32_t device, CopyEngine &engine) : device_(device), engine_(engine) {}
  emu_result_t start_thread();
  void run_thread();
  void finish_ticket(uint64_t ticket);
  void push(Operation operation);
  void hold_back_caller();  // as long as the imitated machine takes for a submission
  emu_result_t run(const Operation &operation);
  emu_result_t run_wait(const Awaited &awaited);
  emu_result_t enqueue_word(const uint64_t *word, uint64_t value, bool is_wait);
  emu_result_t answer(uint64_t ticket);  // of a ticket that is done
  emu_result_t run_function(const HostFunction &function);
  emu_result_t check_not_captured() const;

  const int32_t device_;
  CopyEngine &engine_;
  std::thread thread_;

  std::mutex mutex_;
  std::condition_variable work_;  // for the thread: something to do, or stop
  std::condition_variable done_;  // for waiters: something was done
  std::deque<Operation> operations_;
  uint64_t n_enqueued_ = 0;
  uint64_t n_run_ = 0;
  bool is_held_ = false;
  std::atomic<bool> is_stopping_{false};  // set with mutex_; a wait for a word looks without
  Failure pending_;                       // first failure since the last ticket
  std::unique_ptr<Graph> captured_;       // of whoever enqueues; null: nothing is captured
  uint64_t capture_id_ = 0;
  std::map<uint64_t, Failure> failures_;  // of done tickets

  std::atomic<uint64_t> last_ticket_{0};
  std::atomic<uint64_t> done_ticket_{0};
  std::atomic<bool> has_failures_{false};
};

}  // namespace emurt

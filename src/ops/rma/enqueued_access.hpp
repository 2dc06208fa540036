// SPDX-License-Identifier: BSD-3-Clause
// EnqueuedAccess: a put or a get of a queue (ops/queue), which checks it when it is enqueued, and carries it out when
// the program's stream has come to its start: by a copy in the stream, or by turns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.hpp"
#include "base/types.hpp"
#include "device/stream.hpp"
#include "ops/rma/access.hpp"
#include "ops/rma/call.hpp"
#include "ops/rma/window.hpp"
#include "sluice/backend.h"

namespace sluice::ops::rma {

// One thread at a time. The window is not freed while one is not complete.
class EnqueuedAccess {
 public:
  // Checks `call` and its epoch, finds what its buffers are, and chooses the route: `stream` is to copy where it
  // reaches both, if it does so at all (can_copy). May map the target's memory. Blocks for no other rank. Errors: as
  // MPI names them; nothing is under way.
  [[nodiscard]] static Status make(const WindowPtr &window, const Call &call, const device::Stream &stream,
                                   bool can_copy, std::unique_ptr<EnqueuedAccess> *made);
  // Maps the memory of all ranks that can be mapped for `stream`'s device, as make() does for one. Setup cost.
  static void map_all(Window *window, const device::Stream &stream);
  ~EnqueuedAccess() { note_complete(); }
  EnqueuedAccess(const EnqueuedAccess &) = delete;
  EnqueuedAccess &operator=(const EnqueuedAccess &) = delete;
  EnqueuedAccess(EnqueuedAccess &&) = delete;
  EnqueuedAccess &operator=(EnqueuedAccess &&) = delete;

  // The stream is to copy; else advance() moves the data.
  [[nodiscard]] bool is_by_stream() const noexcept { return is_by_stream_; }
  // That copy. is_by_stream().
  [[nodiscard]] sluice_copy_t copy() const noexcept;
  // Nothing is to be moved: no bytes, or MPI_PROC_NULL.
  [[nodiscard]] bool is_nothing() const noexcept { return size_bytes_ == 0; }

  // When the stream has come to the start: goes on as far as it can. True: the data is there, or *outcome says why not.
  // Within a turn; blocks for copies, and for no other rank.
  [[nodiscard]] bool advance(Status *outcome);
  // It is complete, by a copy in the stream or by advance(). Any more often than once does nothing.
  void note_complete() noexcept;

  [[nodiscard]] bool is_get() const noexcept { return is_get_; }
  [[nodiscard]] std::uint64_t size_bytes() const noexcept { return size_bytes_; }
  [[nodiscard]] MemoryKind kind() const noexcept { return access_.origin.place.kind; }
  [[nodiscard]] int target_rank() const noexcept { return call_.target_rank; }
  // How advance() moves the data.
  [[nodiscard]] Route route() const noexcept { return access_.route; }

 private:
  // One message of an access that goes by messages.
  struct Part {
    std::vector<transfer::Block> runs;
    std::uint64_t position = 0;
    std::uint64_t size_bytes = 0;
  };

  EnqueuedAccess(WindowPtr window, const Call &call)
      : window_(std::move(window)), call_(call), is_get_(call.operation == Operation::kEnqueueGet) {}
  [[nodiscard]] bool suits_stream(const device::Stream &stream) const noexcept;
  [[nodiscard]] Status move_directly();
  void begin_messages();
  [[nodiscard]] Status send_messages();

  const WindowPtr window_;
  Call call_;
  const bool is_get_;
  Access access_;
  std::uint64_t size_bytes_ = 0;
  bool is_by_stream_ = false;
  bool is_counted_ = false;  // in n_enqueued of the window
  AskedPtr asked_;           // by messages, once it has begun
  std::vector<Part> parts_;
  std::size_t n_sent_ = 0;  // of them
  std::unique_ptr<OperandReader> operand_;
};

}  // namespace sluice::ops::rma

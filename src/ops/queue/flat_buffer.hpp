// SPDX-License-Identifier: BSD-3-Clause
// What a message of a queue is given to carry: the program's arguments, what their buffer is, and the buffer as one run
// of host memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/status.hpp"
#include "device/stream.hpp"
#include "transfer/staged.hpp"
#include "wire/mpi.hpp"

namespace sluice::ops::queue {

// What the program says of a message. `buffer` of a send is only read.
struct Arguments {
  bool is_send = false;
  void *buffer = nullptr;
  int count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  int peer = MPI_PROC_NULL;
  int tag = 0;
  MPI_Comm comm = MPI_COMM_NULL;
  bool is_signal = false;  // of a window, without bytes; `peer` is a rank of the window
};

// The one place where the buffer of an operation is looked at: how it is laid out and where it lies, as it is now.
// *region names one run as bytes. Any thread. Errors: the type is none, or not committed, or Sluice cannot hold its
// layout; the buffer is memory of another device than `stream`'s, or was freed.
[[nodiscard]] Status classify_buffer(const Arguments &given, const device::Stream &stream, transfer::Region *region);

// The program's own memory where that is one run of host memory, else staging memory. One thread at a time.
class FlatBuffer {
 public:
  // `region` as classify_buffer() has it.
  explicit FlatBuffer(transfer::Region region) noexcept : region_(std::move(region)) {}
  // Makes the staging memory, if there is to be any; once. Errors: no memory.
  [[nodiscard]] Status open();

  [[nodiscard]] std::byte *data() const noexcept { return staged_.is_open() ? staged_.data() : region_.origin; }
  [[nodiscard]] std::uint64_t size_bytes() const noexcept { return region_.size_bytes(); }
  // The program's own memory is one run of memory of a device.
  [[nodiscard]] bool is_run_of_device() const noexcept {
    return region_.place.kind == MemoryKind::kDevice && region_.layout->is_contiguous;
  }
  // It is nothing, or one run that a stream of that device may touch.
  [[nodiscard]] bool is_run_of(const device::Stream &stream) const noexcept {
    return size_bytes() == 0 || (is_run_of_device() && region_.place.backend == &stream.backend() &&
                                 region_.place.device == stream.device());
  }
  // Where the program's own payload begins; of a run.
  [[nodiscard]] std::byte *origin() const noexcept { return region_.origin; }
  // Between the program's buffer and the staging memory, if there is any. Block. Errors of both: those of
  // transfer::Staged; copy_up() may have written a part.
  [[nodiscard]] Status copy_down() const;
  [[nodiscard]] Status copy_up(std::uint64_t size_bytes) const;

 private:
  [[nodiscard]] bool is_device() const noexcept {
    return region_.place.kind == MemoryKind::kDevice || region_.place.kind == MemoryKind::kShared;
  }

  transfer::Region region_;
  transfer::Staged staged_;
};

}  // namespace sluice::ops::queue

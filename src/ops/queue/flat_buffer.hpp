// SPDX-License-Identifier: BSD-3-Clause
// FlatBuffer: a message's buffer as one run of host memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "ops/queue/carrier.hpp"
#include "transfer/staged.hpp"

namespace sluice::ops::queue {

// The program's own memory where that is one run of host memory, else staging memory. One thread at a time.
class FlatBuffer {
 public:
  // `given` was taken by the host MPI; `first` is where the first byte of its payload lies, where somebody has asked
  // for that within the same call. Errors: the buffer cannot be told what it is.
  [[nodiscard]] Status look(const Arguments &given, const device::Place *first = nullptr);
  // Makes the staging memory, if there is to be any; once, after look(). Errors: no memory.
  [[nodiscard]] Status open();

  [[nodiscard]] std::byte *data() const noexcept { return staged_.is_open() ? staged_.data() : region_.origin; }
  [[nodiscard]] std::uint64_t size_bytes() const noexcept { return region_.size_bytes(); }
  [[nodiscard]] const device::Place &place() const noexcept { return region_.place; }
  // After look(): the program's own memory is one run of memory of a device.
  [[nodiscard]] bool is_run_of_device() const noexcept {
    return region_.place.kind == MemoryKind::kDevice && region_.layout->is_contiguous;
  }
  // Where the program's own payload begins; of a run.
  [[nodiscard]] std::byte *origin() const noexcept { return region_.origin; }
  // Between the program's buffer and the staging memory, if there is any. Block.
  [[nodiscard]] Status copy_down() const;
  [[nodiscard]] Status copy_up(std::uint64_t size_bytes) const;

 private:
  transfer::Region region_;
  transfer::Staged staged_;
  bool is_device_ = false;
};

}  // namespace sluice::ops::queue

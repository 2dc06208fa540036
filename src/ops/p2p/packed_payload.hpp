// SPDX-License-Identifier: BSD-3-Clause
// PackedPayload: the one run of bytes that a payload with gaps travels as: device memory into which a kernel packs it.
#pragma once

#include "device/device_memory.hpp"
#include "ops/p2p/buffer.hpp"
#include "transfer/region.hpp"

namespace sluice::ops {

// Of one message. One thread at a time.
class PackedPayload {
 public:
  // What `buffer` travels as: what was opened for it, or the program's own memory.
  [[nodiscard]] const transfer::Region &of(const Buffer &buffer) const noexcept {
    return memory_.is_live() ? region_ : buffer.region();
  }
  // Takes device memory for the payload of `buffer`; nothing for one without gaps, or a second time. Blocks. Errors: no
  // memory.
  [[nodiscard]] Status open(const Buffer &buffer);
  // Packs what is in the program's memory now; nothing where nothing was opened. Blocks. Errors: no kernel, those of
  // the runtime.
  [[nodiscard]] Status pack(const Buffer &buffer) const;
  void close() noexcept { memory_.reset(); }

 private:
  device::DeviceMemory memory_;
  transfer::Region region_;  // what lies there
};

}  // namespace sluice::ops

// SPDX-License-Identifier: BSD-3-Clause
// A queue of the selected device, as a program would have one of its own: batches of copies, reductions, and
// packing.
#pragma once

#include <sluice/backend.h>

#include <cstdint>
#include <span>

#include "bench/memory/device_module.hpp"

namespace sluice::bench {

// Destroyed with what is queued done (a runtime that refuses is reported on stderr). One thread.
class DeviceQueue {
 public:
  // On the module's selected device. module outlives the queue. Throws DeviceError, as all functions.
  explicit DeviceQueue(DeviceModule &module);
  DeviceQueue(const DeviceQueue &) = delete;
  DeviceQueue &operator=(const DeviceQueue &) = delete;
  ~DeviceQueue();

  // Returns before the copies are done; addresses as sluice_backend_t::enqueue_copies takes them. Hot.
  void enqueue(std::span<const sluice_copy_t> copies);
  // The same for a reduction; a module without the group `reduce` gives an error.
  void enqueue(const sluice_reduction_t &reduction);
  // The same for data with gaps, of a module with the group `pack`. False: no kernel of the device takes that memory,
  // and nothing was enqueued.
  bool try_enqueue(const sluice_pack_t &pack);
  // Blocks until everything enqueued is done. Hot.
  void wait();
  // One copy, begun and finished, by the way that the module found fastest (sluice_backend_t::copy). Hot.
  void copy(void *dst, const void *src, std::uint64_t size_bytes);

 private:
  DeviceModule &module_;
  sluice_queue_t *queue_ = nullptr;
};

}  // namespace sluice::bench

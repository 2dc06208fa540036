// SPDX-License-Identifier: BSD-3-Clause
// A window of two ranks and the memory of it that rank 1 lends.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/cli/family_options.hpp"
#include "bench/memory/message_buffer.hpp"
#include "bench/mpi/world.hpp"

namespace sluice::bench {

// Memory with guard bytes on both sides of the part that is accessed, all of it inside the window: an access that goes
// too far is seen. Owns window and memory; every rank lends equally much, of its own kind of memory: what MPI allocates
// is host memory, other windows are over whatever the module gives.
class WindowMemory {
 public:
  static constexpr std::uint64_t kGuardBytes = MessageBuffer::kGuardBytes;

  // Collective. module: as Buffer::program_memory; memory is not looked at when MPI allocates. Throws MpiError and
  // DeviceError.
  WindowMemory(WindowKind kind, DeviceModule *module, sluice_memory_kind_t memory, std::uint64_t size_bytes);
  WindowMemory(const WindowMemory &) = delete;
  WindowMemory &operator=(const WindowMemory &) = delete;
  ~WindowMemory();

  MPI_Win window() const { return window_; }
  // Where the accessed part begins, as RMA calls take it.
  MPI_Aint target_offset() const { return target_offset_; }

  // Local; no epoch may be open on this rank. Writes or reads the accessed part under a lock of its own.
  void store(const std::function<void(std::span<std::byte>)> &writer, std::vector<std::byte> &scratch);
  // What the reader found wrong, or that a guard was changed; "". As MessageBuffer::examine.
  std::string examine(const Expectations &expected,
                      const std::function<std::string(std::span<const std::byte>)> &reader,
                      std::vector<std::byte> &scratch);

 private:
  void make(WindowKind kind);
  void lock_own(const std::function<void()> &action);
  void store_in_place(const std::function<void(std::span<std::byte>)> &writer);
  std::string examine_in_place(const std::function<std::string(std::span<const std::byte>)> &reader) const;

  std::uint64_t size_bytes_;
  int rank_ = 0;
  bool is_attached_ = false;
  std::optional<MessageBuffer> own_;  // none when MPI allocates
  std::byte *base_ = nullptr;
  MPI_Win window_ = MPI_WIN_NULL;
  MPI_Aint target_offset_ = 0;
};

}  // namespace sluice::bench

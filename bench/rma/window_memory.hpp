// SPDX-License-Identifier: BSD-3-Clause
// A window of two ranks and the memory of it that rank 1 lends.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "bench/cli/family_options.hpp"
#include "bench/mpi/world.hpp"

namespace sluice::bench {

// Host memory with guard bytes on both sides of the part that is accessed, all of it inside the window: an access that
// goes too far is seen. Owns window and memory; every rank lends equally much.
class WindowMemory {
 public:
  static constexpr std::uint64_t kGuardBytes = 4096;

  // Collective. Throws MpiError.
  WindowMemory(WindowKind kind, std::uint64_t size_bytes);
  WindowMemory(const WindowMemory &) = delete;
  WindowMemory &operator=(const WindowMemory &) = delete;
  ~WindowMemory();

  MPI_Win window() const { return window_; }
  // Where the accessed part begins, as RMA calls take it.
  MPI_Aint target_offset() const { return target_offset_; }

  // Local; no epoch may be open on this rank. Writes or reads the accessed part under a lock of its own.
  void store(const std::function<void(std::span<std::byte>)> &writer);
  // What the reader found wrong, or that a guard was changed; "".
  std::string examine(const std::function<std::string(std::span<const std::byte>)> &reader);

 private:
  void make(WindowKind kind);
  void lock_own(const std::function<void()> &action);

  std::uint64_t size_bytes_;
  int rank_ = 0;
  bool is_attached_ = false;
  std::vector<std::byte> own_;  // empty when MPI allocates
  std::byte *base_ = nullptr;
  MPI_Win window_ = MPI_WIN_NULL;
  MPI_Aint target_offset_ = 0;
};

}  // namespace sluice::bench

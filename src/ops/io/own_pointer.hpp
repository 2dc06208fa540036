// SPDX-License-Identifier: BSD-3-Clause
// The individual pointer of a file, which nothing but the program's calls may move. ROMIO does more: while a collective
// call with a request is under way, it sets the pointer back to where it was when that call began, even if the call is
// by explicit offset (ADIOI_GEN_IreadStridedColl).
#pragma once

#include <cstdint>
#include <mutex>

#include "ops/io/call.hpp"
#include "ops/io/file_state.hpp"

namespace sluice::ops::io {

// Held around what reads or moves the pointer for the program, so that it meets no call of KeptPointer's. Waits for
// one such call at most. An error handler of the program's that runs meanwhile may come here again. Any thread.
class PointerTurn {
 public:
  // For `call`; nothing if it is not by the individual pointer.
  explicit PointerTurn(const Call &call);
  // For a function on `file`; nothing if Sluice knows nothing of it.
  explicit PointerTurn(MPI_File file);

 private:
  FileStatePtr state_;
  std::unique_lock<std::recursive_mutex> lock_;
};

// Puts the pointer back where it was when this began. For the engine, around its calls of the host MPI for a collective
// request, which go by explicit offset. Waits for nobody. Not for a file in sequence, which has no offsets.
class KeptPointer {
 public:
  KeptPointer(MPI_File file, FileState *state);
  ~KeptPointer();
  KeptPointer(const KeptPointer &) = delete;
  KeptPointer &operator=(const KeptPointer &) = delete;
  KeptPointer(KeptPointer &&) = delete;
  KeptPointer &operator=(KeptPointer &&) = delete;

  // False: a thread of the program's has the pointer, or nobody knows where it is; the host MPI must not be called in
  // this turn.
  [[nodiscard]] bool is_kept() const noexcept { return lock_.owns_lock(); }

 private:
  MPI_File file_;
  std::unique_lock<std::recursive_mutex> lock_;
  MPI_Offset place_ = 0;
};

// By MPI's rule the individual pointer of a call with a request moves on when the call is made: puts the pointer's
// place into *call, and moves it by `size_bytes`. Nothing of a call by another position. Local. Any thread, with a
// PointerTurn. Returns the host MPI's error code, raised already.
[[nodiscard]] int take_position(std::uint64_t size_bytes, std::uint64_t etype_bytes, Call *call);

}  // namespace sluice::ops::io

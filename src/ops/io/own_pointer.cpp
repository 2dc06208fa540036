// SPDX-License-Identifier: BSD-3-Clause
// The individual pointer of a file, and MPI_File_seek and MPI_File_get_position, which the program moves and reads it
// by.
#include "ops/io/own_pointer.hpp"

#include "base/log.hpp"
#include "generated/operations.hpp"
#include "ops/env/host_library.hpp"
#include "wire/host.hpp"

namespace sluice::ops {
namespace io {
namespace {

// Moves the individual pointer. Returns the host MPI's error code, raised already.
int move_to(MPI_File file, MPI_Offset target) {
  int code = wire::host().MPI_File_seek(file, target, MPI_SEEK_SET);
  if (trusts_files()) return code;
  // What is taken for another one: the one that leads there.
  for (const int whence : {MPI_SEEK_CUR, MPI_SEEK_END}) {
    MPI_Offset reached = 0;
    if (code == MPI_SUCCESS) code = wire::host().MPI_File_get_position(file, &reached);
    if (code != MPI_SUCCESS || reached == target) return code;
    code = wire::host().MPI_File_seek(file, target, whence);
  }
  return code;
}

std::unique_lock<std::recursive_mutex> lock_pointer_of(FileState *state) {
  return state == nullptr ? std::unique_lock<std::recursive_mutex>() : std::unique_lock(state->pointer);
}

}  // namespace

PointerTurn::PointerTurn(const Call &call)
    : PointerTurn(call.form->position == Position::kIndividual ? call.file : MPI_FILE_NULL) {}

PointerTurn::PointerTurn(MPI_File file) : state_(known_state_of(file)), lock_(lock_pointer_of(state_.get())) {}

KeptPointer::KeptPointer(MPI_File file, FileState *state) : file_(file), lock_(state->pointer, std::try_to_lock) {
  if (lock_.owns_lock() && wire::host().MPI_File_get_position(file_, &place_) != MPI_SUCCESS) lock_.unlock();
}

KeptPointer::~KeptPointer() {
  if (!lock_.owns_lock()) return;
  MPI_Offset reached = place_;
  int code = wire::host().MPI_File_get_position(file_, &reached);
  if (code == MPI_SUCCESS && reached != place_) code = move_to(file_, place_);
  if (code != MPI_SUCCESS) {
    log::warn_once("file_pointer", "io", "the individual pointer of a file could not be put back where it was");
  }
}

int take_position(std::uint64_t size_bytes, std::uint64_t etype_bytes, Call *call) {
  if (call->form->position != Position::kIndividual) return MPI_SUCCESS;
  const int code = wire::host().MPI_File_get_position(call->file, &call->offset);
  if (code != MPI_SUCCESS) return code;
  call->is_at_offset = true;
  return move_to(call->file, call->offset + static_cast<MPI_Offset>(size_bytes / etype_bytes));
}

}  // namespace io

int file_seek(MPI_File fh, MPI_Offset offset, int whence) {
  const io::PointerTurn turn(fh);
  return wire::host().MPI_File_seek(fh, offset, whence);
}

int file_get_position(MPI_File fh, MPI_Offset *offset) {
  const io::PointerTurn turn(fh);
  return wire::host().MPI_File_get_position(fh, offset);
}

}  // namespace sluice::ops

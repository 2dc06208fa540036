// SPDX-License-Identifier: BSD-3-Clause
// ByteSide: the packed side of MPI_Pack and MPI_Unpack, and of their external forms: bytes from a position on, which
// may lie on a device and are then given to the host MPI in memory of ours.
#pragma once

#include <cstdint>

#include "base/status.hpp"
#include "device/place.hpp"
#include "device/staging_pool.hpp"
#include "ops/env/errors.hpp"
#include "wire/mpi.hpp"

namespace sluice::ops {

// The packed side of one call. One thread at a time.
class ByteSide {
 public:
  // `buffer` has `size_bytes`, of which those from `position` on are used. Errors: those of the runtime.
  [[nodiscard]] Status classify(const void *buffer, std::int64_t size_bytes, std::int64_t position);

  // The CPU may not touch it, or it is not to.
  [[nodiscard]] bool is_staged() const noexcept { return is_staged_; }
  [[nodiscard]] const device::Place &place() const noexcept { return place_; }
  // The program's memory at the position.
  [[nodiscard]] std::byte *data() const noexcept { return buffer_ + position_; }
  // From the position to the end; not positive when there is nothing.
  [[nodiscard]] std::int64_t room_bytes() const noexcept { return size_bytes_ - position_; }

  // Only for a staged side. open() takes memory for `most_bytes` of the room, or all of it; room() is that memory, and
  // how much of it there is. copy_down() brings as much of the program's bytes into it, copy_up() the first `bytes` of
  // it into the program's buffer. Block. Errors of open(): no memory. Errors of the copies: those of the runtime.
  [[nodiscard]] Status open(std::int64_t most_bytes);
  [[nodiscard]] std::byte *room() const noexcept { return lease_.data(); }
  [[nodiscard]] std::int64_t opened_bytes() const noexcept { return opened_bytes_; }
  [[nodiscard]] Status copy_down() const;
  [[nodiscard]] Status copy_up(std::int64_t bytes) const;

 private:
  std::byte *buffer_ = nullptr;
  std::int64_t size_bytes_ = 0;
  std::int64_t position_ = 0;
  std::int64_t opened_bytes_ = 0;
  bool is_staged_ = false;
  device::Place place_;
  device::StagingLease lease_;
};

// Both have the host MPI move what is packed from `*position` of the program's buffer on, and move that on; `most_of`
// says how many bytes that may be, and `move` calls the host MPI's function on a buffer, its size and a position, as
// both of the program's or of ours. Block. Return an error code, raised already, of errors of ours on `comm`. Any
// thread, for a side of its own.
template <typename Size, typename MostOf, typename Move>
int pack_by_host(ByteSide *out, void *buffer, Size size, Size *position, MPI_Comm comm, const MostOf &most_of,
                 const Move &move) {
  if (!out->is_staged()) return move(buffer, size, position);
  Size most = 0;
  int result = most_of(&most);
  if (result != MPI_SUCCESS) return result;
  if (Status status = out->open(most); !status.is_ok()) return raise(comm, status);
  Size packed = 0;
  result = move(out->room(), static_cast<Size>(out->opened_bytes()), &packed);
  if (result != MPI_SUCCESS) return result;
  if (Status status = out->copy_up(packed); !status.is_ok()) return raise(comm, status);
  *position += packed;
  return MPI_SUCCESS;
}
// Any thread, for a side of its own.
template <typename Size, typename MostOf, typename Move>
int unpack_by_host(ByteSide *in, const void *buffer, Size size, Size *position, MPI_Comm comm, const MostOf &most_of,
                   const Move &move) {
  if (!in->is_staged()) return move(buffer, size, position);
  Size most = 0;
  int result = most_of(&most);
  if (result != MPI_SUCCESS) return result;
  Status status = in->open(most);
  if (status.is_ok()) status = in->copy_down();
  if (!status.is_ok()) return raise(comm, status);
  Size unpacked = 0;
  result = move(in->room(), static_cast<Size>(in->opened_bytes()), &unpacked);
  if (result == MPI_SUCCESS) *position += unpacked;
  return result;
}

}  // namespace sluice::ops

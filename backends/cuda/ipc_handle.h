// SPDX-License-Identifier: BSD-3-Clause
// The bytes of a handle for other processes: which mechanism leads to the memory, and what that mechanism needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "module.h"

namespace sluice::backends::cuda {

// The ladder, best first. The number is in the handle; one that a process does not know is another version's.
enum class Mechanism : uint32_t {
  kDriverHandle = 1,  // the driver's own handle, for memory of cuMemAlloc
  kFabricHandle = 2,  // a fabric handle, for memory of one cuMemCreate that asked for it
  kPieces = 3         // memory of one or several cuMemCreate, handed over piece by piece (piece_socket.h)
};

// A range made of memory of cuMemCreate: what names it to the process that mapped it.
struct PieceRange {
  uint64_t begin;       // in that process
  uint64_t size_bytes;  // whole pieces
  uint64_t identity;    // of the pieces that were there when it was exported
  int32_t device;       // that process's number of the device
  uint32_t n_pieces;
  uint64_t socket_name[2];  // where it hands them over
};

// What lies in sluice_ipc_handle_t. The buffer's number is in it, so that handles of two allocations that followed each
// other at one address differ, whatever the driver's own bytes do.
struct HandleLayout {
  uint32_t magic;
  uint32_t checksum;  // of all that follows
  Mechanism mechanism;
  int32_t pid;
  uint64_t start_time;
  uint32_t pid_namespace;
  uint32_t zero;
  uint64_t size_bytes;
  uint64_t buffer_id;
  CUuuid device;
  union {
    CUipcMemHandle driver_handle;
    unsigned char fabric_handle[64];
    PieceRange pieces;
  } way;
};
static_assert(sizeof(HandleLayout) <= sizeof(sluice_ipc_handle_t) && std::is_trivially_copyable_v<HandleLayout>);

// Fills in what every handle has (the layout's `way`, mechanism and size are the caller's) for memory of `device` of
// this process.
sluice_result_t write_handle(int32_t device, HandleLayout *layout, sluice_ipc_handle_t *handle);
// SLUICE_SUCCESS when the bytes are a handle of another process that is in itself right.
sluice_result_t read_handle(const sluice_ipc_handle_t &handle, HandleLayout *layout);

}  // namespace sluice::backends::cuda

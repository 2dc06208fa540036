// SPDX-License-Identifier: BSD-3-Clause
// Call: any call that reads or writes a file, its arguments by their meaning. The exported functions, generated from
// data/file_forms.txt, fill one in; the functions below carry it out. Threads: any, as the host MPI allows.
#pragma once

#include <cstdint>

#include "base/types.hpp"
#include "wire/mpi.hpp"

namespace sluice::ops::io {

// What says where in the file a call begins. kOrdered: the shared pointer, and behind it the data of the ranks before.
enum class Position : std::uint8_t { kExplicit, kIndividual, kShared, kOrdered };

struct Call;

// One exported function.
struct Form {
  Operation operation;
  bool is_read;
  Position position;
  // The host MPI's own function.
  int (*make)(const Call &call);
  // What the host MPI is called with for a block: a blocking function, by explicit offset for a call with a request and
  // for an ordered one.
  // Null for a call that does not move data itself (..._end).
  int (*block)(const Call &call);
  // Only of a collective call with a request, unless it is by a shared pointer: by explicit offset, too.
  int (*start)(const Call &call, MPI_Request *request);
};

struct Call {
  explicit Call(const Form &of) noexcept : form(&of), is_at_offset(of.position == Position::kExplicit) {}

  const Form *form;
  // `offset` holds: it is explicit; or the place of the individual pointer when a call with a request was made, or of
  // this rank's data of an ordered one.
  bool is_at_offset;
  MPI_File file = MPI_FILE_NULL;
  MPI_Offset offset = 0;  // in etypes of the view
  void *buffer = nullptr;
  MPI_Count count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Status *status = MPI_STATUS_IGNORE;
  MPI_Request *request = nullptr;

  void set_buffer(const void *address) noexcept {
    // Writing does not change the buffer; one pointer serves both directions.
    buffer = const_cast<void *>(address);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  }
};

// Each for its functions of data/file_forms.txt. Return an error code, which the file's error handler has heard of.
// Memory that the CPU may touch goes to the host MPI as it is. Data of a device is staged block by block, in two blocks
// of `file_block` bytes at a time (docs/files.md says which calls take one block for all). *status counts what the host
// MPI says of each block.

// Of one rank. Blocks for the device and the file. After an error the blocks before it are where they belong.
int access(Call *call);
// Collective over the file's ranks; blocks, in turns until all are here. A rank whose data cannot be staged takes part
// without data, and returns the error; the others have theirs.
int access_all(Call *call);
// The same in two calls; all is done in the first one unless the host MPI does it.
int begin_all(Call *call);
int end_all(Call *call);
// With a request, which the engine completes: in each turn up to one block of a call of one rank is read or written.
// Do not block. After an error there is no request; of a collective call the others wait then for this rank.
int start(Call *call);
int start_all(Call *call);

}  // namespace sluice::ops::io

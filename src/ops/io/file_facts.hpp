// SPDX-License-Identifier: BSD-3-Clause
// What a call goes by of the file that it names. All of it: any thread.
#pragma once

#include <cstdint>

#include "ops/io/call.hpp"
#include "ops/io/file_state.hpp"
#include "wire/mpi.hpp"

namespace sluice::ops::io {

struct FileFacts {
  std::uint64_t etype_bytes = 1;  // of the view; not 0
  bool is_native = true;          // the file holds the bytes of memory
  bool has_gaps = false;          // the view leaves bytes of the file out
};

// What the view of `file` says. Local. Returns the host MPI's error code, raised already.
[[nodiscard]] int find_facts(MPI_File file, FileFacts *facts);

// Whether the `n_etypes` that a read of `call` begins with may lie behind the end of the file, in part. Local. Returns
// the host MPI's error code, raised already.
[[nodiscard]] int find_reaches_end(const Call &call, const FileFacts &facts, std::uint64_t n_etypes, bool *reaches_end);

// Whether all of a call on a file of `state` has to be one access: the file is in atomic mode; or the call is by the
// shared pointer, which others may move between two blocks; or an ordered call has no offsets, because the file is read
// and written in sequence only. The same on all ranks of the file. Local. Returns the host MPI's error code, raised
// already.
[[nodiscard]] int find_is_one_access(const Call &call, const FileState &state, bool *is_one);

}  // namespace sluice::ops::io

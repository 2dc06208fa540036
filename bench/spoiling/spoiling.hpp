// SPDX-License-Identifier: BSD-3-Clause
// What the preloaded library does to received data, for all MPI calls that it wraps.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <string>
#include <vector>

namespace spoiling {

// Where an operation delivers, and what lay there before. No bytes: nothing of this is to be spoiled.
struct Region {
  unsigned char *bytes = nullptr;
  std::size_t n_bytes = 0;
  std::size_t n_blocks = 1;  // equal parts, one from each rank
  std::vector<unsigned char> before;
  std::size_t float_bytes = 0;  // of an element, where elements are floating point
};

// count elements of type at buffer.
Region region_of(const void *buffer, long long count, MPI_Datatype type, std::size_t n_blocks = 1);
Region nothing();
// 4 for MPI_FLOAT, 8 for MPI_DOUBLE, else 0.
std::size_t float_bytes_of(MPI_Datatype type);

// What SPOIL_MODE says for the test that runs.
const std::string &mode();
// A test begins.
void begin_test(const char *name);

// Spoils what has arrived, as SPOIL_MODE says.
void spoil(const Region &region);

// The same when the request is done; a persistent one again and again.
void spoil_later(MPI_Request request, Region region, bool is_persistent);
// A persistent request begins again.
void restart(MPI_Request request);
void finish(MPI_Request request);
// Its handle may be given to another operation.
void forget(MPI_Request request);

// True for SPOIL_MODE=skip: barriers do not wait.
bool skips_barriers();

}  // namespace spoiling

#define SPOILING_EXPORT extern "C" __attribute__((visibility("default")))

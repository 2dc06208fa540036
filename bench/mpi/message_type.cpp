// SPDX-License-Identifier: BSD-3-Clause
// A message of any 64-bit size.
#include "bench/mpi/message_type.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <limits>

#include "bench/mpi/world.hpp"

namespace sluice::bench {
namespace {

constexpr std::uint64_t kBlockBytes = std::uint64_t{1} << 30;

// whole blocks of 1 GiB, then the rest.
MPI_Datatype make_large_type(std::uint64_t size_bytes) {
  const int n_blocks = static_cast<int>(size_bytes / kBlockBytes);
  const int rest = static_cast<int>(size_bytes % kBlockBytes);
  MPI_Datatype block = MPI_DATATYPE_NULL;
  check_mpi(MPI_Type_contiguous(static_cast<int>(kBlockBytes), MPI_CHAR, &block), "MPI_Type_contiguous");
  const int counts[] = {n_blocks, rest};
  const MPI_Aint offsets[] = {0, static_cast<MPI_Aint>(n_blocks * static_cast<std::int64_t>(kBlockBytes))};
  const MPI_Datatype types[] = {block, MPI_CHAR};
  MPI_Datatype whole = MPI_DATATYPE_NULL;
  check_mpi(MPI_Type_create_struct(rest > 0 ? 2 : 1, counts, offsets, types, &whole), "MPI_Type_create_struct");
  check_mpi(MPI_Type_commit(&whole), "MPI_Type_commit");
  check_mpi(MPI_Type_free(&block), "MPI_Type_free");
  return whole;
}

}  // namespace

MessageType::MessageType(std::uint64_t size_bytes, bool is_one) : size_bytes_(size_bytes), count_(1) {
  if (!is_one && size_bytes <= static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
    count_ = static_cast<int>(size_bytes);
  } else {
    type_ = make_large_type(size_bytes);
  }
}

MessageType::~MessageType() {
  if (type_ != MPI_CHAR && MPI_Type_free(&type_) != MPI_SUCCESS) {
    fmt::print(stderr, "sluice-bench: MPI_Type_free failed\n");
  }
}

}  // namespace sluice::bench

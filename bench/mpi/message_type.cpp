// SPDX-License-Identifier: BSD-3-Clause
// A message of any 64-bit size.
#include "bench/mpi/message_type.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <limits>
#include <vector>

#include "bench/memory/message_layout.hpp"
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

int int_of(std::uint64_t value) {
  if (value > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
    throw MpiError(fmt::format("a datatype of {} parts: their number is an int", value));
  }
  return static_cast<int>(value);
}

MPI_Datatype make_vector(const DerivedType &type, std::uint64_t n, std::uint64_t block_bytes) {
  MPI_Datatype made = MPI_DATATYPE_NULL;
  if (type.stride_bytes <= static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
    check_mpi(MPI_Type_vector(int_of(n), int_of(block_bytes), static_cast<int>(type.stride_bytes), MPI_CHAR, &made),
              "MPI_Type_vector");
  } else {
    check_mpi(MPI_Type_create_hvector(int_of(n), int_of(block_bytes), static_cast<MPI_Aint>(type.stride_bytes),
                                      MPI_CHAR, &made),
              "MPI_Type_create_hvector");
  }
  return made;
}

MPI_Datatype make_subarray(const DerivedType &type, std::uint64_t n, std::uint64_t block_bytes) {
  const std::array whole{int_of(n + 2), int_of(type.stride_bytes)};
  const std::array part{int_of(n), int_of(block_bytes)};
  const std::array begin{1, int_of((type.stride_bytes - block_bytes) / 2)};
  MPI_Datatype made = MPI_DATATYPE_NULL;
  check_mpi(MPI_Type_create_subarray(2, whole.data(), part.data(), begin.data(), MPI_ORDER_C, MPI_CHAR, &made),
            "MPI_Type_create_subarray");
  return made;
}

MPI_Datatype make_hindexed(const MessageLayout &layout) {
  std::vector<int> lengths;
  std::vector<MPI_Aint> offsets;
  for (const Piece &piece : layout.pieces) {
    lengths.push_back(int_of(piece.size_bytes));
    offsets.push_back(static_cast<MPI_Aint>(piece.offset));
  }
  MPI_Datatype made = MPI_DATATYPE_NULL;
  check_mpi(MPI_Type_create_hindexed(int_of(lengths.size()), lengths.data(), offsets.data(), MPI_CHAR, &made),
            "MPI_Type_create_hindexed");
  return made;
}

// One record; the next one begins a stride further.
MPI_Datatype make_struct(const DerivedType &type, std::uint64_t record_bytes) {
  const RecordLayout record = record_of(type, record_bytes);
  const std::array counts{int_of(record.n_doubles), int_of(record.n_ints), int_of(record.n_chars)};
  const std::array<MPI_Aint, 3> offsets{0, static_cast<MPI_Aint>(record.n_doubles * sizeof(double)),
                                        static_cast<MPI_Aint>(record.chars_offset)};
  const std::array<MPI_Datatype, 3> types{MPI_DOUBLE, MPI_INT, MPI_CHAR};
  MPI_Datatype members = MPI_DATATYPE_NULL;
  check_mpi(MPI_Type_create_struct(3, counts.data(), offsets.data(), types.data(), &members), "MPI_Type_create_struct");
  MPI_Datatype made = MPI_DATATYPE_NULL;
  check_mpi(MPI_Type_create_resized(members, 0, static_cast<MPI_Aint>(type.stride_bytes), &made),
            "MPI_Type_create_resized");
  check_mpi(MPI_Type_free(&members), "MPI_Type_free");
  return made;
}

MPI_Datatype make_contiguous(std::uint64_t size_bytes) {
  if (size_bytes > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
    return make_large_type(size_bytes);
  }
  MPI_Datatype made = MPI_DATATYPE_NULL;
  check_mpi(MPI_Type_contiguous(static_cast<int>(size_bytes), MPI_CHAR, &made), "MPI_Type_contiguous");
  return made;
}

MPI_Datatype make_derived_type(const DerivedType &type, std::uint64_t size_bytes) {
  const std::uint64_t n = n_blocks_of(type, size_bytes);
  const std::uint64_t block_bytes = block_bytes_of(type, size_bytes);
  switch (type.kind) {
    case TypeKind::vector:
      return make_vector(type, n, block_bytes);
    case TypeKind::subarray:
      return make_subarray(type, n, block_bytes);
    case TypeKind::hindexed:
      return make_hindexed(layout_of(type, size_bytes));
    case TypeKind::structure:
      return make_struct(type, block_bytes);
    default:
      return make_contiguous(size_bytes);
  }
}

}  // namespace

MessageType::MessageType(std::uint64_t size_bytes, bool is_one) : size_bytes_(size_bytes), count_(1) {
  if (!is_one && size_bytes <= static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
    count_ = static_cast<int>(size_bytes);
  } else {
    type_ = make_large_type(size_bytes);
  }
}

MessageType::MessageType(std::uint64_t size_bytes, const DerivedType &derived, bool has_large_counts)
    : size_bytes_(size_bytes), count_(static_cast<MPI_Count>(size_bytes)) {
  if (derived.is_derived() && size_bytes > 0) {
    const std::uint64_t n = n_blocks_of(derived, size_bytes);
    count_ = derived.kind != TypeKind::structure ? 1 : static_cast<MPI_Count>(has_large_counts ? n : int_of(n));
    type_ = make_derived_type(derived, size_bytes);
    check_mpi(MPI_Type_commit(&type_), "MPI_Type_commit");
  } else if (!has_large_counts && size_bytes > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
    type_ = make_large_type(size_bytes);
    count_ = 1;
  }
}

MessageType::~MessageType() {
  if (type_ != MPI_CHAR && MPI_Type_free(&type_) != MPI_SUCCESS) {
    fmt::print(stderr, "sluice-bench: MPI_Type_free failed\n");
  }
}

}  // namespace sluice::bench

// SPDX-License-Identifier: BSD-3-Clause
// A message of any 64-bit size as the (count, datatype) that every MPI since 3.0 takes.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "bench/cli/derived_type.hpp"

namespace sluice::bench {

// Up to 2^31 - 1 bytes: that many MPI_CHAR. Above: one element of a contiguous type of that size. Owns the type.
class MessageType {
 public:
  // is_one: one element of its own type, whatever the size. Throws MpiError.
  explicit MessageType(std::uint64_t size_bytes, bool is_one = false);
  // One element of the derived datatype (of `struct`, one for each record); of bytes, as above, or, with counts of 64
  // bits, that many MPI_CHAR. Throws MpiError.
  MessageType(std::uint64_t size_bytes, const DerivedType &derived, bool has_large_counts);
  MessageType(const MessageType &) = delete;
  MessageType &operator=(const MessageType &) = delete;
  ~MessageType();

  std::uint64_t size_bytes() const { return size_bytes_; }
  // The second is for calls whose counts have 64 bits; the first is right wherever such were not asked for.
  int count() const { return static_cast<int>(count_); }
  MPI_Count large_count() const { return count_; }
  MPI_Datatype type() const { return type_; }

 private:
  std::uint64_t size_bytes_;
  MPI_Count count_;
  MPI_Datatype type_ = MPI_CHAR;
};

}  // namespace sluice::bench

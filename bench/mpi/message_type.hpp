// SPDX-License-Identifier: BSD-3-Clause
// A message of any 64-bit size as the (count, datatype) that every MPI since 3.0 takes.
#pragma once

#include <mpi.h>

#include <cstdint>

namespace sluice::bench {

// Up to 2^31 - 1 bytes: that many MPI_CHAR. Above: one element of a contiguous type of that size. Owns the type.
class MessageType {
 public:
  // is_one: one element of its own type, whatever the size. Throws MpiError.
  explicit MessageType(std::uint64_t size_bytes, bool is_one = false);
  MessageType(const MessageType &) = delete;
  MessageType &operator=(const MessageType &) = delete;
  ~MessageType();

  std::uint64_t size_bytes() const { return size_bytes_; }
  int count() const { return count_; }
  MPI_Datatype type() const { return type_; }

 private:
  std::uint64_t size_bytes_;
  int count_;
  MPI_Datatype type_ = MPI_CHAR;
};

}  // namespace sluice::bench

// SPDX-License-Identifier: BSD-3-Clause
// A file of all ranks in the folder $TMPDIR, else in /tmp. It is deleted at the end.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "bench/mpi/world.hpp"

namespace sluice::bench {

// One thread at a time. Its making and its end are collective and block.
class SharedFile {
 public:
  // A new empty file. Throws AgreedError and MpiError.
  explicit SharedFile(const World &world);
  ~SharedFile();
  SharedFile(const SharedFile &) = delete;
  SharedFile &operator=(const SharedFile &) = delete;

  MPI_File get() const { return file_; }
  // Past MPI: what a write has left in the file, and what a read is to find there. Offsets and sizes are in bytes.
  // Throw std::runtime_error.
  void read(std::uint64_t offset, std::byte *to, std::uint64_t size_bytes) const;
  void write(std::uint64_t offset, const std::byte *from, std::uint64_t size_bytes) const;

 private:
  std::string path_;
  MPI_File file_ = MPI_FILE_NULL;
  int plain_ = -1;
};

}  // namespace sluice::bench

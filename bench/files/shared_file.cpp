// SPDX-License-Identifier: BSD-3-Clause
#include "bench/files/shared_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace sluice::bench {
namespace {

template <class Some>
void move(const std::string &path, std::uint64_t size_bytes, Some some) {
  for (std::uint64_t done = 0; done < size_bytes;) {
    const ssize_t n = some(done, size_bytes - done);
    if (n <= 0) throw std::runtime_error(fmt::format("{} ends at byte {} of {}", path, done, size_bytes));
    done += static_cast<std::uint64_t>(n);
  }
}

}  // namespace

SharedFile::SharedFile(const World &world) {
  std::array<char, 4096> name{};
  const char *const folder = std::getenv("TMPDIR");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  const std::string path =
      fmt::format("{}/sluice_bench.{}", folder != nullptr && *folder != '\0' ? folder : "/tmp", getpid());
  if (world.is_root()) path.copy(name.data(), name.size() - 1);
  check_mpi(MPI_Bcast(name.data(), static_cast<int>(name.size()), MPI_CHAR, 0, world.communicator()), "MPI_Bcast");
  path_ = name.data();
  check_mpi(MPI_File_open(world.communicator(), path_.c_str(),
                          MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file_),
            "MPI_File_open");
  plain_ = open(path_.c_str(), O_RDWR | O_CLOEXEC);
  world.agree(plain_ < 0 ? fmt::format("{} cannot be opened", path_) : "");
}

SharedFile::~SharedFile() {
  close(plain_);
  if (MPI_File_close(&file_) != MPI_SUCCESS) std::fputs("the file could not be closed\n", stderr);
}

void SharedFile::read(std::uint64_t offset, std::byte *to, std::uint64_t size_bytes) const {
  move(path_, size_bytes,
       [&](auto done, auto rest) { return pread(plain_, to + done, rest, static_cast<off_t>(offset + done)); });
}

void SharedFile::write(std::uint64_t offset, const std::byte *from, std::uint64_t size_bytes) const {
  move(path_, size_bytes,
       [&](auto done, auto rest) { return pwrite(plain_, from + done, rest, static_cast<off_t>(offset + done)); });
}

}  // namespace sluice::bench

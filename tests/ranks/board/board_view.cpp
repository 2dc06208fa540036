// SPDX-License-Identifier: BSD-3-Clause
#include "tests/ranks/board/board_view.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <thread>

namespace sluice::tests {
namespace {

constexpr std::size_t kLineBytes = 128;
constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kFlagBytes = 256;

std::size_t slot_bytes(int n_ranks) {
  const std::size_t bytes =
      sizeof(transfer::Published) + transfer::Board::most_blocks(n_ranks) * sizeof(transfer::StridedBlock);
  return (bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
}

}  // namespace

std::vector<Mapping> find_shared_mappings() {
  std::vector<Mapping> found;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    std::array<char, 5> rights{};
    if (line.find("sluice") == std::string::npos) continue;
    if (std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, rights.data()) != 3 || rights[3] != 's') continue;
    found.push_back({reinterpret_cast<unsigned char *>(begin), end - begin});
  }
  return found;
}

std::atomic<std::uint64_t> &BoardView::flag(int rank, std::size_t word) const {
  return *reinterpret_cast<std::atomic<std::uint64_t> *>(begin_ + static_cast<std::size_t>(rank) * kFlagBytes +
                                                         word * sizeof(std::uint64_t));
}

unsigned char *BoardView::said_by(int rank) const {
  constexpr std::uint64_t kSlots = transfer::Board::kSlots;
  const std::uint64_t call = flag(rank, kPublished).load();
  const std::uint64_t content = flag(rank, kContent + call % kSlots).load();
  return slots_of(rank).begin + content % kSlots * slot_bytes(n_ranks_);
}

std::size_t BoardView::said_bytes() const {
  return sizeof(transfer::Published) + static_cast<std::size_t>(n_ranks_ + 1) * sizeof(transfer::StridedBlock);
}

Mapping BoardView::slots_of(int rank) const {
  const std::size_t size_bytes = transfer::Board::kSlots * slot_bytes(n_ranks_);
  return {begin_ + static_cast<std::size_t>(n_ranks_) * kFlagBytes + static_cast<std::size_t>(rank) * size_bytes,
          size_bytes};
}

std::size_t BoardView::whole_bytes() const {
  const auto n_ranks = static_cast<std::size_t>(n_ranks_);
  const std::size_t bytes = n_ranks * (kFlagBytes + transfer::Board::kSlots * slot_bytes(n_ranks_));
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

SharedPage::SharedPage(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  std::array<char, 64> path{"/dev/shm/sluice_test_XXXXXX"};
  int file = rank == 0 ? mkstemp(path.data()) : -1;
  if (rank == 0 && (file < 0 || ftruncate(file, kPageBytes) != 0)) throw std::runtime_error("no shared page");
  MPI_Bcast(path.data(), static_cast<int>(path.size()), MPI_CHAR, 0, comm);
  if (rank != 0) file = open(path.data(), O_RDWR | O_CLOEXEC);
  page_ = mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  MPI_Barrier(comm);
  if (rank == 0) unlink(path.data());
  close(file);
  if (page_ == MAP_FAILED) throw std::runtime_error("no shared page");
}

SharedPage::~SharedPage() {
  munmap(page_, kPageBytes);
}

std::atomic<std::uint64_t> &SharedPage::at(std::size_t index) const {
  return static_cast<std::atomic<std::uint64_t> *>(page_)[index];
}

void SharedPage::wait_for(std::size_t index, std::uint64_t value) const {
  while (at(index).load() < value) std::this_thread::yield();
}

}  // namespace sluice::tests

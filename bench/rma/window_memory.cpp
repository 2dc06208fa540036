// SPDX-License-Identifier: BSD-3-Clause
// A window of two ranks.
#include "bench/rma/window_memory.hpp"

#include <algorithm>
#include <cstdio>

#include "bench/rma/one_sided.hpp"

namespace sluice::bench {
namespace {

constexpr std::byte kGuard{0x5a};
constexpr std::uint64_t kAlignment = 64;

}  // namespace

WindowMemory::WindowMemory(WindowKind kind, DeviceModule *module, sluice_memory_kind_t memory, std::uint64_t size_bytes)
    : size_bytes_(size_bytes) {
  if (!is_of_mpi(kind)) {
    own_.emplace(module, memory, size_bytes);
  }
  check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
  make(kind);
  check_mpi(MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN), "MPI_Win_set_errhandler");
  MPI_Aint address = 0;
  if (kind == WindowKind::dynamic) {
    check_mpi(MPI_Get_address(base_, &address), "MPI_Get_address");
  }
  check_mpi(MPI_Bcast(&address, 1, MPI_AINT, kTarget, MPI_COMM_WORLD), "MPI_Bcast");
  target_offset_ = address + static_cast<MPI_Aint>(kGuardBytes);
}

void WindowMemory::make(WindowKind kind) {
  if (!own_) {
    // MPICH 4.0 reaches memory that it allocated itself in the wrong place when its size is not a multiple of 16.
    const std::uint64_t all = (size_bytes_ + 2 * kGuardBytes + kAlignment - 1) / kAlignment * kAlignment;
    const bool is_shared = kind == WindowKind::shared;
    const auto allocate = is_shared ? MPI_Win_allocate_shared : MPI_Win_allocate;
    check_mpi(allocate(static_cast<MPI_Aint>(all), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base_, &window_),
              is_shared ? "MPI_Win_allocate_shared" : "MPI_Win_allocate");
    return;
  }
  base_ = own_->data() - kGuardBytes;
  const auto extent = static_cast<MPI_Aint>(size_bytes_ + 2 * kGuardBytes);
  if (kind == WindowKind::create) {
    check_mpi(MPI_Win_create(base_, extent, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window_), "MPI_Win_create");
    return;
  }
  check_mpi(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window_), "MPI_Win_create_dynamic");
  check_mpi(MPI_Win_attach(window_, base_, extent), "MPI_Win_attach");
  is_attached_ = true;
}

WindowMemory::~WindowMemory() {
  const bool is_detached = !is_attached_ || MPI_Win_detach(window_, base_) == MPI_SUCCESS;
  if (window_ != MPI_WIN_NULL && (MPI_Win_free(&window_) != MPI_SUCCESS || !is_detached)) {
    std::fprintf(stderr, "sluice-bench: the window could not be freed\n");
  }
}

void WindowMemory::lock_own(const std::function<void()> &action) {
  check_mpi(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank_, 0, window_), "MPI_Win_lock");
  action();
  check_mpi(MPI_Win_unlock(rank_, window_), "MPI_Win_unlock");
}

void WindowMemory::store(const std::function<void(std::span<std::byte>)> &writer, std::vector<std::byte> &scratch) {
  lock_own([&] {
    if (own_) {
      own_->store(writer, scratch);
    } else {
      store_in_place(writer);
    }
  });
}

void WindowMemory::store_in_place(const std::function<void(std::span<std::byte>)> &writer) {
  std::fill_n(base_, kGuardBytes, kGuard);
  std::fill_n(base_ + kGuardBytes + size_bytes_, kGuardBytes, kGuard);
  writer({base_ + kGuardBytes, size_bytes_});
}

std::string WindowMemory::examine(const Expectations &expected,
                                  const std::function<std::string(std::span<const std::byte>)> &reader,
                                  std::vector<std::byte> &scratch) {
  std::string wrong;
  lock_own([&] { wrong = own_ ? own_->examine(expected, reader, scratch) : examine_in_place(reader); });
  return wrong;
}

std::string WindowMemory::examine_in_place(const std::function<std::string(std::span<const std::byte>)> &reader) const {
  std::string wrong = reader({base_ + kGuardBytes, size_bytes_});
  const auto is_guard = [](std::byte byte) { return byte == kGuard; };
  const std::byte *const behind = base_ + kGuardBytes + size_bytes_;
  if (wrong.empty() &&
      !(std::all_of(base_, base_ + kGuardBytes, is_guard) && std::all_of(behind, behind + kGuardBytes, is_guard))) {
    return "memory outside the accessed part was changed";
  }
  return wrong;
}

}  // namespace sluice::bench

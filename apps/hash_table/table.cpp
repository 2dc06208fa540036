// SPDX-License-Identifier: BSD-3-Clause
#include "apps/hash_table/table.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <map>

namespace sluice::apps::hash_table {
namespace {

// splitmix64
std::uint64_t mixed(std::uint64_t value) {
  value += 0x9E3779B97F4A7C15ULL;
  value = (value ^ (value >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  value = (value ^ (value >> 27U)) * 0x94D049BB133111EBULL;
  return value ^ (value >> 31U);
}

}  // namespace

Table::Table(const World &world, Device &device, Variant variant, std::size_t n_slots)
    : world_(world), device_(device), n_slots_(n_slots) {
  std::int64_t *slots = nullptr;
  if (variant == Variant::device_table) {
    slots = device_slots_.emplace(device, 2 * n_slots).data();
  } else {
    host_slots_.resize(2 * n_slots);
    slots = host_slots_.data();
    device_numbers_.emplace(device, 1).write({&host_numbers_, 1});
  }
  check_mpi(MPI_Win_create(slots, static_cast<MPI_Aint>(2 * n_slots * sizeof(Key)), sizeof(Key), MPI_INFO_NULL,
                           MPI_COMM_WORLD, &window_),
            "MPI_Win_create");
  clear();
}

Table::~Table() {
  if (MPI_Win_free(&window_) != MPI_SUCCESS) std::fprintf(stderr, "the window could not be freed\n");
}

void Table::clear() {
  world_.barrier();
  check_mpi(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, world_.rank(), 0, window_), "MPI_Win_lock");
  const std::vector<std::int64_t> zeros(2 * n_slots_);
  if (device_slots_) {
    device_slots_->write(zeros);
  } else {
    host_slots_ = zeros;
  }
  check_mpi(MPI_Win_unlock(world_.rank(), window_), "MPI_Win_unlock");
  world_.barrier();
}

int Table::owner_of(Key key) const {
  return static_cast<int>(mixed(static_cast<std::uint64_t>(key)) % static_cast<std::uint64_t>(world_.n_ranks()));
}

std::size_t Table::slot_of(Key key) const {
  return mixed(static_cast<std::uint64_t>(key) ^ 0x736C6F74ULL) % n_slots_;
}

std::int64_t *Table::at(std::int64_t Numbers::*member) {
  Numbers *numbers = device_numbers_ ? device_numbers_->data() : &host_numbers_;
  return &(numbers->*member);
}

std::int64_t Table::get(std::int64_t Numbers::*member) {
  if (device_numbers_) host_numbers_ = device_numbers_->read().front();
  return host_numbers_.*member;
}

std::int64_t Table::count_one(Key key) {
  const int owner = owner_of(key);
  host_numbers_.key = key;
  if (device_numbers_) device_numbers_->write({&host_numbers_, 1});
  std::size_t slot = slot_of(key);
  for (std::size_t n_tried = 0; n_tried < n_slots_; ++n_tried, slot = (slot + 1) % n_slots_) {
    check_mpi(MPI_Compare_and_swap(at(&Numbers::key), at(&Numbers::free), at(&Numbers::seen), MPI_INT64_T, owner,
                                   static_cast<MPI_Aint>(slot), window_),
              "MPI_Compare_and_swap");
    check_mpi(MPI_Win_flush(owner, window_), "MPI_Win_flush");
    const std::int64_t seen = get(&Numbers::seen);
    if (seen != 0 && seen != key) continue;
    check_mpi(MPI_Fetch_and_op(at(&Numbers::one), at(&Numbers::before), MPI_INT64_T, owner,
                               static_cast<MPI_Aint>(n_slots_ + slot), MPI_SUM, window_),
              "MPI_Fetch_and_op");
    check_mpi(MPI_Win_flush(owner, window_), "MPI_Win_flush");
    return get(&Numbers::before);
  }
  throw AgreedError(fmt::format("the table of rank {} is full", owner));
}

std::vector<std::int64_t> Table::count(std::span<const Key> keys) {
  check_mpi(MPI_Win_lock_all(0, window_), "MPI_Win_lock_all");
  std::vector<std::int64_t> before;
  before.reserve(keys.size());
  for (const Key key : keys) before.push_back(count_one(key));
  check_mpi(MPI_Win_unlock_all(window_), "MPI_Win_unlock_all");
  return before;
}

std::vector<std::int64_t> Table::read() const {
  check_mpi(MPI_Win_lock(MPI_LOCK_SHARED, world_.rank(), 0, window_), "MPI_Win_lock");
  std::vector<std::int64_t> slots = device_slots_ ? device_slots_->read() : host_slots_;
  check_mpi(MPI_Win_unlock(world_.rank(), window_), "MPI_Win_unlock");
  return slots;
}

std::string Table::check(std::span<const Key> all) const {
  std::map<Key, std::int64_t> expected;
  for (const Key key : all) {
    if (owner_of(key) == world_.rank()) ++expected[key];
  }
  const std::vector<std::int64_t> slots = read();
  for (std::size_t slot = 0; slot < n_slots_; ++slot) {
    const Key key = slots[slot];
    const std::int64_t counted = slots[n_slots_ + slot];
    if (key == 0 && counted == 0) continue;
    const auto found = expected.find(key);
    if (found == expected.end() || found->second != counted) {
      return fmt::format("slot {} of rank {}: key {} was counted {} times instead of {}", slot, world_.rank(), key,
                         counted, found == expected.end() ? 0 : found->second);
    }
    expected.erase(found);
  }
  return expected.empty() ? "" : fmt::format("rank {} lacks key {}", world_.rank(), expected.begin()->first);
}

}  // namespace sluice::apps::hash_table

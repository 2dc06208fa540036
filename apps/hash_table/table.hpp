// SPDX-License-Identifier: BSD-3-Clause
// A hash table that lies in the windows of all ranks: a rank that counts a key claims a slot of the key's owner by
// MPI_Compare_and_swap, and takes the next number of the key by MPI_Fetch_and_op. No owner takes part.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "apps/support/device.hpp"

namespace sluice::apps::hash_table {

// Where the table lies, and where the numbers lie that go to it and come from it: one of the two is on the device.
enum class Variant { device_table, device_buffers };

// Keys are not 0, which marks a free slot.
using Key = std::int64_t;

// Collective to make and to destroy; the device outlives it. One thread.
class Table {
 public:
  // `n_slots`: of each rank, more than there are keys that it may own. Throws DeviceError and bench::MpiError.
  Table(const World &world, Device &device, Variant variant, std::size_t n_slots);
  ~Table();
  Table(const Table &) = delete;
  Table &operator=(const Table &) = delete;

  // Empties it. Collective.
  void clear();
  // Counts each of `keys`, in their order; how often each was counted before, by any rank. Any rank at any time.
  std::vector<std::int64_t> count(std::span<const Key> keys);
  // Of the keys that this rank owns, when all ranks are done: "" or what is wrong. `all`: the keys of all ranks.
  std::string check(std::span<const Key> all) const;

 private:
  struct Numbers {
    std::int64_t key, free, seen, one, before;
  };
  int owner_of(Key key) const;
  std::size_t slot_of(Key key) const;
  // Addresses of the numbers, which `numbers_` holds on the host or the device.
  std::int64_t *at(std::int64_t Numbers::*member);
  std::int64_t get(std::int64_t Numbers::*member);
  std::int64_t count_one(Key key);
  std::vector<std::int64_t> read() const;

  const World &world_;
  Device &device_;
  std::size_t n_slots_;
  std::optional<DeviceArray<std::int64_t>> device_slots_;  // keys, and behind them the counts
  std::vector<std::int64_t> host_slots_;
  std::optional<DeviceArray<Numbers>> device_numbers_;
  Numbers host_numbers_{0, 0, 0, 1, 0};
  MPI_Win window_ = MPI_WIN_NULL;
};

}  // namespace sluice::apps::hash_table

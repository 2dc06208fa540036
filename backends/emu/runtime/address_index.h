// SPDX-License-Identifier: BSD-3-Clause
// The table that answers "what is this address": ranges sorted by address, read without a lock, written by one at a
// time. A reader that meets a writer reads again, so that an answer is always of one moment.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "emurt.h"

namespace emurt {

struct AddressEntry {
  uintptr_t begin = 0;
  uintptr_t end = 0;  // one past the last byte that was asked for
  uint64_t allocation_id = 0;
  emu_memory_kind_t kind = EMU_MEMORY_HOST;
  int32_t device = -1;
};

class AddressIndex {
 public:
  AddressIndex();

  // The range that holds `address`; false when there is none. Any thread, lock-free. Hot.
  bool find(uintptr_t address, AddressEntry *entry) const;

  // Adds a range that overlaps no other, or replaces the one that begins at the same address. Writers take turns: the
  // caller holds a lock of its own. Cost grows with the number of ranges behind it.
  void put(const AddressEntry &entry);
  // Removes the range that begins there, if any. As put().
  void erase(uintptr_t begin);

 private:
  struct Slot {
    std::atomic<uintptr_t> end{0};
    std::atomic<uint64_t> allocation_id{0};
    std::atomic<uint64_t> kind_and_device{0};

    void assign(const Slot &other);
  };
  // Begins lie apart from the rest: a search touches few cache lines.
  struct Columns {
    explicit Columns(size_t n);

    size_t capacity;
    std::unique_ptr<std::atomic<uintptr_t>[]> begin;
    std::unique_ptr<Slot[]> slot;
  };

  // Number of ranges that begin at or before `address`.
  static size_t n_up_to(const Columns &columns, size_t n_ranges, uintptr_t address);
  static void move_entry(const Columns &from, size_t from_position, const Columns &to, size_t to_position);
  void write_entry(size_t position, const AddressEntry &entry);
  void grow();

  std::atomic<uint64_t> version_{0};  // odd while a writer is at work
  std::atomic<size_t> n_ranges_{0};
  std::atomic<const Columns *> columns_;
  // Every size there ever was: a reader may still look at an outgrown one. Sizes double, so this at most doubles them.
  std::vector<std::unique_ptr<Columns>> owned_;
};

}  // namespace emurt

// SPDX-License-Identifier: BSD-3-Clause
// What one fake backend is made of; shared by the object (fake_backend.cpp) and its table (fake_functions.cpp).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "fake_backend.hpp"

// A ticket is the number of copies that had been enqueued. Copies run only when a ticket is waited for, so that a
// caller who does not wait finds nothing.
struct sluice_queue {
  std::atomic<bool> is_in_use{false};
  std::vector<sluice_copy_t> pending;
  std::uint64_t tickets = 0;
};

namespace sluice::tests {

struct Allocation {
  std::byte *begin;
  std::size_t size_bytes;
  sluice_memory_kind_t kind;
  std::int32_t device;
  std::uint64_t id;
};

struct Failure {
  sluice_result_t result = SLUICE_SUCCESS;
  std::string text;
  int times = 0;
  int skip = 0;
};

struct FakeBackend::State {
  std::string name;
  sluice_backend_t table{};
  const sluice_host_services_t *services = nullptr;
  int file = -1;
  std::byte *arena = nullptr;  // PROT_NONE
  std::byte *alias = nullptr;

  mutable std::mutex mutex;
  std::vector<Allocation> allocations;
  std::size_t used_bytes = 0;
  std::uint64_t last_id = 0;
  std::array<Failure, static_cast<std::size_t>(Call::kNumber)> failures;
  std::array<int, static_cast<std::size_t>(Call::kNumber)> calls{};
  int finis = 0;
  std::set<sluice_queue_t *> queues;
  std::set<void *> host_blocks;
  std::size_t longest_batch = 0;
  std::size_t last_alignment = 0;
  bool drops_last_byte = false;
  bool claims_all = false;
  sluice_memory_kind_t claimed_kind = SLUICE_MEMORY_HOST;
  sluice_staging_memory_t preferred = SLUICE_STAGING_RUNTIME;
  std::uint32_t traits = 0;
  std::string misuse;

  // Counts the call and says whether it is to fail.
  sluice_result_t enter(Call call);
  void note(const std::string &text) {
    const std::scoped_lock lock(mutex);
    misuse += text + "; ";
  }
  [[nodiscard]] Allocation *find(const void *address);
  [[nodiscard]] std::byte *touchable(const void *address) const;
  void run(const sluice_copy_t &copy) const;
};

// The fakes of the process; null where a slot is free.
std::array<std::unique_ptr<FakeBackend::State>, FakeBackend::kSlots> &fake_states();
// The state of a slot that is taken.
FakeBackend::State &fake_state(int slot);
// Fills the table of `slot`, whose name is set.
void fill_fake_table(int slot);
// The native text of this thread's last error.
std::string &fake_last_error();

}  // namespace sluice::tests

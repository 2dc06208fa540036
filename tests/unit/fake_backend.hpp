// SPDX-License-Identifier: BSD-3-Clause
// FakeBackend: a backend in memory for tests of the rooms above the contract. Its "device" is an arena that is mapped
// twice: the addresses that tests hand out cannot be touched by the CPU, the fake works through an alias. Every
// function of its table can be told to fail, and what is held, called and misused is counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "sluice/backend.h"

namespace sluice::tests {

// The functions of the table that can fail.
enum class Call : std::uint8_t {
  kInit,
  kDeviceInfo,
  kQueryPointer,
  kRegisterContext,
  kHostAlloc,
  kHostFree,
  kQueueCreate,
  kQueueDestroy,
  kEnqueueCopies,
  kEnqueueTicket,
  kTestTicket,
  kWaitTicket,
  kCopy,
  kNumber
};

// One of kSlots fakes of the process: the table's functions carry no user data, so the state is found by the slot. At
// most one object per slot at a time. Any thread may call the table; the object's own functions belong to the test.
class FakeBackend {
 public:
  static constexpr int kSlots = 3;
  static constexpr std::size_t kArenaBytes = std::size_t{8} << 20;
  static constexpr int kDevices = 2;

  // A fresh arena, nothing failing. The names are "fake0", "fake1", ...
  explicit FakeBackend(int slot = 0);
  ~FakeBackend();
  FakeBackend(const FakeBackend &) = delete;
  FakeBackend &operator=(const FakeBackend &) = delete;

  [[nodiscard]] const sluice_backend_t &table() const noexcept;
  // What init() was given; null before.
  [[nodiscard]] const sluice_host_services_t *services() const noexcept;

  // Memory of the arena, never given out twice; an address to pass on, not to touch. Filled with `fill`.
  std::byte *allocate(sluice_memory_kind_t kind, std::size_t size_bytes, std::int32_t device = 0,
                      std::byte fill = std::byte{0});
  // From now on the allocation that holds `address` is SLUICE_MEMORY_FREED, as long as nothing replaces it.
  void free(const std::byte *address);
  // Replaces the freed allocation at `address` by a new one of another kind.
  void replace(const std::byte *address, sluice_memory_kind_t kind);
  // The same bytes where the CPU may touch them.
  [[nodiscard]] std::byte *alias(const std::byte *address) const;
  // Answers for every address of the process, so that two fakes can claim the same one.
  void claim_all(sluice_memory_kind_t kind);

  // The next `times` calls of `call`, after `skip` good ones, answer `result`; last_error() then says `text`.
  void fail(Call call, sluice_result_t result, const std::string &text, int times = 1, int skip = 0);
  // Every copy leaves its last byte out: what a test of copies must notice.
  void drop_last_byte();
  void set_preferred_staging(sluice_staging_memory_t memory);
  // Sum of sluice_device_trait_t.
  void set_traits(std::uint32_t traits);

  [[nodiscard]] int calls(Call call) const;
  [[nodiscard]] int finis() const;
  [[nodiscard]] int live_queues() const;
  [[nodiscard]] int live_host_blocks() const;
  // The longest list that one enqueue_copies was given.
  [[nodiscard]] std::size_t longest_batch() const;
  // The alignment that the last host_alloc asked for.
  [[nodiscard]] std::size_t last_alignment() const;
  // Breaches of the contract by the caller: a queue used by two threads at once or after its end, memory freed twice, a
  // size or an address outside the arena.
  [[nodiscard]] std::string misuse() const;

  struct State;

 private:
  int slot_;
};

}  // namespace sluice::tests

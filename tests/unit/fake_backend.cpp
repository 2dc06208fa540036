// SPDX-License-Identifier: BSD-3-Clause
// The fake's arena, its failures and its counts.
#include "fake_backend.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "fake_state.hpp"

namespace sluice::tests {
namespace {

std::byte *map(int file, int protection) {
  void *memory = mmap(nullptr, FakeBackend::kArenaBytes, protection, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("the fake backend's arena cannot be mapped");
  return static_cast<std::byte *>(memory);
}

}  // namespace

std::array<std::unique_ptr<FakeBackend::State>, FakeBackend::kSlots> &fake_states() {
  static std::array<std::unique_ptr<FakeBackend::State>, FakeBackend::kSlots> all;
  return all;
}

FakeBackend::State &fake_state(int slot) {
  return *fake_states().at(static_cast<std::size_t>(slot));
}

std::string &fake_last_error() {
  thread_local std::string text;
  return text;
}

sluice_result_t FakeBackend::State::enter(Call call) {
  const std::scoped_lock lock(mutex);
  ++calls.at(static_cast<std::size_t>(call));
  Failure &failure = failures.at(static_cast<std::size_t>(call));
  if (failure.times == 0) return SLUICE_SUCCESS;
  if (failure.skip > 0) {
    --failure.skip;
    return SLUICE_SUCCESS;
  }
  --failure.times;
  fake_last_error() = failure.text;
  return failure.result;
}

Allocation *FakeBackend::State::find(const void *address) {
  const auto *byte = static_cast<const std::byte *>(address);
  const auto found = std::find_if(allocations.begin(), allocations.end(), [&](const Allocation &allocation) {
    return byte >= allocation.begin && byte < allocation.begin + allocation.size_bytes;
  });
  return found == allocations.end() ? nullptr : &*found;
}

std::byte *FakeBackend::State::touchable(const void *address) const {
  auto *byte = static_cast<std::byte *>(const_cast<void *>(address));
  return byte >= arena && byte < arena + kArenaBytes ? alias + (byte - arena) : byte;
}

void FakeBackend::State::run(const sluice_copy_t &copy) const {
  const std::size_t dropped = drops_last_byte && copy.size_bytes > 0 ? 1 : 0;
  std::memcpy(touchable(copy.dst), touchable(copy.src), copy.size_bytes - dropped);
}

FakeBackend::FakeBackend(int slot) : slot_(slot) {
  auto &place = fake_states().at(static_cast<std::size_t>(slot));
  if (place != nullptr) throw std::logic_error("this slot of the fake backend is taken");
  place = std::make_unique<State>();
  place->name = "fake" + std::to_string(slot);
  place->file = memfd_create("sluice fake backend", MFD_CLOEXEC);
  if (place->file < 0 || ftruncate(place->file, kArenaBytes) != 0) {
    throw std::runtime_error("the fake backend's arena cannot be made");
  }
  place->arena = map(place->file, PROT_NONE);
  place->alias = map(place->file, PROT_READ | PROT_WRITE);
  fill_fake_table(slot);
}

FakeBackend::~FakeBackend() {
  State &self = fake_state(slot_);
  munmap(self.arena, kArenaBytes);
  munmap(self.alias, kArenaBytes);
  close(self.file);
  fake_states().at(static_cast<std::size_t>(slot_)).reset();
}

const sluice_backend_t &FakeBackend::table() const noexcept {
  return fake_state(slot_).table;
}

const sluice_host_services_t *FakeBackend::services() const noexcept {
  return fake_state(slot_).services;
}

std::byte *FakeBackend::allocate(sluice_memory_kind_t kind, std::size_t size_bytes, std::int32_t device,
                                 std::byte fill) {
  State &self = fake_state(slot_);
  const std::scoped_lock lock(self.mutex);
  if (size_bytes > kArenaBytes - self.used_bytes) throw std::runtime_error("the fake backend's arena is full");
  std::byte *begin = self.arena + self.used_bytes;
  self.used_bytes += (size_bytes + 255) / 256 * 256;
  self.allocations.push_back({begin, size_bytes, kind, device, ++self.last_id});
  std::fill_n(self.touchable(begin), size_bytes, fill);
  return begin;
}

void FakeBackend::free(const std::byte *address) {
  replace(address, SLUICE_MEMORY_FREED);
}

void FakeBackend::replace(const std::byte *address, sluice_memory_kind_t kind) {
  State &self = fake_state(slot_);
  const std::scoped_lock lock(self.mutex);
  Allocation *found = self.find(address);
  if (found == nullptr) throw std::logic_error("no allocation of the fake backend");
  found->kind = kind;
  found->id = ++self.last_id;
}

std::byte *FakeBackend::alias(const std::byte *address) const {
  return fake_state(slot_).touchable(address);
}

void FakeBackend::claim_all(sluice_memory_kind_t kind) {
  fake_state(slot_).claims_all = true;
  fake_state(slot_).claimed_kind = kind;
}

void FakeBackend::fail(Call call, sluice_result_t result, const std::string &text, int times, int skip) {
  State &self = fake_state(slot_);
  const std::scoped_lock lock(self.mutex);
  self.failures.at(static_cast<std::size_t>(call)) = {result, text, times, skip};
}

void FakeBackend::drop_last_byte() {
  fake_state(slot_).drops_last_byte = true;
}

void FakeBackend::set_preferred_staging(sluice_staging_memory_t memory) {
  fake_state(slot_).preferred = memory;
}

void FakeBackend::set_traits(std::uint32_t traits) {
  fake_state(slot_).traits = traits;
}

int FakeBackend::calls(Call call) const {
  const std::scoped_lock lock(fake_state(slot_).mutex);
  return fake_state(slot_).calls.at(static_cast<std::size_t>(call));
}

int FakeBackend::finis() const {
  return fake_state(slot_).finis;
}

int FakeBackend::live_queues() const {
  const std::scoped_lock lock(fake_state(slot_).mutex);
  return static_cast<int>(fake_state(slot_).queues.size());
}

int FakeBackend::live_host_blocks() const {
  const std::scoped_lock lock(fake_state(slot_).mutex);
  return static_cast<int>(fake_state(slot_).host_blocks.size());
}

std::size_t FakeBackend::longest_batch() const {
  const std::scoped_lock lock(fake_state(slot_).mutex);
  return fake_state(slot_).longest_batch;
}

std::size_t FakeBackend::last_alignment() const {
  return fake_state(slot_).last_alignment;
}

std::string FakeBackend::misuse() const {
  const std::scoped_lock lock(fake_state(slot_).mutex);
  return fake_state(slot_).misuse;
}

}  // namespace sluice::tests

// SPDX-License-Identifier: BSD-3-Clause
// Allocations, freed addresses, and the lookup for copies.
//
// A free goes: the index says FREED, copies under way end, the memory goes, the address range enters the quarantine.
// An eviction goes: the index forgets the range, the range is unmapped. So at no moment does the index call an address
// FREED that somebody else's mmap may have, nor HOST one whose memory the runtime still holds.
#include "runtime/memory_table.h"

#include <algorithm>
#include <utility>

#include "runtime/error.h"

namespace emurt {

Allocation::Allocation(const AddressEntry &entry, AddressRange view, AddressRange alias, uint64_t file_offset,
                       bool is_imported)
    : entry_(entry),
      view_(std::move(view)),
      alias_(std::move(alias)),
      file_offset_(file_offset),
      is_imported_(is_imported) {}

std::byte *Allocation::reachable(uintptr_t address) const {
  std::byte *memory = entry_.kind == EMU_MEMORY_DEVICE ? alias_.memory() : view_.memory();
  return memory + (address - entry_.begin);
}

bool Allocation::begin_use() {
  n_uses_.fetch_add(1);
  if (!is_freed_.load()) return true;
  end_use();
  return false;
}

void Allocation::end_use() {
  if (n_uses_.fetch_sub(1) == 1) n_uses_.notify_all();
}

void Allocation::close_and_wait() {
  is_freed_.store(true);
  for (int n = n_uses_.load(); n != 0; n = n_uses_.load()) n_uses_.wait(n);
}

MemoryTable::MemoryTable(MemoryLimits limits)
    : limits_(std::move(limits)), files_(limits_.device_bytes.size()), bytes_in_use_(limits_.device_bytes.size(), 0) {}

emu_result_t MemoryTable::allocate(emu_memory_kind_t kind, int32_t device, size_t size_bytes, size_t alignment,
                                   void **memory) {
  if (memory == nullptr || size_bytes == 0) {
    return fail(EMU_ERROR_INVALID_VALUE, "an allocation needs a place for its address and a size of at least 1 byte");
  }
  if ((alignment & (alignment - 1)) != 0) {
    return fail(EMU_ERROR_INVALID_VALUE, "alignment {} is no power of two", alignment);
  }
  const size_t mapped_bytes = whole_pages(size_bytes);
  const std::scoped_lock lock(mutex_);
  emu_result_t result = charge(kind, device, mapped_bytes);
  if (result != EMU_SUCCESS) return result;

  AddressRange view;
  AddressRange alias;
  uint64_t offset = 0;
  bool is_reused = false;
  result = take_address_range(mapped_bytes, std::max(alignment, page_bytes()), &view, &is_reused);
  if (result == EMU_SUCCESS) result = back_with_memory(kind, device, &view, &alias, &offset);
  if (result != EMU_SUCCESS) {
    if (is_reused) quarantine(std::move(view));
    if (kind != EMU_MEMORY_PINNED) bytes_in_use_[static_cast<size_t>(device)] -= mapped_bytes;
    return result;
  }
  const AddressEntry entry{view.begin(), view.begin() + size_bytes, ++last_id_, kind, device};
  *memory = view.memory();
  live_.emplace(entry.begin, std::make_shared<Allocation>(entry, std::move(view), std::move(alias), offset));
  index_.put(entry);
  return EMU_SUCCESS;
}

emu_result_t MemoryTable::charge(emu_memory_kind_t kind, int32_t device, size_t size_bytes) {
  if (kind == EMU_MEMORY_PINNED) return EMU_SUCCESS;
  const auto d = static_cast<size_t>(device);
  const uint64_t free_bytes = limits_.device_bytes[d] - bytes_in_use_[d];
  if (size_bytes == 0 || size_bytes > free_bytes) {
    return fail(EMU_ERROR_OUT_OF_MEMORY,
                "device {} has {} of {} bytes left; free memory or raise memory_bytes of SLUICE_EMU_MACHINE", device,
                free_bytes, limits_.device_bytes[d]);
  }
  bytes_in_use_[d] += size_bytes;
  return EMU_SUCCESS;
}

emu_result_t MemoryTable::take_address_range(size_t size_bytes, size_t alignment, AddressRange *range,
                                             bool *is_reused) {
  if (limits_.reuse_addresses) {
    // The newest first: "freed and allocated again at the same address".
    for (auto it = quarantine_.rbegin(); it != quarantine_.rend(); ++it) {
      if (it->size_bytes() != size_bytes || (it->begin() & (alignment - 1)) != 0) continue;
      *range = std::move(*it);
      quarantine_.erase(std::next(it).base());
      quarantine_bytes_ -= size_bytes;
      *is_reused = true;
      return EMU_SUCCESS;
    }
  }
  return AddressRange::reserve(size_bytes, alignment, range);
}

emu_result_t MemoryTable::back_with_memory(emu_memory_kind_t kind, int32_t device, AddressRange *view,
                                           AddressRange *alias, uint64_t *offset) {
  if (kind != EMU_MEMORY_DEVICE) return view->map_host_memory();
  DeviceMemoryFile &file = files_[static_cast<size_t>(device)];
  emu_result_t result = file.take(view->size_bytes(), offset);
  if (result == EMU_SUCCESS) result = AddressRange::map_alias(file.descriptor(), *offset, view->size_bytes(), alias);
  if (result == EMU_SUCCESS) result = view->map_inaccessible_file(file.descriptor(), *offset);
  return result;
}

emu_result_t MemoryTable::release(void *memory, bool is_import) {
  if (memory == nullptr) return EMU_SUCCESS;
  const auto address = reinterpret_cast<uintptr_t>(memory);
  std::shared_ptr<Allocation> allocation;
  {
    const std::scoped_lock lock(mutex_);
    const auto it = live_.find(address);
    if (it == live_.end()) {
      AddressEntry known;
      if (!index_.find(address, &known)) {
        return fail(EMU_ERROR_INVALID_POINTER, "free of {}: not an allocation of this runtime", memory);
      }
      return fail(EMU_ERROR_INVALID_POINTER, "free of {}: {}", memory,
                  known.kind == EMU_MEMORY_FREED ? "freed already" : "not the start of the allocation");
    }
    if (it->second->is_imported_ != is_import) {
      return fail(EMU_ERROR_INVALID_POINTER, "{} {}", memory,
                  is_import ? "is this process's own; emu_free frees it"
                            : "is another process's memory; emu_ipc_close unmaps it");
    }
    allocation = std::move(it->second);
    live_.erase(it);
    // Before the memory goes, so that nobody who still finds it in the ledger finds other bytes behind it.
    const std::optional<uint32_t> slot = allocation->export_slot_;
    if (slot.has_value()) ledger_.withdraw(*slot);
    AddressEntry freed = allocation->entry();
    freed.kind = EMU_MEMORY_FREED;
    index_.put(freed);
  }
  allocation->close_and_wait();
  allocation->view_.make_inaccessible();
  allocation->alias_ = AddressRange();

  const std::scoped_lock lock(mutex_);
  refund(*allocation);
  quarantine(std::move(allocation->view_));
  return EMU_SUCCESS;
}

void MemoryTable::refund(const Allocation &allocation) {
  const AddressEntry &entry = allocation.entry();
  if (entry.kind == EMU_MEMORY_PINNED || allocation.is_imported_) return;
  const auto d = static_cast<size_t>(entry.device);
  bytes_in_use_[d] -= allocation.view_.size_bytes();
  if (entry.kind == EMU_MEMORY_DEVICE) files_[d].punch(allocation.file_offset_, allocation.view_.size_bytes());
}

void MemoryTable::quarantine(AddressRange range) {
  range.make_inaccessible();
  quarantine_bytes_ += range.size_bytes();
  quarantine_.push_back(std::move(range));
  trim_quarantine();
}

void MemoryTable::trim_quarantine() {
  while (!quarantine_.empty() &&
         (quarantine_.size() > limits_.quarantine_ranges || quarantine_bytes_ > limits_.quarantine_bytes)) {
    index_.erase(quarantine_.front().begin());
    quarantine_bytes_ -= quarantine_.front().size_bytes();
    quarantine_.pop_front();
  }
}

emu_result_t MemoryTable::resolve(const void *address, size_t size_bytes, Endpoint *endpoint) {
  const auto first = reinterpret_cast<uintptr_t>(address);
  endpoint->address = first;
  endpoint->allocation.reset();
  const std::scoped_lock lock(mutex_);
  const auto after = live_.upper_bound(first);
  if (after != live_.begin()) {
    const std::shared_ptr<Allocation> &candidate = std::prev(after)->second;
    const AddressEntry &entry = candidate->entry();
    if (first < entry.end) {
      if (size_bytes > entry.end - first) {
        return fail(EMU_ERROR_INVALID_POINTER, "{} bytes at {} run over the end of an allocation of {} bytes at {:#x}",
                    size_bytes, address, entry.end - entry.begin, entry.begin);
      }
      endpoint->allocation = candidate;
      return EMU_SUCCESS;
    }
  }
  AddressEntry known;
  if (index_.find(first, &known)) {
    return fail(EMU_ERROR_INVALID_POINTER, "{} is in memory that was freed ({} bytes at {:#x})", address,
                known.end - known.begin, known.begin);
  }
  if (after != live_.end() && size_bytes > after->first - first) {
    return fail(EMU_ERROR_INVALID_POINTER, "{} bytes of host memory at {} run into an allocation at {:#x}", size_bytes,
                address, after->first);
  }
  return EMU_SUCCESS;
}

uint64_t MemoryTable::bytes_in_use(int32_t device) {
  const std::scoped_lock lock(mutex_);
  return bytes_in_use_[static_cast<size_t>(device)];
}

}  // namespace emurt

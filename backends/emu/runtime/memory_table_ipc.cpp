// SPDX-License-Identifier: BSD-3-Clause
// Allocations lent to other processes, and theirs mapped here.
#include <utility>

#include "runtime/error.h"
#include "runtime/memory_table.h"

namespace emurt {

emu_result_t MemoryTable::export_allocation(const void *address, ExportedMemory *exported) {
  const std::scoped_lock lock(mutex_);
  const auto after = live_.upper_bound(reinterpret_cast<uintptr_t>(address));
  Allocation *allocation = after == live_.begin() ? nullptr : std::prev(after)->second.get();
  if (allocation == nullptr || reinterpret_cast<uintptr_t>(address) >= allocation->entry().end) {
    return fail(EMU_ERROR_NOT_SUPPORTED, "export of {}: not an allocation of this runtime", address);
  }
  const AddressEntry &entry = allocation->entry();
  if (entry.kind != EMU_MEMORY_DEVICE || allocation->is_imported_) {
    return fail(EMU_ERROR_NOT_SUPPORTED, "export of {}: {}; only memory of emu_malloc_device can be exported", address,
                allocation->is_imported_ ? "memory of another process" : "host or shared memory");
  }
  if (!allocation->export_slot_) {
    uint32_t slot = 0;
    const emu_result_t result = ledger_.publish(entry.allocation_id, &slot);
    if (result != EMU_SUCCESS) return result;
    allocation->export_slot_ = slot;
  }
  *exported = {files_[static_cast<size_t>(entry.device)].descriptor(),
               ledger_.descriptor(),
               *allocation->export_slot_,
               entry.device,
               allocation->file_offset_,
               entry.end - entry.begin,
               entry.allocation_id};
  return EMU_SUCCESS;
}

emu_result_t MemoryTable::import_allocation(const ExportedMemory &exported, int32_t device, void **memory) {
  const size_t mapped_bytes = whole_pages(exported.size_bytes);
  const std::scoped_lock lock(mutex_);
  AddressRange view;
  AddressRange alias;
  bool is_reused = false;
  emu_result_t result = take_address_range(mapped_bytes, page_bytes(), &view, &is_reused);
  if (result != EMU_SUCCESS) return result;
  result = AddressRange::map_alias(exported.memory_descriptor, exported.file_offset, mapped_bytes, &alias);
  if (result == EMU_SUCCESS) result = view.map_inaccessible_file(exported.memory_descriptor, exported.file_offset);
  if (result != EMU_SUCCESS) {
    if (is_reused) quarantine(std::move(view));
    return result;
  }
  const AddressEntry entry{view.begin(), view.begin() + exported.size_bytes, ++last_id_, EMU_MEMORY_DEVICE, device};
  *memory = view.memory();
  live_.emplace(entry.begin, std::make_shared<Allocation>(entry, std::move(view), std::move(alias), 0, true));
  index_.put(entry);
  return EMU_SUCCESS;
}

}  // namespace emurt

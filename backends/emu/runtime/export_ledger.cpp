// SPDX-License-Identifier: BSD-3-Clause
// The ledger's memory file.
#include "runtime/export_ledger.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "runtime/error.h"

namespace emurt {
namespace {

// Exported allocations that live at the same time.
constexpr uint32_t kSlots = 1U << 16U;
constexpr size_t kFileBytes = kSlots * sizeof(uint64_t);

}  // namespace

ExportLedger::~ExportLedger() {
  if (slots_ != nullptr) munmap(slots_, kFileBytes);
  if (descriptor_ >= 0) close(descriptor_);
}

emu_result_t ExportLedger::publish(uint64_t allocation_id, uint32_t *slot) {
  if (slots_ == nullptr) {
    if (descriptor_ < 0) descriptor_ = memfd_create("emu-export-ledger", MFD_CLOEXEC);
    if (descriptor_ < 0 || ftruncate(descriptor_, kFileBytes) != 0) {
      return fail(EMU_ERROR_SYSTEM, "memfd_create refused{}; raise the limit of open files", system_error_words(errno));
    }
    void *memory = mmap(nullptr, kFileBytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
    if (memory == MAP_FAILED) return fail(EMU_ERROR_OUT_OF_MEMORY, "mmap refused{}", system_error_words(errno));
    slots_ = static_cast<uint64_t *>(memory);
  }
  if (free_.empty() && capacity_ == kSlots) {
    return fail(EMU_ERROR_NOT_SUPPORTED, "{} allocations are exported already; free some", kSlots);
  }
  if (free_.empty()) {
    *slot = capacity_++;
  } else {
    *slot = free_.back();
    free_.pop_back();
  }
  std::atomic_ref(slots_[*slot]).store(allocation_id);
  return EMU_SUCCESS;
}

void ExportLedger::withdraw(uint32_t slot) {
  std::atomic_ref(slots_[slot]).store(0);
  free_.push_back(slot);
}

bool ExportLedger::is_live(int descriptor, uint32_t slot, uint64_t allocation_id) {
  uint64_t id = 0;
  const auto offset = static_cast<off_t>(slot * sizeof id);
  return pread(descriptor, &id, sizeof id, offset) == static_cast<ssize_t>(sizeof id) && id == allocation_id;
}

}  // namespace emurt

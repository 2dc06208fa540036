// SPDX-License-Identifier: BSD-3-Clause
// Writes and reads handles.
#include "runtime/ipc_handle.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "../../process_identity.h"
#include "runtime/error.h"

namespace emurt {
namespace {

constexpr uint32_t kMagic = 0x49554D45;  // "EMUI"
constexpr uint32_t kVersion = 1;
constexpr uint64_t kMaxBytes = uint64_t{1} << 46U;

// What lies in emu_ipc_handle_t; the rest of it is 0.
struct Layout {
  uint32_t magic;
  uint32_t checksum;  // of all that follows
  uint32_t version;
  int32_t pid;
  uint64_t start_time;
  uint32_t pid_namespace;
  int32_t memory_descriptor;  // the exporter's numbers of its files
  int32_t ledger_descriptor;
  uint32_t ledger_slot;
  uint64_t file_system;  // of both files
  uint64_t memory_inode;
  uint64_t ledger_inode;
  uint64_t file_offset;
  uint64_t size_bytes;
  uint64_t allocation_id;
  int32_t device;
  uint32_t zero;
};
static_assert(sizeof(Layout) <= sizeof(emu_ipc_handle_t) && std::is_trivially_copyable_v<Layout>);

uint32_t checksum_of(const emu_ipc_handle_t &handle) {
  constexpr size_t kFrom = offsetof(Layout, version);
  return sluice::backends::handle_checksum(handle.bytes + kFrom, sizeof handle.bytes - kFrom);
}

// EMU_SUCCESS when the bytes are a handle that is in itself right.
emu_result_t read_layout(const emu_ipc_handle_t &handle, Layout *layout) {
  std::memcpy(layout, handle.bytes, sizeof *layout);
  if (layout->magic != kMagic || layout->checksum != checksum_of(handle) || layout->version != kVersion) {
    return fail(EMU_ERROR_INVALID_VALUE, "these bytes are no handle of emu_ipc_export, or one of another version");
  }
  const uint64_t page_mask = page_bytes() - 1;
  if (layout->pid <= 0 || layout->memory_descriptor < 0 || layout->ledger_descriptor < 0 || layout->size_bytes == 0 ||
      layout->size_bytes > kMaxBytes || layout->file_offset > kMaxBytes || (layout->file_offset & page_mask) != 0) {
    return fail(EMU_ERROR_INVALID_VALUE, "these bytes are no handle of emu_ipc_export: a value out of its range");
  }
  return EMU_SUCCESS;
}

// Who this process is; without that no handle can be made or read.
emu_result_t look_at_self(sluice::backends::ProcessIdentity *self) {
  *self = sluice::backends::this_process();
  if (self->start_time != 0 && self->pid_namespace != 0) return EMU_SUCCESS;
  const std::string unseen = sluice::backends::why_unseen(self->pid, self->start_time);
  return fail(EMU_ERROR_NOT_SUPPORTED, "memory of other processes: {}",
              unseen.empty() ? "/proc shows no name space of process numbers" : unseen);
}

// Opens the exporter's file; *status is what it is now.
emu_result_t open_file(int32_t pid, int32_t number, int flags, int *descriptor, struct stat *status) {
  const std::string path = fmt::format("/proc/{}/fd/{}", pid, number);
  *descriptor = open(path.c_str(), flags | O_CLOEXEC);
  if (*descriptor >= 0 && fstat(*descriptor, status) == 0) return EMU_SUCCESS;
  const int error_number = errno;
  if (error_number == EACCES || error_number == EPERM) {
    return fail(EMU_ERROR_NOT_SUPPORTED,
                "open of {} refused{}; both processes must be the same user's and dumpable (ptrace permission)", path,
                system_error_words(error_number));
  }
  if (error_number == ENOENT) {
    return fail(EMU_ERROR_INVALID_POINTER, "process {} has ended or has closed the memory", pid);
  }
  return fail(EMU_ERROR_SYSTEM, "open of {} refused ({})", path, sluice::backends::system_reason(error_number));
}

}  // namespace

OpenedExport::~OpenedExport() {
  if (memory_.memory_descriptor >= 0) close(memory_.memory_descriptor);
  if (memory_.ledger_descriptor >= 0) close(memory_.ledger_descriptor);
}

emu_result_t OpenedExport::open(const emu_ipc_handle_t &handle) {
  Layout layout{};
  emu_result_t result = read_layout(handle, &layout);
  if (result != EMU_SUCCESS) return result;
  sluice::backends::ProcessIdentity self;
  result = look_at_self(&self);
  if (result != EMU_SUCCESS) return result;
  if (layout.pid_namespace != self.pid_namespace) {
    return fail(EMU_ERROR_NOT_SUPPORTED,
                "the exporter runs in another name space of process numbers (a container of its own)");
  }
  if (layout.pid == self.pid && layout.start_time == self.start_time) {
    return fail(EMU_ERROR_INVALID_VALUE, "the handle is of this process itself; use the pointer");
  }
  const std::string unseen = sluice::backends::why_unseen(layout.pid, layout.start_time);
  if (!unseen.empty()) return fail(EMU_ERROR_INVALID_POINTER, "the memory's exporter: {}", unseen);
  pid_ = layout.pid;
  memory_.ledger_slot = layout.ledger_slot;
  memory_.device = layout.device;
  memory_.file_offset = layout.file_offset;
  memory_.size_bytes = layout.size_bytes;
  memory_.allocation_id = layout.allocation_id;
  struct stat memory = {};
  struct stat ledger = {};
  result = open_file(pid_, layout.memory_descriptor, O_RDWR, &memory_.memory_descriptor, &memory);
  if (result == EMU_SUCCESS) {
    result = open_file(pid_, layout.ledger_descriptor, O_RDONLY, &memory_.ledger_descriptor, &ledger);
  }
  if (result != EMU_SUCCESS) return result;
  const bool is_same = memory.st_dev == layout.file_system && memory.st_ino == layout.memory_inode &&
                       ledger.st_dev == layout.file_system && ledger.st_ino == layout.ledger_inode;
  if (!is_same || static_cast<uint64_t>(memory.st_size) < layout.file_offset + whole_pages(layout.size_bytes)) {
    return fail(EMU_ERROR_INVALID_POINTER, "the memory of process {} that the handle names is no longer there", pid_);
  }
  return check_live();
}

emu_result_t OpenedExport::check_live() const {
  if (ExportLedger::is_live(memory_.ledger_descriptor, memory_.ledger_slot, memory_.allocation_id)) return EMU_SUCCESS;
  return fail(EMU_ERROR_INVALID_POINTER, "process {} has freed the memory", pid_);
}

emu_result_t write_handle(const ExportedMemory &memory, emu_ipc_handle_t *handle) {
  struct stat memory_status = {};
  struct stat ledger_status = {};
  if (fstat(memory.memory_descriptor, &memory_status) != 0 || fstat(memory.ledger_descriptor, &ledger_status) != 0) {
    return fail(EMU_ERROR_SYSTEM, "fstat of the device's memory file refused{}; a program closed it",
                system_error_words(errno));
  }
  sluice::backends::ProcessIdentity self;
  const emu_result_t result = look_at_self(&self);
  if (result != EMU_SUCCESS) return result;
  Layout layout{};
  layout.magic = kMagic;
  layout.version = kVersion;
  layout.pid = self.pid;
  layout.start_time = self.start_time;
  layout.pid_namespace = self.pid_namespace;
  layout.memory_descriptor = memory.memory_descriptor;
  layout.ledger_descriptor = memory.ledger_descriptor;
  layout.ledger_slot = memory.ledger_slot;
  layout.file_system = memory_status.st_dev;
  layout.memory_inode = memory_status.st_ino;
  layout.ledger_inode = ledger_status.st_ino;
  layout.file_offset = memory.file_offset;
  layout.size_bytes = memory.size_bytes;
  layout.allocation_id = memory.allocation_id;
  layout.device = memory.device;
  emu_ipc_handle_t made = {};
  std::memcpy(made.bytes, &layout, sizeof layout);
  layout.checksum = checksum_of(made);
  std::memcpy(made.bytes, &layout, sizeof layout);
  *handle = made;
  return EMU_SUCCESS;
}

}  // namespace emurt

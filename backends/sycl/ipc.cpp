// SPDX-License-Identifier: BSD-3-Clause
// Owns the handles that the runtime made for memory of this process, and the memory of others that is mapped here.
#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <sycl/ext/oneapi/experimental/ipc_memory.hpp>
#include <type_traits>

#include "../process_identity.h"
#include "native_range.h"
#include "runtime.h"

namespace sluice::backends::sycl {

namespace {

namespace native_ipc = ::sycl::ext::oneapi::experimental::ipc;

constexpr uint32_t kMagic = 0x43495953;  // "SYIC"
// Handles of this process that are remembered; the one unused for longest goes first.
constexpr size_t kMaxExports = 4096;

// What lies in sluice_ipc_handle_t. The runtime's part is 104 bytes long where it was seen.
struct Layout {
  uint32_t magic;
  int32_t pid;
  uint32_t process;  // checksum of what else tells the process from others
  uint16_t checksum;
  uint16_t native_bytes;
  uint64_t offset;  // of the address that the runtime's part stands for, from the allocation's first byte
  std::byte native[104];
};
static_assert(sizeof(Layout) == sizeof(sluice_ipc_handle_t) && std::is_trivially_copyable_v<Layout>);

uint16_t checksum_of(Layout layout) {
  layout.checksum = 0;
  const uint32_t sum = handle_checksum(&layout, sizeof layout);
  return static_cast<uint16_t>(sum ^ (sum >> 16U));
}

uint32_t process_checksum(const ProcessIdentity &process) {
  const uint64_t words[] = {process.start_time, process.pid_namespace};
  return handle_checksum(words, sizeof words);
}

sluice_result_t check_aspect(const ::sycl::device &device) {
  if (device.has(::sycl::aspect::ext_oneapi_ipc_memory)) return SLUICE_SUCCESS;
  return fail(SLUICE_ERROR_UNSUPPORTED,
              "device " + device.get_info<::sycl::info::device::name>() + " has no aspect ext_oneapi_ipc_memory");
}

// ---- export ----

// A handle as it was given out. Where handles hold something of the driver's it is kept as long as this.
struct Exported {
  NativeRange range;
  sluice_ipc_handle_t handle{};
  std::optional<native_ipc::handle> held;
  uint64_t last_use = 0;
};

std::mutex g_exports_mutex;
uint64_t g_n_uses = 0;

using ExportKey = std::pair<const KnownContext *, std::uintptr_t>;

std::map<ExportKey, Exported> &exports() {
  // Never destroyed: at exit the runtime may be gone before this module.
  static auto *all = new std::map<ExportKey, Exported>();
  return *all;
}

void drop(std::map<ExportKey, Exported>::iterator entry) {
  std::optional<native_ipc::handle> held = entry->second.held;
  const ::sycl::context &context = entry->first.first->context;
  exports().erase(entry);
  if (held.has_value()) native_ipc::memory::put(*held, context);
}

void drop_oldest() {
  const auto oldest = std::ranges::min_element(
      exports(), {}, [](const std::pair<const ExportKey, Exported> &entry) { return entry.second.last_use; });
  if (oldest != exports().end()) drop(oldest);
}

// Whatever the runtime's reason is, the memory cannot be exported.
sluice_result_t refuse(const ::sycl::exception &error) {
  return fail(SLUICE_ERROR_UNSUPPORTED, std::string("ipc::memory::get: ") + error.what());
}

// The runtime's handle of the memory at `address`, wrapped.
sluice_result_t make_export(const Found &found, const void *address, Exported *made) {
  const ::sycl::context &context = found.context->context;
  native_ipc::handle native = native_ipc::memory::get(const_cast<void *>(address), context);
  const native_ipc::handle_data_t data = native.data();
  Layout layout{};
  // CUDA's handles hold nothing of the driver's: their bytes stay good.
  if (context.get_backend() == ::sycl::backend::ext_oneapi_cuda) {
    native_ipc::memory::put(native, context);
  } else {
    made->held = native;
  }
  if (data.size() > sizeof layout.native) {
    return fail(SLUICE_ERROR_UNSUPPORTED, "the runtime's handle has " + std::to_string(data.size()) +
                                              " bytes; this version of Sluice has place for 104");
  }
  const ProcessIdentity self = this_process();
  layout.magic = kMagic;
  layout.pid = self.pid;
  layout.process = process_checksum(self);
  layout.native_bytes = static_cast<uint16_t>(data.size());
  layout.offset = reinterpret_cast<std::uintptr_t>(address) - made->range.begin;
  std::copy(data.begin(), data.end(), layout.native);
  layout.checksum = checksum_of(layout);
  std::memcpy(made->handle.bytes, &layout, sizeof layout);
  return SLUICE_SUCCESS;
}

sluice_result_t export_found(const Found &found, const void *address, Exported *exported) {
  NativeRange range;
  if (!find_native_range(found.context->context, address, &range)) {
    return fail(SLUICE_ERROR_UNSUPPORTED, "the driver under the runtime does not say where an allocation begins");
  }
  const std::scoped_lock lock(g_exports_mutex);
  const ExportKey key{found.context, range.begin};
  const auto known = exports().find(key);
  if (known != exports().end()) {
    known->second.last_use = ++g_n_uses;
    *exported = known->second;
    if (known->second.range.id == range.id && range.id != 0) return SLUICE_SUCCESS;
    drop(known);  // another allocation was there
  }
  if (exports().size() >= kMaxExports) drop_oldest();
  Exported made;
  made.range = range;
  const sluice_result_t result = make_export(found, address, &made);
  if (result != SLUICE_SUCCESS) return result;
  made.last_use = ++g_n_uses;
  exports().insert_or_assign(key, made);
  *exported = made;
  return SLUICE_SUCCESS;
}

// ---- open ----

struct Mapping {
  int32_t device;
  void *native;  // as the runtime gave it, for giving it back
};

std::mutex g_mappings_mutex;

// Two handles of one allocation may give the same address.
std::multimap<void *, Mapping> &mappings() {
  static auto *all = new std::multimap<void *, Mapping>();
  return *all;
}

sluice_result_t read_layout(const sluice_ipc_handle_t &handle, Layout *layout) {
  std::memcpy(layout, handle.bytes, sizeof *layout);
  if (layout->magic != kMagic || layout->checksum != checksum_of(*layout) ||
      layout->native_bytes > sizeof layout->native) {
    return fail(SLUICE_ERROR_INVALID_ARGUMENT, "these bytes are no handle of this backend, or one of another version");
  }
  const ProcessIdentity self = this_process();
  if (layout->pid == self.pid && layout->process == process_checksum(self)) {
    return fail(SLUICE_ERROR_INVALID_ARGUMENT, "the handle is of this process itself; use the pointer");
  }
  return SLUICE_SUCCESS;
}

}  // namespace

sluice_result_t ipc_export(const void *address, sluice_ipc_handle_t *handle, uint64_t *base_offset,
                           uint64_t *size_bytes) {
  if (handle == nullptr || base_offset == nullptr || size_bytes == nullptr)
    return fail(SLUICE_ERROR_INVALID_ARGUMENT, "ipc_export: null pointer");
  return guarded("ipc::memory::get", [&] {
    const Runtime *runtime = Runtime::if_in_use();
    const Found found = runtime != nullptr && address != nullptr ? find_allocation(*runtime, address) : Found{};
    if (found.kind != ::sycl::usm::alloc::device) {
      return fail(SLUICE_ERROR_UNSUPPORTED,
                  "the address is in no device allocation; host and shared memory have no handle for other processes");
    }
    sluice_result_t result = check_aspect(::sycl::get_pointer_device(address, found.context->context));
    Exported exported;
    try {
      if (result == SLUICE_SUCCESS) result = export_found(found, address, &exported);
    } catch (const ::sycl::exception &error) {
      return refuse(error);
    }
    if (result != SLUICE_SUCCESS) return result;
    *handle = exported.handle;
    *base_offset = reinterpret_cast<std::uintptr_t>(address) - exported.range.begin;
    *size_bytes = exported.range.size_bytes;
    return SLUICE_SUCCESS;
  });
}

sluice_result_t ipc_open(int32_t device, const sluice_ipc_handle_t *handle, void **base) {
  if (handle == nullptr || base == nullptr) return fail(SLUICE_ERROR_INVALID_ARGUMENT, "ipc_open: null pointer");
  Layout layout{};
  sluice_result_t result = check_device(device);
  if (result == SLUICE_SUCCESS) result = read_layout(*handle, &layout);
  if (result != SLUICE_SUCCESS) return result;
  return guarded("ipc::memory::open", [&] {
    const Runtime &runtime = Runtime::start();
    const ::sycl::device &user = runtime.devices()[static_cast<size_t>(device)];
    const sluice_result_t has_aspect = check_aspect(user);
    if (has_aspect != SLUICE_SUCCESS) return has_aspect;
    const native_ipc::handle_data_t data(layout.native, layout.native + layout.native_bytes);
    void *native = native_ipc::memory::open(data, runtime.default_context(device).context, user);
    if (native == nullptr) return fail(SLUICE_ERROR_NATIVE, "ipc::memory::open gave no address");
    *base = static_cast<std::byte *>(native) - layout.offset;
    const std::scoped_lock lock(g_mappings_mutex);
    mappings().insert({*base, {device, native}});
    return SLUICE_SUCCESS;
  });
}

// While the process exits the memory is left to its end.
sluice_result_t ipc_close(int32_t device, void *base) {
  if (is_exiting()) return SLUICE_SUCCESS;
  const sluice_result_t known = check_device(device);
  if (known != SLUICE_SUCCESS) return known;
  return guarded("ipc::memory::close", [&] {
    void *native = nullptr;
    {
      const std::scoped_lock lock(g_mappings_mutex);
      const auto [first, last] = mappings().equal_range(base);
      const auto found = std::find_if(first, last, [&](const auto &entry) { return entry.second.device == device; });
      if (found == last) {
        return fail(SLUICE_ERROR_INVALID_ARGUMENT,
                    "this address was not opened by ipc_open for device " + std::to_string(device) + ", or is closed");
      }
      native = found->second.native;
      mappings().erase(found);
    }
    native_ipc::memory::close(native, Runtime::start().default_context(device).context);
    return SLUICE_SUCCESS;
  });
}

}  // namespace sluice::backends::sycl

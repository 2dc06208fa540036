// SPDX-License-Identifier: BSD-3-Clause
// Owns the choice of a mechanism, the handles that were made for memory of this process, and the memory of others that
// is mapped here.
#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <sycl/ext/oneapi/experimental/ipc_memory.hpp>

#include "ipc_handle.h"
#include "level_zero_ipc.h"
#include "native_range.h"
#include "runtime.h"
#include "waits.h"

namespace sluice::backends::sycl {

namespace {

namespace native_ipc = ::sycl::ext::oneapi::experimental::ipc;

// Handles of this process that are remembered; the one unused for longest goes first.
constexpr size_t kMaxExports = 4096;

sluice_result_t pass_on(const Outcome &outcome) {
  return outcome.is_success() ? SLUICE_SUCCESS : fail(outcome.result, outcome.text);
}

// ---- the choice ----

// SLUICE_SUCCESS when memory of `device` can go by that mechanism, or be mapped for it.
sluice_result_t check_mechanism(const ::sycl::device &device, Mechanism mechanism) {
  const std::string_view knob = knob_text("SLUICE_SYCL_IPC");
  const bool is_extension = mechanism == Mechanism::kExtension;
  const std::string_view word = is_extension ? "extension" : "level_zero";
  if (!is_extension && mechanism != Mechanism::kLevelZero) {
    return fail(SLUICE_ERROR_UNSUPPORTED, "the handle is of mechanism " + std::to_string(static_cast<int>(mechanism)) +
                                              ", which this version of Sluice does not know");
  }
  if (knob != "auto" && knob != word) {
    return fail(SLUICE_ERROR_UNSUPPORTED,
                "SLUICE_SYCL_IPC is " + std::string(knob) + ", which forbids " + std::string(word));
  }
  const bool has_it = is_extension ? device.has(::sycl::aspect::ext_oneapi_ipc_memory)
                                   : device.get_backend() == ::sycl::backend::ext_oneapi_level_zero;
  if (has_it) return SLUICE_SUCCESS;
  return fail(SLUICE_ERROR_UNSUPPORTED,
              "device " + device.get_info<::sycl::info::device::name>() +
                  (is_extension ? " has no aspect ext_oneapi_ipc_memory" : " is not one of Level Zero"));
}

// The best mechanism that is there; else the reason why there is none.
sluice_result_t choose_mechanism(const ::sycl::device &device, Mechanism *mechanism) {
  *mechanism = Mechanism::kLevelZero;
  const bool is_level_zero = device.get_backend() == ::sycl::backend::ext_oneapi_level_zero;
  const bool has_aspect = device.has(::sycl::aspect::ext_oneapi_ipc_memory);
  const std::string_view knob = knob_text("SLUICE_SYCL_IPC");
  if (knob == "extension" || (knob != "level_zero" && (has_aspect || !is_level_zero))) {
    *mechanism = Mechanism::kExtension;
  }
  return check_mechanism(device, *mechanism);
}

// ---- export ----

// A handle as it was given out. Where handles hold something of the driver's it is kept as long as this.
struct Exported {
  Mechanism mechanism = Mechanism::kExtension;
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
sluice_result_t export_by_extension(const ::sycl::context &context, const void *address, Exported *made) {
  native_ipc::handle native = native_ipc::memory::get(const_cast<void *>(address), context);
  const native_ipc::handle_data_t data = native.data();
  // Seen where the driver's own call failed: the runtime says nothing, and its handle is empty.
  if (data.empty()) return fail(SLUICE_ERROR_UNSUPPORTED, "ipc::memory::get gave an empty handle");
  // CUDA's handles hold nothing of the driver's: their bytes stay good.
  if (context.get_backend() == ::sycl::backend::ext_oneapi_cuda) {
    native_ipc::memory::put(native, context);
  } else {
    made->held = native;
  }
  const uint64_t offset = reinterpret_cast<std::uintptr_t>(address) - made->range.begin;
  return pass_on(
      write_handle(Mechanism::kExtension, data.data(), data.size(), offset, made->range.size_bytes, &made->handle));
}

// Names the allocation from its first byte on.
sluice_result_t export_by_level_zero(const ::sycl::context &context, Exported *made) {
  const level_zero::Calls *calls = nullptr;
  level_zero::MemoryName name{};
  Outcome outcome = level_zero::find_calls_of_process(&calls);
  if (outcome.is_success()) {
    outcome = level_zero::export_memory(*calls, level_zero_context(context), made->range, &name);
  }
  if (!outcome.is_success()) return pass_on(outcome);
  return pass_on(write_handle(Mechanism::kLevelZero, &name, sizeof name, 0, made->range.size_bytes, &made->handle));
}

// The runtime has no handle of memory that another has allocated (OpenMP's runtime, Level Zero's calls, a context that
// was not registered); Level Zero's own call names all memory of its driver.
bool may_stand_in(const ::sycl::device &device, Mechanism refused) {
  return refused == Mechanism::kExtension && knob_text("SLUICE_SYCL_IPC") == "auto" &&
         device.get_backend() == ::sycl::backend::ext_oneapi_level_zero;
}

sluice_result_t export_found(const Found &found, const void *address, Mechanism mechanism, Exported *exported) {
  const ::sycl::context &context = found.context->context;
  NativeRange range;
  sluice_result_t result = pass_on(find_native_range(context, address, &range));
  if (result != SLUICE_SUCCESS) return result;
  const std::scoped_lock lock(g_exports_mutex);
  const ExportKey key{found.context, range.begin};
  const auto known = exports().find(key);
  if (known != exports().end()) {
    known->second.last_use = ++g_n_uses;
    *exported = known->second;
    const bool is_way = known->second.mechanism == mechanism || knob_text("SLUICE_SYCL_IPC") == "auto";
    const bool is_same = known->second.range.id == range.id && is_way;
    if (is_same && range.id != 0) return SLUICE_SUCCESS;
    drop(known);  // another allocation was there
  }
  if (exports().size() >= kMaxExports) drop_oldest();
  Exported made;
  made.mechanism = mechanism;
  made.range = range;
  result = mechanism == Mechanism::kExtension ? export_by_extension(context, address, &made)
                                              : export_by_level_zero(context, &made);
  if (result != SLUICE_SUCCESS && made.held.has_value()) native_ipc::memory::put(*made.held, context);
  if (result != SLUICE_SUCCESS) return result;
  made.last_use = ++g_n_uses;
  exports().insert_or_assign(key, made);
  *exported = made;
  return SLUICE_SUCCESS;
}

sluice_result_t try_export(const Found &found, const void *address, Mechanism mechanism, Exported *exported) {
  try {
    return export_found(found, address, mechanism, exported);
  } catch (const ::sycl::exception &error) {
    return refuse(error);
  }
}

// ---- open ----

struct Mapping {
  int32_t device;
  Mechanism mechanism;
  void *native;  // as the runtime gave it, for giving it back
};

std::mutex g_mappings_mutex;

// Two handles of one allocation may give the same address.
std::multimap<void *, Mapping> &mappings() {
  static auto *all = new std::multimap<void *, Mapping>();
  return *all;
}

sluice_result_t open_by_extension(const HandleContent &content, const ::sycl::context &context,
                                  const ::sycl::device &device, void **native) {
  const native_ipc::handle_data_t data(content.native.begin(),
                                       content.native.begin() + static_cast<std::ptrdiff_t>(content.native_bytes));
  *native = native_ipc::memory::open(data, context, device);
  if (*native == nullptr) return fail(SLUICE_ERROR_NATIVE, "ipc::memory::open gave no address");
  return SLUICE_SUCCESS;
}

sluice_result_t open_by_level_zero(const HandleContent &content, const ::sycl::context &context,
                                   const ::sycl::device &device, void **native) {
  level_zero::MemoryName name{};
  if (content.native_bytes != sizeof name) {
    return fail(SLUICE_ERROR_INVALID_ARGUMENT, "these bytes are no handle of this backend, or one of another version");
  }
  std::memcpy(&name, content.native.data(), sizeof name);
  const level_zero::Calls *calls = nullptr;
  Outcome outcome = level_zero::find_calls_of_process(&calls);
  if (outcome.is_success()) {
    outcome = level_zero::open_memory(*calls, level_zero_context(context), level_zero_device(device), name, native);
  }
  return pass_on(outcome);
}

sluice_result_t close_native(const Mapping &mapping, const ::sycl::context &context) {
  if (mapping.mechanism == Mechanism::kExtension) {
    native_ipc::memory::close(mapping.native, context);
    return SLUICE_SUCCESS;
  }
  const level_zero::Calls *calls = nullptr;
  Outcome outcome = level_zero::find_calls_of_process(&calls);
  if (outcome.is_success()) outcome = level_zero::close_memory(*calls, level_zero_context(context), mapping.native);
  return pass_on(outcome);
}

// Where the allocation begins that was mapped `offset` bytes before `native`, and how much of it is there, by the
// driver's word: the offset is the handle's.
// What is less than the exporter's is a share of memory that a driver has cut into pieces.
Outcome find_bounds(const ::sycl::context &context, void *native, const HandleContent &content, void **base,
                    uint64_t *size_bytes) {
  NativeRange range;
  Outcome outcome = find_native_range(context, native, &range);
  if (!outcome.is_success()) return outcome;
  const auto address = reinterpret_cast<std::uintptr_t>(native);
  const std::uintptr_t before = address - range.begin;
  if (before >= range.size_bytes || content.offset > before) {
    return {SLUICE_ERROR_INVALID_ARGUMENT, "these bytes are no handle of this backend: their offset leaves the memory"};
  }
  *base = static_cast<std::byte *>(native) - content.offset;
  *size_bytes = range.size_bytes - (before - content.offset);
  if (*size_bytes >= content.least_bytes) return {};
  return {SLUICE_ERROR_UNSUPPORTED, "the driver mapped " + std::to_string(*size_bytes) + " of " +
                                        std::to_string(content.least_bytes) +
                                        " bytes; where devices have several tiles, set ZE_FLAT_DEVICE_HIERARCHY=FLAT"};
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
    Mechanism mechanism{};
    const ::sycl::device device = ::sycl::get_pointer_device(address, found.context->context);
    sluice_result_t result = choose_mechanism(device, &mechanism);
    Exported exported;
    if (result == SLUICE_SUCCESS) result = try_export(found, address, mechanism, &exported);
    if (result != SLUICE_SUCCESS && may_stand_in(device, mechanism)) {
      const std::string first = error_text();
      result = try_export(found, address, Mechanism::kLevelZero, &exported);
      if (result != SLUICE_SUCCESS) return fail(result, first + "; " + error_text());
    }
    if (result != SLUICE_SUCCESS) return result;
    *handle = exported.handle;
    *base_offset = reinterpret_cast<std::uintptr_t>(address) - exported.range.begin;
    *size_bytes = exported.range.size_bytes;
    return SLUICE_SUCCESS;
  });
}

sluice_result_t ipc_open(int32_t device, const sluice_ipc_handle_t *handle, void **base, uint64_t *size_bytes) {
  const sluice_result_t given = check_opening(handle, base, size_bytes);
  if (given != SLUICE_SUCCESS) return given;
  run_releases();
  HandleContent content;
  sluice_result_t result = check_device(device);
  if (result == SLUICE_SUCCESS) result = pass_on(read_handle(*handle, &content));
  if (result != SLUICE_SUCCESS) return result;
  return guarded("ipc::memory::open", [&] {
    const Runtime &runtime = Runtime::start();
    const ::sycl::device &user = runtime.devices()[static_cast<size_t>(device)];
    const ::sycl::context &context = runtime.default_context(device).context;
    sluice_result_t opened = check_mechanism(user, content.mechanism);
    if (opened != SLUICE_SUCCESS) return opened;
    // Under the CUDA adapter the runtime keeps mappings that were closed, and ends one for good when it opens another:
    // for that the driver waits until the device is idle (docs/adr/0032).
    std::optional<Quiet> quiet;
    if (context.get_backend() == ::sycl::backend::ext_oneapi_cuda) quiet.emplace();
    if (quiet.has_value() && !quiet->is_kept()) {
      return fail(SLUICE_NOT_READY, "no memory is mapped while a stream of the program's waits for a message");
    }
    void *native = nullptr;
    opened = content.mechanism == Mechanism::kExtension ? open_by_extension(content, context, user, &native)
                                                        : open_by_level_zero(content, context, user, &native);
    if (opened != SLUICE_SUCCESS) return opened;
    const Mapping mapping{device, content.mechanism, native};
    const Outcome found = find_bounds(context, native, content, base, size_bytes);
    if (!found.is_success()) {
      const sluice_result_t closed = close_native(mapping, context);
      return closed == SLUICE_SUCCESS ? pass_on(found) : closed;
    }
    const std::scoped_lock lock(g_mappings_mutex);
    mappings().insert({*base, mapping});
    return SLUICE_SUCCESS;
  });
}

// While the process exits the memory is left to its end.
sluice_result_t ipc_close(int32_t device, void *base) {
  if (is_exiting()) return SLUICE_SUCCESS;
  const sluice_result_t known = check_device(device);
  if (known != SLUICE_SUCCESS) return known;
  Mapping mapping{};
  {
    const std::scoped_lock lock(g_mappings_mutex);
    const auto [first, last] = mappings().equal_range(base);
    const auto found = std::find_if(first, last, [&](const auto &entry) { return entry.second.device == device; });
    if (found == last) {
      return fail(SLUICE_ERROR_INVALID_ARGUMENT,
                  "this address was not opened by ipc_open for device " + std::to_string(device) + ", or is closed");
    }
    mapping = found->second;
    mappings().erase(found);
  }
  return give_back([device, mapping] {
    return guarded("ipc::memory::close",
                   [&] { return close_native(mapping, Runtime::start().default_context(device).context); });
  });
}

void stop_exports() {
  level_zero::stop_serving();
  const std::scoped_lock lock(g_exports_mutex);
  std::erase_if(exports(), [](const auto &entry) { return entry.second.mechanism == Mechanism::kLevelZero; });
}

}  // namespace sluice::backends::sycl

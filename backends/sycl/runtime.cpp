// SPDX-License-Identifier: BSD-3-Clause
// Owns the list of devices and of contexts, and the question whether the runtime is in use at all.
#include "runtime.h"

#include <link.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <tuple>

#include "device_choice.h"

namespace sluice::backends::sycl {

namespace {

std::atomic<Runtime *> g_runtime{nullptr};

// The runtime loads its adapters when a program first asks for a device.
constexpr const char *kAdapterName = "/libur_adapter_";

int look_for_adapter(dl_phdr_info *library, size_t /*size*/, void *found) {
  if (library->dlpi_name == nullptr || std::strstr(library->dlpi_name, kAdapterName) == nullptr) return 0;
  *static_cast<bool *>(found) = true;
  return 1;
}

int read_load_count(dl_phdr_info *library, size_t /*size*/, void *count) {
  *static_cast<unsigned long long *>(count) = library->dlpi_adds;
  return 1;
}

// Looks through the list of libraries only when it has grown since the last look.
bool has_adapter() {
  static std::atomic<unsigned long long> g_last_count{0};
  unsigned long long count = 0;
  dl_iterate_phdr(read_load_count, &count);
  if (count == g_last_count.load(std::memory_order_relaxed)) return false;
  bool found = false;
  dl_iterate_phdr(look_for_adapter, &found);
  if (!found) g_last_count.store(count, std::memory_order_relaxed);
  return found;
}

// Native drivers before layers on top of them: one device that several platforms offer is listed once, by the first.
int rank_of(::sycl::backend backend) {
  switch (backend) {
    case ::sycl::backend::ext_oneapi_level_zero:
      return 0;
    case ::sycl::backend::ext_oneapi_cuda:
      return 1;
    case ::sycl::backend::ext_oneapi_hip:
      return 2;
    case ::sycl::backend::opencl:
      return 3;
    default:
      return 4;
  }
}

// The same text for the same piece of hardware, whichever platform shows it.
std::string identity_of(const ::sycl::device &device) {
  if (device.has(::sycl::aspect::ext_intel_pci_address))
    return device.get_info<::sycl::ext::intel::info::device::pci_address>();
  return device.get_info<::sycl::info::device::vendor>() + "/" + device.get_info<::sycl::info::device::name>();
}

struct Candidate {
  ::sycl::device device;
  std::string identity;
};

std::vector<Candidate> candidates() {
  std::vector<Candidate> found;
  std::vector<::sycl::platform> platforms = ::sycl::platform::get_platforms();
  std::ranges::stable_sort(platforms, {}, [](const ::sycl::platform &p) { return rank_of(p.get_backend()); });
  for (const ::sycl::platform &platform : platforms) {
    for (const ::sycl::device &device : platform.get_devices()) {
      if (!device.has(::sycl::aspect::usm_device_allocations)) continue;
      const std::string identity = identity_of(device);
      const bool is_listed = std::ranges::any_of(found, [&](const Candidate &earlier) {
        return earlier.identity == identity && earlier.device.get_platform() != platform;
      });
      if (!is_listed) found.push_back({device, identity});
    }
  }
  std::ranges::stable_sort(found, {}, [](const Candidate &c) { return c.device.is_gpu() ? 0 : 1; });
  const bool has_gpu = !found.empty() && found.front().device.is_gpu();
  const std::string_view knob = knob_text("SLUICE_SYCL_DEVICES");
  std::erase_if(found,
                [&](const Candidate &c) { return !is_chosen(knob, {c.device.is_gpu(), c.device.is_cpu()}, has_gpu); });
  return found;
}

}  // namespace

Runtime &Runtime::start() {
  static std::mutex mutex;
  if (Runtime *runtime = g_runtime.load(std::memory_order_acquire)) return *runtime;
  const std::scoped_lock lock(mutex);
  if (Runtime *runtime = g_runtime.load(std::memory_order_acquire)) return *runtime;
  // Never destroyed: at exit the runtime may be gone before this module.
  auto *runtime = new Runtime();
  g_runtime.store(runtime, std::memory_order_release);
  return *runtime;
}

Runtime *Runtime::if_in_use() {
  if (Runtime *runtime = g_runtime.load(std::memory_order_acquire)) return runtime;
  return has_adapter() ? &start() : nullptr;
}

Runtime::Runtime() {
  list_devices();
  for (const ::sycl::device &device : devices_) {
    const ::sycl::context context = device.get_platform().khr_get_default_context();
    add_context(context);
    size_t i = 0;
    while (contexts_[i]->context != context) ++i;
    context_of_device_.push_back(i);
  }
  n_default_contexts_ = n_contexts();
}

void Runtime::list_devices() {
  for (const Candidate &candidate : candidates()) {
    const ::sycl::device &device = candidate.device;
    devices_.push_back(device);
    uint32_t traits = device.is_cpu() ? SLUICE_DEVICE_COPIES_BY_CPU : 0;
    const bool is_off = knob_text("SLUICE_SYCL_IPC") == "off";
    const bool is_plain_cpu = device.is_cpu() && !device.has(::sycl::aspect::ext_oneapi_ipc_memory);
    if (is_off || is_plain_cpu) traits |= SLUICE_DEVICE_NO_EXPORT;
    traits_.push_back(traits);
  }
}

const KnownContext &Runtime::default_context(int32_t device) const {
  return *contexts_[context_of_device_[static_cast<size_t>(device)]];
}

int32_t Runtime::index_of(const ::sycl::device &device) const {
  const auto found = std::ranges::find(devices_, device);
  if (found != devices_.end()) return static_cast<int32_t>(found - devices_.begin());
  if (device.get_info<::sycl::info::device::partition_type_property>() ==
      ::sycl::info::partition_property::no_partition)
    return -1;
  return index_of(device.get_info<::sycl::info::device::parent_device>());
}

bool Runtime::add_context(const ::sycl::context &context) {
  static std::mutex mutex;
  const std::scoped_lock lock(mutex);
  const size_t n = n_contexts();
  for (size_t i = 0; i < n; ++i) {
    if (contexts_[i]->context == context) return true;
  }
  if (n == kMaxContexts) return false;
  auto known = std::make_unique<KnownContext>(KnownContext{context, context.get_backend(), {}});
  for (const ::sycl::device &device : context.get_devices()) known->devices.emplace_back(device, index_of(device));
  contexts_[n] = std::move(known);
  n_contexts_.store(n + 1, std::memory_order_release);
  return true;
}

}  // namespace sluice::backends::sycl

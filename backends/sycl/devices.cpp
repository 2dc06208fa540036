// SPDX-License-Identifier: BSD-3-Clause
// Which devices the runtime shows, and what they are.
#include <algorithm>
#include <cctype>

#include "../numa_node.h"
#include "runtime.h"

namespace sluice::backends::sycl {

namespace {

template <size_t n>
void store(char (&to)[n], const std::string &text) {
  to[text.copy(to, n - 1)] = '\0';
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

void fill(const ::sycl::device &device, sluice_device_info_t *info) {
  *info = {};
  info->numa_node = -1;
  store(info->name, device.get_info<::sycl::info::device::name>());
  store(info->runtime, device.get_platform().get_info<::sycl::info::platform::name>() + ", driver " +
                           device.get_info<::sycl::info::device::driver_version>());
  info->memory_bytes = device.get_info<::sycl::info::device::global_mem_size>();
  if (!device.has(::sycl::aspect::ext_intel_pci_address)) return;
  const std::string pci_address = lower(device.get_info<::sycl::ext::intel::info::device::pci_address>());
  store(info->pci_address, pci_address);
  info->numa_node = numa_node_of(pci_address);
}

}  // namespace

int32_t device_count() {
  int32_t count = 0;
  const sluice_result_t result = guarded("get_platforms", [&] {
    count = static_cast<int32_t>(Runtime::start().devices().size());
    return SLUICE_SUCCESS;
  });
  if (result == SLUICE_SUCCESS && count == 0) {
    fail(SLUICE_ERROR_NO_DEVICE,
         "the runtime shows no device; look at ONEAPI_DEVICE_SELECTOR, SLUICE_SYCL_DEVICES and, for the CPU device, "
         "OCL_ICD_FILENAMES");
  }
  return count;
}

sluice_result_t check_device(int32_t device) {
  const int32_t count = device_count();
  if (device >= 0 && device < count) return SLUICE_SUCCESS;
  return fail(SLUICE_ERROR_NO_DEVICE,
              "there is no device " + std::to_string(device) + "; the runtime shows " + std::to_string(count));
}

sluice_result_t device_info(int32_t device, sluice_device_info_t *info) {
  const sluice_result_t known = check_device(device);
  if (known != SLUICE_SUCCESS) return known;
  return guarded("get_info", [&] {
    fill(Runtime::start().devices()[static_cast<size_t>(device)], info);
    return SLUICE_SUCCESS;
  });
}

uint32_t device_traits(int32_t device) {
  const Runtime *runtime = Runtime::if_in_use();
  const bool is_known = runtime != nullptr && device >= 0 && static_cast<size_t>(device) < runtime->devices().size();
  return is_known ? runtime->traits(device) : 0;
}

}  // namespace sluice::backends::sycl

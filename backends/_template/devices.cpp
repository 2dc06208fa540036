// SPDX-License-Identifier: BSD-3-Clause
// Which devices there are.
#include "module.h"

namespace sluice::backends::template_backend {

// As the runtime numbers them in this process (after its own masks of visible devices). 0 when it does not say.
int32_t device_count() {
  return 0;
}

// Name, driver with version, PCI address in lower case, NUMA node (from /sys/bus/pci/devices/<address>/numa_node when
// the runtime does not say), memory. Every text ends with a zero. An index out of range: SLUICE_ERROR_NO_DEVICE.
sluice_result_t device_info(int32_t /*device*/, sluice_device_info_t * /*info*/) {
  return fail(SLUICE_ERROR_NO_DEVICE, "the template has no device");
}

}  // namespace sluice::backends::template_backend

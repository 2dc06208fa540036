// SPDX-License-Identifier: BSD-3-Clause
// Staging memory of a module whose runtime pins pages: shared pages of this process, mapped by the module itself.
// Shared, because a private page that is written after a fork moves away from the device. The runtime's own host memory
// would go when the program resets the device, and a host MPI cannot always read that memory with process_vm_readv.
#pragma once

#include <cstddef>
#include <functional>

#include "module_state.h"

namespace sluice::backends {

struct Pages {
  void *base;
  size_t size_bytes;
};

// Maps pages for `size_bytes`, has `pin` pin them, and keeps them by the address that it gives out: *memory, a multiple
// of `alignment` (0: of a page). Errors leave nothing mapped. Blocks while the pages are touched. Any thread.
sluice_result_t acquire_pages(size_t size_bytes, size_t alignment,
                              const std::function<sluice_result_t(const Pages &)> &pin, void **memory);
// The pages of an address that acquire_pages() gave out, which it keeps no more: they are the caller's to unpin and to
// unmap. Any thread.
sluice_result_t release_pages(void *memory, Pages *pages);
sluice_result_t unmap_pages(const Pages &pages);

}  // namespace sluice::backends

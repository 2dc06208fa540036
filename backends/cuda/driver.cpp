// SPDX-License-Identifier: BSD-3-Clause
// Owns the search for the vendor's driver library and for each of its functions.
#include "driver.h"

#include <dlfcn.h>

namespace sluice::backends::cuda {

namespace {

constexpr const char *kLibrary = "libcuda.so.1";

#define SLUICE_CUDA_QUOTED(name) #name
#define SLUICE_CUDA_VERSIONED(name) SLUICE_CUDA_QUOTED(name)

template <typename Function>
bool find(void *library, const char *name, Function *function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

}  // namespace

std::string open_driver(Driver *driver, bool load) {
  void *library = dlopen(kLibrary, RTLD_NOW | (load ? 0 : RTLD_NOLOAD));
  if (library == nullptr) {
    const char *why = dlerror();
    return std::string(kLibrary) + (load ? " cannot be loaded: " : " is not in this process: ") +
           (why != nullptr ? why : "no program has loaded it") + "; install the GPU driver or use another backend";
  }
  // The handle is never closed: the driver must outlive every call that a late destructor of the program makes.
  // Appended, not added up: of such sums GCC 12 warns wrongly (-Warray-bounds) with precompiled headers.
#define SLUICE_CUDA_FIND(name)                                    \
  if (!find(library, SLUICE_CUDA_VERSIONED(name), &driver->name)) \
    return std::string(kLibrary).append(                          \
        " has no " SLUICE_CUDA_VERSIONED(name) "; this backend needs a driver for toolkit 12.0 or later");
  SLUICE_CUDA_REQUIRED(SLUICE_CUDA_FIND)
#undef SLUICE_CUDA_FIND
#define SLUICE_CUDA_FIND(name) find(library, SLUICE_CUDA_VERSIONED(name), &driver->name);
  SLUICE_CUDA_OPTIONAL(SLUICE_CUDA_FIND)
  SLUICE_CUDA_COMPARED(SLUICE_CUDA_FIND)
#undef SLUICE_CUDA_FIND
  return {};
}

std::string native_text(const Driver &driver, const char *call, CUresult result) {
  const char *name = nullptr;
  const char *text = nullptr;
  const bool named = driver.cuGetErrorName != nullptr && driver.cuGetErrorName(result, &name) == CUDA_SUCCESS;
  const bool told = driver.cuGetErrorString != nullptr && driver.cuGetErrorString(result, &text) == CUDA_SUCCESS;
  std::string out = std::string(call) + ": ";
  out += named && name != nullptr ? name : "error " + std::to_string(static_cast<int>(result));
  if (told && text != nullptr) out += std::string(" (") + text + ")";
  return out;
}

}  // namespace sluice::backends::cuda

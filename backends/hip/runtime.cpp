// SPDX-License-Identifier: BSD-3-Clause
// Owns the search for the vendor's runtime library and for each of its functions.
#include "runtime.h"

#include <dlfcn.h>

namespace sluice::backends::hip {

namespace {

// A process has one of them; the newest is tried first when none is there yet.
constexpr const char *kLibraries[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"};

template <typename Function>
bool find(void *library, const char *name, Function *function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

void *find_library(int mode) {
  for (const char *name : kLibraries) {
    if (void *library = dlopen(name, mode); library != nullptr) return library;
  }
  return nullptr;
}

}  // namespace

std::string open_runtime(Runtime *runtime, bool load) {
  // The handle is never closed: the runtime must outlive every call that a late destructor of the program makes.
  void *library = find_library(RTLD_NOW | (load ? 0 : RTLD_NOLOAD));
  if (library == nullptr) {
    const char *why = dlerror();
    return std::string("libamdhip64.so of release 5, 6 or 7") +
           (load ? " cannot be loaded: " : " is not in this process: ") +
           (why != nullptr ? why : "no program has loaded it") + "; install ROCm's runtime or use another backend";
  }
#define SLUICE_HIP_FIND(name)                \
  if (!find(library, #name, &runtime->name)) \
    return "the HIP runtime has no " #name "; this backend needs release 5.2 or later";
  SLUICE_HIP_REQUIRED(SLUICE_HIP_FIND)
  SLUICE_HIP_FIND(hipMalloc)
  SLUICE_HIP_FIND(hipMallocManaged)
  SLUICE_HIP_FIND(hipHostMalloc)
#undef SLUICE_HIP_FIND
#define SLUICE_HIP_FIND(name) find(library, #name, &runtime->name);
  SLUICE_HIP_OPTIONAL(SLUICE_HIP_FIND)
#undef SLUICE_HIP_FIND
  return {};
}

std::string native_text(const Runtime &runtime, const char *call, hipError_t result) {
  const char *name = runtime.hipGetErrorName != nullptr ? runtime.hipGetErrorName(result) : nullptr;
  const char *text = runtime.hipGetErrorString != nullptr ? runtime.hipGetErrorString(result) : nullptr;
  std::string out = std::string(call) + ": ";
  out += name != nullptr ? name : "error " + std::to_string(static_cast<int>(result));
  if (text != nullptr) out += std::string(" (") + text + ")";
  return out;
}

}  // namespace sluice::backends::hip

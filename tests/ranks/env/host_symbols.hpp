// SPDX-License-Identifier: BSD-3-Clause
// The host MPI's own functions, past Sluice.
#pragma once

#include <dlfcn.h>
#include <link.h>

#include <cstring>
#include <string>

namespace sluice::tests {

// The host MPI's library; null when none is loaded. The caller closes it.
inline void *host_library() {
  std::string path;
  dl_iterate_phdr(
      [](dl_phdr_info *library, size_t /*size*/, void *found) {
        const char *name = library->dlpi_name != nullptr ? library->dlpi_name : "";
        for (const char *known : {"/libmpich.so", "/libmpi.so", "/libmpi_abi.so"}) {
          if (std::strstr(name, known) != nullptr) *static_cast<std::string *>(found) = name;
        }
        return 0;
      },
      &path);
  return dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
}

}  // namespace sluice::tests

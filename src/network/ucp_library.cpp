// SPDX-License-Identifier: BSD-3-Clause
#include "network/ucp_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "base/library_function.hpp"

namespace sluice::network {
namespace {

constexpr const char *kLibrary = "libucp.so.0";

bool find_all(void *handle, UcpLibrary *library) {
  return find_function(handle, "ucp_get_version", &library->get_version) &&
         find_function(handle, "ucp_init_version", &library->init_version) &&
         find_function(handle, "ucp_config_read", &library->config_read) &&
         find_function(handle, "ucp_config_release", &library->config_release) &&
         find_function(handle, "ucp_cleanup", &library->cleanup) &&
         find_function(handle, "ucp_worker_create", &library->worker_create) &&
         find_function(handle, "ucp_worker_destroy", &library->worker_destroy) &&
         find_function(handle, "ucp_worker_get_address", &library->worker_get_address) &&
         find_function(handle, "ucp_worker_release_address", &library->worker_release_address) &&
         find_function(handle, "ucp_worker_progress", &library->worker_progress) &&
         find_function(handle, "ucp_ep_create", &library->ep_create) &&
         find_function(handle, "ucp_tag_send_nbx", &library->tag_send) &&
         find_function(handle, "ucp_tag_recv_nbx", &library->tag_recv) &&
         find_function(handle, "ucp_request_cancel", &library->request_cancel) &&
         find_function(handle, "ucp_request_free", &library->request_free) &&
         find_function(handle, "ucp_mem_map", &library->mem_map) &&
         find_function(handle, "ucp_mem_unmap", &library->mem_unmap) &&
         find_function(handle, "ucp_mem_query", &library->mem_query) &&
         find_function(handle, "ucs_status_string", &library->status_string);
}

// 1.13 ends a process over what happens to its partner (tests/network); 1.14 to 1.22 do not.
bool is_new_enough(const UcpLibrary &library) {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  library.get_version(&major, &minor, &release);
  constexpr unsigned kMinor = 14;
  return major > 1 || (major == 1 && minor >= kMinor);
}

}  // namespace

Status UcpLibrary::load(UcpLibrary *library) {
  void *handle = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char *reason = dlerror();
    return Status::error(ErrorKind::kUnsupported,
                         fmt::format("UCX cannot be loaded ({}); install UCX 1.14 or newer, or set "
                                     "SLUICE_NETWORK=off",
                                     reason != nullptr ? reason : kLibrary));
  }
  if (find_all(handle, library) && is_new_enough(*library)) return {};
  return Status::error(ErrorKind::kUnsupported,
                       fmt::format("{} is older than UCX 1.14, which ends a process whose partner is gone; install a "
                                   "newer one, or set SLUICE_NETWORK=off",
                                   kLibrary));
}

}  // namespace sluice::network

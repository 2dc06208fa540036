// SPDX-License-Identifier: BSD-3-Clause
// The functions of UCX's libucp, found by name at run time; nothing is linked to it.
#pragma once

#include <ucp/api/ucp.h>

#include "base/status.hpp"

namespace sluice::network {

struct UcpLibrary {
  decltype(&ucp_get_version) get_version = nullptr;
  decltype(&ucp_init_version) init_version = nullptr;
  decltype(&ucp_config_read) config_read = nullptr;
  decltype(&ucp_config_release) config_release = nullptr;
  decltype(&ucp_cleanup) cleanup = nullptr;
  decltype(&ucp_worker_create) worker_create = nullptr;
  decltype(&ucp_worker_destroy) worker_destroy = nullptr;
  decltype(&ucp_worker_get_address) worker_get_address = nullptr;
  decltype(&ucp_worker_release_address) worker_release_address = nullptr;
  decltype(&ucp_worker_progress) worker_progress = nullptr;
  decltype(&ucp_ep_create) ep_create = nullptr;
  decltype(&ucp_tag_send_nbx) tag_send = nullptr;
  decltype(&ucp_tag_recv_nbx) tag_recv = nullptr;
  decltype(&ucp_request_cancel) request_cancel = nullptr;
  decltype(&ucp_request_free) request_free = nullptr;
  decltype(&ucp_mem_map) mem_map = nullptr;
  decltype(&ucp_mem_unmap) mem_unmap = nullptr;
  decltype(&ucp_mem_query) mem_query = nullptr;
  decltype(&ucs_status_string) status_string = nullptr;

  // The system's, a wheel's, or the one that is in the process already. It stays loaded: its handlers and hooks do not
  // bear being unloaded. Any thread. Blocks while it is read. Errors: kUnsupported: not there, or older than 1.14.
  [[nodiscard]] static Status load(UcpLibrary *library);
};

}  // namespace sluice::network

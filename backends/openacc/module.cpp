// SPDX-License-Identifier: BSD-3-Clause
// The table of this memory module, and its errors.
#include "program.h"

namespace sluice::backends::openacc {
namespace {

sluice_result_t init(const sluice_host_services_t * /*services*/) {
  return open_runtime();
}

void fini() {}

sluice_backend_t make_table() {
  sluice_backend_t table{};  // what a program needs, and no more
  table.api_version = SLUICE_BACKEND_API_VERSION;
  table.struct_size = sizeof(sluice_backend_t);
  table.name = "openacc";
  table.init = init;
  table.fini = fini;
  table.last_error = error_text;
  table.device_count = device_count;
  table.device_info = device_info;
  table.device_traits = device_traits;
  table.query_pointer = query_pointer;
  table.host_alloc = host_alloc;
  table.host_free = host_free;
  table.queue_create = queue_create;
  table.queue_destroy = queue_destroy;
  table.enqueue_copies = enqueue_copies;
  table.enqueue_ticket = enqueue_ticket;
  table.wait_ticket = wait_ticket;
  table.program_set_device = program_set_device;
  table.program_alloc = program_alloc;
  table.program_free = program_free;
  table.program_copy = program_copy;
  table.program_synchronize = program_synchronize;
  return table;
}

}  // namespace

}  // namespace sluice::backends::openacc

extern "C" __attribute__((visibility("default"))) const sluice_backend_t *sluice_backend_table() {
  static const sluice_backend_t table = sluice::backends::openacc::make_table();
  return &table;
}

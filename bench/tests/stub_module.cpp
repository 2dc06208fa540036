// SPDX-License-Identifier: BSD-3-Clause
// A device module for tests: its "device memory" is host memory, so that the program side of sluice-bench can be
// tested where no device is. Knobs: SLUICE_STUB_MEMORY_BYTES, SLUICE_STUB_FLIP_COPY (the number of the copy, counted
// from 1, in which the last byte comes out wrong; 0: none), SLUICE_STUB_LEAK (1: what is freed stays in use),
// SLUICE_STUB_DEVICES (0 or 1), SLUICE_STUB_CHECK (what its kernel that checks memory does: right; blind: finds
// nothing; idle: nothing at all; none: there is none), SLUICE_STUB_WORK (the same of its kernel that computes: right,
// idle, none), SLUICE_STUB_PACK (its kernel that packs: right; flip: a bit of the last byte comes out wrong; none:
// there is none).
#include <sluice/testing/probe.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string_view>
#include <vector>

#include "backends/memory_check.h"
#include "backends/packing.h"
#include "work.hpp"

namespace {

constexpr std::size_t kAlignment = 256;
constexpr sluice_backend_knob_t kKnobs[] = {
    {"SLUICE_STUB_MEMORY_BYTES", "68719476736", "memory of the stub device in bytes"},
    {"SLUICE_STUB_FLIP_COPY", "0", "number of the copy to spoil, from 1; 0: none"},
    {"SLUICE_STUB_LEAK", "0", "1: what is freed stays in use"},
    {"SLUICE_STUB_DEVICES", "1", "number of devices, 0 or 1"},
    {"SLUICE_STUB_CHECK", "right", "right, blind, idle or none"},
    {"SLUICE_STUB_WORK", "right", "right, idle or none"},
    {"SLUICE_STUB_PACK", "right", "right, flip or none"}};

const sluice_host_services_t *host_services = nullptr;
thread_local const char *error_text = "";
std::atomic<long long> n_copies{0};

// Program memory, and how much of it.
struct Ledger {
  std::mutex mutex;
  std::map<void *, uint64_t> sizes;
  uint64_t bytes_in_use = 0;
};

Ledger &ledger() {
  static auto *const all = new Ledger();
  return *all;
}

long long knob_value(const sluice_backend_knob_t &knob) {
  return std::strtoll(host_services->knob(knob.name), nullptr, 10);
}

sluice_result_t init(const sluice_host_services_t *services) {
  host_services = services;
  return SLUICE_SUCCESS;
}

const char *last_error() {
  return error_text;
}

int32_t device_count() {
  return static_cast<int32_t>(knob_value(kKnobs[3]));
}

sluice_result_t device_info(int32_t device, sluice_device_info_t *info) {
  if (device != 0) {
    return SLUICE_ERROR_NO_DEVICE;
  }
  *info = {};
  std::snprintf(info->name, sizeof info->name, "stub device");
  std::snprintf(info->runtime, sizeof info->runtime, "none");
  info->numa_node = -1;
  info->memory_bytes = static_cast<uint64_t>(knob_value(kKnobs[0]));
  return SLUICE_SUCCESS;
}

sluice_result_t allocate(size_t size_bytes, size_t alignment, void **memory) {
  *memory = std::aligned_alloc(alignment, (size_bytes + alignment - 1) / alignment * alignment);
  error_text = *memory == nullptr ? "aligned_alloc: no memory" : "";
  return *memory == nullptr ? SLUICE_ERROR_OUT_OF_MEMORY : SLUICE_SUCCESS;
}

sluice_result_t host_alloc(int32_t, size_t size_bytes, size_t alignment, void **memory) {
  return allocate(size_bytes, alignment != 0 ? alignment : kAlignment, memory);
}

sluice_result_t host_free(int32_t, void *memory) {
  std::free(memory);
  return SLUICE_SUCCESS;
}

// Queues that are always idle: what is enqueued is done at once.
sluice_result_t queue_create(int32_t, sluice_queue_t **queue) {
  static char any;
  *queue = reinterpret_cast<sluice_queue_t *>(&any);
  return SLUICE_SUCCESS;
}

sluice_result_t queue_destroy(sluice_queue_t *) {
  return SLUICE_SUCCESS;
}

sluice_result_t copy_bytes(void *dst, const void *src, size_t size_bytes) {
  std::memcpy(dst, src, size_bytes);
  if (++n_copies == knob_value(kKnobs[1]) && size_bytes > 0) {
    static_cast<unsigned char *>(dst)[size_bytes - 1] ^= 1U;
  }
  return SLUICE_SUCCESS;
}

sluice_result_t enqueue_copies(sluice_queue_t *, const sluice_copy_t *copies, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    copy_bytes(copies[i].dst, copies[i].src, copies[i].size_bytes);
  }
  return SLUICE_SUCCESS;
}

int32_t can_pack(int32_t device) {
  return device == 0 && std::string_view(host_services->knob(kKnobs[6].name)) != "none" ? 1 : 0;
}

sluice_result_t enqueue_pack(sluice_queue_t *, const sluice_pack_t *pack) {
  sluice::kernels::PackTask task;
  const sluice::backends::Outcome made = sluice::backends::make_pack_task(pack, &task);
  if (!made.is_success()) {
    error_text = "enqueue_pack: wrong arguments";
    return made.result;
  }
  constexpr size_t kItems = 3;
  for (size_t item = 0; item < kItems; ++item) sluice::kernels::pack_share(task, item, kItems);
  if (pack->direction == SLUICE_PACK && std::string_view(host_services->knob(kKnobs[6].name)) == "flip") {
    static_cast<unsigned char *>(pack->beside)[pack->size_bytes - 1] ^= 1U;
  }
  return SLUICE_SUCCESS;
}

sluice_result_t device_alloc(int32_t, size_t size_bytes, void **memory) {
  return allocate(size_bytes, kAlignment, memory);
}

sluice_result_t device_free(int32_t, void *memory) {
  std::free(memory);
  return SLUICE_SUCCESS;
}

sluice_result_t enqueue_ticket(sluice_queue_t *, uint64_t *ticket) {
  *ticket = 1;
  return SLUICE_SUCCESS;
}

sluice_result_t test_ticket(sluice_queue_t *, uint64_t) {
  return SLUICE_SUCCESS;
}

sluice_result_t program_set_device(int32_t device) {
  return device == 0 ? SLUICE_SUCCESS : SLUICE_ERROR_NO_DEVICE;
}

sluice_result_t program_alloc(sluice_memory_kind_t, size_t size_bytes, void **memory) {
  const sluice_result_t result = allocate(size_bytes, kAlignment, memory);
  const std::scoped_lock lock(ledger().mutex);
  ledger().sizes[*memory] = size_bytes;
  ledger().bytes_in_use += size_bytes;
  return result;
}

sluice_result_t program_free(void *memory) {
  {
    const std::scoped_lock lock(ledger().mutex);
    if (knob_value(kKnobs[2]) == 0) ledger().bytes_in_use -= ledger().sizes[memory];
    ledger().sizes.erase(memory);
  }
  std::free(memory);
  return SLUICE_SUCCESS;
}

sluice_result_t program_synchronize() {
  return SLUICE_SUCCESS;
}

sluice_result_t memory_in_use(int32_t, uint64_t *size_bytes) {
  const std::scoped_lock lock(ledger().mutex);
  *size_bytes = ledger().bytes_in_use;
  return SLUICE_SUCCESS;
}

sluice_result_t check_memory(const sluice_memory_check_t *check, sluice_check_finding_t *finding) {
  using sluice::backends::CheckTables;
  const std::string_view way = host_services->knob(kKnobs[4].name);
  const sluice::backends::Outcome known = sluice::backends::examine_check(check, finding);
  if (!known.is_success() || way == "none") {
    error_text = way == "none" ? "the stub has no such kernel" : "check_memory: wrong arguments";
    return way == "none" ? SLUICE_ERROR_UNSUPPORTED : known.result;
  }
  constexpr size_t kItems = 3;
  std::vector<uint64_t> tables(CheckTables::size_bytes(*check, kItems) / sizeof(uint64_t));
  const sluice::kernels::CheckTask task = CheckTables::fill(*check, kItems, tables.data());
  for (size_t item = 0; item < kItems && way != "idle"; ++item) sluice::kernels::check_share(task, item, kItems);
  *finding = CheckTables::finding(task.shares, kItems);
  if (way == "blind") finding->first_wrong = UINT64_MAX;
  return SLUICE_SUCCESS;
}

}  // namespace

struct sluice_work {
  uint64_t result = 0;
};

namespace {

sluice_result_t work_create(sluice_work_t **work) {
  if (std::string_view(host_services->knob(kKnobs[5].name)) == "none") {
    error_text = "the stub has no kernel that computes";
    return SLUICE_ERROR_UNSUPPORTED;
  }
  *work = new sluice_work;
  return SLUICE_SUCCESS;
}

sluice_result_t work_enqueue(sluice_work_t *work, uint64_t n_steps) {
  const bool is_idle = std::string_view(host_services->knob(kKnobs[5].name)) == "idle";
  sluice::kernels::work_share({is_idle ? 0 : n_steps, &work->result}, 0, 1);
  return SLUICE_SUCCESS;
}

sluice_result_t work_wait(sluice_work_t *work, uint64_t *result) {
  if (result != nullptr) *result = work->result;
  return SLUICE_SUCCESS;
}

sluice_result_t work_destroy(sluice_work_t *work) {
  delete work;
  return SLUICE_SUCCESS;
}

sluice_backend_t make_table() {
  sluice_backend_t table{};  // a program needs no more than this
  table.api_version = SLUICE_BACKEND_API_VERSION;
  table.struct_size = sizeof(sluice_backend_t);
  table.name = "stub";
  table.knobs = kKnobs;
  table.n_knobs = sizeof kKnobs / sizeof kKnobs[0];
  table.init = init;
  table.last_error = last_error;
  table.device_count = device_count;
  table.device_info = device_info;
  table.host_alloc = host_alloc;
  table.host_free = host_free;
  table.queue_create = queue_create;
  table.queue_destroy = queue_destroy;
  table.enqueue_copies = enqueue_copies;
  table.enqueue_ticket = enqueue_ticket;
  table.test_ticket = test_ticket;
  table.wait_ticket = test_ticket;
  table.can_pack = can_pack;
  table.enqueue_pack = enqueue_pack;
  table.device_alloc = device_alloc;
  table.device_free = device_free;
  table.program_set_device = program_set_device;
  table.program_alloc = program_alloc;
  table.program_free = program_free;
  table.program_copy = copy_bytes;
  table.program_synchronize = program_synchronize;
  return table;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const sluice_backend_t *sluice_backend_table() {
  static const sluice_backend_t table = make_table();
  return &table;
}

extern "C" __attribute__((visibility("default"))) const sluice_probe_t *sluice_backend_probe() {
  static const sluice_probe_t probe = {SLUICE_PROBE_API_VERSION,
                                       sizeof(sluice_probe_t),
                                       memory_in_use,
                                       check_memory,
                                       work_create,
                                       work_enqueue,
                                       work_wait,
                                       work_destroy};
  return &probe;
}

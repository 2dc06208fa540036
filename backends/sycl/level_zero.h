// SPDX-License-Identifier: BSD-3-Clause
// Level Zero's calls for memory that other processes read, for events, and for lists of copies. They are found in the
// loader that the runtime sits on; no header of it is needed, what is declared here is all that is used. Nothing here
// knows the runtime above.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "../outcome.h"

namespace sluice::backends::sycl {

// What the driver gave out in one piece. A runtime may have cut several allocations from it.
struct NativeRange {
  std::uintptr_t begin = 0;
  std::size_t size_bytes = 0;
  std::uint64_t id = 0;  // never used twice in a process
};

namespace level_zero {

using Context = void *;
using Device = void *;

// 0 is success; errors have their highest hexadecimal digit 7.
using Result = std::int32_t;

// Opaque, but for its first four bytes on Linux: the number of a descriptor of the process that made it.
struct IpcHandle {
  unsigned char data[64];
};

struct AllocationProperties {
  std::int32_t structure_type = 0x17;
  void *next = nullptr;
  std::int32_t kind = 0;
  std::uint64_t id = 0;
  std::uint64_t page_size = 0;
};

struct EventPoolDescription {
  std::int32_t structure_type = 0x10;
  const void *next = nullptr;
  std::uint32_t flags = 0;  // 1: the host sees the events
  std::uint32_t count = 0;
};

struct EventDescription {
  std::int32_t structure_type = 0x11;
  const void *next = nullptr;
  std::uint32_t index = 0;   // in its pool
  std::uint32_t signal = 0;  // 4: up to the host, for whoever signals and
  std::uint32_t wait = 0;    // for whoever waits
};

// Engines of a device that take the same commands; their place in what the device answers is their ordinal.
struct QueueGroup {
  std::int32_t structure_type = 0x6;
  void *next = nullptr;
  std::uint32_t flags = 0;  // 1: kernels, 2: copies
  std::size_t longest_fill_bytes = 0;
  std::uint32_t n_engines = 0;
};

struct QueueDescription {
  std::int32_t structure_type = 0xe;
  const void *next = nullptr;
  std::uint32_t ordinal = 0;
  std::uint32_t index = 0;  // in the group; the specification says 0
  std::uint32_t flags = 0;
  std::int32_t mode = 0;  // 2: whoever executes does not wait
  std::int32_t priority = 0;
};

struct ListDescription {
  std::int32_t structure_type = 0xf;
  const void *next = nullptr;
  std::uint32_t ordinal = 0;
  std::uint32_t flags = 0;
};

struct FenceDescription {
  std::int32_t structure_type = 0x12;
  const void *next = nullptr;
  std::uint32_t flags = 0;
};

// Null: the loader has no such function.
struct Calls {
  Result (*get_properties)(Context, const void *, AllocationProperties *, Device *) = nullptr;
  Result (*get_range)(Context, const void *, void **, std::size_t *) = nullptr;
  Result (*get_ipc_handle)(Context, const void *, IpcHandle *) = nullptr;
  Result (*put_ipc_handle)(Context, IpcHandle) = nullptr;  // optional
  Result (*open_ipc_handle)(Context, Device, IpcHandle, std::uint32_t flags, void **) = nullptr;
  Result (*close_ipc_handle)(Context, const void *) = nullptr;
  Result (*create_event_pool)(Context, const EventPoolDescription *, std::uint32_t n_devices, Device *,
                              void **) = nullptr;
  Result (*destroy_event_pool)(void *) = nullptr;
  Result (*create_event)(void *pool, const EventDescription *, void **) = nullptr;
  Result (*destroy_event)(void *) = nullptr;
  Result (*signal_event)(void *) = nullptr;
  Result (*get_queue_groups)(Device, std::uint32_t *n_groups, QueueGroup *) = nullptr;
  Result (*create_queue)(Context, Device, const QueueDescription *, void **) = nullptr;
  Result (*destroy_queue)(void *) = nullptr;
  Result (*execute_lists)(void *queue, std::uint32_t n_lists, void **lists, void *fence) = nullptr;
  Result (*create_list)(Context, Device, const ListDescription *, void **) = nullptr;
  Result (*destroy_list)(void *) = nullptr;
  Result (*close_list)(void *) = nullptr;
  Result (*reset_list)(void *) = nullptr;
  Result (*append_barrier)(void *list, void *signal, std::uint32_t n_waits, void **waits) = nullptr;
  Result (*append_copy)(void *list, void *dst, const void *src, std::size_t size_bytes, void *signal,
                        std::uint32_t n_waits, void **waits) = nullptr;
  Result (*create_fence)(void *queue, const FenceDescription *, void **) = nullptr;
  Result (*destroy_fence)(void *) = nullptr;
  Result (*wait_fence)(void *, std::uint64_t timeout_ns) = nullptr;
  Result (*query_fence)(void *) = nullptr;
  Result (*reset_fence)(void *) = nullptr;
};

// The functions of a library (a file name or path) that is in this process already; SLUICE_ERROR_UNSUPPORTED when it is
// not. It is loaded by whoever initialises it: the functions of a loader that nobody initialised do nothing.
Outcome find_calls(const char *library, Calls *calls);
// Those of this process's loader, looked up once it is there. Any thread; good until the process ends.
Outcome find_calls_of_process(const Calls **calls);
// SLUICE_ERROR_UNSUPPORTED with the name of the first function that is missing for the memory of other processes.
Outcome check_ipc_calls(const Calls &calls);
// The same for events.
Outcome check_event_calls(const Calls &calls);
// The same for lists of copies.
Outcome check_list_calls(const Calls &calls);

// "zeMemOpenIpcHandle: 0x78000004 (ZE_RESULT_ERROR_INVALID_ARGUMENT)", and what it means to Sluice. Success for 0.
Outcome outcome_of(const char *call, Result native);

// The allocation that holds `address`. Any thread.
Outcome find_range(const Calls &calls, Context context, const void *address, NativeRange *range);

}  // namespace level_zero

}  // namespace sluice::backends::sycl

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The emulated device's runtime, libemurt.so: what a vendor's driver library is to its devices. A program includes
 * this, links libemurt.so (or opens it), and holds "device" memory that the CPU cannot touch: every host access to it
 * faults, every system call on it answers EFAULT. Queues are threads that run copies in order and asynchronously.
 *
 * Rules for every function
 *   Errors    An emu_result_t; on an error emu_last_error_text() of the same thread says what happened. Nothing throws,
 *             exits, aborts or prints.
 *   Threads   Any thread, any time. A queue may be destroyed only when no other thread is using it.
 *   Start     The first call starts the runtime: it reads the SLUICE_EMU_* environment (knobs.def). A wrong value is
 *             EMU_ERROR_CONFIGURATION from this and every later call.
 *   End       At process exit (after the destructors of what links this library) the queue threads are joined; copies
 *             not yet begun are dropped. Later calls answer EMU_ERROR_SHUT_DOWN.
 *   Fork      The child of a fork, when the runtime had started before, is answered EMU_ERROR_FORKED; an exec starts
 *             anew. Device memory is not inherited.
 *   Sizes     In bytes. Addresses may be interior to an allocation.
 */
#ifndef EMURT_H
#define EMURT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EMU_API __attribute__((visibility("default")))

#define EMU_VERSION_MAJOR 1
#define EMU_VERSION_MINOR 4

typedef enum emu_result {
  EMU_SUCCESS = 0,
  EMU_NOT_READY = 1,             /* emu_ticket_query: not yet; not an error */
  EMU_ERROR_OUT_OF_MEMORY = 2,   /* nothing was changed */
  EMU_ERROR_INVALID_VALUE = 3,   /* an argument out of its range */
  EMU_ERROR_INVALID_DEVICE = 4,  /* no device, or a device index out of range */
  EMU_ERROR_INVALID_POINTER = 5, /* not an allocation, freed, or the range runs over its end */
  EMU_ERROR_COPY_FAILED = 6,     /* a copy or a kernel was made to fail */
  EMU_ERROR_QUEUE_FAILED = 7,    /* a queue or ticket was made to fail, or the system gave no thread */
  EMU_ERROR_CONFIGURATION = 8,   /* a wrong SLUICE_EMU_* value, profile or fault specification */
  EMU_ERROR_SHUT_DOWN = 9,       /* the process is exiting */
  EMU_ERROR_FORKED = 10,         /* this process is a fork of one that used the runtime */
  EMU_ERROR_SYSTEM = 11,         /* the operating system refused; the text has errno's words */
  EMU_ERROR_NOT_SUPPORTED = 12   /* this memory, or another process's, cannot be shared */
} emu_result_t;

typedef enum emu_memory_kind {
  EMU_MEMORY_HOST = 0,   /* not known to the runtime */
  EMU_MEMORY_PINNED = 1, /* emu_malloc_host */
  EMU_MEMORY_DEVICE = 2, /* emu_malloc_device: no host access */
  EMU_MEMORY_SHARED = 3, /* emu_malloc_shared: host and queues */
  EMU_MEMORY_FREED = 4   /* was one of those, and its address is not in use again yet */
} emu_memory_kind_t;

typedef struct emu_device_info {
  char name[128];
  char pci_address[32]; /* empty unless the profile gives one */
  int32_t numa_node;    /* -1 when the profile gives none */
  uint64_t memory_bytes;
} emu_device_info_t;

typedef struct emu_pointer_info {
  emu_memory_kind_t kind;
  int32_t device;         /* -1 for HOST */
  uint64_t allocation_id; /* from 1, never used twice in a process; 0 for HOST */
  void *base;             /* start of the allocation; NULL for HOST */
  size_t size_bytes;      /* of the whole allocation; 0 for HOST */
} emu_pointer_info_t;

typedef struct emu_queue emu_queue_t; /* an in-order queue of one device */

typedef struct emu_copy {
  void *dst;
  const void *src;
  size_t size_bytes;
} emu_copy_t;

/* A kernel: code that a queue runs where device memory can be reached. `arguments` are the bytes that were given at the
 * launch; memory[k] is where the launch's k-th range can be reached while the kernel runs. */
typedef void (*emu_kernel_t)(const void *arguments, void *const *memory);

typedef struct emu_range {
  const void *address;
  size_t size_bytes;
} emu_range_t;

/* The text of this thread's last error, begun with its name ("EMU_ERROR_COPY_FAILED: ..."); "" when there was none.
 * Owned by the runtime, valid until this thread's next call. */
EMU_API const char *emu_last_error_text(void);

/* ---- devices ------------------------------------------------------------------------------------------------------
 */

/* Writes how many devices there are (SLUICE_EMU_MACHINE=devices=N; 0 to 16). */
EMU_API emu_result_t emu_device_count(int32_t *count);
EMU_API emu_result_t emu_device_query(int32_t device, emu_device_info_t *properties);
/* The device that emu_malloc_* and emu_queue_create of the calling thread use; 0 at first. */
EMU_API emu_result_t emu_set_device(int32_t device);
EMU_API emu_result_t emu_get_device(int32_t *device);
/* 1 once memory or a queue was made on the device (what a vendor calls a live context), else 0. Asking changes nothing.
 */
EMU_API emu_result_t emu_device_is_active(int32_t device, int *is_active);
/* Waits until the queues of the current device have run all that was enqueued before this call. */
EMU_API emu_result_t emu_device_synchronize(void);

/* ---- memory -------------------------------------------------------------------------------------------------------
 */

/* Memory of the current device, on a page boundary, zeroed. Device and shared memory count against the device's
 * memory (SLUICE_EMU_MACHINE). size_bytes: at least 1. */
EMU_API emu_result_t emu_malloc_device(size_t size_bytes, void **memory);
EMU_API emu_result_t emu_malloc_shared(size_t size_bytes, void **memory);
/* Host memory. alignment: 0 or a power of two; never less than a page. */
EMU_API emu_result_t emu_malloc_host(size_t size_bytes, size_t alignment, void **memory);
/* memory: as allocated, of any kind; NULL does nothing. Waits for a copy that is moving its bytes at this moment; a
 * copy still queued will fail. The memory goes back to the system at once. The address range stays out of use for a
 * while (quarantine_ranges of SLUICE_EMU_MACHINE), answered as EMU_MEMORY_FREED and faulting when touched. */
EMU_API emu_result_t emu_free(void *memory);
/* Makes host memory that the program has from elsewhere (a MAP_SHARED mapping, say) good for words of queues, and for
 * emu_queue_take, until emu_host_unregister is given its first address again; no command on it is pending then. It
 * stays memory of kind HOST. EMU_ERROR_INVALID_VALUE: overlaps what is registered already, or was not registered. */
EMU_API emu_result_t emu_host_register(void *memory, size_t size_bytes);
EMU_API emu_result_t emu_host_unregister(void *memory);
/* What an address is at this moment. Lock-free; tens of nanoseconds. Any address, also one never allocated. */
EMU_API emu_result_t emu_pointer_query(const void *address, emu_pointer_info_t *info);

/* The plain blocking copy: between any two addresses, direction found from them, ordered with no queue. A range that
 * leaves its allocation, or touches a freed one, is EMU_ERROR_INVALID_POINTER and nothing is copied. */
EMU_API emu_result_t emu_memcpy(void *dst, const void *src, size_t size_bytes);

/* ---- memory of other processes -------------------------------------------------------------------------------------
 */

/* A name for an allocation that another process of the same machine may open. Plain bytes; unused ones are 0. */
typedef struct emu_ipc_handle {
  unsigned char bytes[128];
} emu_ipc_handle_t;

/* Makes the handle of the device allocation that holds `address`; the same bytes each time. It is good until the
 * allocation is freed, for any number of processes. EMU_ERROR_NOT_SUPPORTED for every other kind of memory, and for
 * memory that was itself opened. */
EMU_API emu_result_t emu_ipc_export(const void *address, emu_ipc_handle_t *handle);
/* Maps the allocation for the queues of the current device: *memory is its first byte, without host access, of kind
 * DEVICE and of the device that owns it. Each call makes a mapping of its own. The exporter is reached through
 * /proc/<pid>/fd, which the system allows for processes of the same user (or with CAP_SYS_PTRACE) that are not set
 * non-dumpable; else, and in another name space of process numbers, the answer is EMU_ERROR_NOT_SUPPORTED.
 * EMU_ERROR_INVALID_VALUE: no handle, or one of this process. EMU_ERROR_INVALID_POINTER: the allocation was freed, or
 * its process has ended. An exporter that frees while others have the memory open leaves them bytes of no meaning. */
EMU_API emu_result_t emu_ipc_open(const emu_ipc_handle_t *handle, void **memory);
/* Unmaps what emu_ipc_open gave; as emu_free otherwise. */
EMU_API emu_result_t emu_ipc_close(void *memory);

/* ---- queues -------------------------------------------------------------------------------------------------------
 */

/* A queue of the current device, with a thread of its own. */
EMU_API emu_result_t emu_queue_create(emu_queue_t **queue);
/* Waits for what is queued (also on a held queue: it is released), ends the thread, frees. */
EMU_API emu_result_t emu_queue_destroy(emu_queue_t *queue);
/* Enqueue one copy, or several that may run in any order among themselves. Addresses are checked before anything is
 * enqueued; source and destination stay valid until a later ticket is done. */
EMU_API emu_result_t emu_memcpy_async(emu_queue_t *queue, void *dst, const void *src, size_t size_bytes);
EMU_API emu_result_t emu_memcpy_batch_async(emu_queue_t *queue, const emu_copy_t *copies, size_t n_copies);
/* Enqueues a kernel behind what is in the queue. `arguments` are copied; the ranges are checked before anything is
 * enqueued and stay valid until a later ticket is done. The kernel writes the first `n_written` of them, at least one,
 * and reads the others. It takes as long as the profile says that moving all other ranges to or from the 0th does, all
 * at once. */
EMU_API emu_result_t emu_launch_async(emu_queue_t *queue, emu_kernel_t kernel, const void *arguments,
                                      size_t arguments_bytes, const emu_range_t *ranges, size_t n_written,
                                      size_t n_ranges);
/* Enqueue a command on a word: 8 bytes of emu_malloc_host memory, or of memory that emu_host_register was given,
 * aligned to 8, which stay until it has run. write: stores `value`, after which whoever loads it with acquire order
 * sees what all earlier commands did. wait: later commands wait until *word >= least; they see what was done before the
 * word came to that (a store with release order). A wait ends with an error of its ticket when the word is freed, and
 * with the process. take: copies as many bytes as the lower 24 bits of *word say when the queue comes to it, but at
 * most `most_bytes`, from the beginning of that unit of `from` whose number the next 8 bits are; as a kernel otherwise,
 * but that of host memory `from` must be the runtime's own, or registered.
 */
EMU_API emu_result_t emu_queue_write64(emu_queue_t *queue, uint64_t *word, uint64_t value);
EMU_API emu_result_t emu_queue_wait64(emu_queue_t *queue, const uint64_t *word, uint64_t least);
/* Whether these would take `word`, for a kernel that does the same: enqueues nothing. */
EMU_API emu_result_t emu_queue_check_word(emu_queue_t *queue, const uint64_t *word);
/* Enqueues a function of the host's, behind what is in the queue: it runs in the queue's thread, with a copy of
 * `arguments`, and may call emu_memcpy and emu_kernel_pause. What it returns is the ticket's error. */
typedef emu_result_t (*emu_host_function_t)(const void *arguments);
EMU_API emu_result_t emu_host_function_async(emu_queue_t *queue, emu_host_function_t function, const void *arguments,
                                             size_t arguments_bytes);
/* In a kernel that waits for memory to change: gives the core away for a moment. EMU_ERROR_SHUT_DOWN: the process is
 * exiting, and the kernel is to return. EMU_ERROR_INVALID_VALUE: not called by a kernel. */
EMU_API emu_result_t emu_kernel_pause(void);
EMU_API emu_result_t emu_queue_take(emu_queue_t *queue, void *dst, emu_range_t from, size_t unit_bytes,
                                    size_t most_bytes, const uint64_t *word);
/* Enqueues: later commands of `queue` wait until `other` has run all that was enqueued there before this call, whether
 * that succeeds or not; also when `other` is destroyed meanwhile. */
EMU_API emu_result_t emu_queue_wait_queue(emu_queue_t *queue, emu_queue_t *other);
/* The device of a queue. EMU_ERROR_INVALID_VALUE for any address that is no queue, and then nothing is touched. */
EMU_API emu_result_t emu_queue_device(const emu_queue_t *queue, int32_t *device);
/* One copy in queue order, begun and finished. On an idle queue the calling thread does it, without a switch. */
EMU_API emu_result_t emu_queue_memcpy(emu_queue_t *queue, void *dst, const void *src, size_t size_bytes);
/* Marks the end of what was enqueued so far. Tickets of a queue count from 1 and are done in order. */
EMU_API emu_result_t emu_queue_record(emu_queue_t *queue, uint64_t *ticket);
/* EMU_SUCCESS, EMU_NOT_READY, or the error of the first copy that failed since the ticket before. Never blocks.
 * The answers to the last 4096 failed tickets of a queue are remembered. */
EMU_API emu_result_t emu_ticket_query(emu_queue_t *queue, uint64_t ticket);
/* Blocks until emu_ticket_query would not say EMU_NOT_READY and answers as it would. */
EMU_API emu_result_t emu_ticket_wait(emu_queue_t *queue, uint64_t ticket);
/* emu_queue_record and emu_ticket_wait in one. */
EMU_API emu_result_t emu_queue_synchronize(emu_queue_t *queue);

/* ---- graphs: what a queue was given, launched again and again as one ----------------------------------------------
 */

typedef struct emu_graph emu_graph_t;

/* From here on what the queue is given is captured and does not run; tickets and copies that are awaited are errors. */
EMU_API emu_result_t emu_queue_begin_capture(emu_queue_t *queue);
/* Ends that. Memory of the commands stays until no launch is running. */
EMU_API emu_result_t emu_queue_end_capture(emu_queue_t *queue, emu_graph_t **graph);
/* *id: of the capture under way, never used twice in a process; 0: none. */
EMU_API emu_result_t emu_queue_capture(emu_queue_t *queue, uint64_t *id);
/* Enqueues all commands of the graph, in their order. */
EMU_API emu_result_t emu_graph_launch(emu_graph_t *graph, emu_queue_t *queue);
/* Launches that are running go on. */
EMU_API emu_result_t emu_graph_destroy(emu_graph_t *graph);

/* ---- for tests ----------------------------------------------------------------------------------------------------
 */

/* Stops the queue before its next operation, until the release: an exact "not yet done". */
EMU_API emu_result_t emu_queue_hold(emu_queue_t *queue);
EMU_API emu_result_t emu_queue_release(emu_queue_t *queue);

/* Replaces the faults in force (at first those of SLUICE_EMU_FAULT) and restarts their counters. NULL or "": none.
 * A comma-separated list of:
 *   <point>:<n>     the n-th event of that kind from now on (n from 1)
 *   <point>:<n>+    that and all later ones       <point>:<n>-<m>   the n-th to the m-th
 *     alloc         device and shared allocations are out of memory
 *     host_alloc    host allocations are out of memory
 *     queue_create  queues cannot be made
 *     ticket        emu_queue_record fails
 *     copy          any copy fails, nothing is written     queue_copy   the same, of copies through a queue only
 *     flip          any copy silently changes one byte     queue_flip   the same, by a queue, from allocations
 *     lose          any copy silently moves nothing        queue_lose   the same, by a queue, from allocations
 *     kernel        a kernel fails, nothing is written     kernel_flip  a kernel silently changes one byte more
 *     kernel_reach  a kernel refuses memory of the host that is no allocation of this runtime
 *     word          a write or wait of a word fails, and a wait does not wait
 *     early         a wait does not wait, and does not tell
 *     ipc_export    memory cannot be exported              ipc_open     memory of others cannot be opened
 *   delay_us:<a>-<b>  every copy, kernel and write of a word begins late by a random time, 0 to 60000000 microseconds
 *   reorder           the copies of one batch run in a random order
 *
 * queue_flip and queue_lose spare copies out of plain host memory: there a kernel's list of blocks comes from, and a
 * kernel with a changed list ends the program.
 * A text that does not read so is EMU_ERROR_CONFIGURATION and changes nothing. */
EMU_API emu_result_t emu_set_fault(const char *specification);

/* Replaces the machine profile (at first that of SLUICE_EMU_MACHINE): a name in the folder emu_profiles beside this
 * library, or a path with a slash; NULL or "": no artificial time. Device names and memory sizes stay as they were. */
EMU_API emu_result_t emu_set_profile(const char *name_or_path);

/* How many bytes of `device`'s memory are allocated now. */
EMU_API emu_result_t emu_device_memory_in_use(int32_t device, uint64_t *size_bytes);

#ifdef __cplusplus
}
#endif

#endif /* EMURT_H */

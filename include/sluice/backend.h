/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The contract between Sluice and one vendor's runtime: a versioned table of C functions that a backend module
 * fills and hands out through one exported symbol, sluice_backend_table(). docs/adding-a-backend.md walks through it.
 * Where the rules below name the backend's page, that page is in docs/backends.
 *
 * Rules for every function of the table
 *   Errors    A sluice_result_t. On anything but SLUICE_SUCCESS (and SLUICE_NOT_READY) last_error() of the same thread
 *             names the native call and the native error text. Nothing throws, exits, aborts or prints.
 *   Threads   Any thread may call any function at any time between init() and fini(). One queue is used by one thread
 *             at a time; the caller sees to that.
 *   State     The caller's current device, current context and a stream capture in progress are as before on return.
 *             No device context is created for a device on which the program has none, except by the `program` group.
 *   Sizes     In bytes, 64 bit. Addresses may be interior to an allocation and need no alignment.
 *   Waiting   While a stream waits (stream_wait), what a runtime would make its caller wait for is answered with
 *             SLUICE_NOT_READY where the function's text says "not now"; the same call succeeds later. Nobody waits.
 *   Devices   Numbered from 0 to device_count() - 1, as the vendor's runtime numbers them in this process.
 */
#ifndef SLUICE_BACKEND_H
#define SLUICE_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#include "sluice/pack.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Raised by one whenever the layout or the meaning of a member changes. Members are only ever appended; a module
 * whose api_version differs is refused with a message that names both numbers. */
#define SLUICE_BACKEND_API_VERSION 16u

/* The symbol that every module exports, of type sluice_backend_table_fn. Further tables are optional. */
#define SLUICE_BACKEND_TABLE_SYMBOL "sluice_backend_table"

/* How a call of the table ended. */
typedef enum sluice_result {
  SLUICE_SUCCESS = 0,
  SLUICE_NOT_READY = 1,              /* not yet, or not now (see Waiting); not an error; nothing was changed */
  SLUICE_ERROR_OUT_OF_MEMORY = 2,    /* the runtime could not provide memory; nothing was changed */
  SLUICE_ERROR_INVALID_ARGUMENT = 3, /* numbers that make no sense, or an address that is none of what is asked for */
  SLUICE_ERROR_NO_DEVICE = 4,        /* no device, or a device index out of range */
  SLUICE_ERROR_UNSUPPORTED = 5,      /* the runtime or the device cannot do this */
  SLUICE_ERROR_NATIVE = 6            /* the runtime refused; last_error() has its text */
} sluice_result_t;

/* What an address is, as far as a copy cares. */
typedef enum sluice_memory_kind {
  SLUICE_MEMORY_HOST = 0,   /* ordinary memory, or memory this backend does not know */
  SLUICE_MEMORY_PINNED = 1, /* host memory that the runtime allocated or registered; the CPU may touch it */
  SLUICE_MEMORY_DEVICE = 2, /* device memory; the CPU must not touch it */
  SLUICE_MEMORY_SHARED = 3, /* managed or shared memory: CPU and device may both touch it */
  SLUICE_MEMORY_FREED = 4   /* was an allocation of this runtime and is one no more (backends that can tell) */
} sluice_memory_kind_t;

/* What query_pointer() says of an address. */
typedef struct sluice_pointer_info {
  sluice_memory_kind_t kind; /* of the memory at that address */
  int32_t device;            /* the owning device; -1 when the memory belongs to none */
  uint64_t allocation_id;    /* never used twice in a process; 0 when the runtime has no such number */
} sluice_pointer_info_t;

/* What device_info() says of a device. Texts end with a zero. */
typedef struct sluice_device_info {
  char name[128];        /* as the runtime has it; tuning tables are found by it */
  char runtime[128];     /* driver or platform, with its version */
  char pci_address[32];  /* "0000:1b:00.0"; empty when the device has none */
  int32_t numa_node;     /* -1 when unknown */
  uint64_t memory_bytes; /* 0 when unknown */
} sluice_device_info_t;

/* The memory that staging buffers are made of (CCGrid'23, section IV.A). */
typedef enum sluice_staging_memory {
  SLUICE_STAGING_MALLOC = 0,         /* C malloc */
  SLUICE_STAGING_ALIGNED = 1,        /* C aligned_alloc on 4096 bytes */
  SLUICE_STAGING_RUNTIME = 2,        /* the device runtime's host allocation */
  SLUICE_STAGING_RUNTIME_ALIGNED = 3 /* the same on 4096 bytes */
} sluice_staging_memory_t;

/* What is particular about a device and bears on the choice of a route; bits of a sum. */
typedef enum sluice_device_trait {
  /* None of its memory can ever be exported (group `ipc`). */
  SLUICE_DEVICE_NO_EXPORT = 1u,
  /* Its copies are work for the cores that send too: overlapping them gains nothing. */
  SLUICE_DEVICE_COPIES_BY_CPU = 2u,
  /* Copies inside it and copies out of another process's memory slow each other where copy engines make both: then a
   * kernel is better for the first, and for the second too where that allocation is no multiple of
   * SLUICE_LARGE_PAGE_BYTES, which is mapped in small pages. */
  SLUICE_DEVICE_CROWDED_ENGINES = 4u
} sluice_device_trait_t;
/* The length of a large page of device memory, in bytes. */
#define SLUICE_LARGE_PAGE_BYTES (2u << 20)

/* What a reduction computes with: kernels/list.hpp says the same, in the same order. Complex numbers are two numbers;
 * pairs are the C structures of MPI 4.1, section 6.9.4, whose gaps are neither read nor written. */
typedef enum sluice_element {
  SLUICE_ELEMENT_INT8 = 0,
  SLUICE_ELEMENT_UINT8 = 1,
  SLUICE_ELEMENT_INT16 = 2,
  SLUICE_ELEMENT_UINT16 = 3,
  SLUICE_ELEMENT_INT32 = 4,
  SLUICE_ELEMENT_UINT32 = 5,
  SLUICE_ELEMENT_INT64 = 6,
  SLUICE_ELEMENT_UINT64 = 7,
  SLUICE_ELEMENT_FLOAT16 = 8,
  SLUICE_ELEMENT_BFLOAT16 = 9,
  SLUICE_ELEMENT_FLOAT32 = 10,
  SLUICE_ELEMENT_FLOAT64 = 11,
  SLUICE_ELEMENT_COMPLEX_FLOAT32 = 12,
  SLUICE_ELEMENT_COMPLEX_FLOAT64 = 13,
  SLUICE_ELEMENT_PAIR_INT16 = 14, /* an int16_t and its int32_t */
  SLUICE_ELEMENT_PAIR_INT32 = 15,
  SLUICE_ELEMENT_PAIR_INT64 = 16,
  SLUICE_ELEMENT_PAIR_FLOAT32 = 17,
  SLUICE_ELEMENT_PAIR_FLOAT64 = 18,
  SLUICE_ELEMENT_TWO_FLOAT32 = 19, /* a float and its place as a float */
  SLUICE_ELEMENT_TWO_FLOAT64 = 20
} sluice_element_t;

/* MPI's operations of the same names; kernels/rules.hpp says how two elements become one. */
typedef enum sluice_operation {
  SLUICE_OPERATION_SUM = 0,
  SLUICE_OPERATION_PROD = 1,
  SLUICE_OPERATION_MIN = 2,
  SLUICE_OPERATION_MAX = 3,
  SLUICE_OPERATION_LAND = 4,
  SLUICE_OPERATION_LOR = 5,
  SLUICE_OPERATION_LXOR = 6,
  SLUICE_OPERATION_BAND = 7,
  SLUICE_OPERATION_BOR = 8,
  SLUICE_OPERATION_BXOR = 9,
  SLUICE_OPERATION_MINLOC = 10,
  SLUICE_OPERATION_MAXLOC = 11
} sluice_operation_t;

#define SLUICE_REDUCE_MAX_SOURCES 16u /* the most sources of one reduction */
#define SLUICE_REDUCE_MAX_DSTS 16u    /* the most destinations of one reduction */

/* Each dsts[d][i] = sources[0][i] op sources[1][i] op ..., computed from the left, for i in 0..count-1. The two lists
 * are read during the call only; the memory they name until a later ticket is done. */
typedef struct sluice_reduction {
  sluice_element_t element;     /* the type of each element */
  sluice_operation_t operation; /* op */
  void *const *dsts;            /* n_dsts addresses, each of `count` elements */
  const void *const *sources;   /* n_sources addresses, the same */
  uint32_t n_dsts;              /* 1 to SLUICE_REDUCE_MAX_DSTS */
  uint32_t n_sources;           /* 1 to SLUICE_REDUCE_MAX_SOURCES */
  uint64_t count;               /* of elements; 0: nothing is done */
  /* A hint; not 0: copies between devices, over links much slower than memory, run beside it and are not to be slowed.
   */
  uint32_t is_beside_copies;
  /* Not 0: an update that tells what was there. There are two sources and two destinations; dsts[0] is sources[1], and
   * dsts[1], which overlaps nothing else, gets the elements of sources[1] as they were. */
  uint32_t is_fetch;
} sluice_reduction_t;

typedef struct sluice_queue sluice_queue_t; /* an in-order command queue; opaque, owned by the backend */

/* A stream of the program's (group `stream`); opaque, owned by the backend. */
typedef struct sluice_stream sluice_stream_t;

/* One copy, of size_bytes from `src` to `dst`. The two do not overlap. */
typedef struct sluice_copy {
  void *dst;         /* written */
  const void *src;   /* read */
  size_t size_bytes; /* of each */
} sluice_copy_t;

/* The most copies that one kernel makes (enqueue_kernel_copies). */
#define SLUICE_KERNEL_MAX_COPIES 16u

/* One element that is written if it is what is expected (enqueue_compare_and_swap). Only `before` and `target` are
 * written, and these overlap nothing else. */
typedef struct sluice_swap {
  void *target;        /* the element */
  const void *compare; /* what it is compared with, byte for byte */
  const void *operand; /* what it becomes if they are equal */
  void *before;        /* gets what it was, equal or not */
  size_t size_bytes;   /* 1 to SLUICE_SWAP_MAX_BYTES */
} sluice_swap_t;
/* The longest element of a sluice_swap_t. */
#define SLUICE_SWAP_MAX_BYTES 16u

/* Memory of which a word names a part (stream_take): units of the same length, numbered from 0. */
typedef struct sluice_units {
  const void *base;  /* of unit 0 */
  size_t size_bytes; /* of all of them */
  size_t unit_bytes; /* of one */
} sluice_units_t;

/* So many of a word's lowest bits are a length, in bytes; those above, up to bit 31, the number of a unit. */
#define SLUICE_LENGTH_BITS 24u

/* What one process gives another so that it can reach an allocation of the same node's devices. Plain bytes, which may
 * be sent in a message and compared; what is in them is the backend's. Bytes that it does not use are 0. */
typedef struct sluice_ipc_handle {
  uint8_t bytes[128]; /* as ipc_export wrote them */
} sluice_ipc_handle_t;

/* A knob of the backend's own, named SLUICE_<BACKEND>_<NAME>; read with sluice_host_services_t::knob. */
typedef struct sluice_backend_knob {
  const char *name;          /* whole name */
  const char *default_value; /* as a user would write it */
  const char *doc;           /* what it does, with unit and range; then what each value means */
} sluice_backend_knob_t;

/* What Sluice lends to a module. Valid from init() to fini(). */
typedef struct sluice_host_services {
  uint32_t struct_size; /* sizeof(sluice_host_services_t) as libsluice was compiled */
  /* level: 0 error, 1 warning, 2 info, 3 debug. text: one line without a newline; copied. Any thread. */
  void (*log)(int level, const char *text);
  /* The text of a knob that the module listed, its default when unset; NULL for a name not listed. Owned by the
   * environment or the module; any thread. */
  const char *(*knob)(const char *name);
} sluice_host_services_t;

/* The table. It belongs to the module, and stays as it is while the module is loaded. */
typedef struct sluice_backend {
  uint32_t api_version; /* SLUICE_BACKEND_API_VERSION */
  uint32_t struct_size; /* sizeof(sluice_backend_t) as the module was compiled */
  const char *name;     /* lower case, the folder's name under backends/ */

  const sluice_backend_knob_t *knobs; /* the module's own, n_knobs of them; null where there is none */
  size_t n_knobs;                     /* of `knobs` */

  /* ---- mandatory: life ---------------------------------------------------------------------------------------- */

  /* Finds the runtime's entry points. Must not create a device context. Called before everything else but the data
   * members above. SLUICE_ERROR_NO_DEVICE when the runtime is there and has no device: the module is unloaded.
   * A process may have several users of one module (libsluice, and a benchmark that makes device memory through it):
   * each calls init() once and, after an init() that succeeded, fini() once. The latest `services` are the ones used;
   * after any fini() there may be none, and the module then logs nothing and reads no knob. */
  sluice_result_t (*init)(const sluice_host_services_t *services);
  /* Gives back what the module holds and no other user of it needs; queues and memory belong to who made them, and
   * those of other users stay as they are. The vendor's runtime may be shut down already (a program that exits without
   * MPI_Finalize): then nothing of it is called. */
  void (*fini)(void);
  /* The native text of this thread's last error; "" when there was none. Owned by the module, valid until the next
   * call of this thread. */
  const char *(*last_error)(void);

  /* ---- mandatory: what is there ------------------------------------------------------------------------------- */

  /* How many devices the runtime shows this process. 0 also where it cannot say, and last_error() has the reason.
   * Creates no context. */
  int32_t (*device_count)(void);
  /* Fills *info, all of it; what the runtime does not know has the value that the member names. SLUICE_ERROR_NO_DEVICE:
   * there is no such device. After an error *info may hold anything. Setup cost: up to milliseconds. */
  sluice_result_t (*device_info)(int32_t device, sluice_device_info_t *info);

  /* Says what `address` is. Hot: called for every buffer of every MPI call once the module is loaded, so well under
   * 100 ns, no lock that a copy may hold, and exact at any moment: an address whose allocation was freed or replaced
   * since the last call is answered as it is now; what the runtime keeps for its next allocations may be answered as
   * memory still. Unknown addresses are SLUICE_MEMORY_HOST and no error.
   * A copy that is enqueued after this call sees the data of every blocking copy that the program has finished, even if
   * the runtime returned early from that copy. */
  sluice_result_t (*query_pointer)(const void *address, sluice_pointer_info_t *info);

  /* Makes pointers of another context of the runtime known, for runtimes whose pointer queries need one. `context`
   * points to a native object (docs of the backend say which type), which may be destroyed afterwards. Runtimes that
   * need no such thing return success. SLUICE_ERROR_INVALID_ARGUMENT: it is none. Setup cost. */
  sluice_result_t (*register_context)(void *context);

  /* ---- mandatory: staging memory ------------------------------------------------------------------------------ */

  /* Host memory that the device copies to and from fastest, reachable by the CPU and by the kernel (a host MPI may
   * read it with process_vm_readv). alignment: 0 for the runtime's own, else a power of two. The caller owns *memory
   * until host_free. Setup cost: milliseconds. SLUICE_ERROR_OUT_OF_MEMORY: nothing was changed. SLUICE_NOT_READY: not
   * now. */
  sluice_result_t (*host_alloc)(int32_t device, size_t size_bytes, size_t alignment, void **memory);
  /* Gives back what host_alloc gave for `device`; all copies and commands on it are done. While a stream waits the
   * runtime may be told later. Memory that went with its context is no error. After an error it is not given back. */
  sluice_result_t (*host_free)(int32_t device, void *memory);
  /* The staging memory that measured fastest for this runtime (docs/measurements); what the knob's `auto` means. Never
   * blocks. Hot. */
  sluice_staging_memory_t (*preferred_staging)(int32_t device);

  /* ---- mandatory: copies -------------------------------------------------------------------------------------- */

  /* A queue of Sluice's own on `device`, not ordered with any queue of the program. The caller owns it until
   * queue_destroy. Setup cost: up to milliseconds. SLUICE_NOT_READY: not now. */
  sluice_result_t (*queue_create)(int32_t device, sluice_queue_t **queue);
  /* Waits for what is queued, then frees. The queue is gone whatever this answers, which may be a command's error. */
  sluice_result_t (*queue_destroy)(sluice_queue_t *queue);

  /* Enqueues copies between any two addresses that the CPU or the queue's device can reach; order within the queue is
   * kept, copies of one call may run in any order among themselves. Returns before they are done. Source and
   * destination stay valid until a later ticket is done. */
  sluice_result_t (*enqueue_copies)(sluice_queue_t *queue, const sluice_copy_t *copies, size_t n_copies);
  /* Marks the end of all that was enqueued so far. Tickets of one queue are done in order, and may be asked for as long
   * as the queue is there. Hot. */
  sluice_result_t (*enqueue_ticket)(sluice_queue_t *queue, uint64_t *ticket);
  /* SLUICE_SUCCESS when done (the data of all earlier copies is visible to the CPU and to every later command of any
   * queue), SLUICE_NOT_READY when not, an error when a copy failed. Never blocks. Hot. */
  sluice_result_t (*test_ticket)(sluice_queue_t *queue, uint64_t ticket);
  /* Blocks until test_ticket would not say SLUICE_NOT_READY, and answers as it would. */
  sluice_result_t (*wait_ticket)(sluice_queue_t *queue, uint64_t ticket);
  /* One copy, begun and finished: the same as enqueue_copies + enqueue_ticket + wait_ticket, by whatever way measured
   * fastest for that size and direction. Blocks for the copy. Hot: the cost of a small staged message is this call. */
  sluice_result_t (*copy)(sluice_queue_t *queue, void *dst, const void *src, size_t size_bytes);

  /* ---- optional group `program`: all five or none -------------------------------------------------------------- */
  /* What a program would do with the vendor's runtime, written as a program would write it. Used by the tests, the
   * benchmarks and the demo; libsluice itself calls program_alloc and program_free alone, for memory that the program
   * asks MPI to allocate. These may create contexts and change the current device.
   */

  /* Makes `device` current for the calling thread, as the vendor's call for that, or the choice of a queue, would. */
  sluice_result_t (*program_set_device)(int32_t device);
  /* kind: PINNED, DEVICE or SHARED; memory of the current device. The caller owns it until program_free. */
  sluice_result_t (*program_alloc)(sluice_memory_kind_t kind, size_t size_bytes, void **memory);
  /* Gives back what program_alloc gave. May wait for all work of the device, as the runtime's own function does. */
  sluice_result_t (*program_free)(void *memory);
  /* The vendor's plain blocking copy, which finds the direction from the addresses. */
  sluice_result_t (*program_copy)(void *dst, const void *src, size_t size_bytes);
  /* Waits for all work of the current device. Errors may be those of that work. */
  sluice_result_t (*program_synchronize)(void);

  /* ---- optional group `ipc`: all three or none ------------------------------------------------------------------ */
  /* Device memory of one process read by another on the same node (CCGrid'23, section IV.B). */

  /* Makes a handle for the allocation that holds `address`; *base_offset is how far `address` lies behind its first
   * byte, *size_bytes its whole size. The handle is good until the allocation is freed, and may be used by several
   * processes and more than once. Cost: microseconds to milliseconds; callers keep handles by allocation_id.
   * On entry *size_bytes says how many bytes from `address` on the caller means, 0 when that is not known. Where an
   * allocation has no bounds of its own (memory mapped piece by piece, whose allocation_id is 0), the handle is for the
   * pieces that hold them, or for fewer; others need not look at it.
   * SLUICE_ERROR_UNSUPPORTED: this memory cannot be exported (last_error() says why); nothing is lost, stage it. */
  sluice_result_t (*ipc_export)(const void *address, sluice_ipc_handle_t *handle, uint64_t *base_offset,
                                uint64_t *size_bytes);
  /* Maps another process's allocation for use by `device` of this one. *base is the address of its first byte, good for
   * enqueue_copies and copy on queues of `device`, for no CPU access. `handle` may come from anybody: bytes that are no
   * handle are an error, never a crash. A handle of this process itself is refused with SLUICE_ERROR_INVALID_ARGUMENT
   * (use the pointer). Opening after the exporter freed is an error, the old memory, or memory that it has allocated
   * since; never a crash. SLUICE_ERROR_UNSUPPORTED: `device` cannot reach that memory. SLUICE_NOT_READY: not now.
   * *size_bytes is how many bytes from *base on are mapped and the exporter's, as this process's runtime says it: what
   * the exporter told of its size is checked against it. Of an honest handle it is no less than ipc_export said. Where
   * a runtime cannot say it is what the handle says, and the backend's page tells so. */
  sluice_result_t (*ipc_open)(int32_t device, const sluice_ipc_handle_t *handle, void **base, uint64_t *size_bytes);
  /* Unmaps what ipc_open gave; all copies on it are done. After it `base` is not used again, whatever it answers. */
  sluice_result_t (*ipc_close)(int32_t device, void *base);

  /* ---- optional group `words`: both or none -------------------------------------------------------------------- */
  /* Under which names programs ask an MPI whether it takes this runtime's memory. Each answers with a list that ends
   * with NULL, of words in lower case; list and words belong to the module and stay as they are as long as it is
   * loaded. Asked rarely, and only when the program asked. An empty list: nothing at this moment; a later call may say
   * more, and until then the module's .needs file holds. */

  /* The words W for which MPIX_Query_<W>_support says yes; data/support_queries.txt lists those that there are. */
  const char *const *(*support_words)(void);
  /* Memory allocation kinds as in MPI-4.1, section 11.4.3, and its side document: `kind`, and each `kind:restrictor`.
   */
  const char *const *(*memory_kind_words)(void);

  /* ---- optional: traits --------------------------------------------------------------------------------------- */
  /* A sum of sluice_device_trait_t, the same at every call; 0 for a device that is not there. Hot. */
  uint32_t (*device_traits)(int32_t device);

  /* ---- optional group `reduce`: both or none ------------------------------------------------------------------- */
  /* Reductions computed by the device (ISC'25 poster: "kernel-based reduction"). How two elements become one is said in
   * kernels/rules.hpp, whose bodies backends compile. */

  /* 1 where enqueue_reduction takes that pair on queues of `device`; 0 for all others, pairs that MPI does not have,
   * and devices that are not there. The same at every call. Never blocks, never compiles. */
  int32_t (*can_reduce)(int32_t device, sluice_element_t element, sluice_operation_t operation);
  /* Enqueues one reduction behind what is in the queue; returns before it is done, and tickets mark its end as they do
   * that of copies. Addresses need no alignment. They are memory of the queue's device, memory that ipc_open mapped for
   * it, memory of host_alloc, or other memory that the device reaches. A destination may be the same address as a
   * source; destinations overlap sources in no other way, and each other not at all. What is written into memory of
   * another process is there for its device once the ticket is done. The result depends on nothing but the elements:
   * the same in every bit each time. SLUICE_ERROR_UNSUPPORTED: not that pair, or memory that this device does not
   * reach; nothing was enqueued. Cost: a launch; where kernels are compiled at run time the first one of a pair takes
   * seconds, and blocks.
   */
  sluice_result_t (*enqueue_reduction)(sluice_queue_t *queue, const sluice_reduction_t *reduction);

  /* ---- optional group `stream`: all six or none ---------------------------------------------------------------- */
  /* Triggers and waits in the order of a stream of the program's: arXiv 2208.04817, section II.D ("stream memory
   * operations"). A word is 8 bytes of memory of host_alloc for the stream's device, aligned to 8. It is read and
   * written by the host and by streams, and stays there until every command on it has run. One stream is given to
   * these functions by one thread at a time; the program may work on it with its own calls meanwhile, as its runtime
   * allows. */

  /* Whether `native` is a stream of this runtime, in the form in which programs hold it (the backend's page says
   * which): 1 certainly, -1 certainly not, 0 where the runtime cannot tell a stream from any other address. Any
   * address; changes nothing. */
  int32_t (*stream_query)(const void *native);
  /* Makes ready for the commands below on the program's stream `native`, which lives until stream_close; *device is the
   * device it works on. Enqueues nothing. SLUICE_ERROR_INVALID_ARGUMENT: certainly no stream. An address that is no
   * stream where stream_query says 0 is as harmful here as in the runtime's own functions.
   * SLUICE_ERROR_UNSUPPORTED: its device cannot do this. Setup cost: microseconds. */
  sluice_result_t (*stream_open)(void *native, sluice_stream_t **stream, int32_t *device);
  /* The commands that were enqueued stay so and run; does not wait for them. `stream` is gone whatever this answers. */
  sluice_result_t (*stream_close)(sluice_stream_t *stream);
  /* Enqueues: write `value` to *word. When the host or a stream sees it (an acquiring load), all earlier commands of
   * the stream are done, and their data is visible. Returns before it has run.
   * SLUICE_ERROR_UNSUPPORTED: the stream is being captured into a graph; nothing was enqueued. */
  sluice_result_t (*stream_write)(sluice_stream_t *stream, uint64_t *word, uint64_t value);
  /* Enqueues: later commands of the stream wait until *word >= least, as unsigned numbers below 2^63; they find what
   * the host wrote, or what other queues finished, before the word came to that (a releasing store). Some hundreds of
   * commands may be pending in a stream; beyond that a runtime may hold up whoever enqueues another, so callers see to
   * it that there are fewer (queue_depth). Up to there neither this call nor any thread of the host is held up,
   * and other streams go on, but for those that the runtime itself keeps in order with this one. Errors as above. */
  sluice_result_t (*stream_wait)(sluice_stream_t *stream, const uint64_t *word, uint64_t least);
  /* The words by which programs name the type of such a stream (the value of `type` in the info of MPIX_Stream_create):
   * a list that ends with NULL; list and words belong to the module and stay as they are as long as it is loaded. */
  const char *const *(*stream_words)(void);

  /* ---- optional group `program_stream`: all four or none; there where `stream` and `program` are ---------------- */
  /* As `program`: what a program would do with a stream of its own. For tests and benchmarks. */

  /* A stream of the current device that waits for no other, in the form that stream_open takes. The caller owns it
   * until program_stream_destroy. */
  sluice_result_t (*program_stream_create)(void **native);
  /* What is enqueued has run, or runs before this returns. */
  sluice_result_t (*program_stream_destroy)(void *native);
  /* Enqueues a copy; returns before it is done where one of the two is device memory and the other is PINNED. */
  sluice_result_t (*program_stream_copy)(void *native, void *dst, const void *src, size_t size_bytes);
  /* Waits for all that was enqueued. */
  sluice_result_t (*program_stream_synchronize)(void *native);

  /* ---- optional group `kernel_copies`: both or none -------------------------------------------------------------- */
  /* As enqueue_copies, by one kernel of the queue's device that makes all of them side by side: for a few short ones,
   * which take longer as commands of their own. At most SLUICE_KERNEL_MAX_COPIES. Addresses are those that
   * enqueue_reduction takes; no destination overlaps a source or another destination. What is written into memory of
   * another process is there for its device once the ticket is done. SLUICE_ERROR_UNSUPPORTED: this device has no such
   * kernel, or does not reach that memory; nothing was enqueued. Cost: a launch; where kernels are compiled at run time
   * the first call takes seconds, and blocks. */
  sluice_result_t (*enqueue_kernel_copies)(sluice_queue_t *queue, const sluice_copy_t *copies, size_t n_copies);
  /* The same for one element that is compared and swapped, by one item of the same kernel. It is not atomic: nobody
   * else writes to the element meanwhile. Addresses need no alignment, and are those that enqueue_kernel_copies takes;
   * errors and cost are the same. */
  sluice_result_t (*enqueue_compare_and_swap)(sluice_queue_t *queue, const sluice_swap_t *swap);

  /* ---- optional group `pack`: all four or none ------------------------------------------------------------------- */
  /* Data with gaps brought together, or spread, or moved from one layout to another, by one command of the device.
   * Copies would be one command for each block. */

  /* 1 where enqueue_pack works on queues of `device`; else 0, also for devices that are not there. The same at every
   * call. Never blocks, never compiles. */
  int32_t (*can_pack)(int32_t device);
  /* Enqueues one command behind what is in the queue; returns before it is done, and tickets mark its end as they do
   * that of copies. `pack` is read during the call only; the memory that it names, lists too, stays until a later
   * ticket is done. Addresses need no alignment, and may be of the kinds that enqueue_reduction takes. What is written
   * overlaps nothing that is read, nor itself. SLUICE_ERROR_UNSUPPORTED: memory that this device does not reach, or no
   * kernel; SLUICE_ERROR_INVALID_ARGUMENT: numbers that make no sense, or addresses that are no memory; after both
   * nothing was enqueued. Cost: a launch; where kernels are compiled at run time the first of a layout, and the first
   * of two, take seconds, and block. */
  sluice_result_t (*enqueue_pack)(sluice_queue_t *queue, const sluice_pack_t *pack);
  /* Memory of `device`, aligned to 256, as a program would allocate it: query_pointer knows it, and where there is a
   * group `ipc` it can be exported if any can. Setup cost: microseconds to milliseconds, and it may wait for all work
   * of the device. The caller owns it until device_free. SLUICE_ERROR_OUT_OF_MEMORY: nothing was changed.
   * SLUICE_NOT_READY: not now. */
  sluice_result_t (*device_alloc)(int32_t device, size_t size_bytes, void **memory);
  /* Everything that uses it is done. Memory that went with its context is no error. */
  sluice_result_t (*device_free)(int32_t device, void *memory);

  /* ---- optional group `channel`: all four or none; there where `stream`, `ipc` and `pack` are ------------------- */
  /* What a stream needs to send and receive by itself inside a node (docs/adr/0033). */

  /* Makes memory of the CPU's that other processes may have mapped too (MAP_SHARED) good for words of streams of
   * `device`, under the same address: words that streams of several processes and devices write and wait for; and for
   * what these streams copy (stream_copy, stream_take), where memory of the device cannot be exported. Both on whole
   * pages. SLUICE_ERROR_UNSUPPORTED: this device reaches no such memory. SLUICE_NOT_READY: not now. Setup cost: up to
   * milliseconds for each MiB; where kernels are compiled at run time the first call takes seconds, and blocks. */
  sluice_result_t (*host_register)(int32_t device, void *memory, size_t size_bytes);
  /* Undoes it. No command on it is pending. SLUICE_NOT_READY: a stream waits; keep it mapped, and call again later. */
  sluice_result_t (*host_unregister)(int32_t device, void *memory);
  /* Enqueues a copy between memory of the stream's device and memory that ipc_open mapped for it, or that host_alloc
   * gave or host_register was given for it, or within any of these; what is written is there for everybody who sees a
   * later stream_write. Returns before it has run. Errors as stream_write. */
  sluice_result_t (*stream_copy)(sluice_stream_t *stream, void *dst, const void *src, size_t size_bytes);
  /* The same, of what *word says when the stream comes to it: as many bytes as its lowest SLUICE_LENGTH_BITS, but at
   * most most_bytes, from the beginning of a unit of `from`, whose number is the bits above these up to bit 31. Another
   * process writes the word: of bytes that it names behind the end of `from` nothing is read, and no more is copied
   * than lies before. `from` is read during the call only. */
  sluice_result_t (*stream_take)(sluice_stream_t *stream, void *dst, const sluice_units_t *from, size_t most_bytes,
                                 const uint64_t *word);

  /* ---- optional: one queue behind another ---------------------------------------------------------------------- */
  /* Enqueues on `queue`: what is enqueued there later begins when all that was enqueued on `other` before this call has
   * ended, and finds what that wrote. Both are queues of the same device, and neither is used by another thread
   * meanwhile; `other` may be `queue` itself. Where a command of `other` fails, its own tickets say so, and what stands
   * behind here may run all the same. Returns before anything has run, but for commands that a runtime cannot put in
   * order by itself (the backend's page names them), whose end is waited for. Cost: microseconds. */
  sluice_result_t (*enqueue_wait_for_queue)(sluice_queue_t *queue, sluice_queue_t *other);
} sluice_backend_t;

/* What SLUICE_BACKEND_TABLE_SYMBOL is: the module's table, the same at every call; before init(), and any thread. */
typedef const sluice_backend_t *(*sluice_backend_table_fn)(void);

#ifdef __cplusplus
}
#endif

#endif /* SLUICE_BACKEND_H */

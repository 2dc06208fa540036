/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernels of a program's own, for the applications in apps/: a third, optional table beside the contract (backend.h),
 * which a module hands out through the symbol sluice_backend_program_kernels(). libsluice itself never calls it.
 *
 * A kernel is one C++ function of a task and an item's number, written once (apps/support/kernel.hpp). Each module runs
 * it as a program would that was written for its runtime alone: in a stream, behind what is in that stream, returning
 * at once. The rules of backend.h hold, those of its group `program` where the current device is concerned;
 * last_error() of the contract has the native text.
 */
#ifndef SLUICE_PROGRAM_KERNELS_H
#define SLUICE_PROGRAM_KERNELS_H

#include <sluice/backend.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised by one whenever layout or meaning of a member changes. */
#define SLUICE_PROGRAM_KERNELS_API_VERSION 2u

/* The symbol, of type sluice_program_kernels_fn. */
#define SLUICE_PROGRAM_KERNELS_SYMBOL "sluice_backend_program_kernels"

/* The longest task, in words of 8 bytes. */
#define SLUICE_PROGRAM_KERNEL_MOST_WORDS 32u

/* One kernel; all of it lives as long as the process. */
typedef struct sluice_program_kernel {
  const char *name;         /* of the entry; no two kernels of a program have the same */
  const char *function;     /* the C++ function as `source` names it, of (const Task &, std::uint64_t item) */
  const char *task_type;    /* its Task: n_words words of 8 bytes, the first n_memory of which are addresses */
  const char *source;       /* C++17 that includes no header but cstdint */
  const char *compiled;     /* what the module compiled_for had made of `source` when the program was built; or null */
  const char *compiled_for; /* that module's name */
  /* The same function as the host's compiler made it; runs items 0 to n_items - 1. */
  void (*body)(const void *task, uint64_t n_items);
  uint32_t n_words;   /* 1 to SLUICE_PROGRAM_KERNEL_MOST_WORDS */
  uint32_t n_memory;  /* at least 1 */
  uint32_t n_written; /* the first of those, at least 1, are written; the others are read only */
} sluice_program_kernel_t;

/* The table. */
typedef struct sluice_program_kernels {
  uint32_t api_version; /* SLUICE_PROGRAM_KERNELS_API_VERSION */
  uint32_t struct_size; /* sizeof(sluice_program_kernels_t) as the module was compiled */

  /* A stream of the current device that waits for no other, in the form in which programs of this runtime hold it. */
  sluice_result_t (*stream_create)(void **native);
  /* What is enqueued has run, or runs before this returns. */
  sluice_result_t (*stream_destroy)(void *native);
  /* Blocks until all that was enqueued has run. */
  sluice_result_t (*stream_synchronize)(void *native);
  /* Enqueues items 0 to n_items - 1 of a kernel. `task` is read during the call only. size_bytes[k], at least 1, is how
   * far the kernel may reach behind the task's k-th address, which is memory of the stream's device. Setup cost at the
   * first launch of a kernel: it may be compiled, which takes seconds. SLUICE_ERROR_UNSUPPORTED: this kernel cannot run
   * here, and last_error() says why. */
  sluice_result_t (*launch)(void *native, const sluice_program_kernel_t *kernel, uint64_t n_items, const uint64_t *task,
                            const uint64_t *size_bytes);

  /* ---- optional: graphs of what a stream was given; all four or none --------------------------------------------- */
  /* From here on what the stream is given is captured and does not run. One stream at a time for each thread. */
  sluice_result_t (*graph_begin)(void *native);
  /* Ends that; *graph can be launched any number of times, until graph_destroy. After an error there is none, and the
   * stream is as before. */
  sluice_result_t (*graph_end)(void *native, void **graph);
  /* Enqueues all of it, as one command, into the stream; returns before it has run. Launches of one graph run one
   * behind the other. */
  sluice_result_t (*graph_launch)(void *graph, void *native);
  /* None of its launches is running. */
  sluice_result_t (*graph_destroy)(void *graph);
} sluice_program_kernels_t;

/* Returns the table, which belongs to the module and stays as it is while the module is loaded. Any thread. */
typedef const sluice_program_kernels_t *(*sluice_program_kernels_fn)(void);

#ifdef __cplusplus
}
#endif

#endif /* SLUICE_PROGRAM_KERNELS_H */

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a benchmark asks of a backend's runtime beyond the contract (backend.h): a second, optional table, which a
 * module hands out through the symbol sluice_backend_probe(). libsluice itself never calls it. The rules of backend.h
 * hold for every function, those of its group `program` where the current device is concerned; last_error() of the
 * contract has the native text. A member that a module has not is null.
 */
#ifndef SLUICE_PROBE_H
#define SLUICE_PROBE_H

#include <sluice/backend.h>
#include <sluice/testing/check.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised by one whenever layout or meaning of a member changes. */
#define SLUICE_PROBE_API_VERSION 2u

/* The symbol, of type sluice_probe_fn. */
#define SLUICE_PROBE_SYMBOL "sluice_backend_probe"

/* Memory and what it is to hold. All of it is read during the call only. */
typedef struct sluice_memory_check {
  const void *memory;                     /* of the current device: DEVICE or SHARED */
  uint64_t size_bytes;                    /* of the memory */
  const sluice_check_source_t *sources;   /* n_sources of them */
  const sluice_check_segment_t *segments; /* n_segments, in the order of their first_word; all within the memory */
  uint32_t n_sources;                     /* of `sources` */
  uint64_t n_segments;                    /* 0: nothing to look at */
} sluice_memory_check_t;

/* What a kernel found in such memory. */
typedef struct sluice_check_finding {
  uint64_t first_wrong;     /* the lowest place of a byte that is wrong, from the memory's first; UINT64_MAX: none is */
  uint64_t n_bytes_checked; /* that the kernel compared: all of the segments', or it has not done its work */
} sluice_check_finding_t;

/* A device that computes, and does nothing else: for measures of how much communication hides behind that. Of the
 * module; used by one thread at a time. */
typedef struct sluice_work sluice_work_t;

/* The table. */
typedef struct sluice_probe {
  uint32_t api_version; /* SLUICE_PROBE_API_VERSION */
  uint32_t struct_size; /* sizeof(sluice_probe_t) as the module was compiled */

  /* Bytes of the device's memory that are in use now, by this process or by all, as the runtime can tell: a number
   * whose growth is what matters. SLUICE_ERROR_UNSUPPORTED: this device does not tell. */
  sluice_result_t (*memory_in_use)(int32_t device, uint64_t *size_bytes);

  /* Has a kernel of the current device compare its memory in place, element by element. Blocks until it is done; sees
   * what every blocking copy and every finished message has put there. SLUICE_ERROR_UNSUPPORTED: this device has no
   * such kernel, and last_error() says why. Setup cost at the first call: a kernel may be compiled. */
  sluice_result_t (*check_memory)(const sluice_memory_check_t *check, sluice_check_finding_t *finding);

  /* ---- group `work`: all or none ---- */

  /* Makes something that computes on the current device, beside all other work there, in a queue of its own. The
   * caller owns it. SLUICE_ERROR_UNSUPPORTED: this device has no such kernel, and last_error() says why. Setup cost: a
   * kernel may be compiled. */
  sluice_result_t (*work_create)(sluice_work_t **work);
  /* Begins to compute: `n_steps` times x ^= x << 13, x ^= x >> 7, x ^= x << 17 on 64 bits, from
   * x = 0x9e3779b97f4a7c15, each step needing the one before; the device is kept busy by as many copies of that as the
   * module finds right. Time is proportional to the steps, but for the launch. Returns before it is done. */
  sluice_result_t (*work_enqueue)(sluice_work_t *work, uint64_t n_steps);
  /* Blocks until all that was enqueued is done. result: null, or where x of the last work is stored. */
  sluice_result_t (*work_wait)(sluice_work_t *work, uint64_t *result);
  /* Waits, and frees. */
  sluice_result_t (*work_destroy)(sluice_work_t *work);
} sluice_probe_t;

/* Returns the table, which belongs to the module and stays as it is while the module is loaded. Any thread. */
typedef const sluice_probe_t *(*sluice_probe_fn)(void);

#ifdef __cplusplus
}
#endif

#endif /* SLUICE_PROBE_H */

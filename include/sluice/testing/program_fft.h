/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fourier transforms by the library of a device's vendor, for the applications in apps/: an optional table beside
 * sluice/testing/program_kernels.h, which a module hands out through the symbol sluice_backend_program_fft(). libsluice
 * itself never calls it, and no such library is needed to build a module: each looks for it when it is first asked.
 *
 * The transforms are of complex numbers (a real part, then an imaginary one), along one dimension, many at once, in
 * place and not scaled: forward and then inverse multiplies by the number of points. The forward one is the sum of
 * x[j] exp(-2 pi i j k / n). The rules of backend.h hold, those of its group `program` where the current device is
 * concerned; last_error() of the contract has the native text.
 */
#ifndef SLUICE_PROGRAM_FFT_H
#define SLUICE_PROGRAM_FFT_H

#include <sluice/backend.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised by one whenever layout or meaning of a member changes. */
#define SLUICE_PROGRAM_FFT_API_VERSION 1u

/* The symbol, of type sluice_program_fft_fn. */
#define SLUICE_PROGRAM_FFT_SYMBOL "sluice_backend_program_fft"

/* Where the points of n_transforms transforms lie. All are at least 1 and counted in complex numbers. */
typedef struct sluice_program_fft_batch {
  uint64_t n_points;     /* of one transform */
  uint64_t stride;       /* from a point of a transform to its next */
  uint64_t n_transforms; /* in the batch */
  uint64_t distance;     /* from a transform's first point to that of the next transform */
  uint64_t is_double;    /* 1: of double; 0: of float */
} sluice_program_fft_batch_t;

/* A batch prepared for one stream; of the module, and used by one thread at a time. */
typedef struct sluice_program_fft_plan sluice_program_fft_plan_t;

/* The table. */
typedef struct sluice_program_fft {
  uint32_t api_version; /* SLUICE_PROGRAM_FFT_API_VERSION */
  uint32_t struct_size; /* sizeof(sluice_program_fft_t) as the module was compiled */

  /* Name and version of the library that transforms on the current device, kept until the process ends; or null, and
   * last_error() says what is missing and what to do. */
  const char *(*library)(void);
  /* Prepares a batch for a stream of sluice/testing/program_kernels.h, which outlives the plan. Setup cost: may
   * allocate memory of the device and compile. SLUICE_ERROR_UNSUPPORTED: not on this device. */
  sluice_result_t (*plan_create)(void *native_stream, const sluice_program_fft_batch_t *batch,
                                 sluice_program_fft_plan_t **plan);
  /* What was enqueued with the plan has run before. */
  sluice_result_t (*plan_destroy)(sluice_program_fft_plan_t *plan);
  /* Enqueues the transforms of the points at `data`, memory of the stream's device aligned to 16 bytes, behind what is
   * in the stream. Returns at once. is_inverse: 0 or 1. */
  sluice_result_t (*enqueue)(sluice_program_fft_plan_t *plan, void *data, int32_t is_inverse);
} sluice_program_fft_t;

/* Returns the table, which belongs to the module and stays as it is while the module is loaded. Any thread. */
typedef const sluice_program_fft_t *(*sluice_program_fft_fn)(void);

#ifdef __cplusplus
}
#endif

#endif /* SLUICE_PROGRAM_FFT_H */

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What memory is to hold, said in a form that a kernel can compute: for benchmarks and tests that let a device look at
 * its own memory (probe.h). Plain data, which device compilers take too; kernels/check.hpp is the body that reads it.
 */
#ifndef SLUICE_CHECK_H
#define SLUICE_CHECK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How the elements of one number became one. */
typedef enum sluice_check_fold {
  SLUICE_CHECK_FOLD_SUM = 0,
  SLUICE_CHECK_FOLD_MAX = 1,
  SLUICE_CHECK_FOLD_MIN = 2
} sluice_check_fold_t;

/* Data without an end, addressed by a position in bytes.
 * element_bytes 0: the word of eight bytes number w, counted from position 0, is
 *   mix(seed + w * 0x9e3779b97f4a7c15) with the bytes of `step` added one by one, without carries between them;
 *   mix is the finaliser of the splitmix generator. Words repeat after repeat_words of them, 0: never.
 * element_bytes 1, 4 or 8: element e is the fold over the ranks r = first_rank, ..., first_rank + n_ranks - 1 of
 *   (hash(e) % modulus + 101 * r + step) % modulus - half,  hash(e) = x ^ (x >> 31),
 *   x = (e + 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9
 *   as a whole number of that size (negative: two's complement), or, with is_floating, as the float or double of that
 *   value. No value or sum may be beyond +-2^24. */
typedef struct sluice_check_source {
  uint64_t seed;          /* of the words */
  uint64_t step;          /* as above */
  uint64_t repeat_words;  /* after so many, words repeat; 0: never */
  uint32_t element_bytes; /* 0: words; 1, 4 or 8: elements */
  uint32_t is_floating;   /* 1: elements are float or double; 0: whole numbers */
  uint32_t fold;          /* sluice_check_fold_t */
  uint32_t first_rank;    /* of those that are folded */
  uint32_t n_ranks;       /* that are folded */
  uint32_t modulus;       /* at least 1 */
  uint32_t half;          /* taken off each rank's value */
  uint32_t unused;        /* 0 */
} sluice_check_source_t;

/* A part of the memory, and where in which source its first byte is. Segments do not overlap. */
typedef struct sluice_check_segment {
  uint64_t begin;      /* from the memory's first byte */
  uint64_t size_bytes; /* at least 1 */
  uint64_t position;   /* in the source, in bytes */
  uint64_t first_word; /* the sum over all earlier segments of the words of eight bytes that their positions touch */
  uint32_t source;     /* index */
  uint32_t unused;     /* 0 */
} sluice_check_segment_t;

#ifdef __cplusplus
}
#endif

#endif /* SLUICE_CHECK_H */

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Data with gaps as the group `pack` of sluice/backend.h takes it. A part of that contract, and of its version.
 */
#ifndef SLUICE_PACK_H
#define SLUICE_PACK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The most dimensions of a layout. */
#define SLUICE_PACK_MAX_DIMENSIONS 6u

/* From one piece to the next along a dimension. */
typedef struct sluice_dimension {
  uint64_t count;       /* of pieces, at least 1 */
  int64_t stride_bytes; /* from the beginning of one to that of the next; may be negative */
} sluice_dimension_t;

/* Which bytes of memory a payload consists of, in the order in which they travel: a core that is repeated along up to
 * SLUICE_PACK_MAX_DIMENSIONS dimensions, the last of them the fastest. The core is one run of bytes from its origin on,
 * or a list of blocks. kernels/pack.hpp is the meaning of it. */
typedef struct sluice_layout {
  sluice_dimension_t dimensions[SLUICE_PACK_MAX_DIMENSIONS]; /* the first n_dimensions of them */
  uint32_t n_dimensions;                                     /* 0: the core alone */
  uint32_t n_blocks;                                         /* of the core; 0: a run */
  uint64_t core_bytes;                                       /* payload of the core */
  /* Of a list only. Lengths count in units of list_unit_bytes (1, 2, 4, 8 or 16). `list` is memory of device_alloc:
   * n_blocks times an int32_t, where the block begins, from the core's origin. Where the blocks are not all of
   * block_units units (then that is 0), these follow: n_blocks + 1 times a uint32_t, how many units come before the
   * block, the last one all; and for each 2^tile_shift units one more uint32_t, the number of the block that holds the
   * first of them, and last n_blocks - 1. */
  const void *list;
  uint64_t list_bytes;      /* of the list itself */
  uint32_t list_unit_bytes; /* of a unit of the list's lengths */
  uint32_t block_units;     /* 0: the blocks differ */
  uint32_t tile_shift;      /* a tile has 2^tile_shift units */
  uint32_t reserved;        /* 0 */
} sluice_layout_t;

/* Which way the bytes go. */
typedef enum sluice_pack_direction {
  SLUICE_PACK = 0,  /* from the layout's memory to the memory beside it */
  SLUICE_UNPACK = 1 /* back */
} sluice_pack_direction_t;

/* What lies at `beside`: */
typedef enum sluice_pack_form {
  SLUICE_PACKED = 0,  /* the bytes one after the other, the first of the call's at `beside` */
  SLUICE_IMAGE = 1,   /* each byte as far from `beside` as in the memory from `origin` */
  SLUICE_LAID_OUT = 2 /* the bytes by a layout of their own: byte i of its payload is byte i of the other's */
} sluice_pack_form_t;

/* Bytes first_bytes to first_bytes + size_bytes of a layout's payload. The whole of the layout lies in the span_bytes
 * bytes from origin + lowest_bytes on, in one allocation; so does an image from beside + lowest_bytes on. `origin` and
 * `beside` themselves may lie anywhere. The last three members are of SLUICE_LAID_OUT: what is beside then, with
 * `beside` as its origin. Those bytes are of both payloads, each of which may go on behind them. */
typedef struct sluice_pack {
  sluice_pack_direction_t direction; /* which way */
  sluice_pack_form_t form;           /* of what lies at `beside` */
  sluice_layout_t layout;            /* of what lies at `origin` */
  void *origin;                      /* of the layout's first core */
  void *beside;                      /* as `form` says */
  int64_t lowest_bytes;              /* from the origin to the lowest byte */
  uint64_t span_bytes;               /* from there to behind the highest */
  uint64_t first_bytes;              /* of the payload, from its beginning */
  uint64_t size_bytes;               /* 0: nothing is done */
  sluice_layout_t beside_layout;     /* of what lies at `beside` */
  int64_t beside_lowest_bytes;       /* from `beside` */
  uint64_t beside_span_bytes;        /* from there to behind the highest byte */
} sluice_pack_t;

#ifdef __cplusplus
}
#endif

#endif /* SLUICE_PACK_H */

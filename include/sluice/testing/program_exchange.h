/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages between devices by the library that a device's vendor has for them, for the applications in apps/ to be
 * compared with: an optional table beside sluice/testing/program_kernels.h, which a module hands out through the symbol
 * sluice_backend_program_exchange(). libsluice itself never calls it, and no such library is needed to build a module:
 * each looks for it when it is first asked.
 *
 * The rules of backend.h hold, those of its group `program` where the current device is concerned; last_error() of the
 * contract has the native text. Any thread; a group is used by one thread at a time, and several groups at once by
 * several threads. What blocks until other ranks have come waits for them without an end: a program whose ranks may
 * fail alone ends the others (MPI_Abort).
 */
#ifndef SLUICE_PROGRAM_EXCHANGE_H
#define SLUICE_PROGRAM_EXCHANGE_H

#include <sluice/backend.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised by one whenever layout or meaning of a member changes. */
#define SLUICE_PROGRAM_EXCHANGE_API_VERSION 1u

/* The symbol, of type sluice_program_exchange_fn. */
#define SLUICE_PROGRAM_EXCHANGE_SYMBOL "sluice_backend_program_exchange"

/* Names a group that is to be made: bytes that mean something to the library only, and that the program carries from
 * one rank to the others. */
typedef struct sluice_program_exchange_id {
  unsigned char bytes[128]; /* of the library */
} sluice_program_exchange_id_t;

/* What one rank sends and gets: parts of memory of the stream's device, aligned in any way. The arrays have as many
 * numbers as the group has ranks, and all numbers are of bytes. What rank a sends to b is as long as what b gets from
 * a; 0: nothing passes. The parts that are received overlap neither each other nor those that are sent. */
typedef struct sluice_program_exchange_parts {
  const void *sent;                       /* memory that is read */
  const uint64_t *sent_sizes;             /* for each rank, the rank itself among them */
  const uint64_t *sent_displacements;     /* from `sent` */
  void *received;                         /* memory that is written */
  const uint64_t *received_sizes;         /* for each rank, the rank itself among them */
  const uint64_t *received_displacements; /* from `received` */
} sluice_program_exchange_parts_t;

/* This rank's end of a group; of the module. */
typedef struct sluice_program_exchange_group sluice_program_exchange_group_t;

/* The table. */
typedef struct sluice_program_exchange {
  uint32_t api_version; /* SLUICE_PROGRAM_EXCHANGE_API_VERSION */
  uint32_t struct_size; /* sizeof(sluice_program_exchange_t) as the module was compiled */

  /* Name and version of the library that carries messages of the current device, kept until the process ends; or null,
   * and last_error() says what is missing and what to do. */
  const char *(*library)(void);
  /* On one rank, which becomes rank 0 of one group: its name. Returns at once. */
  sluice_result_t (*id_create)(sluice_program_exchange_id_t *id);
  /* Makes a group of n_ranks ranks with a stream of sluice/testing/program_kernels.h each, a stream of the current
   * device that outlives the group. `rank` is 0 to n_ranks - 1, another one on each. Blocks until all ranks have called
   * it with the same id and n_ranks; of several groups all ranks make them in one order. Setup cost: allocates memory
   * of the device, opens connections and may start threads. The caller owns *group, which is null on an error. Some
   * libraries refuse two ranks of one device. */
  sluice_result_t (*group_create)(void *native_stream, const sluice_program_exchange_id_t *id, uint32_t n_ranks,
                                  uint32_t rank, sluice_program_exchange_group_t **group);
  /* What was enqueued has run before. May block until the other ranks have called it. The group is gone in any case. */
  sluice_result_t (*group_destroy)(sluice_program_exchange_group_t *group);
  /* In place of it after an error, here or elsewhere: ends what is enqueued, which then has moved any part of the data,
   * and waits for no other rank. The group is gone in any case. */
  sluice_result_t (*group_abandon)(sluice_program_exchange_group_t *group);
  /* Enqueues a send and a receive for each rank, all at once, behind what is in the group's stream; what is enqueued
   * later begins when all parts have arrived here and all that are sent may be written again. All ranks call it, in the
   * same order where several calls follow. `parts` and its arrays are read during the call only. Does not wait for what
   * it enqueues, but may block at first until the other ranks have called it, while connections are opened. After an
   * error nothing but group_abandon() may be done with the group. */
  sluice_result_t (*enqueue)(sluice_program_exchange_group_t *group, const sluice_program_exchange_parts_t *parts);
} sluice_program_exchange_t;

/* Returns the table, which belongs to the module and stays as it is while the module is loaded. Any thread. */
typedef const sluice_program_exchange_t *(*sluice_program_exchange_fn)(void);

#ifdef __cplusplus
}
#endif

#endif /* SLUICE_PROGRAM_EXCHANGE_H */

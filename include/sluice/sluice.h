/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a program that knows of Sluice may ask it. Nothing here is needed by an unmodified MPI program. The functions
 * are defined by the preloaded library (libsluice_<abi>.so); a program that must also run without it looks them up
 * with dlsym(RTLD_DEFAULT, ...).
 *
 * Threads: any thread, any time, unless said otherwise. None of these communicates.
 */
#ifndef SLUICE_SLUICE_H
#define SLUICE_SLUICE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header; sluice_version() says the library's. */
#define SLUICE_VERSION_MAJOR 0
/* Raised when interfaces are added or, below 1.0, changed. */
#define SLUICE_VERSION_MINOR 1
/* Raised when only faults are mended. */
#define SLUICE_VERSION_PATCH 0

/* Writes the library's version. Any pointer may be null. */
void sluice_version(int *major, int *minor, int *patch);

/* 1 when MPI calls of this process go through Sluice (SLUICE_ENABLE), else 0. */
int sluice_is_enabled(void);

/* 1 when device memory of the named backend (`sluice info` lists the names) may be passed to MPI in this process now:
 * its module is loaded and its runtime answers. 0 otherwise, also for unknown names and NULL. Loads the backend if its
 * runtime has appeared since the last call. */
int sluice_query_backend(const char *backend_name);

/* Makes pointers of a further context known to a backend whose pointer queries need one. `context` is the address of a
 * queue of that backend's runtime, which MPIX_Create_queue then takes as a stream as long as that queue is at that
 * address (docs/queue/guide.md). The object may be destroyed afterwards. Call it before the first MPI call that is
 * given such a pointer. Returns 0, or -1 with sluice_last_error() set. */
int sluice_register_context(const char *backend_name, void *context);

/* The text of the last error that this thread met in Sluice: what happened, the native text, the remedy. "" when there
 * was none. Owned by the library, valid until the thread's next call. */
const char *sluice_last_error(void);

/* Switches counting for the statistics on (not 0) or off (0); returns 1 when it was on, else 0. It is off unless
 * SLUICE_STATS or SLUICE_STATS_FILE asked for it, and costs two readings of a clock an operation. What was counted
 * stays. An operation that is under way may be counted in part. */
int sluice_statistics_count(int is_on);

/* The statistics so far as a JSON text (the format of SLUICE_STATS_FILE; docs/statistics.md). Writes at most
 * size_bytes - 1 characters and a zero; returns the whole length, so that a call with size 0 asks for it. */
size_t sluice_statistics_json(char *buffer, size_t size_bytes);

#ifdef __cplusplus
}
#endif

#endif /* SLUICE_SLUICE_H */

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Preload library for ranks that outnumber the cores under an MPI whose blocked calls spin in UCX: after a few turns of
 * the progress loop that found nothing to do, the core is given away. Changes no result, only who runs. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stdlib.h>

enum { kIdleTurns = 20 };

typedef unsigned (*progress_fn)(void *worker);

unsigned ucp_worker_progress(void *worker);

__attribute__((visibility("default"))) unsigned ucp_worker_progress(void *worker) {
  static progress_fn next;
  static __thread unsigned idle_turns;
  progress_fn call = __atomic_load_n(&next, __ATOMIC_ACQUIRE);
  if (call == NULL) {
    /* The pedantic way from an object pointer to a function pointer. */
    *(void **)&call = dlsym(RTLD_NEXT, "ucp_worker_progress");
    if (call == NULL) {
      /* Out of RTLD_NEXT's sight in a program that opened its MPI privately (mpi4py). */
      void *library = dlopen("libucp.so.0", RTLD_NOW | RTLD_NOLOAD);
      if (library != NULL) {
        *(void **)&call = dlsym(library, "ucp_worker_progress");
      }
    }
    if (call == NULL) {
      return 0;
    }
    __atomic_store_n(&next, call, __ATOMIC_RELEASE);
  }
  unsigned events = call(worker);
  if (events != 0) {
    idle_turns = 0;
  } else if (++idle_turns >= kIdleTurns) {
    idle_turns = 0;
    sched_yield();
  }
  return events;
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Preload library that stands for a host MPI which takes all file descriptors: once it is initialised the process can
 * open no file any more. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <stddef.h>
#include <sys/resource.h>
#include <unistd.h>

static void take_the_rest(void) {
  struct rlimit limit;
  const int lowest_free = fcntl(0, F_DUPFD_CLOEXEC, 0);
  if (lowest_free < 0 || getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return;
  }
  close(lowest_free);
  limit.rlim_cur = (rlim_t)lowest_free;
  setrlimit(RLIMIT_NOFILE, &limit);
}

typedef int (*init_fn)(int *, char ***);
typedef int (*init_thread_fn)(int *, char ***, int, int *);

__attribute__((visibility("default"))) int MPI_Init(int *argc, char ***argv) {
  init_fn next = NULL;
  *(void **)&next = dlsym(RTLD_NEXT, "MPI_Init");
  if (next == NULL) {
    return MPI_ERR_OTHER;
  }
  const int code = next(argc, argv);
  take_the_rest();
  return code;
}

__attribute__((visibility("default"))) int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
  init_thread_fn next = NULL;
  *(void **)&next = dlsym(RTLD_NEXT, "MPI_Init_thread");
  if (next == NULL) {
    return MPI_ERR_OTHER;
  }
  const int code = next(argc, argv, required, provided);
  take_the_rest();
  return code;
}

// SPDX-License-Identifier: BSD-3-Clause
// Preloaded: no shared memory for Sluice where REFUSE_SHARED_MEMORY is set, as in a container without room in /dev/shm.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>

__attribute__((visibility("default"))) int shm_open(const char *name, int flags, mode_t mode) {
  static const char kOurs[] = "/sluice-";
  if (getenv("REFUSE_SHARED_MEMORY") != NULL && strncmp(name, kOurs, sizeof kOurs - 1) == 0) {
    errno = ENOSPC;
    return -1;
  }
  int (*next)(const char *, int, mode_t) = (int (*)(const char *, int, mode_t))dlsym(RTLD_NEXT, "shm_open");
  if (next != NULL) return next(name, flags, mode);
  errno = ENOSYS;
  return -1;
}

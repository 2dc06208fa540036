// SPDX-License-Identifier: BSD-3-Clause
// A preload library of the tests: what is written (or read) of a test's file behind the byte TEST_DISK_ENDS fails with
// the error number TEST_DISK_ERROR. What reaches over that byte is done up to it, as by a disk that is full.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static int is_of_test(int fd) {
  static const char name[] = "/tmp/sluice_io.";
  char link[64];
  char path[sizeof name] = "";
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  return readlink(link, path, sizeof name - 1) > 0 && strcmp(path, name) == 0;
}

// The bytes of `size` that are done; -1 with errno set: none.
static ssize_t allowed(int fd, size_t size, off_t offset, const char *direction) {
  const char *ends = getenv("TEST_DISK_ENDS");
  const char *error = getenv("TEST_DISK_ERROR");
  const char *wanted = getenv("TEST_DISK_DIRECTION");
  if (ends == NULL || error == NULL || wanted == NULL || strcmp(wanted, direction) != 0 || !is_of_test(fd)) {
    return (ssize_t)size;
  }
  off_t left = (off_t)atoll(ends) - offset;
  if (left >= (off_t)size) return (ssize_t)size;
  if (left > 0) return left;
  if (size == 0) return 0;
  errno = atoi(error);
  return -1;
}

#define FAILING(name, direction, pointer)                                   \
  ssize_t name(int fd, pointer buffer, size_t size, off_t offset) {         \
    ssize_t (*next)(int, pointer, size_t, off_t) = dlsym(RTLD_NEXT, #name); \
    ssize_t left = allowed(fd, size, offset, direction);                    \
    return left < 0 ? left : next(fd, buffer, (size_t)left, offset);        \
  }
FAILING(pwrite, "write", const void *)
FAILING(pwrite64, "write", const void *)
FAILING(pread, "read", void *)
FAILING(pread64, "read", void *)

// Of several pieces: up to the first that is not done whole.
#define FAILING_PIECES(name, one)                                                   \
  ssize_t name(int fd, const struct iovec *pieces, int n_pieces, off_t offset) {    \
    ssize_t done = 0;                                                               \
    for (int i = 0; i < n_pieces; ++i) {                                            \
      ssize_t more = one(fd, pieces[i].iov_base, pieces[i].iov_len, offset + done); \
      if (more < 0) return done > 0 ? done : more;                                  \
      done += more;                                                                 \
      if ((size_t)more < pieces[i].iov_len) break;                                  \
    }                                                                               \
    return done;                                                                    \
  }
FAILING_PIECES(pwritev, pwrite)
FAILING_PIECES(pwritev64, pwrite)
FAILING_PIECES(preadv, pread)
FAILING_PIECES(preadv64, pread)

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One case each of memory of another process that cannot be had: the text names the true reason. A child exports, this
 * process opens. Usage: emu_handle_program <case>; exit status 0 when the case went as it should, 77 when it cannot
 * run.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emurt.h"

static int fail_at(int line, const char *what) {
  fprintf(stderr, "line %d: %s; last error: %s\n", line, what, emu_last_error_text());
  return 1;
}

#define REQUIRE(condition)                                  \
  do {                                                      \
    if (!(condition)) return fail_at(__LINE__, #condition); \
  } while (0)

/* Has `handle` filled in by a child that lives until it is killed. Before anything else of the runtime is used here. */
static int start_exporter(pid_t *child, emu_ipc_handle_t *handle) {
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  *child = fork();
  REQUIRE(*child >= 0);
  if (*child == 0) {
    void *memory = NULL;
    emu_ipc_handle_t made;
    const int is_made = emu_malloc_device(4096, &memory) == EMU_SUCCESS && emu_ipc_export(memory, &made) == EMU_SUCCESS;
    if (!is_made || write(ends[1], &made, sizeof made) != (ssize_t)sizeof made) _exit(1);
    for (;;) pause();
  }
  REQUIRE(close(ends[1]) == 0);
  REQUIRE(read(ends[0], handle, sizeof *handle) == (ssize_t)sizeof *handle);
  return close(ends[0]);
}

static int end(pid_t child) {
  REQUIRE(kill(child, SIGKILL) == 0);
  REQUIRE(waitpid(child, NULL, 0) == child);
  return 0;
}

static int is_refused_naming(const emu_ipc_handle_t *handle, const char *text) {
  void *memory = NULL;
  REQUIRE(emu_ipc_open(handle, &memory) != EMU_SUCCESS);
  REQUIRE(strstr(emu_last_error_text(), text) != NULL);
  return 0;
}

static int run_killed(void) {
  pid_t child = -1;
  emu_ipc_handle_t handle;
  char text[64];
  REQUIRE(start_exporter(&child, &handle) == 0);
  REQUIRE(end(child) == 0);
  snprintf(text, sizeof text, "process %d has ended", (int)child);
  return is_refused_naming(&handle, text);
}

/* The lowest limits that leave 0, 1 and 2 descriptors: each file that is opened on the way is the first once. */
static int run_no_descriptors(void) {
  pid_t child = -1;
  emu_ipc_handle_t handle;
  void *memory = NULL;
  struct rlimit limit;
  REQUIRE(start_exporter(&child, &handle) == 0);
  REQUIRE(emu_malloc_device(4096, &memory) == EMU_SUCCESS); /* the runtime has what it needs for itself */
  const int lowest = dup(0);
  REQUIRE(lowest >= 0 && close(lowest) == 0);
  REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  for (int n_left = 0; n_left < 2; ++n_left) {
    limit.rlim_cur = (rlim_t)(lowest + n_left);
    REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    REQUIRE(is_refused_naming(&handle, "Too many open files: raise this process's limit") == 0);
  }
  limit.rlim_cur = (rlim_t)(lowest + 8);
  REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
  REQUIRE(emu_ipc_open(&handle, &memory) == EMU_SUCCESS); /* and nothing is remembered of that */
  return end(child);
}

/* 77 when this process may not hide /proc from itself. */
static int hide_proc(void) {
  if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return 77;
  if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) return 77;
  return mount("none", "/proc", "tmpfs", 0, NULL) != 0 ? 77 : 0;
}

static int run_no_proc(void) {
  pid_t child = -1;
  emu_ipc_handle_t handle;
  void *memory = NULL;
  REQUIRE(start_exporter(&child, &handle) == 0);
  const int hidden = hide_proc();
  if (hidden != 0) {
    puts("skipped: this process may not have mounts of its own");
    return end(child) != 0 ? 1 : hidden;
  }
  REQUIRE(is_refused_naming(&handle, "/proc is not mounted here") == 0);
  REQUIRE(emu_malloc_device(4096, &memory) == EMU_SUCCESS);
  REQUIRE(emu_ipc_export(memory, &handle) != EMU_SUCCESS);
  REQUIRE(strstr(emu_last_error_text(), "/proc is not mounted here") != NULL);
  return end(child);
}

int main(int argc, char **argv) {
  const char *name = argc == 2 ? argv[1] : "";
  if (strcmp(name, "killed") == 0) return run_killed();
  if (strcmp(name, "no_descriptors") == 0) return run_no_descriptors();
  if (strcmp(name, "no_proc") == 0) return run_no_proc();
  fprintf(stderr, "no such case: %s\n", name);
  return 2;
}

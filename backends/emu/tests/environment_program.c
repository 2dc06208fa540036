/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One case of the runtime's life each: its environment, a fork, the process's end. Plain C, as a program of a user's
 * might be. Usage: emu_environment_program <case>; exit status 0 when the case went as it should.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
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

static int count_is(int32_t expected) {
  int32_t count = -1;
  REQUIRE(emu_device_count(&count) == EMU_SUCCESS);
  REQUIRE(count == expected);
  return 0;
}

static int refused_naming(const char *text) {
  int32_t count = -1;
  for (int i = 0; i < 2; ++i) {
    REQUIRE(emu_device_count(&count) == EMU_ERROR_CONFIGURATION);
    REQUIRE(strstr(emu_last_error_text(), text) != NULL);
  }
  return 0;
}

static int run_defaults(void) {
  emu_device_info_t info;
  int is_active = 1;
  REQUIRE(count_is(2) == 0);
  REQUIRE(emu_device_query(1, &info) == EMU_SUCCESS);
  REQUIRE(info.memory_bytes == (uint64_t)4 << 30);
  REQUIRE(emu_device_is_active(0, &is_active) == EMU_SUCCESS && is_active == 0);
  return 0;
}

static int run_no_device(void) {
  void *memory = NULL;
  emu_queue_t *queue = NULL;
  REQUIRE(count_is(0) == 0);
  REQUIRE(emu_malloc_device(10, &memory) == EMU_ERROR_INVALID_DEVICE);
  REQUIRE(emu_queue_create(&queue) == EMU_ERROR_INVALID_DEVICE);
  REQUIRE(emu_set_device(0) == EMU_ERROR_INVALID_DEVICE);
  return 0;
}

static int run_fault(void) {
  void *memory = NULL;
  REQUIRE(emu_malloc_host(10, 0, &memory) == EMU_ERROR_OUT_OF_MEMORY);
  return 0;
}

static int run_reuse(void) {
  void *first = NULL;
  void *second = NULL;
  emu_pointer_info_t before;
  emu_pointer_info_t after;
  REQUIRE(emu_malloc_device(5000, &first) == EMU_SUCCESS);
  REQUIRE(emu_pointer_query(first, &before) == EMU_SUCCESS);
  REQUIRE(emu_free(first) == EMU_SUCCESS);
  REQUIRE(emu_malloc_host(6000, 0, &second) == EMU_SUCCESS);
  REQUIRE(second == first);
  REQUIRE(emu_pointer_query(second, &after) == EMU_SUCCESS);
  REQUIRE(after.kind == EMU_MEMORY_PINNED && after.allocation_id != before.allocation_id);
  memset(second, 1, 6000);
  REQUIRE(emu_free(second) == EMU_SUCCESS);
  REQUIRE(emu_malloc_device(4097, &second) == EMU_SUCCESS);
  REQUIRE(second == first);
  return 0;
}

static int run_no_quarantine(void) {
  void *memory = NULL;
  emu_pointer_info_t info;
  REQUIRE(emu_malloc_device(5000, &memory) == EMU_SUCCESS);
  REQUIRE(emu_free(memory) == EMU_SUCCESS);
  REQUIRE(emu_pointer_query(memory, &info) == EMU_SUCCESS);
  REQUIRE(info.kind == EMU_MEMORY_HOST);
  return 0;
}

static int run_small_memory(void) {
  void *memory = NULL;
  REQUIRE(emu_malloc_device(1048577, &memory) == EMU_ERROR_OUT_OF_MEMORY);
  REQUIRE(strstr(emu_last_error_text(), "memory_bytes of SLUICE_EMU_MACHINE") != NULL);
  REQUIRE(emu_malloc_device(1048576, &memory) == EMU_SUCCESS);
  return 0;
}

static int profile_is(const char *device, uint64_t memory_bytes) {
  emu_device_info_t info;
  REQUIRE(emu_device_query(0, &info) == EMU_SUCCESS);
  REQUIRE(strstr(info.name, "Emulated") != NULL && strstr(info.name, device) != NULL);
  REQUIRE(info.memory_bytes == memory_bytes);
  return 0;
}

/* The exit status of a child that runs `body`. */
static int in_child(int (*body)(void)) {
  int status = 0;
  const pid_t child = fork();
  if (child == 0) exit(body());
  if (child < 0 || waitpid(child, &status, 0) != child) return 99;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

static int child_is_refused(void) {
  int32_t count = 0;
  void *memory = NULL;
  REQUIRE(emu_device_count(&count) == EMU_ERROR_FORKED);
  REQUIRE(emu_malloc_device(10, &memory) == EMU_ERROR_FORKED);
  return 0;
}

static int run_fork_child(void) {
  emu_queue_t *queue = NULL;
  void *memory = NULL;
  REQUIRE(emu_queue_create(&queue) == EMU_SUCCESS);
  REQUIRE(emu_malloc_device(100, &memory) == EMU_SUCCESS);
  REQUIRE(in_child(child_is_refused) == 0);
  /* The parent goes on. */
  REQUIRE(emu_memcpy_async(queue, memory, "abc", 3) == EMU_SUCCESS);
  REQUIRE(emu_queue_synchronize(queue) == EMU_SUCCESS);
  return 0;
}

static int run_fork_fresh(void) {
  REQUIRE(in_child(run_defaults) == 0);
  return run_defaults();
}

/* Leaves a queue that is at work, or held, with more to do. */
static int run_exit(int is_held) {
  static char host[1000];
  emu_queue_t *queue = NULL;
  void *memory = NULL;
  REQUIRE(emu_queue_create(&queue) == EMU_SUCCESS);
  REQUIRE(emu_malloc_device(1000, &memory) == EMU_SUCCESS);
  if (is_held) REQUIRE(emu_queue_hold(queue) == EMU_SUCCESS);
  for (int i = 0; i < 1000; ++i) REQUIRE(emu_memcpy_async(queue, memory, host, 1000) == EMU_SUCCESS);
  return 0;
}

static void wait_for_nothing(const void *arguments, void *const *memory) {
  (void)arguments;
  (void)memory;
  while (emu_kernel_pause() == EMU_SUCCESS) {
  }
}

static int run_exit_in_kernel(void) {
  emu_queue_t *queue = NULL;
  void *memory = NULL;
  REQUIRE(emu_queue_create(&queue) == EMU_SUCCESS);
  REQUIRE(emu_malloc_host(8, 0, &memory) == EMU_SUCCESS);
  const emu_range_t range = {memory, 8};
  REQUIRE(emu_launch_async(queue, wait_for_nothing, NULL, 0, &range, 1, 1) == EMU_SUCCESS);
  return 0;
}

static int64_t now_ns(void) {
  struct timespec now;
  return clock_gettime(CLOCK_MONOTONIC, &now) == 0 ? now.tv_sec * INT64_C(1000000000) + now.tv_nsec : 0;
}

/* The file says that another process has taken all links for a while: a copy waits for its turn, and says so there. */
static int run_link_file(void) {
  char machine[] = "profile=dg1,link_file=/tmp/emu-link-XXXXXX";
  char *const path = strchr(machine, '/');
  int64_t taken_until[48];
  int64_t left[48];
  static char host[4096];
  void *memory = NULL;
  const int file = mkstemp(path);
  REQUIRE(file >= 0);
  const int64_t moment = now_ns() + INT64_C(300000000);
  for (int i = 0; i < 48; ++i) taken_until[i] = moment;
  REQUIRE(write(file, taken_until, sizeof taken_until) == (ssize_t)sizeof taken_until);
  REQUIRE(setenv("SLUICE_EMU_MACHINE", machine, 1) == 0);
  REQUIRE(emu_malloc_device(sizeof host, &memory) == EMU_SUCCESS);
  REQUIRE(emu_memcpy(memory, host, sizeof host) == EMU_SUCCESS);
  REQUIRE(now_ns() >= moment);
  REQUIRE(pread(file, left, sizeof left, 0) == (ssize_t)sizeof left);
  REQUIRE(memcmp(left, taken_until, sizeof left) != 0);
  REQUIRE(close(file) == 0 && unlink(path) == 0);
  return 0;
}

static emu_queue_t *late_queue;

/* Runs when the process exits. The runtime's own destructor comes later, so the calls still answer; what matters is
 * that they answer. */
static void call_late(void) {
  uint64_t ticket = 0;
  if (late_queue == NULL) return;
  if (emu_queue_record(late_queue, &ticket) == EMU_SUCCESS) (void)emu_ticket_wait(late_queue, ticket);
}

static int run_call_after_exit(void) {
  REQUIRE(emu_queue_create(&late_queue) == EMU_SUCCESS);
  REQUIRE(atexit(call_late) == 0);
  return 0;
}

int main(int argc, char **argv) {
  const char *name = argc == 2 ? argv[1] : "";
  if (strcmp(name, "defaults") == 0) return run_defaults();
  if (strcmp(name, "no_device") == 0) return run_no_device();
  if (strcmp(name, "many_devices") == 0) return count_is(16);
  if (strcmp(name, "wrong_devices") == 0) return refused_naming("SLUICE_EMU_MACHINE: \"devices=17\"");
  if (strcmp(name, "wrong_word") == 0) return refused_naming("SLUICE_EMU_MACHINE: \"colour=red\"");
  if (strcmp(name, "wrong_fault") == 0) return refused_naming("SLUICE_EMU_FAULT: \"copy:never\"");
  if (strcmp(name, "wrong_profile") == 0) return refused_naming("nosuch");
  if (strcmp(name, "fault") == 0) return run_fault();
  if (strcmp(name, "reuse") == 0) return run_reuse();
  if (strcmp(name, "no_quarantine") == 0) return run_no_quarantine();
  if (strcmp(name, "small_memory") == 0) return run_small_memory();
  if (strcmp(name, "profile") == 0) return profile_is("DG1", 7530000000u);
  if (strcmp(name, "second_profile") == 0) return profile_is("PVC", 128000000000u);
  if (strcmp(name, "link_file") == 0) return run_link_file();
  if (strcmp(name, "wrong_link_file") == 0) return refused_naming("link_file=/nowhere/links");
  if (strcmp(name, "fork_child") == 0) return run_fork_child();
  if (strcmp(name, "fork_fresh") == 0) return run_fork_fresh();
  if (strcmp(name, "exit_while_running") == 0) return run_exit(0);
  if (strcmp(name, "exit_while_held") == 0) return run_exit(1);
  if (strcmp(name, "exit_while_a_kernel_waits") == 0) return run_exit_in_kernel();
  if (strcmp(name, "call_after_exit") == 0) return run_call_after_exit();
  fprintf(stderr, "no such case: %s\n", name);
  return 2;
}

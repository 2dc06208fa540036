/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A wire that is slower than this machine's: preloaded between Sluice and the host MPI (tests/launch --preload-below),
 * it sends each message of 32 KiB and more when a wire of the wanted bandwidth would have carried it: messages of one
 * process follow each other. PACED_WIRE_NS_PER_BYTE is what is added to the host MPI's own time. For programs with one
 * thread that send through MPI_Send and MPI_Isend and complete by MPI_Test, MPI_Wait and MPI_Waitall, as sluice-bench
 * and the blocks of Sluice do. */
#include <errno.h>
#include <mpi.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define EXPORTED __attribute__((visibility("default")))

enum { kSmallestBytes = 32768, kMostPending = 1024, kSpinNs = 100000 };

/* A send that waits for its turn, or was begun after it: a persistent request of the host MPI, freed when complete.
 * They stand in the order in which they were submitted, which is MPI's order of messages between two ranks. */
struct PacedSend {
  int64_t due_ns;
  MPI_Request request;
  int is_started;
};

static struct PacedSend pending[kMostPending];
static int n_pending;
static int64_t wire_free_ns;

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* Bytes of a message that is paced; 0: not paced. */
static int64_t paced_bytes(int count, MPI_Datatype type) {
  int size = 0;
  if (PMPI_Type_size(type, &size) != MPI_SUCCESS) return 0;
  const int64_t bytes = (int64_t)count * size;
  return bytes >= kSmallestBytes ? bytes : 0;
}

/* Takes the wire for a message; returns when it may go. */
static int64_t reserve(int64_t bytes) {
  static double ns_per_byte = -1;
  if (ns_per_byte < 0) {
    const char *text = getenv("PACED_WIRE_NS_PER_BYTE");
    ns_per_byte = text != NULL ? strtod(text, NULL) : 0;
  }
  const int64_t now = now_ns();
  wire_free_ns = (wire_free_ns > now ? wire_free_ns : now) + (int64_t)((double)bytes * ns_per_byte);
  return wire_free_ns;
}

static void wait_until(int64_t moment_ns) {
  if (moment_ns - now_ns() > 2 * (int64_t)kSpinNs) {
    const int64_t wake_ns = moment_ns - kSpinNs;
    const struct timespec wake = {wake_ns / 1000000000, wake_ns % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, NULL) == EINTR) {
    }
  }
  while (now_ns() < moment_ns) sched_yield();
}

static int start_due(void) {
  for (int i = 0; i < n_pending; ++i) {
    if (pending[i].is_started) continue;
    if (now_ns() < pending[i].due_ns) break; /* those behind it must not overtake it, though they may be due by now */
    const int result = PMPI_Start(&pending[i].request);
    if (result != MPI_SUCCESS) return result;
    pending[i].is_started = 1;
  }
  return MPI_SUCCESS;
}

static int find(MPI_Request request) {
  for (int i = 0; i < n_pending; ++i) {
    if (pending[i].request == request) return i;
  }
  return -1;
}

EXPORTED int MPI_Send(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  const int64_t bytes = paced_bytes(count, type);
  if (bytes != 0) wait_until(reserve(bytes));
  return PMPI_Send(buf, count, type, dest, tag, comm);
}

EXPORTED int MPI_Isend(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                       MPI_Request *request) {
  const int64_t bytes = paced_bytes(count, type);
  if (bytes == 0 || n_pending == kMostPending) return PMPI_Isend(buf, count, type, dest, tag, comm, request);
  const int result = PMPI_Send_init(buf, count, type, dest, tag, comm, request);
  if (result != MPI_SUCCESS) return result;
  pending[n_pending].request = *request;
  pending[n_pending].due_ns = reserve(bytes);
  pending[n_pending].is_started = 0;
  ++n_pending;
  return MPI_SUCCESS;
}

EXPORTED int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status) {
  int result = start_due();
  if (result != MPI_SUCCESS) return result;
  const int i = find(*request);
  if (i < 0) return PMPI_Test(request, flag, status);
  *flag = 0;
  if (!pending[i].is_started) return MPI_SUCCESS;
  result = PMPI_Test(request, flag, status);
  if (result != MPI_SUCCESS || !*flag) return result;
  --n_pending;
  for (int k = i; k < n_pending; ++k) pending[k] = pending[k + 1];
  return PMPI_Request_free(request);
}

EXPORTED int MPI_Wait(MPI_Request *request, MPI_Status *status) {
  int is_done = 0;
  while (n_pending > 0) {
    const int result = MPI_Test(request, &is_done, status);
    if (result != MPI_SUCCESS || is_done) return result;
    sched_yield();
  }
  return PMPI_Wait(request, status);
}

EXPORTED int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  if (n_pending == 0) return PMPI_Waitall(count, requests, statuses);
  for (int i = 0; i < count; ++i) {
    const int result = MPI_Wait(&requests[i], statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i]);
    if (result != MPI_SUCCESS) return result;
  }
  return MPI_SUCCESS;
}

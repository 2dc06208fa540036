/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A ping-pong and a stream that share no line with sluice-bench, to hold its figures against: plain loops between two
 * readings of MPI's clock, nothing checked, nothing kept.
 *
 *   ping_pong host|cuda SIZE[,SIZE...] ITERATIONS WARMUP REPEAT [one]        on two ranks
 *
 * Prints a line for each size and repeat: bytes, half a round trip in us, MB/s of windows of 64 sends. `one`: what
 * comes in goes out again, from one buffer, as NetPIPE does it; else each way has a buffer, as most measuring programs
 * have. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kWindow = 64 };

/* Device memory by the driver's own calls, looked up: no toolkit is needed to compile this. */
static void *device_memory(size_t bytes, int rank) {
  static void *driver = NULL;
  int n_devices = 0, device = 0;
  void *context = NULL;
  unsigned long long address = 0;
  if (driver == NULL) driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (driver == NULL) return NULL;
  int (*init)(unsigned) = (int (*)(unsigned))dlsym(driver, "cuInit");
  int (*count)(int *) = (int (*)(int *))dlsym(driver, "cuDeviceGetCount");
  int (*get)(int *, int) = (int (*)(int *, int))dlsym(driver, "cuDeviceGet");
  int (*retain)(void **, int) = (int (*)(void **, int))dlsym(driver, "cuDevicePrimaryCtxRetain");
  int (*use)(void *) = (int (*)(void *))dlsym(driver, "cuCtxSetCurrent");
  int (*allocate)(unsigned long long *, size_t) = (int (*)(unsigned long long *, size_t))dlsym(driver, "cuMemAlloc_v2");
  if (!init || !count || !get || !retain || !use || !allocate) return NULL;
  if (init(0) != 0 || count(&n_devices) != 0 || n_devices == 0 || get(&device, rank % n_devices) != 0) return NULL;
  if (retain(&context, device) != 0 || use(context) != 0 || allocate(&address, bytes) != 0) return NULL;
  return (void *)address;
}

static double half_round_trip_us(char *out, char *in, int bytes, int rank, int n) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int i = 0; i < n; ++i) {
    if (rank == 0) {
      MPI_Send(out, bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
      MPI_Recv(in, bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(in, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(out, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
    }
  }
  return (MPI_Wtime() - begin) * 1e6 / n / 2;
}

static double stream_mbps(char *out, char *in, int bytes, int rank, int n) {
  MPI_Request requests[kWindow];
  MPI_Status statuses[kWindow];
  char answer[4] = "done";
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < kWindow; ++k) {
      if (rank == 0) {
        MPI_Isend(out, bytes, MPI_CHAR, 1, 2, MPI_COMM_WORLD, &requests[k]);
      } else {
        MPI_Irecv(in, bytes, MPI_CHAR, 0, 2, MPI_COMM_WORLD, &requests[k]);
      }
    }
    MPI_Waitall(kWindow, requests, statuses);
    if (rank == 0) {
      MPI_Recv(answer, 4, MPI_CHAR, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Send(answer, 4, MPI_CHAR, 0, 3, MPI_COMM_WORLD);
    }
  }
  return (double)bytes * kWindow * n / (MPI_Wtime() - begin) / 1e6;
}

int main(int argc, char **argv) {
  int rank = 0, n_ranks = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
  if ((argc != 6 && argc != 7) || n_ranks != 2) {
    if (rank == 0)
      fprintf(stderr, "usage: ping_pong host|cuda SIZE[,...] ITERATIONS WARMUP REPEAT [one], on two ranks\n");
    MPI_Finalize();
    return 2;
  }
  const int n = atoi(argv[3]), n_warm = atoi(argv[4]), n_repeat = atoi(argv[5]);
  for (char *rest = argv[2]; *rest != '\0';) {
    const int bytes = (int)strtol(rest, &rest, 10);
    const int n_stream = n / 10 > 2 ? n / 10 : 2;
    char *buffers[2];
    if (*rest != '\0') ++rest;
    for (int i = 0; i < 2; ++i) {
      /* Kept until the end: the next size's memory must not be the one that was mapped already. */
      buffers[i] = strcmp(argv[1], "cuda") == 0 ? device_memory((size_t)bytes, rank) : malloc((size_t)bytes);
      if (buffers[i] == NULL) {
        // NOLINTNEXTLINE(clang-analyzer-unix.Malloc): what the sizes before hold ends with the process
        fprintf(stderr, "ping_pong: rank %d: no %s memory of %d bytes\n", rank, argv[1], bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
        return 1; /* MPI_Abort does not return; a reader of the code cannot know */
      }
      if (strcmp(argv[1], "cuda") != 0) memset(buffers[i], i + 1, (size_t)bytes);
    }
    if (argc == 7) buffers[1] = buffers[0];
    for (int i = 0; i < n_repeat; ++i) {
      half_round_trip_us(buffers[0], buffers[1], bytes, rank, n_warm);
      const double us = half_round_trip_us(buffers[0], buffers[1], bytes, rank, n);
      stream_mbps(buffers[0], buffers[1], bytes, rank, 2);
      const double mbps = stream_mbps(buffers[0], buffers[1], bytes, rank, n_stream);
      if (rank == 0) printf("%d %.4f %.3f\n", bytes, us, mbps);
    }
  }
  MPI_Finalize();
  return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a job costs before it sends anything, and what each communicator adds: for bench/growth, on any number of ranks.
 *
 *   growth [COMMUNICATORS]
 *
 * Rank 0 prints a line of JSON: for each step the slowest rank's time in us, and the most that any rank's memory grew
 * in it, in bytes (pages of its own that were written, and its part of shared ones); then the most descriptors,
 * mappings and threads that a rank has in the end. Host memory only. The program calls nothing of Sluice. */
#include <dirent.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kInit, kDup, kSplit, kFirst, kSecond, kFirstHalf, kMoreDups, kFree, kSteps };
static const char *const step_names[kSteps] = {
    "MPI_Init",        "MPI_Comm_dup", "MPI_Comm_split", "first MPI_Allreduce", "second MPI_Allreduce",
    "first in a half", "further dups", "MPI_Comm_free"};

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Written pages of this process alone, and of shared memory its share. */
static double memory_bytes(void) {
  char line[256];
  double kib = 0, value = 0;
  FILE *file = fopen("/proc/self/smaps_rollup", "r");
  if (file == NULL) return 0;
  while (fgets(line, sizeof line, file) != NULL) {
    if (sscanf(line, "Private_Dirty: %lf", &value) == 1 || sscanf(line, "Pss_Shmem: %lf", &value) == 1) kib += value;
  }
  fclose(file);
  return kib * 1024;
}

static double lines_of(const char *path) {
  char line[512];
  double n = 0;
  FILE *file = fopen(path, "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL) n += strchr(line, '\n') != NULL;
  if (file != NULL) fclose(file);
  return n;
}

static double entries_of(const char *path) {
  double n = -2; /* the two dots */
  DIR *folder = opendir(path);
  while (folder != NULL && readdir(folder) != NULL) ++n;
  if (folder != NULL) closedir(folder);
  return n;
}

static double begun, before;
static double times[kSteps], grown[kSteps];

static void begin(void) {
  before = memory_bytes();
  begun = now_us();
}

static void end(int step) {
  times[step] += now_us() - begun;
  grown[step] += memory_bytes() - before;
}

int main(int argc, char **argv) {
  const int n_more = argc > 1 ? atoi(argv[1]) : 8;
  MPI_Comm dup, half, more[64];
  int rank, size;
  double one = 1, sum = 0, most[kSteps], counts[3], most_counts[3];
  if (n_more < 1 || n_more > 64) return 2;
  begin();
  MPI_Init(&argc, &argv);
  end(kInit);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Barrier(MPI_COMM_WORLD); /* the host MPI's own first steps are no communicator's */
  MPI_Barrier(MPI_COMM_WORLD);
  begin();
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  end(kDup);
  begin();
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  end(kSplit);
  for (int step = kFirst; step <= kFirstHalf; ++step) {
    MPI_Barrier(MPI_COMM_WORLD);
    begin();
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, step == kFirstHalf ? half : dup);
    end(step);
    if (sum < 1) MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  begin();
  for (int k = 0; k < n_more; ++k) MPI_Comm_dup(MPI_COMM_WORLD, &more[k]);
  for (int k = 0; k < n_more; ++k) MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, more[k]);
  end(kMoreDups);
  times[kMoreDups] /= n_more;
  grown[kMoreDups] /= n_more;
  begin();
  for (int k = 0; k < n_more; ++k) MPI_Comm_free(&more[k]);
  MPI_Comm_free(&dup);
  MPI_Comm_free(&half);
  end(kFree);
  times[kFree] /= n_more + 2;
  counts[0] = entries_of("/proc/self/fd");
  counts[1] = lines_of("/proc/self/maps");
  counts[2] = entries_of("/proc/self/task");
  MPI_Reduce(counts, most_counts, 3, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Reduce(times, most, kSteps, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Reduce(rank == 0 ? MPI_IN_PLACE : grown, grown, kSteps, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("{\"ranks\": %d", size);
    for (int step = 0; step < kSteps; ++step) {
      printf(", \"%s\": {\"us\": %.1f, \"bytes\": %.0f}", step_names[step], most[step], grown[step]);
    }
    printf(", \"descriptors\": %.0f, \"mappings\": %.0f, \"threads\": %.0f}\n", most_counts[0], most_counts[1],
           most_counts[2]);
  }
  MPI_Finalize();
  return 0;
}

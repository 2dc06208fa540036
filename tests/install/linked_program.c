/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An MPI program that is linked to libsluice before MPI and knows its interface. Two ranks exchange host memory and
 * check every byte; rank 0 checks what the library says of itself. Arguments: 0 or 1, what sluice_is_enabled() must
 * say; then pairs of a runtime library to load and the backend that must be usable after that. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/sluice.h"

enum { kBytes = 100003, kRounds = 3 };

static int failures = 0;

static void expect(int is_true, const char *what) {
  if (is_true) return;
  fprintf(stderr, "linked_program: not so: %s (last error: %s)\n", what, sluice_last_error());
  ++failures;
}

static unsigned char pattern(int rank, int round, int i) {
  return (unsigned char)(rank * 101 + round * 29 + i * 7 + (i >> 8) + 1);
}

static void exchange(int rank) {
  static unsigned char send[kBytes];
  static unsigned char receive[kBytes];
  for (int round = 0; round < kRounds; ++round) {
    int wrong = 0;
    MPI_Status status;
    int count = 0;
    for (int i = 0; i < kBytes; ++i) send[i] = pattern(rank, round, i);
    memset(receive, 0, sizeof(receive));
    if (rank == 0) {
      MPI_Send(send, kBytes, MPI_BYTE, 1, round, MPI_COMM_WORLD);
      MPI_Recv(receive, kBytes, MPI_BYTE, 1, round, MPI_COMM_WORLD, &status);
    } else {
      MPI_Recv(receive, kBytes, MPI_BYTE, 0, round, MPI_COMM_WORLD, &status);
      MPI_Send(send, kBytes, MPI_BYTE, 0, round, MPI_COMM_WORLD);
    }
    MPI_Get_count(&status, MPI_BYTE, &count);
    expect(count == kBytes && status.MPI_SOURCE == 1 - rank && status.MPI_TAG == round, "the status is right");
    for (int i = 0; i < kBytes; ++i) wrong += receive[i] != pattern(1 - rank, round, i);
    expect(wrong == 0, "every byte arrived");
  }
}

static void check_interface(int is_on) {
  int major = -1;
  int minor = -1;
  int patch = -1;
  char json[65536];
  sluice_version(&major, &minor, &patch);
  expect(major == SLUICE_VERSION_MAJOR && minor == SLUICE_VERSION_MINOR && patch == SLUICE_VERSION_PATCH,
         "the library has the version of its header");
  sluice_version(NULL, NULL, NULL);
  expect(sluice_is_enabled() == is_on, "sluice_is_enabled() is as SLUICE_ENABLE says");
  expect(sluice_query_backend("nonesuch") == 0, "an unknown backend is not usable");
  expect(sluice_query_backend(NULL) == 0, "no name is no backend");
  expect(sluice_register_context("nonesuch", NULL) == -1, "a context of an unknown backend is refused");
  expect(strstr(sluice_last_error(), "nonesuch") != NULL, "the last error names the backend");
  const size_t length = sluice_statistics_json(json, sizeof(json));
  expect(length > 0 && length < sizeof(json) && strlen(json) == length, "the statistics have the length they say");
  expect(sluice_statistics_json(NULL, 0) == length, "the length can be asked for");
  /* Statistics are on: that the send is counted shows that MPI calls of a linked program go through the library. */
  expect((strstr(json, "\"MPI_Send\"") != NULL) == is_on, "MPI_Send was counted, if and only if Sluice is on");
}

int main(int argc, char **argv) {
  int rank = 0;
  int size = 0;
  const int is_on = argc > 1 ? atoi(argv[1]) : 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  expect(size == 2, "there are two ranks");
  if (size == 2) exchange(rank);
  check_interface(is_on);
  for (int i = 2; i + 1 < argc; i += 2) {
    expect(dlopen(argv[i], RTLD_NOW | RTLD_GLOBAL) != NULL, "the runtime can be loaded");
    expect(sluice_query_backend(argv[i + 1]) == is_on, "the backend is usable once its runtime is in the process");
  }
  MPI_Finalize();
  if (failures == 0 && rank == 0) printf("linked_program: all is well, %d backends\n", argc > 2 ? (argc - 2) / 2 : 0);
  return failures == 0 ? 0 : 1;
}

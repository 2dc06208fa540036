# SPDX-License-Identifier: BSD-3-Clause
# Calls whose ranks give unlike lengths: as shipped, staged, together, on two nodes. Included by CMakeLists.txt, whose
# variables it uses. Without Sluice, too, MPICH 5 and Intel MPI end the job for most of them, and with more ranks than two
# Open MPI 4 never ends. Communicators in which a call went wrong are kept, which sanitizers call leaks.
sluice_add_rank_program(unlike_lengths SOURCES unlike_lengths.cpp)
foreach(mpi_ranks mpich4:2 mpich4:3 ompi4:2)
  string(REPLACE ":" ";" mpi_ranks ${mpi_ranks})
  list(GET mpi_ranks 0 mpi)
  list(GET mpi_ranks 1 ranks)
  set(unlike unlike_lengths BACKENDS faulty LABELS coll TIMEOUT 120 MPIS ${mpi} RANKS ${ranks})
  sluice_add_rank_test(${unlike} NAME coll_unlike_lengths NO_SANITIZER)
  sluice_add_rank_test(${unlike} NAME coll_unlike_lengths_staged NO_SANITIZER ENV SLUICE_COLL_IPC=off)
  sluice_add_rank_test(${unlike} NAME coll_unlike_lengths_together NO_SANITIZER ENV ${together})
  sluice_add_rank_test(${unlike} NAME coll_unlike_lengths_on_nodes NO_SANITIZER LAUNCH --env-rank 1 SLUICE_NODE=b
                       ENV SLUICE_TUNING=coll_segment_threshold=4000)
endforeach()

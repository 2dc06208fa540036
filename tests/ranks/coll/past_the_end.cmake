# SPDX-License-Identifier: BSD-3-Clause
# Collective calls past the end of a rank's memory: staged whole, together, in segments, on two nodes. Included by
# CMakeLists.txt, whose variables it uses.
set(past_the_end coll BACKENDS faulty LABELS coll ARGS --gtest_filter=*PastTheEnd.*)
sluice_add_rank_test(${past_the_end} NAME coll_past_the_end_staged RANKS 3 MPIS ${first_mpi} ompi4 NO_THREAD_SANITIZER
                     ENV SLUICE_COLL_IPC=off SLUICE_COLL_SEGMENTS=off)
sluice_add_rank_test(${past_the_end} NAME coll_past_the_end_together RANKS 3 MPIS ${one_of_each} ENV ${together} TEST_STARTS_AGREE=1)
sluice_add_rank_test(${past_the_end} NAME coll_past_the_end_segments RANKS 3 MPIS ${first_mpi} NO_SANITIZER ENV ${segments})
sluice_add_rank_test(${past_the_end} NAME coll_past_the_end_on_nodes RANKS 4 MPIS ${first_mpi} NO_SANITIZER ENV ${two_levels}
                     ${two_and_two})

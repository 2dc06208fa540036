# SPDX-License-Identifier: BSD-3-Clause
# Staged blocking calls in which all copies of one rank fail. Included by CMakeLists.txt, whose variables it uses.
set(staged_faults coll BACKENDS faulty LABELS coll fault TIMEOUT 300 FAULT queue_copy:1+ FAULT_RANK 1
                  ARGS --gtest_filter=*StagedFaults.*)
set(whole ENV SLUICE_COLL_IPC=off SLUICE_COLL_SEGMENTS=off TEST_COPIES_FAIL_ON=1)
sluice_add_rank_test(${staged_faults} NAME coll_staged_faults RANKS 3 MPIS ${first_mpi} ompi4 ${whole} NO_THREAD_SANITIZER)
sluice_add_rank_test(${staged_faults} NAME coll_staged_faults RANKS 5 MPIS ${first_mpi} ${whole} NO_SANITIZER)
# They meet before each call; and never; on two nodes; beside the progress thread.
sluice_add_rank_test(${staged_faults} NAME coll_staged_faults_meeting RANKS 3 MPIS ${first_mpi} ${whole} SLUICE_COLL_MEET=always
                     NO_SANITIZER)
sluice_add_rank_test(${staged_faults} NAME coll_staged_faults_unmet RANKS 3 MPIS ${first_mpi} ${whole} SLUICE_COLL_MEET=off
                     NO_SANITIZER)
sluice_add_rank_test(${staged_faults} NAME coll_staged_faults_on_nodes RANKS 4 MPIS ${first_mpi} ompi4 ${whole} SLUICE_COLL_LEVELS=off
                     NO_SANITIZER LAUNCH --hosts 2 --env-rank 2 SLUICE_NODE=b --env-rank 3 SLUICE_NODE=b)
sluice_add_rank_test(${staged_faults} NAME coll_staged_faults_progress_thread RANKS 3 MPIS ${first_mpi} ${whole}
                     SLUICE_PROGRESS_THREAD=1 NO_SANITIZER)

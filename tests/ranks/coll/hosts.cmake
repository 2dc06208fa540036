# SPDX-License-Identifier: BSD-3-Clause
# The forms of several nodes where the host MPI, too, has its ranks on two hosts (tests/launch --hosts) and sends between
# them by its network. Included by CMakeLists.txt, whose variables it uses: two_levels, level_request_suite, in_segments.
set(on_hosts coll BACKENDS faulty LABELS coll TIMEOUT 300 NO_SANITIZER)
set(two_levels_on_hosts ENV ${two_levels} TEST_HOSTS=2)
set(two_hosts LAUNCH --hosts 2 --env-rank 2 SLUICE_NODE=b --env-rank 3 SLUICE_NODE=b)
sluice_add_rank_test(${on_hosts} NAME coll_hosts RANKS 4 MPIS ompi4 ${two_levels_on_hosts} ${two_hosts}
                     ARGS --gtest_filter=Level*:Bcast.*:Allgather.*-LevelReductionFault.*:LevelRequest*)
sluice_add_rank_test(${on_hosts} NAME coll_hosts_requests RANKS 4 MPIS ompi4 ENV ${two_levels} ${level_request_suite} ${two_hosts})
sluice_add_rank_test(${on_hosts} NAME coll_hosts_differential RANKS 4 MPIS ompi4 ENV ${two_levels} ${in_segments} ${two_hosts}
                     ARGS --gtest_filter=Differential.*)
# Sluice has its ranks on the two nodes in turns, as MPICH has them; on one, where the host MPI has two; and unlike ones.
sluice_add_rank_test(${on_hosts} NAME coll_hosts_in_turns RANKS 4 MPIS mpich4 ${two_levels_on_hosts}
                     ARGS --gtest_filter=LevelHosts.*:LevelReductions.*:Bcast.*:Allgather.*
                     LAUNCH --hosts 2 --env-rank 1 SLUICE_NODE=b --env-rank 3 SLUICE_NODE=b)
sluice_add_rank_test(${on_hosts} NAME coll_hosts_one_node RANKS 3 MPIS ompi4 ENV ${together}
                     ARGS --gtest_filter=Bcast.*:Allgather.*:Alltoall.*:Allreduce.* LAUNCH --hosts 2)
sluice_add_rank_test(${on_hosts} NAME coll_hosts_unlike RANKS 3 MPIS ompi4 ${two_levels_on_hosts}
                     ARGS --gtest_filter=LevelHosts.*:LevelReductions.*:LevelRequests.* LAUNCH --hosts 2 --env-rank 2 SLUICE_NODE=b)
# What says that there are two sees that there is one.
sluice_add_rank_test(coll NAME checker_coll_hosts RANKS 3 MPIS ompi4 BACKENDS none NO_SLUICE LABELS coll fault ENV TEST_HOSTS=2
                     ARGS --gtest_filter=LevelHosts.* LAUNCH --expect-exit 1)

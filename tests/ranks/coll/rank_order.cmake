# The order of the ranks: by devices together where all can, else by the hosts; and on several nodes.
set(in_order coll BACKENDS faulty LABELS coll ARGS --gtest_filter=RankOrder*.*:LevelReductions.*)
set(order SLUICE_REDUCE_ORDER=rank SLUICE_STATS_FILE=/dev/null SLUICE_TUNING=coll_levels_threshold=0)
sluice_add_rank_test(${in_order} NAME coll_rank_order RANKS 3 MPIS ${one_of_each} ENV ${together} ${order})
sluice_add_rank_test(${in_order} NAME coll_rank_order_on_nodes RANKS 4 MPIS ${first_mpi} NO_SANITIZER
                     ENV ${together} ${order} LAUNCH --env-rank 1 SLUICE_NODE=b --env-rank 3 SLUICE_NODE=b)
sluice_add_rank_test(${in_order} NAME coll_rank_order_staged RANKS 4 MPIS ${first_mpi} NO_SANITIZER
                     ENV SLUICE_COLL_IPC=off ${order})
foreach(suite RankOrder RankOrderRequests)
  sluice_add_rank_test(coll NAME checker_${suite} RANKS 4 MPIS ${first_mpi} BACKENDS faulty LABELS coll NO_SANITIZER
                       ENV TEST_RANK_ORDER=1 SLUICE_COLL_IPC=off ARGS --gtest_filter=${suite}.* LAUNCH --expect-exit 1)
endforeach()
sluice_add_rank_test(${in_order} NAME coll_rank_order_thread RANKS 3 MPIS ${one_of_each}
                     ENV SLUICE_COLL_IPC=off ${order} SLUICE_PROGRESS_THREAD=1)
sluice_add_rank_test(coll NAME full_coll_rank_order RANKS 2 4 5 6 7 8 BACKENDS faulty LABELS coll full TIMEOUT 600
                     ARGS --gtest_filter=RankOrder*.* ENV ${together} ${order})

# Broadcasts that pass from rank to rank in two rows, one against the other; and when a copy of theirs fails, or memory is
# not reached.
set(in_rows ENV ${together} SLUICE_COLL_CHAIN_ROWS=2 SLUICE_STATS_FILE=/dev/null)
sluice_add_rank_test(coll NAME coll_chain_rows RANKS 3 4 5 MPIS ${first_mpi} BACKENDS faulty LABELS coll TIMEOUT 300
                     ARGS --gtest_filter=Bcast.*:Together*cast*:TogetherPacked* ${in_rows})
sluice_add_rank_test(coll NAME coll_chain_rows RANKS 3 MPIS ${first_mpi} BACKENDS real LABELS coll TIMEOUT 300
                     ARGS --gtest_filter=Bcast.* ${in_rows})
sluice_add_rank_test(coll NAME full_coll_chain_rows RANKS 2 4 6 7 8 BACKENDS faulty LABELS coll full TIMEOUT 600
                     ARGS --gtest_filter=Bcast.* --matrix full ${in_rows})
sluice_add_rank_test(coll NAME coll_chain_rows_copy RANKS 3 MPIS ${first_mpi} BACKENDS faulty FAULT queue_copy:1 FAULT_RANK 1
                     LABELS coll fault ARGS --gtest_filter=Together.*CopyFails ${in_rows})
sluice_add_rank_test(coll NAME coll_chain_rows_unreached RANKS 4 MPIS ${first_mpi} BACKENDS faulty FAULT ipc_open:1+
                     FAULT_RANK 2 LABELS coll fault ARGS --gtest_filter=Bcast.*InEveryForm ${in_rows})

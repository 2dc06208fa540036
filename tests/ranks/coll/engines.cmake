# Reductions together by copy engines that feed the kernels, in more blocks than are enqueued at once; and when a copy of
# theirs fails.
set(by_engines SLUICE_TUNING=coll_reduce_engines=1,coll_reduce_block=1100 SLUICE_STATS_FILE=/dev/null)
set(long_reductions --gtest_filter=TogetherReductions.*InEveryShape:TogetherReductions.*Overlap*:TogetherReductions.KeepTheOrder*:TogetherReductions.*Gaps*)
set(engines ARGS ${long_reductions} ENV ${together} ${by_engines})
sluice_add_rank_test(coll NAME coll_reducing_by_engines RANKS 2 3 4 MPIS ${first_mpi} BACKENDS faulty LABELS coll TIMEOUT 300 ${engines})
sluice_add_rank_test(coll NAME coll_reducing_by_engines RANKS 2 MPIS ${first_mpi} BACKENDS real LABELS coll TIMEOUT 300 ${engines})
sluice_add_rank_test(coll NAME coll_reducing_by_engines_few RANKS 4 MPIS ${first_mpi} BACKENDS faulty LABELS coll TIMEOUT 300
                     ${engines} SLUICE_TUNING=coll_reduce_block=64K)
sluice_add_rank_test(coll NAME full_coll_reducing_by_engines RANKS 2 4 5 8 18 BACKENDS faulty LABELS coll full TIMEOUT 1800
                     ARGS ${long_reductions} --matrix full ENV ${together} ${by_engines})
sluice_add_rank_test(coll NAME coll_reducing_by_engines_copy5 RANKS 3 MPIS ${first_mpi} BACKENDS faulty LABELS coll fault
                     ARGS --gtest_filter=TogetherReductionFault.* FAULT queue_copy:5 FAULT_RANK 1 NO_SANITIZER
                     ENV ${together} ${by_engines} TEST_REDUCTION_FAULT=error)

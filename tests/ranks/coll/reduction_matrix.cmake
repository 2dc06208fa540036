# Every operation on every type, at counts and shifts of all sorts.
set(matrix coll LABELS coll ARGS --gtest_filter=ReductionMatrix.*)
set(in_matrix ENV ${together} SLUICE_STATS_FILE=/dev/null)
sluice_add_rank_test(${matrix} NAME coll_reduction_matrix RANKS 2 MPIS ${first_mpi} mpich5 BACKENDS faulty TIMEOUT 300
                     ${in_matrix} TEST_REDUCES_TOGETHER=1)
sluice_add_rank_test(${matrix} NAME coll_reduction_matrix RANKS 3 MPIS ompi4 BACKENDS faulty TIMEOUT 300
                     ${in_matrix} TEST_REDUCES_TOGETHER=1)
set(full_matrix coll NAME full_coll_reduction_matrix LABELS coll full ARGS --gtest_filter=ReductionMatrix.* --matrix full
                BACKENDS faulty TIMEOUT 1800)
sluice_add_rank_test(${full_matrix} RANKS 1 ${in_matrix})
sluice_add_rank_test(${full_matrix} RANKS 2 3 4 5 6 7 8 ${in_matrix} TEST_REDUCES_TOGETHER=1)
# Numbers of two bytes, which some host MPIs cannot reduce.
sluice_add_rank_test(coll NAME coll_short_numbers RANKS 2 MPIS ${one_of_each} mpich5 BACKENDS faulty LABELS coll
                     ENV ${together} SLUICE_STATS_FILE=/dev/null ARGS --gtest_filter=ShortNumbers.*)
sluice_add_rank_test(coll NAME full_coll_short_numbers RANKS 3 4 5 6 7 8 MPIS ${one_of_each} mpich5 BACKENDS faulty
                     LABELS coll full ENV ${together} SLUICE_STATS_FILE=/dev/null ARGS --gtest_filter=ShortNumbers.*)
# Reductions like the last one, and unlike it.
set(again ARGS --gtest_filter=ReducingAgain.* ENV ${together} SLUICE_STATS_FILE=/dev/null)
sluice_add_rank_test(coll NAME coll_reducing_again RANKS 2 3 MPIS ${first_mpi} BACKENDS faulty LABELS coll ${again}
                     TEST_REDUCES_TOGETHER=1)
sluice_add_rank_test(coll NAME coll_reducing_again RANKS 2 MPIS ${first_mpi} BACKENDS real LABELS coll NO_SANITIZER ${again})
sluice_add_rank_test(coll NAME full_coll_reducing_again RANKS 2 4 5 8 BACKENDS faulty LABELS coll full TIMEOUT 600 ${again}
                     TEST_REDUCES_TOGETHER=1 TEST_MANY_ROUNDS=1)

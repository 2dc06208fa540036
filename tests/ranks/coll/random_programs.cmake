# SPDX-License-Identifier: BSD-3-Clause
# Random collective programs beyond the groups' own. Included by CMakeLists.txt, whose variables it uses.
sluice_add_rank_test(coll NAME coll_one_outcome RANKS 1 MPIS ${one_of_each} BACKENDS none NO_SLUICE NO_SANITIZER
                     LABELS coll ARGS --gtest_filter=OneOutcome.*)
# Random programs on more ranks than the groups above have, and the command for many more of them (tools/differential).
sluice_add_rank_test(coll NAME coll_differential_wide RANKS 6 MPIS ${first_mpi} BACKENDS faulty LABELS coll NO_SANITIZER
                     ARGS --gtest_filter=Differential.* --programs 40 --seed 5001 ENV ${together} TIMEOUT 300)
# Programs that a fault was found with. 710699: ranks that packed an MPI_Allgatherv and such that did not cut it into
# different numbers of messages under MPICH, and waited for ever.
sluice_add_rank_test(coll NAME coll_differential_found RANKS 6 MPIS mpich4 BACKENDS faulty LABELS coll NO_SANITIZER
                     ARGS --gtest_filter=Differential.* --programs 1 --seed 710699)
# Seed 700049: blocking neighborhood calls under Open MPI 4, on a grid in which a rank is a neighbour twice,
# came to what its non-blocking ones do.
foreach(mpi IN LISTS SLUICE_HOST_MPIS)
  if(mpi STREQUAL ompi4)
    add_test(NAME coll_differential_found_grid COMMAND ${PROJECT_SOURCE_DIR}/tools/differential --programs 18 --mpis ${mpi}
             --families coll --seed 700049 --ranks 2,5 --routes auto --build ${PROJECT_BINARY_DIR})
    set_tests_properties(coll_differential_found_grid PROPERTIES LABELS coll PROCESSORS 3 TIMEOUT 600 ENVIRONMENT
                         "TEST_PYTHON_ENVS=${SLUICE_PYTHON_ENVS}" PASS_REGULAR_EXPRESSION "18 programs, 0 failed")
  endif()
  if(mpi STREQUAL first_mpi)
    add_test(NAME coll_differential_command COMMAND ${PROJECT_SOURCE_DIR}/tools/differential --programs 60 --mpis ${mpi}
             --families coll --ranks 2,3 --build ${PROJECT_BINARY_DIR})
    set_tests_properties(coll_differential_command PROPERTIES LABELS coll PROCESSORS 3 TIMEOUT 600 ENVIRONMENT
                         "TEST_PYTHON_ENVS=${SLUICE_PYTHON_ENVS}" PASS_REGULAR_EXPRESSION "60 programs, 0 failed")
  endif()
endforeach()

# SPDX-License-Identifier: BSD-3-Clause
# Short real runs of the tests beyond latency, bw and bibw, and the proof for each that its check sees spoiled data.
# Included by CMakeLists.txt, whose variables it uses.
list(GET SLUICE_HOST_MPIS 0 first_mpi)
set(brief -i 8 -x 1 -c)

# Point to point. What MPI has no part in runs under the first MPI alone.
foreach(test latency_persistent bw_persistent bibw_persistent latency_mt message_rate)
  sluice_add_rank_test(sluice-bench NAME bench.${test} ${no_sluice} ARGS ${test} --sizes 8,8193 ${brief} -W 16)
endforeach()
foreach(test multi_lat mbw_mr bw_fan_in bw_fan_out)
  sluice_add_rank_test(sluice-bench NAME bench.${test} MPIS ${first_mpi} ompi4 RANKS 4 ${no_sluice}
                       ARGS ${test} --sizes 8,8193 ${brief} -W 4)
endforeach()
sluice_add_rank_test(sluice-bench NAME bench.bw_fan_in MPIS ${first_mpi} RANKS 3 ${no_sluice}
                     ARGS bw_fan_in --sizes 8 ${brief} -W 4 -b multiple)
sluice_add_rank_test(sluice-bench NAME bench.latency_mt_device MPIS ${first_mpi} ${no_sluice}
                     ARGS latency_mt ${stub} --force -t 3 --sizes 8 ${brief})
foreach(test latency_persistent bibw_persistent)
  sluice_add_rank_test(sluice-bench NAME bench.${test}_naive MPIS ${first_mpi} ${no_sluice}
                       ARGS ${test} ${stub} --naive --sizes 8,8193 ${brief} -W 4)
endforeach()
foreach(test mbw_mr bw_fan_out)
  sluice_add_rank_test(sluice-bench NAME bench.${test}_naive MPIS ${first_mpi} RANKS 4 ${no_sluice}
                       ARGS ${test} ${stub} --naive --sizes 8193 ${brief} -W 4)
endforeach()

# What an MPI may lack: then the line names the function, and the test counts as skipped.
function(_bench_may_lack pattern)
  get_property(all_tests DIRECTORY PROPERTY TESTS)
  list(FILTER all_tests INCLUDE REGEX "${pattern}")
  if(all_tests)
    set_property(TEST ${all_tests} PROPERTY SKIP_REGULAR_EXPRESSION "has no MPI_")
  endif()
endfunction()
sluice_add_rank_test(sluice-bench NAME bench.partitioned_latency ${no_sluice}
                     ARGS partitioned_latency --sizes 1,100,8192 ${brief} -q 4)
_bench_may_lack("^bench\\.partitioned_latency\\.")

# Collectives: every one in its three forms, on an odd number of ranks; the blocking ones under every MPI.
set(reductions allreduce reduce reduce_scatter reduce_scatter_block scan exscan)
set(movements allgather allgatherv alltoall alltoallv alltoallw bcast gather gatherv scatter scatterv)
set(neighborhoods neighbor_allgather neighbor_allgatherv neighbor_alltoall neighbor_alltoallv neighbor_alltoallw)
foreach(test IN LISTS reductions movements neighborhoods)
  set(sizes_of_test --sizes 8,8200)
  sluice_add_rank_test(sluice-bench NAME bench.${test} MPIS ${first_mpi} ompi4 RANKS 3 ${no_sluice}
                       ARGS ${test} ${sizes_of_test} ${brief})
  sluice_add_rank_test(sluice-bench NAME bench.i${test} MPIS ${first_mpi} RANKS 3 ${no_sluice}
                       ARGS i${test} ${sizes_of_test} -i 4 -x 0 -c)
  sluice_add_rank_test(sluice-bench NAME bench.${test}_persistent MPIS ${first_mpi} RANKS 3 ${no_sluice}
                       ARGS ${test}_persistent ${sizes_of_test} ${brief})
endforeach()
sluice_add_rank_test(sluice-bench NAME bench.allreduce_persistent MPIS ompi4 ${no_sluice}
                     ARGS allreduce_persistent --sizes 8 ${brief})
_bench_may_lack("^bench\\.[a-z_]*_persistent\\.")
foreach(test barrier ibarrier barrier_persistent)
  sluice_add_rank_test(sluice-bench NAME bench.${test} MPIS ${first_mpi} RANKS 3 ${no_sluice} ARGS ${test} ${brief})
endforeach()
foreach(type mpi_char mpi_long mpi_float mpi_double)
  foreach(operation sum max min)
    sluice_add_rank_test(sluice-bench NAME bench.allreduce_${type}_${operation} MPIS ${first_mpi} RANKS 3 ${no_sluice}
                         ARGS allreduce -T ${type} --op ${operation} --sizes 8,4000 ${brief})
  endforeach()
endforeach()
sluice_add_rank_test(sluice-bench NAME bench.allreduce_after_barrier MPIS ${first_mpi} RANKS 3 ${no_sluice}
                     ARGS allreduce --sync barrier --sizes 8 ${brief} --repeat 3)
sluice_add_rank_test(sluice-bench NAME bench.ialltoall_with_progress MPIS ${first_mpi} RANKS 3 ${no_sluice}
                     ARGS ialltoall -t 4 --sizes 8200 ${brief} -f -z)
sluice_add_rank_test(sluice-bench NAME bench.neighbor_torus MPIS ${first_mpi} ompi4 RANKS 4 ${no_sluice}
                     ARGS neighbor_alltoall -N cart:2:2 --sizes 100 ${brief})

# Collectives on device memory: staged by hand, on a stub module.
foreach(test allreduce bcast gather alltoallv exscan neighbor_allgather)
  sluice_add_rank_test(sluice-bench NAME bench.${test}_naive MPIS ${first_mpi} RANKS 3 ${no_sluice}
                       ARGS ${test} ${stub} --naive --sizes 8,8200 ${brief})
endforeach()
sluice_add_rank_test(sluice-bench NAME bench.ireduce_compare MPIS ${first_mpi} RANKS 3 ${no_sluice}
                     ARGS ireduce ${stub} --compare-naive --force --sizes 8200 ${brief} D H)

# Every check must see a flipped bit; every fault is seen by one of each kind. The rest is in the full set.
set(preload --preload-above $<TARGET_FILE:sluice_bench_spoiling_mpi_${SLUICE_HOST_MPI_${first_mpi}_FLAVOUR}>)
function(_bench_sees test mode n_ranks labels)
  set(first 0)
  if(mode STREQUAL "stale")
    set(first 1)
  endif()
  sluice_add_rank_test(sluice-bench NAME bench.${test}_sees_${mode} MPIS ${first_mpi} RANKS ${n_ranks} ${no_sluice} fault
                       ${labels}
                       LAUNCH ${preload} --env SPOIL_MIN_BYTES=1000 --env SPOIL_MODE=${mode} --expect-exit 1
                              --expect-output "size 4096, iteration ${first}, received"
                       ARGS ${test} --sizes 4096 -i 2)
endfunction()
foreach(test latency_persistent bw_persistent bibw_persistent latency_mt message_rate)
  _bench_sees(${test} flip 2 "")
endforeach()
_bench_sees(latency stale 2 "")
_bench_sees(latency element 2 "")
_bench_sees(partitioned_latency flip 2 "")
_bench_may_lack("^bench\\.partitioned_latency_sees")
foreach(test multi_lat mbw_mr bw_fan_in bw_fan_out)
  _bench_sees(${test} flip 4 "")
endforeach()
foreach(test IN LISTS reductions movements neighborhoods)
  _bench_sees(${test} flip 3 "")
  foreach(form i${test} ${test}_persistent)
    if(test MATCHES "^(allreduce|alltoallv)$")
      _bench_sees(${form} flip 3 "")
    else()
      _bench_sees(${form} flip 3 full)
    endif()
  endforeach()
  foreach(mode tail lost stale element outside)
    if(test MATCHES "^(allreduce|alltoall|gather|bcast|exscan)$")
      _bench_sees(${test} ${mode} 3 "")
    else()
      _bench_sees(${test} ${mode} 3 full)
    endif()
  endforeach()
endforeach()
foreach(test allgather allgatherv alltoall alltoallv alltoallw gather gatherv neighbor_allgather neighbor_allgatherv
        neighbor_alltoallw)
  _bench_sees(${test} swap 3 "")
endforeach()
foreach(test barrier ibarrier barrier_persistent)
  sluice_add_rank_test(sluice-bench NAME bench.${test}_sees_skip MPIS ${first_mpi} RANKS 3 ${no_sluice} fault
                       LAUNCH ${preload} --env SPOIL_MODE=skip --expect-exit 1
                              --expect-output "before the last one came" ARGS ${test} -i 2)
endforeach()

# Mistakes.
function(_bench_refuses name n_ranks status text)
  sluice_add_rank_test(sluice-bench NAME bench.${name} MPIS ${first_mpi} RANKS ${n_ranks} ${no_sluice}
                       LAUNCH --expect-exit ${status} --expect-output "${text}" ARGS ${ARGN})
endfunction()
_bench_refuses(odd_pairs 3 1 "needs at least 2 ranks, an even number" mbw_mr)
_bench_refuses(lonely_collective 1 1 "allreduce needs at least 2 ranks" allreduce)
_bench_refuses(sizes_of_barrier 2 2 "takes no sizes" barrier -m 8)
_bench_refuses(odd_element 2 2 "sizes are multiples of 4" allreduce --sizes 7)
_bench_refuses(unaware_collective 2 1 "does not take stub device memory" allreduce ${stub})

# Ranks that were given different arguments must end, not wait for each other.
foreach(mpi ${first_mpi} ompi4)
  sluice_add_rank_test(sluice-bench NAME bench.unequal_arguments MPIS ${mpi} RANKS 1 ${no_sluice}
                       LAUNCH --expect-exit 1 --expect-output "started with different arguments"
                       ARGS latency --sizes 8 : -n 1 ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/sluice-bench.${SLUICE_HOST_MPI_${mpi}_FLAVOUR}
                            latency --sizes 16)
endforeach()

# The published schema, and CSV.
set(plain_launch ${SLUICE_LAUNCH} --mpi ${first_mpi} -n 2 --)
add_test(NAME bench.schema
         COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/schema_test.py ${plain_launch}
                 ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/sluice-bench.${SLUICE_HOST_MPI_${first_mpi}_FLAVOUR})
set_tests_properties(bench.schema PROPERTIES LABELS "bench;ranks-2" SKIP_RETURN_CODE 77 TIMEOUT 300
                     ENVIRONMENT "TEST_PYTHON_ENVS=${SLUICE_PYTHON_ENVS}")

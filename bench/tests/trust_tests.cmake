# SPDX-License-Identifier: BSD-3-Clause
# What keeps figures from flattering and checks from passing: fresh memory, the holes of other suites, placement, and the
# route that ran. Included by CMakeLists.txt, whose variables it uses.

# Fresh memory. The spoiler spoils what arrives where the message before arrived: seen without --cold and --rotate, and
# by neither of them.
set(reuse LAUNCH ${preload} --env SPOIL_MIN_BYTES=1000 --env SPOIL_MODE=reuse)
sluice_add_rank_test(sluice-bench NAME bench.latency_sees_reuse MPIS ${first_mpi} ${no_sluice} fault
                     ${reuse} --expect-exit 1 --expect-output "size 4096, iteration 1, received message 0, offset 0"
                     ARGS latency --sizes 4096 -i 4)
foreach(fresh cold rotate)
  set(words --cold)
  if(fresh STREQUAL "rotate")
    set(words --rotate 2)
  endif()
  # One test a run: what one has freed may be what the next is given.
  set(fresh_tests latency latency_persistent latency_mt)
  if(fresh STREQUAL "cold")
    list(APPEND fresh_tests get_latency)
  endif()
  foreach(test IN LISTS fresh_tests)
    sluice_add_rank_test(sluice-bench NAME bench.${test}_${fresh}_reuses_nothing MPIS ${first_mpi} ${no_sluice} fault
                         ${reuse} ARGS ${test} ${words} --sizes 4096 -i 6 -x 1 -c -t 1)
  endforeach()
endforeach()
sluice_add_rank_test(sluice-bench NAME bench.others_see_reuse MPIS ${first_mpi} ${no_sluice} fault
                     ${reuse} --expect-exit 1 --expect-lines 2 "size 4096, iteration " --expect-output "2 of 2 tests failed"
                     ARGS latency_mt,get_latency --sizes 4096 -i 4 -t 1)
# The same of collectives, in each of their forms: one launch, all fail; one a test, and none does.
set(fresh_collectives allreduce ialltoall bcast_persistent)
list(JOIN fresh_collectives "," names)
sluice_add_rank_test(sluice-bench NAME bench.collectives_see_reuse MPIS ${first_mpi} ${no_sluice} fault
                     ${reuse} --expect-exit 1 --expect-lines 3 "size 4096, iteration " --expect-output "3 of 3 tests failed"
                     ARGS ${names} --sizes 4096 -i 4)
foreach(fresh "--cold" "--rotate 2")
  string(REPLACE " " ";" words ${fresh})
  string(REGEX REPLACE "[^a-z]" "" word ${fresh})
  foreach(test IN LISTS fresh_collectives)
    sluice_add_rank_test(sluice-bench NAME bench.${test}_${word}_reuses_nothing MPIS ${first_mpi} ${no_sluice} fault
                         ${reuse} ARGS ${test} ${words} --sizes 4096 -i 6 -x 1 -c)
  endforeach()
endforeach()
_bench_list(fresh_collectives 3 ${first_mpi} "" "allgatherv;ireduce;scan_persistent;neighbor_alltoall" --cold --sizes 64,8K ${brief}
            --repeat 2)
_bench_list(rotated_collectives 3 ${first_mpi} "" "alltoallw;igather;allreduce_persistent" --rotate auto --sizes 256K ${brief})
_bench_list(cold_collectives_naive 2 ${first_mpi} "" "allreduce;ibcast" ${stub} --cold --compare-naive --force --sizes 8192 ${brief})

_bench_list(rotate_auto 2 ${first_mpi} "" "latency;bw;partitioned_latency" --rotate auto --sizes 64,1M ${brief} -W 2)
_bench_list(cold_pairs 4 ${first_mpi} "" "bw_fan_in;mbw_mr;halo_2d" --cold --sizes 8192 ${brief} -W 2)
_bench_list(cold_threads 2 ${first_mpi} "" latency_mt --cold -t 3 --sizes 8,8192 ${brief})
_bench_list(rotated_threads 2 ${first_mpi} "" latency_mt --rotate 3 --sizes 8,8192 ${brief})
_bench_list(cold_accesses 2 ${first_mpi} "" "put_latency;get_bw;get_acc_latency" --cold --sizes 8,8200 ${brief} -W 4)
foreach(words "-w create -s fence" "-w dynamic -s flush_all" "-w shared -s lock" "-w allocate -s pscw")
  string(REGEX REPLACE "[ -]+" "_" name ${words})
  string(REPLACE " " ";" words ${words})
  _bench_list(cold_accesses${name} 2 ${first_mpi} full "${accesses}" --cold --sizes 8,8200 ${brief} -W 4 ${words})
endforeach()
sluice_add_rank_test(sluice-bench NAME bench.no_rotated_windows MPIS ${first_mpi} ${no_sluice}
                     LAUNCH --expect-exit 2 --expect-output "put_bw takes no --rotate: --cold has new memory in each iteration"
                     ARGS put_bw --rotate 2)
_bench_list(cold_naive 2 ${first_mpi} "" "latency;bw" ${stub} --cold --compare-naive --force --sizes 8192 ${brief} -W 2 --repeat 2)
_bench_list(fresh 2 "${other_mpis}" full "latency;bw;bibw_persistent" --cold --sizes 64,64K ${brief} -W 2)
# The device that is always there.
_sluice_test_backends(always_there faulty)
if(SLUICE_FLAVOURS AND always_there)
  list(GET always_there 0 device)
  sluice_add_rank_test(sluice-bench NAME bench.device_cold BACKENDS ${device} NO_BACKEND_ARGUMENT LABELS bench
                       LAUNCH --expect-output "Device +KiB             Route" --expect-output "staged"
                       ARGS latency,bw,allgather -d ${device} --cold --sizes 64K -i 6 -x 1 -c -W 2)
endif()

# The holes of other suites (docs/comparing.md): each test must fail, and each with a line of its own.
function(_bench_closes name mode n_ranks text tests)
  list(LENGTH tests n)
  list(JOIN tests "," names)
  set(expected --expect-output "${text}")
  if(n GREATER 1)
    list(APPEND expected --expect-output "${n} of ${n} tests failed")
  endif()
  sluice_add_rank_test(sluice-bench NAME bench.${name}_see_${mode} MPIS ${first_mpi} RANKS ${n_ranks} ${no_sluice} fault
                       LAUNCH ${preload} --env SPOIL_MIN_BYTES=1000 --env SPOIL_MODE=${mode} --expect-exit 1 ${expected}
                       ARGS ${names} --sizes 4096 -i 2 ${ARGN})
endfunction()
_bench_closes(floats half 4 "expected" "allreduce;reduce;reduce_scatter;scan;exscan;iallreduce" -T mpi_float)
_bench_closes(doubles half 3 "expected" "allreduce;reduce_scatter_block" -T mpi_double)
_bench_closes(accumulates half 2 "expected" "acc_latency;get_acc_latency" -T mpi_float)
_bench_closes(blocks others 4 "expected" "allgather;allgatherv;alltoall;gather;iallgather;neighbor_alltoall" -T mpi_float)
_bench_closes(latency sent 2 "sent message 0 was changed, offset 0" "latency;multi_lat")
_bench_closes(latency status 2 "the status says source 1, tag 101" "latency;multi_lat")

# Devices.
_bench_list(listed_devices 3 ${first_mpi} "" "allreduce" ${one_stub} --force --bind list:0,0,0 --sizes 8 ${brief})
sluice_add_rank_test(sluice-bench NAME bench.shared_device MPIS ${first_mpi} ${no_sluice}
                     LAUNCH --expect-exit 1 --expect-output "would share device 0 of stub (1 there): give --oversubscribe"
                     ARGS latency ${one_stub} --force)
sluice_add_rank_test(sluice-bench NAME bench.one_side_on_a_device MPIS ${first_mpi} ${no_sluice}
                     LAUNCH --expect-output ", on cores " ARGS latency ${one_stub} --force H D --bind closest --sizes 8 -i 2)
sluice_add_rank_test(sluice-bench NAME bench.device_not_there MPIS ${first_mpi} ${no_sluice}
                     LAUNCH --expect-exit 1 --expect-output "there is no device 1: this host has 1"
                     ARGS latency ${one_stub} --force --bind list:0,1)

# The route of each row is the one that ran, in every family, also when the library was told otherwise.
if(SLUICE_FLAVOURS AND always_there)
  # The first message of a buffer may be staged before memory is mapped: "ipc+staged" is true, too.
  set(no_route "-              Pass")
  set(four ARGS latency,bw,halo_2d,allgather -d ${device} --sizes 1M -i 4 -x 1 -W 2)
  set(on_device MPIS ${first_mpi} BACKENDS ${device} NO_BACKEND_ARGUMENT LABELS bench)
  sluice_add_rank_test(sluice-bench NAME bench.route_pulled ${on_device} ENV SLUICE_BACKENDS=${device}
                       LAUNCH --expect-output " ipc" --reject-output "${no_route}" ${four})
  sluice_add_rank_test(sluice-bench NAME bench.route_staged ${on_device} ENV SLUICE_BACKENDS=${device} SLUICE_P2P_IPC=off SLUICE_P2P_PIPELINE=none
                       LAUNCH --expect-output " staged  " --reject-output " ipc" --reject-output "${no_route}" ${four})
  # Neighbours in rings and in a torus, in every form: each row by IPC and nothing else.
  set(operations neighbor_allgather neighbor_allgatherv neighbor_alltoall neighbor_alltoallv neighbor_alltoallw)
  set(tests ${operations})
  foreach(operation IN LISTS operations)
    list(APPEND tests i${operation} ${operation}_persistent)
  endforeach()
  string(REPLACE ";" "," tests "${tests}")
  sluice_add_rank_test(sluice-bench NAME bench.route_neighbors ${on_device} RANKS 2 4 ENV SLUICE_BACKENDS=${device}
                       LAUNCH --expect-output " ipc" --reject-output " staged" --reject-output "${no_route}"
                       ARGS ${tests} -d ${device} --oversubscribe --sizes 256K -i 4 -x 1 -W 2)
endif()

# Calls of a device's runtime, without messages.
_sluice_test_backends(backends all)
foreach(backend IN LISTS backends)
  sluice_add_rank_test(sluice-bench NAME bench.device_calls MPIS ${first_mpi} RANKS 1 BACKENDS ${backend} NO_BACKEND_ARGUMENT
                       NO_SLUICE LABELS bench
                       ARGS launch,event,synchronize,query_pointer -d ${backend} -i 20 -x 2 --repeat 2)
  sluice_add_rank_test(sluice-bench NAME bench.device_pack MPIS ${first_mpi} RANKS 1 BACKENDS ${backend} NO_BACKEND_ARGUMENT
                       NO_SLUICE LABELS bench LAUNCH --expect-lines 2 "kernel              Pass"
                       ARGS pack -d ${backend} -D hindexed --sizes 64,64K -i 4 -x 1 -c)
  sluice_add_rank_test(sluice-bench NAME bench.device_pack_by_copies MPIS ${first_mpi} RANKS 1 BACKENDS ${backend} NO_BACKEND_ARGUMENT
                       NO_SLUICE LABELS bench full LAUNCH --expect-lines 2 "copies              Pass"
                       ARGS pack -d ${backend} -D struct --pack-by copies --sizes 64,64K -i 4 -x 1 -c)
  sluice_add_rank_test(sluice-bench NAME bench.device_copy_ways MPIS ${first_mpi} RANKS 1 BACKENDS ${backend}
                       NO_BACKEND_ARGUMENT NO_SLUICE LABELS bench ARGS copy_ways -d ${backend} --sizes 8,64K -i 4 -x 1)
endforeach()
if(always_there)
  list(GET always_there 0 device)
  sluice_add_rank_test(sluice-bench NAME bench.device_ipc MPIS ${first_mpi} BACKENDS ${device} NO_BACKEND_ARGUMENT NO_SLUICE
                       LABELS bench ARGS ipc_export,ipc_open -d ${device} -i 20 -x 2)
  sluice_add_rank_test(sluice-bench NAME bench.device_trigger MPIS ${first_mpi} RANKS 1 BACKENDS ${device} NO_BACKEND_ARGUMENT NO_SLUICE
                       LABELS bench LAUNCH --expect-output "pull                write              enqueue" ARGS trigger -d ${device} -i 20 -x 2 --repeat 2)
  sluice_add_rank_test(sluice-bench NAME bench.device_copy_list MPIS ${first_mpi} BACKENDS ${device} NO_BACKEND_ARGUMENT
                       NO_SLUICE LABELS bench ARGS copy_list -d ${device} --sizes 7,4K -i 4 -x 1)
  # A copy of each test's is spoiled: each must see it.
  sluice_add_rank_test(sluice-bench NAME bench.copy_list_sees_bad_copy MPIS ${first_mpi} BACKENDS ${device}
                       NO_BACKEND_ARGUMENT NO_SLUICE LABELS bench fault FAULT queue_flip:40
                       LAUNCH --expect-exit 1 --expect-output "list, offset" ARGS copy_list -d ${device} --sizes 4K -i 4 -x 1)
endif()
sluice_add_rank_test(sluice-bench NAME bench.copy_ways_sees_bad_copy MPIS ${first_mpi} RANKS 1 ${no_sluice} fault
                     LAUNCH --env SLUICE_STUB_FLIP_COPY=4 --expect-exit 1 --expect-output "vendor.malloc: "
                     ARGS copy_ways ${stub} --check-on host --sizes 4096 -i 2)
sluice_add_rank_test(sluice-bench NAME bench.pack_sees_bad_copy MPIS ${first_mpi} RANKS 1 ${no_sluice} fault
                     LAUNCH --env SLUICE_STUB_FLIP_COPY=4 --expect-exit 1 --expect-output "packed, offset"
                     ARGS pack ${stub} -D vector --pack-by copies --check-on host --sizes 4096 -i 2)
sluice_add_rank_test(sluice-bench NAME bench.pack_sees_bad_kernel MPIS ${first_mpi} RANKS 1 ${no_sluice} fault
                     LAUNCH --env SLUICE_STUB_PACK=flip --expect-exit 1 --expect-output "packed, offset"
                     ARGS pack ${stub} -D vector --sizes 4096 -i 2)

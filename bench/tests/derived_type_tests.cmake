# SPDX-License-Identifier: BSD-3-Clause
# Messages of derived datatypes (-D) and counts of 64 bits. Included by CMakeLists.txt, whose variables it uses.
set(kinds contiguous vector subarray hindexed struct)
set(ddt_sizes --sizes 8,64,8192)

# Every kind under the first MPI, in one launch; the others send the same types.
list(JOIN kinds "," all_kinds)
_bench_list(ddt 2 ${first_mpi} "" "latency;bw" -D ${all_kinds} ${ddt_sizes} ${brief} -W 4)
foreach(kind IN LISTS kinds)
  _bench_list(ddt_${kind} 2 "${other_mpis}" full "latency;bw;bibw_persistent" -D ${kind} ${ddt_sizes} ${brief} -W 4)
  _bench_list(ddt_groups_${kind} 4 ${first_mpi} full "multi_lat;bw_fan_in;bw_fan_out;halo_3d" -D ${kind} ${ddt_sizes} ${brief} -W 4)
endforeach()
_bench_list(ddt_packed 2 ${first_mpi} "" "latency;bw" ${stub} --force -D struct:96:40 --compare-packed --sizes 40,8000 ${brief} -W 4)
# Few bytes that reach over more than 2^31 of them; counts of 64 bits, and a status with one.
_bench_list(ddt_far 2 ${first_mpi} "" "latency;bw_persistent" -D vector:1G:64 --sizes 256 ${brief} -W 2)
_bench_list(large_count 2 mpich4 "" "latency;bibw;halo_2d" --large-count --sizes 8,8193 ${brief} -W 4)
_bench_list(large_count_of_structs 2 mpich4 "" latency --large-count -D struct --sizes 8192 ${brief})

# On a device, with Sluice below: beside packing by hand.
if(SLUICE_FLAVOURS)
  _sluice_test_backends(backends all)
  _sluice_test_backends(always_there faulty)
  foreach(backend IN LISTS backends)
    set(label "")
    sluice_test_stands_in(is_stand_in ${backend})
    if(is_stand_in)
      set(label full)
    endif()
    sluice_add_rank_test(sluice-bench NAME bench.device_ddt MPIS ${first_mpi} BACKENDS ${backend} NO_BACKEND_ARGUMENT LABELS bench ${label}
                         ARGS latency,bw -d ${backend} --oversubscribe -D ${all_kinds} --compare-packed --repeat 2 --sizes 64,8K -i 4 -x 1 -c -W 2)
    foreach(kind IN LISTS kinds)
      sluice_add_rank_test(sluice-bench NAME bench.device_ddt_${kind} MPIS ${first_mpi} ompi4 BACKENDS ${backend}
                           NO_BACKEND_ARGUMENT LABELS bench full
                           ARGS latency,bw -d ${backend} --oversubscribe -D ${kind} --compare-packed --repeat 2 --sizes 64,64K -i 4 -x 1 -c -W 2)
    endforeach()
  endforeach()
endif()

# A byte in a gap, and one of the second block: 128 bytes apart, blocks of 64.
foreach(case "70:offset 70 (between the blocks)" "130:offset 66: ")
  string(REGEX MATCH "^[0-9]+" offset ${case})
  string(REGEX REPLACE "^[0-9]+:" "" text ${case})
  sluice_add_rank_test(sluice-bench NAME bench.ddt_sees_${offset} MPIS ${first_mpi} ${no_sluice} fault
                       LAUNCH ${preload} --env SPOIL_MIN_BYTES=1000 --env SPOIL_MODE=at --env SPOIL_OFFSET=${offset} --expect-exit 1
                              --expect-output "received message 0, ${text}" --expect-output "2 of 2 tests failed"
                       ARGS latency,bw -D vector --sizes 4096 -i 2)
endforeach()
sluice_add_rank_test(sluice-bench NAME bench.packing_sees_bad_copy MPIS ${first_mpi} ${no_sluice} fault
                     LAUNCH --env-rank 1 SLUICE_STUB_FLIP_COPY=5 --expect-exit 1 --expect-output "(packed)"
                     ARGS latency ${stub} --force -D vector --packed --pack-by copies --check-on host --sizes 4096 -i 2)
sluice_add_rank_test(sluice-bench NAME bench.packing_sees_bad_kernel MPIS ${first_mpi} ${no_sluice} fault
                     LAUNCH --env-rank 1 SLUICE_STUB_PACK=flip --expect-exit 1 --expect-output "(packed)"
                     ARGS latency ${stub} --force -D hindexed --packed --sizes 4096 -i 2)
# Who packs stands in each row.
sluice_add_rank_test(sluice-bench NAME bench.packed_by_whom MPIS ${first_mpi} ${no_sluice}
                     LAUNCH --env-rank 1 SLUICE_STUB_PACK=none --expect-output "kernel/copies              Pass"
                     ARGS latency ${stub} --force -D struct --packed --sizes 4096 ${brief})
sluice_add_rank_test(sluice-bench NAME bench.packing_needs_a_kernel MPIS ${first_mpi} ${no_sluice}
                     LAUNCH --env-rank 1 SLUICE_STUB_PACK=none --expect-exit 1 --expect-output "rank 1: size 4096: device module 'stub' has no kernel that packs this"
                     ARGS latency ${stub} --force -D vector --packed --pack-by kernel --sizes 4096 ${brief})

# SPDX-License-Identifier: BSD-3-Clause
# Real device memory: every test on each backend of the build, at two sizes, checked on the device where it can, in one sweep
# (sweep_tests.cmake), and what goes beyond that; the memory modules. Included by CMakeLists.txt, whose variables it uses.
_sluice_test_backends(backends all)
_sluice_test_backends(always_there faulty)
set(two_sizes --sizes 8,8200 ${brief} -W 4)
# The long ones run under one MPI of each kind of handle.
set(two MPIS ${first_mpi} ompi4)

# _bench_device(<name> <ranks> <mpis> <backend> <labels> <tests> <argument> ...), with Sluice below.
function(_bench_device name n_ranks mpis backend labels tests)
  list(JOIN tests "," names)
  sluice_add_rank_test(sluice-bench NAME bench.device_${name} MPIS ${mpis} RANKS ${n_ranks} BACKENDS ${backend}
                       NO_BACKEND_ARGUMENT LABELS bench ${labels}
                       ARGS ${names} -d ${backend} --oversubscribe ${ARGN})
endfunction()

foreach(backend IN LISTS backends)
  set(on BACKENDS ${backend} NO_BACKEND_ARGUMENT LABELS bench)
  set(device ARGS -d ${backend} --oversubscribe --sizes 1,8193,1M ${short})
  sluice_add_rank_test(sluice-bench NAME bench.device_naive MPIS ${first_mpi} ${on} NO_SLUICE ${device} latency --naive)
  sluice_add_rank_test(sluice-bench NAME bench.device_naive MPIS ompi4 ${on} full NO_SLUICE ${device} latency --naive)
  # The device computes while ranks communicate, with what its module has for that.
  sluice_add_rank_test(sluice-bench NAME bench.device_computes MPIS ${first_mpi} ${on} NO_SLUICE
                       LAUNCH --expect-output "Dev.Overlap(%)"
                       ARGS iallreduce -d ${backend} --oversubscribe M M --compute each --sizes 8200 ${brief})
  # Other sizes, memory and ranks than in the sweep.
  list(JOIN accesses "," names)
  list(JOIN atomics "," atomic_names)
  sluice_add_rank_test(sluice-bench NAME bench.device_memcpy MPIS ${first_mpi} RANKS 1 ${on} full NO_SLUICE ${device} memcpy)
  sluice_add_rank_test(sluice-bench NAME bench.device_memcpy_kinds MPIS ${first_mpi} RANKS 1 ${on} full NO_SLUICE
                       LAUNCH --expect-lines 2 " Pass" ARGS memcpy_kinds -d ${backend} --oversubscribe ${two_sizes})
  sluice_add_rank_test(sluice-bench NAME bench.device_reduce MPIS ${first_mpi} RANKS 1 ${on} full NO_SLUICE
                       ARGS -d ${backend} --sizes 4,8196,1M ${short} device_reduce)
  # Windows over memory that the host reaches too: over an MPI that takes no device memory.
  sluice_add_rank_test(sluice-bench NAME bench.device_windows MPIS ${first_mpi} ${on} full NO_SLUICE
                       ARGS ${names} -d ${backend} --oversubscribe ${two_sizes} M:M,P:P)
  sluice_add_rank_test(sluice-bench NAME bench.device_atomics MPIS ${first_mpi} ${on} full NO_SLUICE
                       ARGS ${atomic_names} -d ${backend} --oversubscribe ${brief} -w dynamic M:M,P:P)
  if(SLUICE_FLAVOURS)
    # Every kind of memory on either side, in one launch.
    sluice_add_rank_test(sluice-bench NAME bench.device_latency ${on} ${device} latency D:D,H:D,D:H,M:D,P:D)
    sluice_add_rank_test(sluice-bench NAME bench.device_bandwidth ${two} ${on} full ${device} bw,bibw -b multiple)
    sluice_add_rank_test(sluice-bench NAME bench.device_compare MPIS ${first_mpi} ${on} ${device} latency --compare-naive)
    sluice_add_rank_test(sluice-bench NAME bench.device_compare MPIS ompi4 ${on} full ${device} latency --compare-naive)
    _bench_device(files 2 "${first_mpi};ompi4" ${backend} "" "file_write;file_read;file_write_all;file_read_all" D --compare-naive ${two_sizes})
    _bench_device(file_sides 1 ${first_mpi} ${backend} full "file_write_sides;file_read_sides" D --sizes 4096,12288,4M)
    _bench_device(sides_of_three 3 ${first_mpi} ${backend} full "${two_sided}" D/H,H/D,D/P ${two_sizes})
    _bench_device(sides_of_all 2 ${first_mpi} ${backend} full "allreduce;ialltoall;scan_persistent" D/H:D/H,H/D:H/D,M/D:P/D ${two_sizes})
    _bench_device(kinds 4 ${first_mpi} ${backend} full "allreduce;bcast;allgatherv;ialltoall" D,H,D,P ${two_sizes})
    _bench_device(pairs 2 ${first_mpi} ${backend} full "${pair_tests}" ${two_sizes})
    _bench_device(groups 4 ${first_mpi} ${backend} full "${group_tests}" ${two_sizes})
    _bench_device(blocking 3 ${first_mpi} ${backend} full "${blocking}" ${two_sizes})
    _bench_device(nonblocking 3 ${first_mpi} ${backend} full "${nonblocking}" ${two_sizes})
    _bench_device(persistent 3 ${first_mpi} ${backend} full "${persistent_but_roots}" ${two_sizes})
  endif()
endforeach()

# Between two devices, where there are two; where there is one the heading says what is left out.
foreach(backend IN LISTS always_there)
  foreach(case "2:device-peer          peer-device" "1:no copies peer-device: there is one device")
    string(REGEX MATCH "^[0-9]" n ${case})
    string(REGEX REPLACE "^[0-9]:" "" text ${case})
    string(TOUPPER ${backend} name)
    sluice_add_rank_test(sluice-bench NAME bench.device_memcpy_of_${n} MPIS ${first_mpi} RANKS 1 BACKENDS ${backend} NO_BACKEND_ARGUMENT NO_SLUICE
                         ENV SLUICE_${name}_MACHINE=devices=${n} LABELS bench
                         LAUNCH --expect-output "${text}" ARGS memcpy_kinds -d ${backend} ${two_sizes})
  endforeach()
endforeach()

# Windows in device memory: the program's side, on the stub; and through Sluice.
foreach(window create dynamic)
  _bench_list(stub_windows_${window} 2 ${first_mpi} "" "${accesses}" ${stub} --force -w ${window} ${two_sizes} D:D,H:D,D:H,M:P)
  _bench_list(stub_atomics_${window} 2 ${first_mpi} "" "${atomics}" ${stub} --force -w ${window} ${brief} D:D,H:D,D:H,M:P)
endforeach()
if(SLUICE_FLAVOURS AND always_there)
  list(GET always_there 0 backend)
  sluice_add_rank_test(sluice-bench NAME bench.window_through_sluice MPIS ${first_mpi} BACKENDS ${backend} NO_BACKEND_ARGUMENT LABELS bench
                       LAUNCH --expect-output "  ipc  " ARGS put_latency -d ${backend} ${two_sizes})
endif()

# The memory modules, at two sizes: by hand, and where the host reaches the memory, directly.
get_property(memory_modules GLOBAL PROPERTY SLUICE_MEMORY_MODULES)
foreach(module IN LISTS memory_modules)
  set(on MPIS ${first_mpi} BACKENDS ${module} NO_BACKEND_ARGUMENT NO_SLUICE LABELS bench)
  set(words -d ${module} --oversubscribe --sizes 8,8200 ${brief} -W 4)
  include(${PROJECT_SOURCE_DIR}/backends/${module}/test_environment.cmake OPTIONAL)
  sluice_add_rank_test(sluice-bench NAME bench.memory_by_hand ${on} LAUNCH --expect-lines 6 "device memory is checked on the device"
                       ARGS latency,bw,allreduce ${words} --naive D:D,D:H)
  sluice_add_rank_test(sluice-bench NAME bench.memory_copies RANKS 1 ${on} ARGS memcpy ${words})
  if(SLUICE_TEST_HOST_REACHES)
    sluice_add_rank_test(sluice-bench NAME bench.memory_direct ${on} ARGS latency,bw,allreduce,put_latency ${words} ${SLUICE_TEST_HOST_REACHES})
    # The device's own kernel must see what was spoiled on the way into its memory: every mode in each test.
    set(faults flip tail lost element outside)
    list(LENGTH faults n_faults)
    math(EXPR n_faults "3 * ${n_faults}")
    list(JOIN faults "," faults)
    string(REPEAT "latency,allreduce,put_latency," 5 five_times)
    string(REGEX REPLACE ",$" "" five_times ${five_times})
    sluice_add_rank_test(sluice-bench NAME bench.memory_sees_faults ${on} fault
                         LAUNCH ${preload} --env SPOIL_MIN_BYTES=1000 --env SPOIL_MODE=${faults} --expect-exit 1
                                --expect-lines ${n_faults} "size 8200, iteration 0, " --expect-output "${n_faults} of ${n_faults} tests failed"
                         ARGS ${five_times} -d ${module} --oversubscribe --check-on device --sizes 8200 -i 2 M M)
  endif()
  unset(SLUICE_TEST_HOST_REACHES)
endforeach()

include(sweep_tests.cmake)

# Queues where the runtime itself holds its streams back; the others follow below.
_sluice_test_backends(real real)
foreach(backend IN LISTS real)
  sluice_add_rank_test(sluice-bench NAME bench.device_queues MPIS ${first_mpi} BACKENDS ${backend} NO_BACKEND_ARGUMENT
                       NO_SANITIZER LABELS bench queue full
                       ARGS queue_latency -d ${backend} --oversubscribe --sizes 1,8193 -i 5 -x 1)
endforeach()

# A backend whose runtime is not on this machine, or that lacks a kernel: the line says what is missing.
foreach(backend IN LISTS backends memory_modules)
  get_property(all_tests DIRECTORY PROPERTY TESTS)
  list(FILTER all_tests INCLUDE REGEX "^bench\\.(device|memory)_.*\\.${backend}\\.")
  set_property(TEST ${all_tests} PROPERTY SKIP_REGULAR_EXPRESSION "is not usable here;has no kernel that computes")
endforeach()

# Stream-triggered queues beside the host in between; and one clear line where nobody has them. Waits that do not wait must be
# seen.
foreach(backend IN LISTS always_there)
  set(queues MPIS ${first_mpi} BACKENDS ${backend} NO_BACKEND_ARGUMENT NO_SANITIZER)
  sluice_add_rank_test(sluice-bench NAME bench.queues ${queues} LABELS bench queue full
                       ARGS queue_latency -d ${backend} --sizes 1,8193,65536 -i 10 -x 2)
  sluice_add_rank_test(sluice-bench NAME bench.queue_overlap ${queues} LABELS bench queue full
                       ARGS queue_overlap -d ${backend} --sizes 1,8193 -i 6 -x 1)
  sluice_add_rank_test(sluice-bench NAME bench.queue_calls ${queues} LABELS bench queue full
                       ARGS queue_enqueue -d ${backend} -i 10 -x 2)
  # Captured into graphs, where messages can be.
  foreach(test "queue_latency --sizes 1,8193,65536" queue_enqueue)
    separate_arguments(words UNIX_COMMAND ${test})
    list(GET words 0 name)
    sluice_add_rank_test(sluice-bench NAME bench.graphs_of_${name} ${queues} LABELS bench queue
                         ENV SLUICE_QUEUE_ENGINE=device
                         LAUNCH --expect-output "graph             Route" ARGS ${words} -d ${backend} -i 10 -x 2)
  endforeach()
  # New memory for each message, and what that leaves behind.
  sluice_add_rank_test(sluice-bench NAME bench.queue_cold ${queues} LABELS bench queue
                       LAUNCH --expect-lines 2 "Device +KiB             Route        Validation"
                       ARGS queue_latency,queue_overlap -d ${backend} --cold --sizes 8193 -i 4 -x 1 -c)
  sluice_add_rank_test(sluice-bench NAME bench.queue_calls_cold ${queues} LABELS bench queue full
                       LAUNCH --expect-output "Device +KiB             Route        Validation"
                       ARGS queue_enqueue -d ${backend} --cold -i 4 -x 1 -c)
  # Copies that change a byte on their way, in the stream and in the library, are seen where the data lie.
  sluice_add_rank_test(sluice-bench NAME bench.queues_see_bad_copies ${queues} LABELS bench queue fault FAULT queue_flip:1+
                       LAUNCH --expect-exit 1 --expect-lines 2 "size 8193, iteration 0, result, offset" --expect-output "2 of 2 tests failed"
                              --expect-output "device memory is checked on the device"
                       ARGS queue_latency,queue_overlap -d ${backend} --sizes 8193 -i 4 -x 0)
  sluice_add_rank_test(sluice-bench NAME bench.queue_calls_see_bad_copies ${queues} LABELS bench queue fault FAULT queue_flip:1+
                       LAUNCH --expect-exit 1 --expect-output "size 8, iteration 0, result, offset"
                       ARGS queue_enqueue -d ${backend} -i 4 -x 0)
  # Every test of all families keeps to a time cap.
  sluice_add_rank_test(sluice-bench NAME bench.time_caps ${queues} LABELS bench
                       WRAP ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/time_cap_test.py ARGS ${backend})
  sluice_add_rank_test(sluice-bench NAME bench.queues_see_early_waits ${queues} LABELS bench queue fault FAULT early:1+
                       LAUNCH --expect-exit 1 --expect-output "(queue)" ARGS queue_latency -d ${backend} --sizes 8193 -i 4 -x 0)
  sluice_add_rank_test(sluice-bench NAME bench.queue_overlap_sees_early_waits ${queues} LABELS bench queue fault FAULT early:1+
                       LAUNCH --expect-exit 1 --expect-output "(queue)" ARGS queue_overlap -d ${backend} --sizes 8193 -i 4 -x 0)
  sluice_add_rank_test(sluice-bench NAME bench.queues_without_sluice ${queues} NO_SLUICE LABELS bench queue
                       LAUNCH --expect-exit 1 --expect-output "stream-triggered queues" ARGS queue_latency -d ${backend} -i 4)
endforeach()

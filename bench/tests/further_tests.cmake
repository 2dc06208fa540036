# SPDX-License-Identifier: BSD-3-Clause
# Short real runs of the tests beyond latency, bw and bibw, and the proof for each that its check sees spoiled data.
# Included by CMakeLists.txt, whose variables it uses.
list(GET SLUICE_HOST_MPIS 0 first_mpi)
set(brief -i 8 -x 1 -c)

# One launch runs many tests: starting ranks takes longer than most of them. `full` says which runs the quick set omits.
function(_bench_list name n_ranks mpis labels tests)
  if(NOT mpis)  # none here but the first
    return()
  endif()
  list(JOIN tests "," names)
  sluice_add_rank_test(sluice-bench NAME bench.${name} MPIS ${mpis} RANKS ${n_ranks} ${no_sluice} ${labels}
                       ARGS ${names} ${ARGN})
endfunction()
set(other_mpis ${SLUICE_HOST_MPIS})
list(REMOVE_ITEM other_mpis ${first_mpi})
# Open MPI here is of standard 3.1: it has neither persistent collectives nor partitioned messages.
set(newer_mpis ${other_mpis})
list(REMOVE_ITEM newer_mpis ompi4)

# Point to point.
set(pair_tests latency_persistent bw_persistent bibw_persistent latency_mt message_rate)
set(group_tests multi_lat mbw_mr bw_fan_in bw_fan_out halo_2d halo_3d)
foreach(set "first_mpi;bench" "other_mpis;full")
  list(GET set 0 mpis)
  list(GET set 1 label)
  _bench_list(pairs 2 "${${mpis}}" ${label} "${pair_tests}" --sizes 8,8193 ${brief} -W 16)
  _bench_list(groups 4 "${${mpis}}" ${label} "${group_tests}" --sizes 8,8193 ${brief} -W 4)
endforeach()
_bench_list(partitioned 2 ${first_mpi} "" partitioned_latency --sizes 1,100,8192 ${brief} -q 4)
_bench_list(partitioned 2 "${newer_mpis}" full partitioned_latency --sizes 1,100,8192 ${brief} -q 4)
_bench_list(fan_in_window 3 ${first_mpi} "" bw_fan_in --sizes 8 ${brief} -W 4 -b multiple)
# Three ranks: a torus that is a ring; two: both neighbours are the same rank; six: a true one.
_bench_list(halo_of_three 3 ${first_mpi} "" "halo_2d;halo_3d" --sizes 0,8,8193 ${brief} -b multiple)
_bench_list(halo_of_two 2 "${SLUICE_HOST_MPIS}" full "halo_2d;halo_3d" --sizes 0,8,8193 ${brief})
_bench_list(halo_of_six 6 "${SLUICE_HOST_MPIS}" full "halo_2d;halo_3d" --sizes 8193 ${brief})
_bench_list(threads_device 2 ${first_mpi} "" latency_mt ${stub} --force -t 3 --sizes 8 ${brief})
_bench_list(pairs_naive 2 ${first_mpi} "" "latency_persistent;bibw_persistent" ${stub} --naive --sizes 8,8193 ${brief} -W 4)
_bench_list(groups_naive 4 ${first_mpi} "" "mbw_mr;bw_fan_out;halo_3d" ${stub} --naive --sizes 8193 ${brief} -W 4)

# Collectives: every one in its three forms, on an odd number of ranks.
set(reductions allreduce reduce reduce_scatter reduce_scatter_block scan exscan)
set(movements allgather allgatherv alltoall alltoallv alltoallw bcast gather gatherv scatter scatterv)
set(neighborhoods neighbor_allgather neighbor_allgatherv neighbor_alltoall neighbor_alltoallv neighbor_alltoallw)
set(blocking ${reductions} ${movements} ${neighborhoods})
list(TRANSFORM blocking PREPEND i OUTPUT_VARIABLE nonblocking)
list(TRANSFORM blocking APPEND _persistent OUTPUT_VARIABLE persistent)
# MPICH 4.0, and Intel MPI after it, copies the root's own block when the request is made and never again: these two find what was there then.
set(persistent_but_roots ${persistent})
list(REMOVE_ITEM persistent_but_roots gather_persistent scatter_persistent)
set(both_sizes --sizes 8,8200 ${brief})
_bench_list(blocking 3 ${first_mpi} "" "${blocking}" ${both_sizes})
_bench_list(nonblocking 3 ${first_mpi} "" "${nonblocking}" ${both_sizes})
_bench_list(persistent 3 mpich4 "" "${persistent_but_roots}" ${both_sizes})
_bench_list(persistent_roots 3 mpich5 "" "gather_persistent;scatter_persistent" ${both_sizes})
_bench_list(blocking 3 "${other_mpis}" full "${blocking}" ${both_sizes})
_bench_list(nonblocking 3 "${other_mpis}" full "${nonblocking}" ${both_sizes})
_bench_list(persistent 3 impi full "${persistent_but_roots}" ${both_sizes})
_bench_list(persistent 3 mpich5 full "${persistent}" ${both_sizes})
_bench_list(barriers 3 ${first_mpi} "" "barrier;ibarrier;barrier_persistent" ${brief})
_bench_list(barriers 3 "${newer_mpis}" full "barrier;ibarrier;barrier_persistent" ${brief})
foreach(type mpi_char mpi_long mpi_float mpi_double)
  foreach(operation sum max min)
    _bench_list(${type}_${operation} 3 ${first_mpi} full "allreduce;exscan;reduce_scatter" -T ${type} --op ${operation}
                --sizes 8,4000 ${brief})
  endforeach()
endforeach()
# Blocks of unlike lengths, some of them empty; 1 and 6 elements: quarters are rounded.
set(by_counts alltoallv alltoallw ialltoallv ialltoallw)
set(uneven --layout uneven --sizes 1,6,8200 ${brief})
_bench_list(uneven 3 ${first_mpi} "" "${by_counts}" ${uneven})
_bench_list(uneven 4 ${first_mpi} "" "${by_counts}" ${stub} --naive ${uneven})
_bench_list(uneven_numbers 2 ${first_mpi} "" "${by_counts}" -T mpi_double --layout uneven --sizes 8,8200 ${brief})
_bench_list(uneven 3 "${other_mpis}" full "${by_counts}" ${uneven})
_bench_list(uneven_persistent 3 mpich5 full "alltoallv_persistent;alltoallw_persistent" ${uneven})
_bench_list(uneven_in_groups 6 ${first_mpi} full "${by_counts}" --groups 2 ${uneven})
_bench_list(floats 3 ${first_mpi} "" "allreduce;exscan" -T mpi_float --sizes 8,4000 ${brief})
_bench_list(allreduce_after_barrier 3 ${first_mpi} "" allreduce --sync barrier --sizes 8 ${brief} --repeat 3)
_bench_list(ialltoall_with_progress 3 ${first_mpi} "" ialltoall -t 4 --sizes 8200 ${brief} -f -z)
# Overlap, with who computes.
_bench_list(computing_by_turns 2 ${first_mpi} "" iallreduce ${stub} --force --compute each -t 2 --sizes 8200 ${brief} -f)
_bench_list(computing_on_both 2 ${first_mpi} "" ibarrier ${stub} --force -r both ${brief})
foreach(case "none:the stub has no kernel that computes" "idle:the kernel that computes is wrong: it left")
  string(REGEX MATCH "^[a-z]+" way ${case})
  string(REGEX REPLACE "^[a-z]+:" "" text ${case})
  sluice_add_rank_test(sluice-bench NAME bench.computing_must_not_be_${way} MPIS ${first_mpi} ${no_sluice} fault
                       LAUNCH --env SLUICE_STUB_WORK=${way} --expect-exit 1 --expect-output "${text}"
                       ARGS iallreduce ${stub} --force --compute device --sizes 8 ${brief})
endforeach()
sluice_add_rank_test(sluice-bench NAME bench.computing_without_a_device MPIS ${first_mpi} ${no_sluice}
                     LAUNCH --expect-exit 1 --expect-output "rank 1: --compute: this rank has no device to compute on"
                     ARGS iallreduce ${stub} --force --compute device D H --sizes 8 ${brief})
_bench_list(two_groups 4 ${first_mpi} "" "${reductions};${movements};iallreduce;ialltoall" --groups 2 ${both_sizes})
# Rings and tori that each group has for itself, and barriers of a group.
_bench_list(groups_of_neighbours 4 ${first_mpi} "" "neighbor_alltoallw;ineighbor_alltoall;neighbor_allgather_persistent" --groups 2 ${both_sizes})
_bench_list(groups_of_barriers 4 ${first_mpi} "" "barrier;ibarrier;barrier_persistent" --groups 2 ${brief})
_bench_list(three_groups_of_neighbours 6 "${SLUICE_HOST_MPIS}" full "${neighborhoods}" --groups 3 --sizes 8,8200 ${brief})
_bench_list(three_groups_of_barriers 6 "${SLUICE_HOST_MPIS}" full "barrier;ibarrier" --groups 3 ${brief})
_bench_list(groups_with_tori 6 ${first_mpi} full "${neighborhoods}" --groups 2 -N cart:2:1 --sizes 8,8200 ${brief})
_bench_list(three_groups 6 "${SLUICE_HOST_MPIS}" full "${reductions};${movements}" --groups 3 ${both_sizes})
_bench_list(torus 4 ${first_mpi} "" "${neighborhoods}" -N cart:2:2 --sizes 100 ${brief})
_bench_list(torus 4 "${other_mpis}" full "${neighborhoods}" -N cart:2:2 --sizes 100 ${brief})
_bench_list(torus_of_two 2 "${SLUICE_HOST_MPIS}" full "${neighborhoods}" --sizes 100 ${brief})

# Another root than rank 0.
set(rooted bcast gather gatherv reduce scatter scatterv ibcast igather ireduce iscatter)
_bench_list(root_of_two 3 ${first_mpi} "" "${rooted}" -k fixed:2 --sizes 8200 ${brief})

# Collectives on device memory: staged by hand, on a stub module.
_bench_list(collectives_naive 3 ${first_mpi} "" "allreduce;bcast;gather;alltoallv;exscan;neighbor_allgather"
            ${stub} --naive ${both_sizes})
# Another kind to send from than to receive into, on each rank another: of all but bcast, which has one buffer.
set(two_sided ${blocking} ${nonblocking} ${persistent_but_roots})
list(FILTER two_sided EXCLUDE REGEX "bcast")
sluice_add_rank_test(sluice-bench NAME bench.sides MPIS ${first_mpi} RANKS 3 ${no_sluice}
                     LAUNCH --expect-output ", device memory to send, host memory to receive, device stub 0"
                     ARGS allreduce,gatherv,ialltoallw,scan_persistent,neighbor_alltoallv ${stub} --force D/H,H/D,M/P ${both_sizes})
_bench_list(sides_naive 2 ${first_mpi} "" "reduce;iallgather" ${stub} --compare-naive --force D/H:D/H,H/D:H/D ${both_sizes})
# A kind of memory for each rank: of three, the first is looked at by its device, the last has no kernel for that.
sluice_add_rank_test(sluice-bench NAME bench.kind_of_each_rank MPIS ${first_mpi} RANKS 3 ${no_sluice}
                     LAUNCH --env-rank 2 SLUICE_STUB_CHECK=none
                            --expect-output "device memory of rank 0 is checked on the device"
                            --expect-output "device memory of rank 2 is checked on the host: "
                     ARGS allreduce,bcast,alltoallv,scan ${stub} --force D,H,D --sizes 8,8200 ${brief})
_bench_list(ireduce_compare 3 ${first_mpi} "" ireduce ${stub} --compare-naive --force --sizes 8200 ${brief} D H)

# One-sided: every access; each kind of window and each synchronisation once in the quick set, all pairs in the full one.
set(accesses put_latency get_latency put_bw get_bw acc_latency get_acc_latency)
set(atomics fop_latency cas_latency)
list(JOIN accesses "," access_names)
list(JOIN atomics "," atomic_names)
foreach(window create allocate dynamic shared)
  foreach(epoch flush flush_local flush_all flush_local_all request lock lock_all fence pscw)
    # Open MPI as it is started here has no component for other windows than those that it allocates.
    set(others ${other_mpis})
    if(NOT window MATCHES "^(allocate|shared)$")
      set(others ${newer_mpis})
    endif()
    set(label full)
    if("${window}:${epoch}" MATCHES "create:(flush|lock_all)$|allocate:(flush_local|pscw|request)$|dynamic:(lock|fence|flush_local_all)$|shared:(flush_all|request)$")
      set(label bench)
    endif()
    _bench_list(one_sided_${window}_${epoch} 2 ${first_mpi} ${label} "${accesses}" -w ${window} -s ${epoch}
                --sizes 8,8200 ${brief} -W 4)
    _bench_list(one_sided_${window}_${epoch} 2 "${others}" full "${accesses}" -w ${window} -s ${epoch}
                --sizes 8,8200 ${brief} -W 4)
    if(epoch STREQUAL "request")  # MPI has no such form of these
      continue()
    endif()
    _bench_list(atomics_${window}_${epoch} 2 ${first_mpi} ${label} "${atomics}" -w ${window} -s ${epoch} ${brief})
    _bench_list(atomics_${window}_${epoch} 2 "${others}" full "${atomics}" -w ${window} -s ${epoch} ${brief})
  endforeach()
endforeach()
_bench_list(accumulate_float 2 ${first_mpi} "" "acc_latency;get_acc_latency" -T mpi_float --op max --sizes 8,4000 ${brief})

# What an MPI lacks: a line that names it. Open MPI 4 lacks something, later ones do not.
if(OMPI4_VERSION VERSION_LESS 5)
  sluice_add_rank_test(sluice-bench NAME bench.names_what_is_missing MPIS ompi4 ${no_sluice}
                       LAUNCH --expect-exit 1 --expect-output "partitioned_latency: rank 0: size 8: this MPI (standard 3.1) has no MPI_Pready"
                              --expect-output "allreduce_persistent: rank 0: size 8: this MPI (standard 3.1) has no MPI_Allreduce_init"
                              --expect-output "2 of 2 tests failed"
                       ARGS partitioned_latency,allreduce_persistent --sizes 8 ${brief})
endif()

# Every test must see every fault: each of the list ends with a line of its own, and none is left over.
set(preload --preload-above $<TARGET_FILE:sluice_bench_spoiling_mpi_${SLUICE_HOST_MPI_${first_mpi}_FLAVOUR}>)
# One launch tries all modes: the list of tests is run once for each. Each must fail with wrong data, nothing else.
function(_bench_see modes name n_ranks labels tests)
  list(LENGTH tests n)
  list(LENGTH modes n_modes)
  math(EXPR n "${n} * ${n_modes}")
  set(size 4096)
  set(sizes --sizes 4096)
  if(name MATCHES "atomics")
    set(size 8)
    set(sizes "")
  endif()
  set(all "")
  foreach(mode IN LISTS modes)
    list(APPEND all ${tests})
  endforeach()
  list(JOIN all "," names)
  list(JOIN modes "," mode_names)
  set(expected --expect-lines ${n} "size ${size}, iteration 0, " --expect-output "${n} of ${n} tests failed")
  list(JOIN modes "_" word)
  if(n_modes GREATER 1)
    set(word faults)
  endif()
  sluice_add_rank_test(sluice-bench NAME bench.${name}_see_${word} MPIS ${first_mpi} RANKS ${n_ranks} ${no_sluice} fault
                       ${labels}
                       LAUNCH ${preload} --env SPOIL_MIN_BYTES=1000 --env SPOIL_MODE=${mode_names} --expect-exit 1 ${expected}
                       ARGS ${names} ${sizes} -i 2 ${ARGN})
endfunction()
set(pair_tests latency bw bibw ${pair_tests} partitioned_latency)
set(modes flip tail lost element outside)
# Looked at by the host, and by a kernel of the device where the data lie.
foreach(where "" _on_device)
  set(words "")
  if(where)
    set(words ${stub} --force --check-on device)
  endif()
  _bench_see("${modes}" pairs${where} 2 "" "${pair_tests}" ${words})
  _bench_see("${modes}" groups${where} 4 "" "${group_tests}" ${words})
  _bench_see("${modes}" blocking${where} 3 "" "${blocking}" ${words})
  _bench_see("${modes}" accesses${where} 2 "" "${accesses}" ${words})
  _bench_see("${modes}" atomics${where} 2 "" "${atomics}" ${words})
  _bench_see("${modes}" nonblocking${where} 3 full "${nonblocking}" ${words})
  _bench_see("${modes}" persistent${where} 3 full "${persistent}" ${words})
endforeach()
# Where the two sides lie in different memory: what each rank receives into is looked at by another place.
set(blocking_sides ${blocking})
list(REMOVE_ITEM blocking_sides bcast)
_bench_see("${modes}" blocking_sides 3 "" "${blocking_sides}" ${stub} --force --check-on device D/H,H/D,M/P)
# Accesses in memory that ranks share, and ended by each further synchronisation.
_bench_see("${modes}" accesses_shared_request 2 "" "${accesses}" -w shared -s request)
_bench_see("${modes}" accesses_request 2 full "${accesses}" -s request)
_bench_see("${modes}" accesses_shared_flush_all 2 full "${accesses}" -w shared -s flush_all)
_bench_see("${modes}" atomics_flush_all 2 full "${atomics}" -s flush_all)
_bench_see("${modes}" atomics_shared_flush_local_all 2 "" "${atomics}" -w shared -s flush_local_all)
# A kernel that sees nothing, or does nothing, is no check.
foreach(case "blind:saw none where there is a wrong byte" "idle:compared 0 of")
  string(REGEX MATCH "^[a-z]+" way ${case})
  string(REGEX REPLACE "^[a-z]+:" "" text ${case})
  sluice_add_rank_test(sluice-bench NAME bench.check_must_not_be_${way} MPIS ${first_mpi} ${no_sluice} fault
                       LAUNCH --env-rank 1 SLUICE_STUB_CHECK=${way} --expect-exit 1 --expect-output "rank 1: stub: the kernel that checks data"
                              --expect-output "${text}"
                       ARGS latency ${stub} --force --sizes 8 -i 2)
endforeach()
# Where there is none the host looks, and the heading says so.
sluice_add_rank_test(sluice-bench NAME bench.check_on_the_host MPIS ${first_mpi} ${no_sluice}
                     LAUNCH --env-rank 1 SLUICE_STUB_CHECK=none
                            --expect-output "device memory of rank 0 is checked on the device"
                            --expect-output "device memory of rank 1 is checked on the host: the stub has no such kernel"
                     ARGS latency ${stub} --force --sizes 8 -i 2)
_bench_see(swap movements 3 "" "allgather;allgatherv;alltoall;alltoallv;alltoallw;gather;gatherv;neighbor_allgather;neighbor_allgatherv;neighbor_alltoallw")
_bench_see("${modes}" uneven 3 "" "${by_counts}" --layout uneven)
_bench_see(swap uneven 4 "" "${by_counts}" --layout uneven)
# A group that is given what another one should have.
sluice_add_rank_test(sluice-bench NAME bench.groups_see_each_other MPIS ${first_mpi} RANKS 4 ${no_sluice} fault
                     LAUNCH ${preload} --env SPOIL_MODE=regroup --expect-exit 1 --expect-output "size 4096, iteration 0, received"
                            --expect-output "7 of 7 tests failed"
                     ARGS allreduce,allgather,alltoall,bcast,scan,neighbor_allgather,neighbor_alltoall --groups 2 --sizes 4096 -i 2)
# A barrier of a group that lets go too early.
sluice_add_rank_test(sluice-bench NAME bench.barriers_of_groups_see_skip MPIS ${first_mpi} RANKS 4 ${no_sluice} fault
                     LAUNCH ${preload} --env SPOIL_MODE=skip --expect-exit 1
                            --expect-output "before the last one came" --expect-output "3 of 3 tests failed"
                     ARGS barrier,ibarrier,barrier_persistent --groups 2 -i 2)
function(_bench_spoils_nothing name n_ranks tests)
  list(JOIN tests "," names)
  sluice_add_rank_test(sluice-bench NAME bench.${name}_unspoiled MPIS ${first_mpi} RANKS ${n_ranks} ${no_sluice} fault
                       LAUNCH ${preload} --env SPOIL_MODE=none ARGS ${names} -i 2 ${ARGN})
endfunction()
_bench_spoils_nothing(blocking 3 "${blocking}" --sizes 4096)
_bench_spoils_nothing(accesses 2 "${accesses}" --sizes 4096)
_bench_spoils_nothing(atomics 2 "${atomics}")
# Data of the operation before: each by itself, because what the test before left would be seen for another reason.
function(_bench_sees_stale n_ranks labels)
  foreach(test IN LISTS ARGN)
    sluice_add_rank_test(sluice-bench NAME bench.${test}_sees_stale MPIS ${first_mpi} RANKS ${n_ranks} ${no_sluice} fault
                         ${labels}
                         LAUNCH ${preload} --env SPOIL_MIN_BYTES=1000 --env SPOIL_MODE=stale --expect-exit 1
                                --expect-output "size 4096, iteration 1, received"
                         ARGS ${test} --sizes 4096 -i 2)
  endforeach()
endfunction()
_bench_sees_stale(2 "" latency)
_bench_sees_stale(3 "" allreduce)
set(further ${blocking} ${nonblocking})
list(REMOVE_ITEM further allreduce)
_bench_sees_stale(3 full ${further})
sluice_add_rank_test(sluice-bench NAME bench.barriers_see_skip MPIS ${first_mpi} RANKS 3 ${no_sluice} fault
                     LAUNCH ${preload} --env SPOIL_MODE=skip --expect-exit 1
                            --expect-output "before the last one came" --expect-output "3 of 3 tests failed"
                     ARGS barrier,ibarrier,barrier_persistent -i 2)

# Blocks until the figure is known well enough: 100000 % is known with six, a thousandth of one is never, and then time ends it.
foreach(case "precise:100000:60" "capped:0.001:0.05")
  string(REPLACE ":" ";" words ${case})
  list(GET words 0 name)
  list(GET words 1 precision)
  list(GET words 2 cap)
  _bench_list(time_${name} 3 ${first_mpi} "" "bw_fan_in;allreduce;halo_2d" --time-cap ${cap} --precision ${precision} --sizes 8,8192 ${brief})
  _bench_list(time_${name}_access 2 ${first_mpi} "" "put_latency;latency" --time-cap ${cap} --precision ${precision} --sizes 8 ${brief})
endforeach()

# Mistakes.
function(_bench_refuses name n_ranks status text)
  sluice_add_rank_test(sluice-bench NAME bench.${name} MPIS ${first_mpi} RANKS ${n_ranks} ${no_sluice}
                       LAUNCH --expect-exit ${status} --expect-output "${text}" --expect-lines 1 "sluice-bench: " ARGS ${ARGN})
endfunction()
_bench_refuses(odd_pairs 3 1 "needs at least 2 ranks, an even number" mbw_mr)
_bench_refuses(lonely_collective 1 1 "allreduce needs at least 2 ranks" allreduce)
_bench_refuses(sizes_of_barrier 2 2 "takes no sizes" barrier -m 8)
_bench_refuses(odd_element 2 2 "sizes are multiples of 4" allreduce --sizes 7)
# Sizes that MPI's arguments cannot say, in bytes that nobody has here: refused before memory is asked for.
_bench_refuses(uncountable_queue 2 2 "queue_latency: sizes go up to 2147483647" queue_latency ${stub} --sizes 2G)
_bench_refuses(uncountable_sum 2 1 "size 70368744177664: 17592186044416 elements: allreduce counts up to 2147483647" allreduce --sizes 64T)
_bench_refuses(even_alone 2 2 "alltoall has no counts for each pair of ranks, and takes no --layout" alltoall --layout uneven)
_bench_refuses(unreachable_uneven_offset 2 1 "alltoallw: its offsets are ints of bytes" alltoallw --layout uneven --sizes 600M)
_bench_refuses(uncountable_quarters 2 1 "elements are no multiple of 4" alltoallv --layout uneven --sizes 4398046511105)
_bench_refuses(unreachable_offset 2 1 "alltoallw: its offsets are ints of bytes" alltoallw --sizes 64T)
_bench_refuses(uncountable_accumulate 2 1 "acc_latency: 17592186044416 elements are more than a count" acc_latency --sizes 64T)
_bench_refuses(sides_of_a_message 2 2 "'D/H' says what a rank sends from and what it receives into" latency ${stub} D/H D)
_bench_refuses(sides_of_one_buffer 2 2 "bcast has no two buffers there" bcast ${stub} D/H)
_bench_refuses(sides_in_place 2 2 "-l: no MPI_IN_PLACE" allreduce -l ${stub} D/H)
_bench_refuses(kinds_of_others 3 1 "the placement names the memory of 2 ranks, and this run has 3" allreduce ${stub} --force D,H)
_bench_refuses(no_such_root 3 1 "-k fixed:3: there are only 3 ranks" bcast -k fixed:3)
_bench_refuses(other_pairs 4 1 "-p 1: this run has 4 ranks, which are 2 pairs: start it with mpiexec -n 2" mbw_mr -p 1)
_bench_refuses(uneven_groups 3 1 "3 ranks cannot be divided" allreduce --groups 2)
_bench_refuses(lonely_groups 2 1 "2 ranks cannot be divided" allreduce --groups 2)
_bench_refuses(no_groups 2 2 "--groups: 0 is outside" allreduce --groups 0)
_bench_refuses(one_sided_allocated 2 2 "MPI_Win_allocate gives host memory" put_latency ${stub} -w allocate)
_bench_refuses(one_sided_shared 2 2 "-w shared: MPI_Win_allocate_shared gives host memory" put_latency ${stub} -w shared)
_bench_refuses(no_request 2 2 "MPI has no form of cas_latency's access with a request" cas_latency -s request)
_bench_refuses(one_sided_by_hand 2 2 "put_latency has no form that is done by hand" put_latency ${stub} --naive)
_bench_refuses(unaware_window 2 1 "does not take windows in stub device memory" put_latency ${stub})
_bench_refuses(check_of_nothing 2 2 "--check-on device needs a device" latency --check-on device)
_bench_refuses(unknown_place 2 2 "--check-on: 'frob' is unknown" latency --check-on frob)
_bench_refuses(unaware_collective 2 1 "does not take stub device memory" allreduce ${stub})

# Ranks that were given different arguments must end, not wait for each other.
foreach(mpi ${first_mpi} ompi4)
  sluice_add_rank_test(sluice-bench NAME bench.unequal_arguments MPIS ${mpi} RANKS 1 ${no_sluice}
                       LAUNCH --expect-exit 1 --expect-output "started with different arguments" --expect-lines 1 "sluice-bench: "
                       ARGS latency --sizes 8 : -n 1 ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/sluice-bench.${SLUICE_HOST_MPI_${mpi}_FLAVOUR}
                            latency --sizes 16)
endforeach()

# The published schema, and CSV.
set(plain_launch ${SLUICE_LAUNCH} --mpi ${first_mpi} -n 2 --)
add_test(NAME bench.osu_names
         COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/osu_names_test.py ${plain_launch}
                 ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/sluice-bench.${SLUICE_HOST_MPI_${first_mpi}_FLAVOUR})
set_tests_properties(bench.osu_names PROPERTIES LABELS "bench;ranks-2;full" TIMEOUT 120
                     ENVIRONMENT "TEST_PYTHON_ENVS=${SLUICE_PYTHON_ENVS}")
add_test(NAME bench.schema
         COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/schema_test.py
                 $<TARGET_FILE:sluice_bench_spoiling_mpi_${SLUICE_HOST_MPI_${first_mpi}_FLAVOUR}> ${stub_dir} ${plain_launch}
                 ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/sluice-bench.${SLUICE_HOST_MPI_${first_mpi}_FLAVOUR})
set_tests_properties(bench.schema PROPERTIES LABELS "bench;ranks-2" SKIP_RETURN_CODE 77 TIMEOUT 300
                     ENVIRONMENT "TEST_PYTHON_ENVS=${SLUICE_PYTHON_ENVS}")

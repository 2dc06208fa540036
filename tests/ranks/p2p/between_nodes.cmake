# SPDX-License-Identifier: BSD-3-Clause
# Included by CMakeLists.txt, whose variables it reads.
# Between nodes by a network library: one in software, which brings each message from device to device; late; and, by
# messages of any length, what else can happen to a message. Then it refuses messages, takes none, loses those that it
# took, and is there on one side alone: everything comes through the host. UCX takes no memory of the emulated device.
set(to_node_b --env-rank 1 SLUICE_NODE=b --env-rank 3 SLUICE_NODE=b)
set(direct TEST_OFFERED=device TEST_ROUTE=direct)
sluice_add_rank_test(p2p NAME p2p_direct RANKS 2 BACKENDS faulty NO_SANITIZER LABELS p2p network ARGS --gtest_filter=OfferedRoute.*
                     ENV ${direct} SLUICE_NETWORK=simulated TIMEOUT 120 LAUNCH ${to_node_b})
sluice_add_rank_test(p2p NAME p2p_direct RANKS 4 MPIS ${one_of_each} BACKENDS faulty LABELS p2p network NO_SANITIZER
                     ARGS --gtest_filter=OfferedRoute.DeliversAll* ENV ${direct} SLUICE_NETWORK=simulated TIMEOUT 120
                     LAUNCH ${to_node_b})
sluice_add_rank_test(p2p NAME p2p_direct_late RANKS 2 MPIS ${first_mpi} BACKENDS faulty NO_SANITIZER LABELS p2p network fault TIMEOUT 120
                     ARGS --gtest_filter=OfferedRoute.* ENV ${direct} SLUICE_NETWORK=simulated:slow LAUNCH ${to_node_b})
set(any_length SLUICE_NETWORK=simulated SLUICE_TUNING=p2p_direct_threshold=256 SLUICE_STATS=all)
sluice_add_rank_test(p2p NAME p2p_direct_any_length RANKS 2 MPIS ${one_of_each} BACKENDS faulty LABELS p2p network TIMEOUT 300
                     ARGS --sources ${sources_blocking},${sources_nonblocking},${sources_completion},${sources_packing}
                     --gtest_filter=-*Threads.* ENV ${any_length} LAUNCH ${to_node_b} --expect-output " direct ")
sluice_add_rank_test(p2p NAME p2p_direct_matching RANKS 2 MPIS ${first_mpi} BACKENDS faulty NO_SANITIZER LABELS p2p network TIMEOUT 300
                     ARGS --sources ${sources_rest},${sources_datatypes} ${without_threads} ENV ${any_length}
                     LAUNCH ${to_node_b} --expect-output " direct ")
sluice_add_rank_test(p2p NAME p2p_direct_threads RANKS 2 MPIS ${one_of_each} BACKENDS faulty LABELS p2p network threads
                     ARGS --gtest_filter=Threads.* --threads ENV ${any_length} LAUNCH ${to_node_b} --expect-output " direct ")
sluice_add_rank_test(p2p NAME p2p_direct_differential RANKS 2 MPIS ${one_of_each} BACKENDS faulty NO_SANITIZER LABELS p2p network
                     ARGS --gtest_filter=Differential.* ENV ${any_length} TIMEOUT 300
                     LAUNCH ${to_node_b} --expect-output " direct ")
# The sanitizers see messages of any length, threads, and failures; long messages take them too long.
foreach(fault refuses busy fails)
  set(sanitized NO_SANITIZER)
  if(fault STREQUAL fails)
    set(sanitized "")
  endif()
  sluice_add_rank_test(p2p NAME p2p_direct_${fault} RANKS 2 MPIS ${one_of_each} BACKENDS faulty ${sanitized} LABELS p2p network fault
                       ARGS --gtest_filter=OfferedRoute.*:Send.*:Irecv.* TIMEOUT 120
                       ENV SLUICE_NETWORK=simulated:${fault} SLUICE_STATS=all
                       LAUNCH ${to_node_b} --expect-output "fallback network_message"
                       --expect-output "has failed too often")
endforeach()
sluice_add_rank_test(p2p NAME p2p_direct_one_side RANKS 2 MPIS ${first_mpi} BACKENDS faulty NO_SANITIZER LABELS p2p network fault TIMEOUT 120
                     ARGS --gtest_filter=OfferedRoute.*:Send.*:Irecv.* ENV SLUICE_STATS=all
                     LAUNCH ${to_node_b} --env-rank 0 SLUICE_NETWORK=simulated --env-rank 1 SLUICE_NETWORK=off
                     --expect-output "MPI_Irecv              device  pipelined")
# UCX itself over TCP. It takes no memory of the emulated device; it takes that of devices whose memory the CPU reaches. No
# random programs: MPICH 4 goes by UCX itself, and over TCP alone says otherwise what was received of a message too long.
set(ucp SLUICE_NETWORK=ucp UCX_TLS=self,tcp ${SLUICE_TEST_UCX})
sluice_add_rank_test(p2p NAME p2p_direct_other_memory RANKS 2 MPIS ${first_mpi} BACKENDS faulty NO_SANITIZER LABELS p2p network fault TIMEOUT 120
                     ARGS --gtest_filter=OfferedRoute.*:Send.*:Irecv.* ENV ${ucp} SLUICE_STATS=all
                     LAUNCH ${to_node_b} --expect-output "fallback network_device")
get_property(built GLOBAL PROPERTY SLUICE_BACKENDS)
foreach(backend IN LISTS built)
  set(SLUICE_TEST_STANDS_IN OFF)
  include(${PROJECT_SOURCE_DIR}/backends/${backend}/test_environment.cmake OPTIONAL)
  if(NOT SLUICE_TEST_STANDS_IN OR NOT SLUICE_TEST_UCX)
    continue()
  endif()
  sluice_add_rank_test(p2p NAME p2p_direct_ucp RANKS 2 MPIS ${first_mpi} BACKENDS ${backend} LABELS p2p network TIMEOUT 120
                       ARGS --gtest_filter=OfferedRoute.* ENV ${direct} ${ucp} LAUNCH ${to_node_b})
  sluice_add_rank_test(p2p NAME p2p_direct_ucp_any_length RANKS 2 MPIS ${one_of_each} BACKENDS ${backend} LABELS p2p network
                       ARGS --gtest_filter=Send.*:Irecv.*:Sendrecv.*:Probe.*:SendInit.*:Outstanding.*:Cancel.*
                       ENV ${any_length} ${ucp} TIMEOUT 120 LAUNCH ${to_node_b} --expect-output " direct ")
  sluice_add_rank_test(p2p NAME p2p_direct_ucp_threads RANKS 2 MPIS ${first_mpi} BACKENDS ${backend} LABELS p2p network threads
                       ARGS --gtest_filter=Threads.* --threads ENV ${any_length} ${ucp} TIMEOUT 120
                       LAUNCH ${to_node_b} --expect-output " direct ")
endforeach()

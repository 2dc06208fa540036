# SPDX-License-Identifier: BSD-3-Clause
# Lengths from a tuning table instead of the environment: the routes that these tests ask for show that it holds. Included by
# CMakeLists.txt, whose variables it uses.
get_property(built GLOBAL PROPERTY SLUICE_BACKENDS)
# sluice_write_tables(<folder> <"setting": "value", ...>): one for each backend
function(sluice_write_tables folder settings)
  foreach(backend IN LISTS built)
    file(WRITE ${folder}/${backend}.json "{\"format\": 2, \"backend\": \"${backend}\", \"settings\": {${settings}}}\n")
  endforeach()
endfunction()
set(tables ${CMAKE_CURRENT_BINARY_DIR}/tuning)
sluice_write_tables(${tables} "\"coll_ipc_threshold\": \"0\", \"coll_chain_block\": \"500\"")
sluice_write_tables(${tables}_levels "\"coll_ipc_threshold\": \"0\", \"coll_chain_block\": \"500\", \
\"coll_reduce_threshold\": \"0\", \"coll_levels_threshold\": \"0\"")
sluice_write_tables(${tables}_segments "\"coll_segment\": \"5000\", \"coll_segment_threshold\": \"0\"")
set(tuned coll MPIS ${first_mpi} BACKENDS faulty LABELS coll NO_SANITIZER)
sluice_add_rank_test(${tuned} NAME coll_tuned RANKS 3 ARGS ${together_alone}
                     ENV SLUICE_COLL_IPC=always SLUICE_TUNING=${tables} SLUICE_STATS_FILE=/dev/null)
sluice_add_rank_test(${tuned} NAME coll_tuned_levels RANKS 4 ARGS --gtest_filter=Levels.*:LevelReductions.*
                     ENV SLUICE_COLL_IPC=always SLUICE_TUNING=${tables}_levels SLUICE_STATS_FILE=/dev/null
                     LAUNCH --env-rank 2 SLUICE_NODE=b --env-rank 3 SLUICE_NODE=b)
sluice_add_rank_test(${tuned} NAME coll_tuned_segments RANKS 3 ARGS --gtest_filter=Segments.*-*CopyFails
                     ENV SLUICE_COLL_IPC=off SLUICE_COLL_SEGMENTS=always SLUICE_TUNING=${tables}_segments SLUICE_STATS_FILE=/dev/null)
# A device with a table of its own that says nothing of reductions, used before MPI_Init or first behind it.
sluice_write_tables(${tables}_first_use "\"coll_ipc_threshold\": \"1\", \"coll_reduce_threshold\": \"1\"")
foreach(backend IN LISTS built)
  # All names of devices have that letter.
  file(WRITE ${tables}_first_use/${backend}_own.json "{\"format\": 2, \"backend\": \"${backend}\", \"device\": \"e\", \"settings\": "
       "{\"coll_ipc_threshold\": \"1\"}}\n")
endforeach()
list(JOIN built "," named)
foreach(order early late)
  set(arguments ARGS --gtest_filter=FirstUse.*)
  if(order STREQUAL "late")
    list(APPEND arguments --open-late)
  endif()
  sluice_add_rank_test(coll NAME coll_first_use_${order} RANKS 2 3 MPIS ${first_mpi} BACKENDS faulty LABELS coll NO_SANITIZER
                       ${arguments} ENV SLUICE_BACKENDS=${named} SLUICE_TUNING=${tables}_first_use SLUICE_STATS_FILE=/dev/null)
endforeach()

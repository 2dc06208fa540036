# SPDX-License-Identifier: BSD-3-Clause
# Each application, short, on each backend: it checks itself. And with faults: it must see them.
include(SluiceRankTests)
list(GET SLUICE_HOST_MPIS 0 first_mpi)
_sluice_test_backends(faulty_backends faulty)
_sluice_test_backends(real_backends real)
# Those that run kernels of programs.
foreach(backend IN LISTS faulty_backends real_backends)
  if(NOT EXISTS ${PROJECT_SOURCE_DIR}/backends/${backend}/program_kernels.cpp)
    list(REMOVE_ITEM faulty_backends ${backend})
    list(REMOVE_ITEM real_backends ${backend})
  endif()
endforeach()
# The sanitizers see nothing of the library here that its own tests do not show them.
set(app NO_BACKEND_ARGUMENT NO_SANITIZER LABELS apps)

# _app(<program> <test> <ranks> <backend> <argument> ...)
function(_app program test n_ranks backend)
  sluice_add_rank_test(${program} NAME app.${test} MPIS ${first_mpi} RANKS ${n_ranks} BACKENDS ${backend} ${app}
                       ARGS -d ${backend} --oversubscribe ${ARGN})
endfunction()
# _app_compiled(<program> <test> <backend> <argument> ...)
# Where kernels are compiled at run time, seconds for each: there, one application in the quick set is enough.
function(_app_compiled program test backend)
  sluice_test_stands_in(is_stand_in ${backend})
  set(label full)
  if(is_stand_in)
    set(label "")
  endif()
  sluice_add_rank_test(${program} NAME app.${test} MPIS ${first_mpi} BACKENDS ${backend} ${app} ${label} TIMEOUT 400
                       ARGS -d ${backend} --oversubscribe ${ARGN})
endfunction()
# _app_sees(<program> <test> <backend> <fault> <text> <argument> ...)
function(_app_sees program test backend fault text)
  sluice_add_rank_test(${program} NAME app.${test} MPIS ${first_mpi} BACKENDS ${backend} NO_BACKEND_ARGUMENT NO_SANITIZER
                       LABELS apps fault FAULT ${fault} FAULT_RANK 1 LAUNCH --expect-exit 1 --expect-output ${text}
                       ARGS -d ${backend} --oversubscribe ${ARGN})
endfunction()

set(faces_short --outer 1 --middle 2 --inner 5 --elements 2 --points 4)
foreach(backend IN LISTS faulty_backends)
  _app(faces faces 8 ${backend} --variant plain,st-send,st,enqueue --grid 2x2x2 ${faces_short})
  _app(faces faces_row 3 ${backend} --variant plain,st --grid 3x1x1 ${faces_short})
  _app_sees(faces faces_sees_bad_kernel ${backend} kernel_flip:1+ "instead of" --variant plain ${faces_short})
endforeach()
foreach(backend IN LISTS faulty_backends)
  set(table_short --keys 200 --different 60 --repeat 2 --variant device-table,device-buffers)
  _app(hash_table hash_table 3 ${backend} ${table_short})
endforeach()
foreach(backend IN LISTS real_backends)
  _app(faces faces 2 ${backend} --variant plain,st-send,st,enqueue --grid 2x1x1 ${faces_short})
endforeach()
# Kernels as triggers, where a backend has them besides another way; and not without its knob.
foreach(backend IN LISTS faulty_backends real_backends)
  set(SLUICE_TEST_STREAM_FORMS "")
  include(${PROJECT_SOURCE_DIR}/backends/${backend}/test_environment.cmake OPTIONAL)
  foreach(form IN LISTS SLUICE_TEST_STREAM_FORMS)
    string(REPLACE ":" ";" words ${form})
    list(POP_FRONT words name)
    if(name STREQUAL by_kernels)
      sluice_add_rank_test(faces NAME app.faces_${name} MPIS ${first_mpi} RANKS 2 BACKENDS ${backend} ${app} ENV ${words}
                           ARGS -d ${backend} --oversubscribe --variant plain,st-kernels --grid 2x1x1 ${faces_short})
      sluice_add_rank_test(faces NAME app.faces_${name}_without_knob MPIS ${first_mpi} RANKS 2 BACKENDS ${backend} ${app}
                           LAUNCH --expect-exit 1 --expect-output "_STREAMS=kernels"
                           ARGS -d ${backend} --oversubscribe --variant st-kernels ${faces_short})
    endif()
  endforeach()
endforeach()
# Other devices in the place of a backend's usual ones: an application with queues, one with datatypes, the demonstration.
sluice_test_devices(devices)
foreach(device IN LISTS devices)
  string(REPLACE ":" ";" words ${device})
  list(POP_FRONT words backend name)
  sluice_add_rank_test(faces NAME app.faces_on_${name} MPIS ${first_mpi} BACKENDS ${backend} ${app} devices ENV ${words} TIMEOUT 400
                       ARGS -d ${backend} --oversubscribe --variant plain,st-send,st --grid 2x1x1 ${faces_short})
  sluice_add_rank_test(stencil2d NAME app.stencil2d_on_${name} MPIS ${first_mpi} BACKENDS ${backend} ${app} devices full ENV ${words} TIMEOUT 400
                       ARGS -d ${backend} --oversubscribe --variant packed,subarray,hindexed,st --sides 5,16 --steps 3 --repeat 1)
  add_test(NAME demo.${name} COMMAND ${PROJECT_SOURCE_DIR}/tools/demo ${PROJECT_BINARY_DIR})
  set_tests_properties(demo.${name} PROPERTIES LABELS "apps;devices;full" TIMEOUT 900 ENVIRONMENT "${words};DEMO_BACKEND=${backend}"
                       PASS_REGULAR_EXPRESSION "all by the route ipc")
endforeach()
# The rank in the middle of 27 has 26 neighbours.
set(full_app ${app})
list(APPEND full_app full)
foreach(backend IN LISTS faulty_backends)
  sluice_add_rank_test(faces NAME app.faces_26 MPIS ${first_mpi} RANKS 27 BACKENDS ${backend} ${full_app} TIMEOUT 600
                       LAUNCH --expect-output "neighbours up to 26"
                       ARGS -d ${backend} --oversubscribe --variant plain,st-send,st --grid 3x3x3
                            --outer 1 --middle 1 --inner 3 --elements 1 --points 3)
endforeach()

set(stencil_short --steps 3 --repeat 1 --local 6)
set(sweep_short --sizes 1,16,4096 --steps 3 --repeat 1)
foreach(backend IN LISTS faulty_backends)
  _app(stencil3d stencil3d 4 ${backend} --variant packed,subarray,st,enqueue ${stencil_short})
  _app(stencil3d stencil3d_checkpoint 4 ${backend} --variant subarray --checkpoint 3 ${stencil_short}
       --checkpoint-file ${CMAKE_CURRENT_BINARY_DIR}/stencil3d.checkpoint)
  _app(stencil3d stencil3d_strong 3 ${backend} --variant packed,subarray --global 12 --steps 2 --repeat 1)
  _app(stencil3d stencil3d_sweep 4 ${backend} --variant packed,st,enqueue ${sweep_short})
  _app_sees(stencil3d stencil3d_sees_bad_kernel ${backend} kernel_flip:1+ "instead of" ${stencil_short})
  _app_sees(stencil3d stencil3d_sweep_sees_bad_kernel ${backend} kernel_flip:1+ "instead of" ${sweep_short})
endforeach()
foreach(backend IN LISTS real_backends)
  _app_compiled(stencil3d stencil3d ${backend} --variant packed,subarray,st ${stencil_short})
endforeach()

# Steps captured into graphs, where a backend has those: with the messages of one engine, and not with another's. What
# an edge that is left out does to the data the programs must see.
foreach(backend IN LISTS faulty_backends real_backends)
  set(SLUICE_TEST_CAPTURES OFF)
  set(SLUICE_TEST_CAPTURES_FORGET "")
  include(${PROJECT_SOURCE_DIR}/backends/${backend}/test_environment.cmake OPTIONAL)
  set(graph ${app} BACKENDS ${backend})
  set(arguments ARGS -d ${backend} --oversubscribe --variant)
  if(NOT SLUICE_TEST_CAPTURES)
    sluice_add_rank_test(faces NAME app.faces_graph_refused MPIS ${first_mpi} RANKS 2 ${graph} ENV SLUICE_QUEUE_ENGINE=device
                         LAUNCH --expect-exit 1 --expect-output "graphs, which the backend ${backend} has not" ${arguments} st-graph ${faces_short})
    continue()
  endif()
  foreach(part "stencil2d;stencil2d;4;st-graph;--sides;5,16;--steps;4;--repeat;1" "faces;faces;8;plain,st,enqueue,st-graph;--grid;2x2x2;${faces_short}" "stencil3d;stencil3d;4;st-graph;--steps;8;--graph-steps;4;--local;6;--repeat;1"
               "stencil3d;stencil3d_alone;1;st-graph;--steps;4;--local;6;--repeat;1"
               "stencil3d;stencil3d_sweep;4;st,st-graph;--sizes;1,4096,70000;--steps;6;--graph-steps;3;--repeat;1")
    list(POP_FRONT part program test n_ranks variants)
    sluice_add_rank_test(${program} NAME app.${test}_graph MPIS ${first_mpi} RANKS ${n_ranks} ${graph} ENV SLUICE_QUEUE_ENGINE=device
                         ${arguments} ${variants} ${part})
  endforeach()
  sluice_add_rank_test(faces NAME app.faces_graph_without_engine MPIS ${first_mpi} RANKS 2 ${graph}
                       LAUNCH --expect-exit 1 --expect-output "SLUICE_QUEUE_ENGINE=device on all ranks" ${arguments} st-graph ${faces_short})
  foreach(forgets IN LISTS SLUICE_TEST_CAPTURES_FORGET)
    string(REGEX REPLACE ".*=" "" which ${forgets})
    sluice_add_rank_test(stencil3d NAME app.stencil3d_graph_sees_${which} MPIS ${first_mpi} RANKS 2 ${graph} ENV SLUICE_QUEUE_ENGINE=device ${forgets}
                         LAUNCH --expect-exit 1 --expect-output "instead of" ${arguments} st-graph --sizes 4096 --steps 6 --repeat 1)
  endforeach()
endforeach()

set(square_short --sides 5,16 --steps 3 --repeat 1)
foreach(backend IN LISTS faulty_backends)
  _app(stencil2d stencil2d 4 ${backend} --variant packed,subarray,hindexed,st,enqueue ${square_short})
  _app_sees(stencil2d stencil2d_sees_bad_kernel ${backend} kernel_flip:1+ "instead of" ${square_short})
endforeach()
foreach(backend IN LISTS real_backends)
  _app_compiled(stencil2d stencil2d ${backend} --variant packed,subarray,hindexed,st ${square_short})
endforeach()

# Sides that no number of ranks divides; on 3 ranks one of the two transpositions has one rank.
set(transform_short --size 12x10x9 --repeat 1)
foreach(backend IN LISTS faulty_backends)
  _app(fft3d fft3d 4 ${backend} --variant alltoallv,alltoallw,staged ${transform_short})
  _app(fft3d fft3d_row 3 ${backend} --variant alltoallv,alltoallw --precision float ${transform_short})
  foreach(variant alltoallv alltoallw)
    _app_sees(fft3d fft3d_${variant}_sees_bad_kernel ${backend} kernel_flip:1+ "instead of" --variant ${variant} ${transform_short})
  endforeach()
  # The transform alone is wrong: the first six kernels only move points.
  _app_sees(fft3d fft3d_sees_bad_transform ${backend} kernel_flip:7+ "the frequency at" --variant alltoallv ${transform_short})
endforeach()
# The same with points for several chunks of the checks, in one thread and in several; and a grid too large to compare each frequency.
foreach(backend IN LISTS faulty_backends)
  foreach(n_threads 1 3)
    set(checks --check-threads ${n_threads} --size 48x40x36 --repeat 1)
    _app(fft3d fft3d_threads${n_threads} 2 ${backend} --variant alltoallv ${checks})
    _app(fft3d fft3d_large_threads${n_threads} 2 ${backend} --variant alltoallv --check-threads ${n_threads} --size 64x64x48 --repeat 1)
    foreach(variant alltoallv alltoallw)
      _app_sees(fft3d fft3d_${variant}_threads${n_threads}_sees_bad_kernel ${backend} kernel_flip:1+ "instead of" --variant ${variant} ${checks})
    endforeach()
    _app_sees(fft3d fft3d_threads${n_threads}_sees_bad_transform ${backend} kernel_flip:7+ "the frequency at" --variant alltoallv ${checks})
  endforeach()
endforeach()
foreach(backend IN LISTS real_backends)
  _app_compiled(fft3d fft3d ${backend} --variant alltoallv,alltoallw,staged ${transform_short})
endforeach()
# By each library that a backend can be told to take.
foreach(backend IN LISTS real_backends)
  set(SLUICE_TEST_TRANSFORMS "")
  include(${PROJECT_SOURCE_DIR}/backends/${backend}/test_environment.cmake OPTIONAL)
  foreach(transforms IN LISTS SLUICE_TEST_TRANSFORMS)
    string(REPLACE ":" ";" words ${transforms})
    list(POP_FRONT words name text)
    foreach(precision double float)
      sluice_add_rank_test(fft3d NAME app.fft3d_by_${name}_${precision} MPIS ${first_mpi} BACKENDS ${backend} ${app} ENV ${words} TIMEOUT 400
                           LAUNCH --expect-output ${text}
                           ARGS -d ${backend} --oversubscribe --variant alltoallv --precision ${precision} ${transform_short})
    endforeach()
  endforeach()
endforeach()
# A device without a vendor; backends that have a library of messages test it in their own folder.
foreach(backend IN LISTS faulty_backends)
  sluice_add_rank_test(fft3d NAME app.fft3d_tells_no_messages MPIS ${first_mpi} BACKENDS ${backend} NO_BACKEND_ARGUMENT NO_SANITIZER LABELS apps
                       LAUNCH --expect-exit 1 --expect-lines 1 "fft3d: rank 0: " --expect-output "has no message library of its vendor's: take another"
                              --reject-output MPI_Abort
                       ARGS -d ${backend} --oversubscribe --variant alltoallv,vendor ${transform_short})
endforeach()

# The threads of its checks, without MPI.
find_package(GTest REQUIRED)
include(GoogleTest)
add_executable(fft3d_host_threads_test fft3d/host_threads_test.cpp fft3d/host_threads.cpp)
target_link_libraries(fft3d_host_threads_test PRIVATE sluice_options sluice_headers sluice_fmt GTest::gtest_main Threads::Threads)
target_include_directories(fft3d_host_threads_test PRIVATE ${PROJECT_SOURCE_DIR})
set_target_properties(fft3d_host_threads_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
sluice_sanitized_targets(MORE fft3d_host_threads_test)
gtest_discover_tests(fft3d_host_threads_test TEST_PREFIX app. DISCOVERY_MODE PRE_TEST PROPERTIES LABELS "unit;apps" TIMEOUT 60)

# The papers' figures, in short; and who is measured there.
add_test(NAME app.figures_sides COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/figures_test.py)
set_tests_properties(app.figures_sides PROPERTIES LABELS apps TIMEOUT 60)
if(faulty_backends AND TARGET sluice_mpich)
  list(GET faulty_backends 0 backend)
  foreach(what faces stencil3d fft3d)
    add_test(NAME app.figures_${what}
             COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/figures ${what} --build ${PROJECT_BINARY_DIR} --backend ${backend} --rounds 1
                     --loops 1x1x2 --elements 2 --steps 4 --sizes 1,4096 --grid 16x12x8 --out ${CMAKE_CURRENT_BINARY_DIR}/figures)
    set_tests_properties(app.figures_${what} PROPERTIES LABELS apps PROCESSORS 2 TIMEOUT 120)
  endforeach()
endif()

# Of the training in parallel, what needs no PyTorch; the rest is only compiled.
set(training ${CMAKE_CURRENT_SOURCE_DIR}/data_parallel)
add_test(NAME app.data_parallel_buckets COMMAND ${Python3_EXECUTABLE} -B ${training}/buckets_test.py)
add_test(NAME app.data_parallel_compiles
         COMMAND ${Python3_EXECUTABLE} -B -c "import ast, pathlib, sys; [ast.parse(path.read_bytes(), path) for path in pathlib.Path(sys.argv[1]).iterdir() if path.is_file() and path.suffix != '.md']" ${training})
set_tests_properties(app.data_parallel_buckets app.data_parallel_compiles PROPERTIES LABELS apps TIMEOUT 60)

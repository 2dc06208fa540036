# SPDX-License-Identifier: BSD-3-Clause
# Tests that run MPI programs: one ctest for each host MPI, backend and number of ranks.
#
# sluice_add_rank_test(<program>
#   NAME <name>            first part of the test's name (default: the program)
#   RANKS <n> ...          numbers of ranks (default 2)
#   MPIS <mpi> ...         host MPIs (default: all of tests/launch --list whose flavour has programs)
#   FLAVOUR <name>         programs of that binary interface, under host MPIs that have it besides their own
#   BACKENDS all|none|faulty|real|<list>
#                          all: each backend of the build; none: host memory only; faulty: the backends that can fail
#                          on purpose; real: the others (default all)
#   ARGS <arg> ...         arguments of the program; --backend <name> is added unless NO_BACKEND_ARGUMENT is given
#   LAUNCH <arg> ...       further arguments of tests/launch
#   WRAP <word> ...        a command that is given the whole command line of tests/launch
#   ENV <K=V> ...          environment of the ranks
#   LABELS <label> ...     besides ranks-<n>, backend-<name>, mpi-<name>
#   TIMEOUT <s>            what a machine of two cores needs at most, default 120; the limit is three times as long
#   FAULT <text>           the value of the backend's fault knob, for BACKENDS faulty
#   FAULT_RANK <r>         the only rank on which the fault is in force (default: all)
#   [NO_SLUICE]            the host MPI alone
#   [NO_BACKEND_ARGUMENT]
#   [NO_BACKENDS_NONE]     with BACKENDS none: leaves SLUICE_BACKENDS to ENV
#   [NO_SANITIZER]         not under the sanitizers: others show them the same code
#   [NO_THREAD_SANITIZER]) not under the thread sanitizer
#
# A test is named <name>.<mpi>.<backend>.n<ranks>. A program that ends with 77 counts as skipped. A test with the label
# `full` is left out of the quick set (ctest -LE full): those that LABELS say, and, of the others of one name, all but a
# cover of host MPIs, backends and numbers of ranks (SluiceQuickTests.cmake).
#
# What a backend needs to be tested is in backends/<name>/test_environment.cmake, which may set
#   SLUICE_TEST_ENVIRONMENT   list of K=V for the ranks
#   SLUICE_TEST_FAULT_KNOB    name of the variable that makes this backend fail on purpose
#   SLUICE_TEST_STARTUP_S     seconds that its runtime takes to start, added to the time limit
#   SLUICE_TEST_DEVICES       list of name:K=V, each of which puts other devices in the place of the usual ones
#   SLUICE_TEST_SETTINGS      list of name:K=V, each of which sets the runtime, or shows devices, in another way
#   SLUICE_TEST_REFUSALS      list of name:K=V|TEXT, each of which has other processes kept from the memory, and a line say TEXT
#   SLUICE_TEST_MEMORIES      list of name:K=V, each of which makes another sort of device memory
#   SLUICE_TEST_PRIVATE_MEMORIES  the same for memory that no other process can reach
#   SLUICE_TEST_RELAYS_SHARED     ON: no other process can reach its shared memory, and its device memory it can
#   SLUICE_TEST_LITTLE_MEMORY     K=V that leaves its device 20 to 30 MB of memory
#   SLUICE_TEST_FEWER_DEVICES     K=V that shows a rank one device less
#   SLUICE_TEST_NO_DEVICES        K=V that leaves a rank none
#   SLUICE_TEST_REFUSED_CHANNELS  list of name:K=V, each of which has the backend's streams carry no messages
#   SLUICE_TEST_LACKS         list of the tests of sluice-bench that end with a line, for its device cannot do that
#   SLUICE_TEST_WINDOWS       words of a memory that the host MPI alone reaches, for windows (default M:M)
#   SLUICE_TEST_STANDS_IN     ON: what runs here is no device of that vendor, but something in its place
#   SLUICE_TEST_FEW           ON: the quick set has its tests under the first host MPI on up to two ranks; the others are
#                             `full`

# A test with the label `sanitize` runs under the sanitizers in `make check` (target `sanitized_tests`), one with
# `sanitize-more` in `make check-sanitizers` alone (target `all_sanitized_tests`).

include(SluiceQuickTests)

set(SLUICE_LAUNCH ${PROJECT_SOURCE_DIR}/tests/launch)
# Preload libraries of the tests; the launcher looks for its yield shim there.
set(SLUICE_TEST_LIBRARY_DIR ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/tests)
# Debian's programs ask for MPICH's interface by a name of Debian's own; tests/launch has MPICH 5 found by it, too.
file(MAKE_DIRECTORY ${SLUICE_TEST_LIBRARY_DIR}/mpich5)
file(CREATE_LINK ${SLUICE_PYTHON_ENVS}/mpich/lib/libmpi.so.12 ${SLUICE_TEST_LIBRARY_DIR}/mpich5/libmpich.so.12 SYMBOLIC)

# name, flavour of each host MPI found here; only those that programs are built for.
set(SLUICE_HOST_MPIS "")
execute_process(COMMAND ${CMAKE_COMMAND} -E env TEST_PYTHON_ENVS=${SLUICE_PYTHON_ENVS} ${SLUICE_LAUNCH} --list
                OUTPUT_VARIABLE _launch_list OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "\n" ";" _launch_list "${_launch_list}")
foreach(_line IN LISTS _launch_list)
  string(REPLACE " " ";" _words "${_line}")
  list(GET _words 0 _mpi)
  list(GET _words 1 _flavour)
  if(_flavour IN_LIST SLUICE_PROGRAM_FLAVOURS)
    list(APPEND SLUICE_HOST_MPIS ${_mpi})
    set(SLUICE_HOST_MPI_${_mpi}_FLAVOUR ${_flavour})
  endif()
endforeach()

# Sets <out_env>, <out_fault>, <out_startup> in the caller from the backend's test_environment.cmake.
function(_sluice_test_environment backend out_env out_fault out_startup)
  set(SLUICE_TEST_ENVIRONMENT "")
  set(SLUICE_TEST_FAULT_KNOB "")
  set(SLUICE_TEST_STARTUP_S 0)
  include(${PROJECT_SOURCE_DIR}/backends/${backend}/test_environment.cmake OPTIONAL)
  set(${out_env} "${SLUICE_TEST_ENVIRONMENT}" PARENT_SCOPE)
  set(${out_fault} "${SLUICE_TEST_FAULT_KNOB}" PARENT_SCOPE)
  set(${out_startup} "${SLUICE_TEST_STARTUP_S}" PARENT_SCOPE)
endfunction()

# Sets <out> in the caller to what the backends' test_environment.cmake put into the list <variable>: backend:name:K=V.
function(_sluice_test_list out variable)
  get_property(built GLOBAL PROPERTY SLUICE_BACKENDS)
  set(all "")
  foreach(backend IN LISTS built)
    set(${variable} "")
    include(${PROJECT_SOURCE_DIR}/backends/${backend}/test_environment.cmake OPTIONAL)
    list(TRANSFORM ${variable} PREPEND ${backend}: OUTPUT_VARIABLE some)
    list(APPEND all ${some})
  endforeach()
  set(${out} "${all}" PARENT_SCOPE)
endfunction()

# Sets <out_shared> and <out_private> in the caller: backend:name:K=V for the further sorts of device memory.
function(sluice_test_memories out_shared out_private)
  _sluice_test_list(shared SLUICE_TEST_MEMORIES)
  _sluice_test_list(private SLUICE_TEST_PRIVATE_MEMORIES)
  set(${out_shared} "${shared}" PARENT_SCOPE)
  set(${out_private} "${private}" PARENT_SCOPE)
endfunction()

# Sets <out> in the caller: backend:name:K=V for devices that take the place of a backend's usual ones.
function(sluice_test_devices out)
  _sluice_test_list(devices SLUICE_TEST_DEVICES)
  set(${out} "${devices}" PARENT_SCOPE)
endfunction()

# Sets <out> to ON in the caller when something stands in for the backend's devices on this machine.
function(sluice_test_stands_in out backend)
  set(SLUICE_TEST_STANDS_IN OFF)
  include(${PROJECT_SOURCE_DIR}/backends/${backend}/test_environment.cmake OPTIONAL)
  set(${out} ${SLUICE_TEST_STANDS_IN} PARENT_SCOPE)
endfunction()

# Sets <out> to ON in the caller when the quick set has only few tests of the backend.
function(_sluice_test_few out backend)
  set(SLUICE_TEST_FEW OFF)
  include(${PROJECT_SOURCE_DIR}/backends/${backend}/test_environment.cmake OPTIONAL)
  set(${out} ${SLUICE_TEST_FEW} PARENT_SCOPE)
endfunction()

# The backends that a test is to run on: the build's, without the template.
function(_sluice_test_backends out wanted)
  get_property(built GLOBAL PROPERTY SLUICE_BACKENDS)
  list(REMOVE_ITEM built _template template)
  if(wanted STREQUAL "all")
    set(${out} ${built} PARENT_SCOPE)
  elseif(wanted STREQUAL "faulty" OR wanted STREQUAL "real")
    set(faulty "")
    set(real "")
    foreach(backend IN LISTS built)
      _sluice_test_environment(${backend} env fault_knob startup)
      if(fault_knob)
        list(APPEND faulty ${backend})
      else()
        list(APPEND real ${backend})
      endif()
    endforeach()
    set(${out} ${${wanted}} PARENT_SCOPE)
  else()
    set(${out} ${wanted} PARENT_SCOPE)
  endif()
endfunction()

function(sluice_add_rank_test program)
  cmake_parse_arguments(arg "NO_SLUICE;NO_SANITIZER;NO_THREAD_SANITIZER;NO_BACKEND_ARGUMENT;NO_BACKENDS_NONE"
                        "NAME;TIMEOUT;FAULT;FAULT_RANK;FLAVOUR"
                        "RANKS;MPIS;BACKENDS;ARGS;LAUNCH;ENV;LABELS;WRAP" ${ARGN})
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "sluice_add_rank_test(${program}): unknown ${arg_UNPARSED_ARGUMENTS}")
  endif()
  foreach(pair "NAME;${program}" "RANKS;2" "BACKENDS;all" "TIMEOUT;120")
    list(GET pair 0 key)
    list(GET pair 1 value)
    if(NOT arg_${key})
      set(arg_${key} ${value})
    endif()
  endforeach()
  if(NOT arg_MPIS)
    set(arg_MPIS ${SLUICE_HOST_MPIS})
  endif()
  _sluice_test_backends(backends "${arg_BACKENDS}")
  foreach(mpi IN LISTS arg_MPIS)
    if(NOT mpi IN_LIST SLUICE_HOST_MPIS AND NOT arg_FLAVOUR)
      continue()
    endif()
    foreach(backend IN LISTS backends)
      foreach(n IN LISTS arg_RANKS)
        _sluice_add_one_rank_test()
      endforeach()
    endforeach()
  endforeach()
endfunction()

# Sets <out> to `sanitize` or `sanitize-more` in the caller. `make check` has both sanitizers' builds and tests to come to on
# two cores, so it leaves out what others show them: sluice-bench, the proofs that the harness sees faults, calls on host
# memory alone, and the same calls in other surroundings. The thread sanitizer has what goes on in threads and requests, and the
# other one leaves that to it: a progress thread, several threads, and queues whose messages go another way.
# Reads the variables of sluice_add_rank_test.
function(_sluice_sanitize_label out)
  set(label sanitize)
  if(program STREQUAL "sluice-bench" OR arg_NAME MATCHES
     "^(checker_sees_|(coll|p2p)_all$|p2p_(first|no)_|p2p_open_late|p2p_relay_pinned|p2p_pinned_side$|tool_|capabilities_|queue_dwq_missing|queue_one_sided_(early|flipped|ipc_export|ipc_open)_|coll_levels_in_segments)|_flipped$")
    set(label sanitize-more)
  elseif(SLUICE_SANITIZE STREQUAL "thread")
    if(NOT arg_NAME MATCHES
       "^(checker_|queue|fault_(delay|queue|freed)|p2p_(nonblocking|persistent|blocks|differential($|_threads))|coll_(together|reducing|levels|meeting|copy_kernel)$)|thread|requests"
       OR arg_NAME MATCHES "^queue_(staged|blocks|device_in_host_of_one)$")
      set(label sanitize-more)
    endif()
  elseif(arg_NAME MATCHES
         "_thread$|_progress_thread|_blocks_threads|_differential_(threads|found)|^queue_(late|early|staged|by_kernels|device_late|device_by_kernels|dwq_late)$|^coll_(vectors|reductions|neighbors|meeting|short_numbers)$")
    set(label sanitize-more)
  endif()
  set(${out} ${label} PARENT_SCOPE)
endfunction()

# Reads the variables of its caller, sluice_add_rank_test.
function(_sluice_add_one_rank_test)
  set(flavour ${SLUICE_HOST_MPI_${mpi}_FLAVOUR})
  if(arg_FLAVOUR)
    set(flavour ${arg_FLAVOUR})
    list(APPEND arg_LAUNCH --flavour ${flavour})
  endif()
  _sluice_test_environment(${backend} backend_env fault_knob startup_s)
  math(EXPR limit_s "${arg_TIMEOUT} + ${startup_s}")
  # A hang is what the limit is for, and not other work on the machine, nor a slow one.
  set(factor 3)
  if(SLUICE_SANITIZE)
    set(factor 4)
  endif()
  math(EXPR limit_s "${limit_s} * ${factor}")
  set(launch ${SLUICE_LAUNCH} --mpi ${mpi} -n ${n} --timeout ${limit_s})
  if(NOT arg_NO_SLUICE AND TARGET sluice_${flavour})
    list(APPEND launch --sluice ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
  endif()
  if(SLUICE_SANITIZE)
    list(APPEND launch --sanitizer ${SLUICE_SANITIZE})
  endif()
  if(backend STREQUAL "none" AND NOT arg_NO_BACKENDS_NONE)
    list(APPEND launch --backends none)
  endif()
  foreach(setting IN LISTS backend_env arg_ENV)
    list(APPEND launch --env ${setting})
  endforeach()
  if(arg_FAULT AND DEFINED arg_FAULT_RANK)
    list(APPEND launch --env-rank ${arg_FAULT_RANK} ${fault_knob}=${arg_FAULT})
  elseif(arg_FAULT)
    list(APPEND launch --env ${fault_knob}=${arg_FAULT})
  endif()
  set(backend_args --backend ${backend})
  if(arg_NO_BACKEND_ARGUMENT)
    set(backend_args "")
  endif()
  set(name ${arg_NAME}.${mpi}.${backend}.n${n})
  add_test(NAME ${name} COMMAND ${arg_WRAP} ${launch} ${arg_LAUNCH} -- ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${program}.${flavour}
                                ${backend_args} ${arg_ARGS})
  set(labels ${arg_LABELS} ranks-${n} backend-${backend} mpi-${mpi})
  list(GET SLUICE_HOST_MPIS 0 first_mpi)
  _sluice_test_few(is_few ${backend})
  if(is_few AND NOT "full" IN_LIST labels AND (NOT mpi STREQUAL first_mpi OR n GREATER 2))
    list(APPEND labels full)
  endif()
  # The sanitizers see our code the same under every host MPI; the emulated device is the one whose runtime they cover.
  if((mpi STREQUAL first_mpi OR arg_FLAVOUR) AND NOT "full" IN_LIST labels AND NOT arg_NO_SLUICE AND NOT arg_NO_SANITIZER
     AND NOT (arg_NO_THREAD_SANITIZER AND SLUICE_SANITIZE STREQUAL "thread") AND (fault_knob OR backend STREQUAL "none"))
    _sluice_sanitize_label(label)
    list(APPEND labels ${label})
  endif()
  if("sanitize" IN_LIST labels)
    sluice_sanitized_targets(${program}_${flavour} sluice_${flavour} sluice_backend_${backend})
  elseif("sanitize-more" IN_LIST labels)
    sluice_sanitized_targets(MORE ${program}_${flavour} sluice_${flavour} sluice_backend_${backend})
  endif()
  if(NOT "full" IN_LIST labels AND (NOT SLUICE_SANITIZE OR "sanitize" IN_LIST labels))
    _sluice_in_suite()
  endif()
  math(EXPR ctest_limit_s "${limit_s} + 20")
  set_tests_properties(${name} PROPERTIES LABELS "${labels}" PROCESSORS ${n} TIMEOUT ${ctest_limit_s}
                       SKIP_RETURN_CODE 77 ENVIRONMENT "TEST_PYTHON_ENVS=${SLUICE_PYTHON_ENVS}")
endfunction()

# SPDX-License-Identifier: BSD-3-Clause
# Every test of --list on each backend at two sizes, checked, with Sluice below; a test that is not run, or not checked, is a
# failure (sweep_test.py). Included by device_tests.cmake, whose variables it uses. What further tests show of single ones of them
# (more ranks, sizes, host MPIs) is in the full set.

# MPICH 4.0 is wrong in these: what a rank has for itself goes into the result when the request is made, and never again.
set(sweep_mpi ${first_mpi})
set(omitted allgather_persistent gather_persistent scatter_persistent)
if(mpich5 IN_LIST SLUICE_HOST_MPIS)
  set(sweep_mpi mpich5)
  set(omitted "")
endif()
list(JOIN omitted "," omitted_names)
set(two_sided ${blocking} ${nonblocking} ${persistent})
list(REMOVE_ITEM two_sided bcast ibcast bcast_persistent ${omitted})
foreach(backend IN LISTS backends)
  set(SLUICE_TEST_LACKS "")
  set(SLUICE_TEST_WINDOWS M:M)
  include(${PROJECT_SOURCE_DIR}/backends/${backend}/test_environment.cmake OPTIONAL)
  list(JOIN SLUICE_TEST_LACKS "," lacks)
  set(words --windows=${SLUICE_TEST_WINDOWS} --lacks=${lacks} --host-faults=${omitted_names})
  set(label "")
  if(backend IN_LIST always_there)
    # The sweep's own eyes, once.
    list(APPEND words --spoiler $<TARGET_FILE:sluice_bench_spoiling_mpi_${SLUICE_HOST_MPI_${sweep_mpi}_FLAVOUR}>)
  endif()
  sluice_test_stands_in(is_stand_in ${backend})
  if(is_stand_in)
    set(label full)
  endif()
  sluice_add_rank_test(sluice-bench NAME bench.device_sweep MPIS ${sweep_mpi} BACKENDS ${backend} NO_BACKEND_ARGUMENT NO_SANITIZER
                       LABELS bench ${label} TIMEOUT 500
                       WRAP ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/sweep_test.py ${words} ARGS ${backend})
  # Every collective with two buffers, of another kind to send from than to receive into.
  if(SLUICE_FLAVOURS)
    _bench_device(sides 2 ${sweep_mpi} ${backend} "${label}" "${two_sided}" D/H,H/D --sizes 8,8200 -i 3 -x 1 -c)
  endif()
endforeach()

# SPDX-License-Identifier: BSD-3-Clause
# Which of the tests with ranks are quick, and which run only in the full matrix (label `full`). Included by
# SluiceRankTests.cmake.
#
# A suite is all tests of one folder with one NAME that are not registered as `full` by hand: the same cases on so many host
# MPIs, backends and numbers of ranks. The table tests/quick_tests.txt says which of its tests are quick; all are where the
# table has no row. Under the sanitizers a suite runs with one number of ranks: the largest up to three.

set(SLUICE_QUICK_TABLE ${PROJECT_SOURCE_DIR}/tests/quick_tests.txt)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${SLUICE_QUICK_TABLE})
file(STRINGS ${SLUICE_QUICK_TABLE} SLUICE_QUICK_ROWS REGEX "^[^#]")

# _sluice_is_cut(<out> <suite> <mpi> <backend> <n>): ON when the table has a row for the suite, and the test is not in it.
# Of a backend that no row names, which is new, a suite's tests on two ranks under the first host MPI are quick.
function(_sluice_is_cut out suite mpi backend n)
  set(is_cut OFF)
  set(rows ${SLUICE_QUICK_ROWS})
  list(FILTER rows INCLUDE REGEX "^${suite} ")
  list(GET SLUICE_HOST_MPIS 0 first_mpi)
  if(rows AND NOT "${rows} " MATCHES " ${mpi}\\.${backend}\\.n${n} ")
    set(is_known OFF)
    if("${SLUICE_QUICK_ROWS}" MATCHES "\\.${backend}\\.")
      set(is_known ON)
    endif()
    if(is_known OR NOT mpi STREQUAL first_mpi OR NOT n EQUAL 2)
      set(is_cut ON)
    endif()
  endif()
  set(${out} ${is_cut} PARENT_SCOPE)
endfunction()

# _sluice_in_suite(): the test that sluice_add_rank_test is just making, whose variables this reads, belongs to its suite.
function(_sluice_in_suite)
  get_property(suites DIRECTORY PROPERTY SLUICE_SUITES)
  if(NOT suites)
    cmake_language(DEFER CALL _sluice_choose_in_suites)
  endif()
  if(NOT arg_NAME IN_LIST suites)
    set_property(DIRECTORY APPEND PROPERTY SLUICE_SUITES ${arg_NAME})
  endif()
  set_property(DIRECTORY APPEND PROPERTY "SLUICE_SUITE_${arg_NAME}" "${mpi}:${backend}:${n}")
endfunction()

# Sets <out> in the caller to the cells of a suite that run under the sanitizers: one number of ranks, up to three if any.
function(_sluice_one_number out cells)
  set(chosen "")
  foreach(cell IN LISTS cells)
    string(REPLACE ":" ";" words ${cell})
    list(GET words 2 n)
    if(NOT chosen OR (n LESS_EQUAL 3 AND (n GREATER chosen_n OR chosen_n GREATER 3)) OR (n GREATER 3 AND n LESS chosen_n))
      set(chosen ${cell})
      set(chosen_n ${n})
    endif()
  endforeach()
  set(${out} ${chosen} PARENT_SCOPE)
endfunction()

# At the end of a folder: relabels what its suites can do without.
function(_sluice_choose_in_suites)
  get_property(suites DIRECTORY PROPERTY SLUICE_SUITES)
  foreach(suite IN LISTS suites)
    get_property(cells DIRECTORY PROPERTY "SLUICE_SUITE_${suite}")
    if(SLUICE_SANITIZE)
      _sluice_one_number(chosen "${cells}")
    endif()
    foreach(cell IN LISTS cells)
      string(REPLACE ":" ";" words ${cell})
      list(GET words 0 mpi)
      list(GET words 1 backend)
      list(GET words 2 n)
      set(test ${suite}.${mpi}.${backend}.n${n})
      if(NOT SLUICE_SANITIZE)
        _sluice_is_cut(is_cut ${suite} ${mpi} ${backend} ${n})
        if(is_cut)
          set_property(TEST ${test} APPEND PROPERTY LABELS full)
        endif()
      elseif(NOT cell IN_LIST chosen)
        get_property(labels TEST ${test} PROPERTY LABELS)
        list(TRANSFORM labels REPLACE "^sanitize$" sanitize-more)
        set_property(TEST ${test} PROPERTY LABELS "${labels}")
      endif()
    endforeach()
  endforeach()
endfunction()

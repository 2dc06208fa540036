# SPDX-License-Identifier: BSD-3-Clause
# Which of the tests with ranks are quick, and which run only in the full matrix (label `full`). Included by
# SluiceRankTests.cmake.
#
# A suite is all tests of one folder with one NAME that are not registered as `full` by hand: the same cases on so many host
# MPIs, backends and numbers of ranks. Its quick tests are a cover, not the cross product: as few as show
#   - each host MPI that the suite is registered with, once,
#   - each backend, once; of those that have something in the place of their device (SLUICE_TEST_STANDS_IN) one,
#   - one rank, two ranks and more than two, each once.
# Which host MPI meets which backend goes by the suite's name, so that suites differ in it: together they show the pairs.
# More than two ranks are shown on the emulated device where that is possible, for it costs the least.
# Two sorts of suites run on one host MPI for each backend, and there the host MPIs take turns: those with the label `fault`
# or `checker`, which show that our code, or the harness, sees one thing; and those that run the cases of another suite in
# other surroundings (SLUICE_VARIANT_SUITES). All others of a suite's tests become `full`.
#
# Under the sanitizers a suite runs with one number of ranks: the largest up to three.

# The names of variants: the groups of collective calls with everything together, or with a meeting before them.
set(SLUICE_VARIANT_SUITES "^coll_(together|meet)_(movement|vectors|neighbors|differential|arguments|reductions)$")

# _sluice_in_suite(): the test that sluice_add_rank_test is just making, whose variables this reads, belongs to its suite.
function(_sluice_in_suite)
  get_property(suites DIRECTORY PROPERTY SLUICE_SUITES)
  if(NOT suites)
    cmake_language(DEFER CALL _sluice_choose_in_suites)
  endif()
  if(NOT arg_NAME IN_LIST suites)
    set_property(DIRECTORY APPEND PROPERTY SLUICE_SUITES ${arg_NAME})
  endif()
  set(kind other)
  if(fault_knob OR backend STREQUAL "none")
    set(kind emulated)
  else()
    sluice_test_stands_in(stands_in ${backend})
    if(stands_in)
      set(kind stand-in)
    endif()
  endif()
  set(mpi_matters mpi)
  if("fault" IN_LIST labels OR "checker" IN_LIST labels OR arg_NAME MATCHES "${SLUICE_VARIANT_SUITES}")
    set(mpi_matters any)
  endif()
  set_property(DIRECTORY APPEND PROPERTY "SLUICE_SUITE_${arg_NAME}" "${mpi}:${backend}:${n}:${kind}:${mpi_matters}")
endfunction()

# Sets <out> in the caller to what the test shows that a suite's quick tests are to show.
function(_sluice_shown out mpi backend n kind mpi_matters)
  set(shown backend-${backend})
  if(kind STREQUAL "stand-in")
    set(shown stand-in)
  endif()
  if(mpi_matters STREQUAL "mpi")
    list(APPEND shown mpi-${mpi})
  endif()
  if(n GREATER 2)
    set(n more)
  endif()
  set(${out} ${shown} ranks-${n} PARENT_SCOPE)
endfunction()

# Sets <out> in the caller to the cell of a suite that shows most of what `seen` has not, or to nothing.
function(_sluice_best_cell out seen cells)
  set(best "")
  set(best_score 0)
  foreach(cell IN LISTS cells)
    string(REPLACE ":" ";" words ${cell})
    _sluice_shown(shown ${words})
    list(REMOVE_ITEM shown ${seen} _)
    list(LENGTH shown score)
    if(score EQUAL 0)
      continue()
    endif()
    list(GET words 2 n)
    list(GET words 3 kind)
    math(EXPR score "8 * ${score}")
    # Between those that show as much: the emulated device, at first with more than two ranks, then with few.
    if(kind STREQUAL "emulated")
      math(EXPR score "${score} + 2")
      if(NOT seen AND n GREATER 2)
        math(EXPR score "${score} + 2")
      endif()
    endif()
    if(n LESS_EQUAL 2)
      math(EXPR score "${score} + 1")
    endif()
    if(score GREATER best_score)
      set(best ${cell})
      set(best_score ${score})
    endif()
  endforeach()
  set(${out} "${best}" PARENT_SCOPE)
endfunction()

# Sets <out> in the caller to the cells of a suite that are quick.
function(_sluice_cover out suite cells)
  # The order in which they are looked at is another one for each suite, and always the same.
  set(in_order "")
  foreach(cell IN LISTS cells)
    string(MD5 digest "${suite} ${cell}")
    list(APPEND in_order ${digest}:${cell})
  endforeach()
  list(SORT in_order)
  list(TRANSFORM in_order REPLACE "^[0-9a-f]+:" "" OUTPUT_VARIABLE cells)
  set(chosen "")
  set(seen "")
  _sluice_best_cell(cell "" "${cells}")
  while(cell)
    list(APPEND chosen ${cell})
    string(REPLACE ":" ";" words ${cell})
    _sluice_shown(shown ${words})
    list(APPEND seen ${shown})
    _sluice_best_cell(cell "${seen}" "${cells}")
  endwhile()
  set(${out} ${chosen} PARENT_SCOPE)
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
    else()
      _sluice_cover(chosen ${suite} "${cells}")
    endif()
    list(REMOVE_ITEM cells ${chosen})
    foreach(cell IN LISTS cells)
      string(REPLACE ":" ";" words ${cell})
      list(GET words 0 mpi)
      list(GET words 1 backend)
      list(GET words 2 n)
      set(test ${suite}.${mpi}.${backend}.n${n})
      if(SLUICE_SANITIZE)
        get_property(labels TEST ${test} PROPERTY LABELS)
        list(TRANSFORM labels REPLACE "^sanitize$" sanitize-more)
        set_property(TEST ${test} PROPERTY LABELS ${labels})
      else()
        set_property(TEST ${test} APPEND PROPERTY LABELS full)
      endif()
    endforeach()
  endforeach()
endfunction()

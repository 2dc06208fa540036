# SPDX-License-Identifier: BSD-3-Clause
# Prints what a folder of tests/ranks registers, for guide_matrix.py, a line for each program and each test:
#
#   program;<name>;<sources>          test;<program>;<host MPI>;<backend>;<arguments>
#
#   cd tests/ranks/p2p && cmake -D SOURCE=<the project> -D MPIS=<host MPIs> -D BACKENDS=<backends> -P guide_matrix.cmake
#
# The script reads the folder's lists as the build does, with functions that do nothing in the place of those that build
# something. Every host MPI and backend counts as there, so the result is the same on each machine. Left out are tests
# that a fault makes fail on purpose, and those without Sluice.
cmake_policy(VERSION 3.25)
set(PROJECT_SOURCE_DIR ${SOURCE})
set(PROJECT_BINARY_DIR /nowhere)
set(CMAKE_CURRENT_BINARY_DIR /nowhere)
set(CMAKE_CURRENT_SOURCE_DIR ${CMAKE_SOURCE_DIR})
set(CMAKE_Fortran_COMPILER /nowhere)
set(SLUICE_PROGRAM_FLAVOURS mpich ompi abi)
set(SLUICE_FLAVOURS ${SLUICE_PROGRAM_FLAVOURS})
set(SLUICE_FABRIC_INCLUDE_DIR /nowhere)
set_property(GLOBAL PROPERTY SLUICE_BACKENDS ${BACKENDS})
list(APPEND CMAKE_MODULE_PATH ${SOURCE}/cmake)
include(CheckLanguage)

foreach(command add_custom_command add_custom_target add_executable add_library add_test check_language enable_language
        execute_process file find_path find_program separate_arguments set_property set_target_properties
        set_tests_properties sluice_add_mpi_program sluice_sanitized_targets
        target_compile_definitions target_compile_options target_include_directories target_link_directories
        target_link_libraries target_sources)
  cmake_language(EVAL CODE "function(${command})\nendfunction()")
endforeach()
include(SluiceRankTests)
set(SLUICE_HOST_MPIS ${MPIS})
foreach(flavour mpich ompi)
  set(SLUICE_FORTRAN_WRAPPER_${flavour} /nowhere)
endforeach()

# In the place of the real one; reads the variables of sluice_add_rank_test.
function(_sluice_add_one_rank_test)
  if(NOT arg_NO_SLUICE AND NOT arg_FAULT AND NOT "--expect-exit" IN_LIST arg_LAUNCH)
    string(REPLACE ";" " " words "${arg_ARGS}")
    message(STATUS "test;${program};${mpi};${backend};${words}")
  endif()
endfunction()

function(sluice_add_rank_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;ALONE" ${ARGN})
  string(REPLACE ";" " " sources "${arg_SOURCES}")
  message(STATUS "program;${name};${sources}")
endfunction()

include(CMakeLists.txt)

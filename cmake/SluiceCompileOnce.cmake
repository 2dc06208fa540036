# SPDX-License-Identifier: BSD-3-Clause
# Building from nothing in half the time: what many files read is compiled once, and the product alone is optimised as it
# is shipped (ADR 0043). Only with SLUICE_COMPILE_ONCE, which .ci/run sets; else each file is compiled by itself, and
# clang-tidy reads each so.

option(SLUICE_COMPILE_ONCE "Precompile headers, and compile several files at a time" OFF)

# For add_compile_options() and target_compile_options() of what is no product, or is the product once more. A preset that
# makes what is shipped sets it to nothing.
if(NOT DEFINED CACHE{SLUICE_COMPILE_QUICKLY})
  set(SLUICE_COMPILE_QUICKLY "")
  if(SLUICE_COMPILE_ONCE)
    set(SLUICE_COMPILE_QUICKLY -O1)
  endif()
endif()

# sluice_compile_together(<target> [ALONE <file> ...]): a few files at a time. Files that define the same names for
# themselves are compiled ALONE; a file of tests has a namespace of its own.
function(sluice_compile_together target)
  cmake_parse_arguments(arg "" "" "ALONE" ${ARGN})
  if(NOT SLUICE_COMPILE_ONCE)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE BATCH UNITY_BUILD_BATCH_SIZE 12)
  # One file's names shadow another's, and a type of a file with a base of its own is no header's: neither says anything.
  # ci/compilers reads each file alone, and is told of what does.
  set(before "#pragma GCC diagnostic ignored \"-Wshadow\"")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # others have no such warning
    string(APPEND before "\n#pragma GCC diagnostic ignored \"-Wsubobject-linkage\"")
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD_CODE_BEFORE_INCLUDE "${before}")
  set_source_files_properties(${arg_ALONE} TARGET_DIRECTORY ${target} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# Sets <out> to all whose flags the target is compiled with: what it links to, and what that passes on.
function(_sluice_linked out target)
  set(seen "")
  get_target_property(todo ${target} LINK_LIBRARIES)
  while(todo)
    list(POP_FRONT todo library)
    if(TARGET ${library} AND NOT library IN_LIST seen)
      list(APPEND seen ${library})
      get_target_property(linked ${library} INTERFACE_LINK_LIBRARIES)
      if(linked)
        list(APPEND todo ${linked})  # $<LINK_ONLY:...> is no target, and has no flags to pass on
      endif()
    endif()
  endwhile()
  set(${out} ${seen} PARENT_SCOPE)
endfunction()

# The headers of one sort of targets: a library without content owns what is precompiled.
function(_sluice_precompiled_headers owner is_program gtest fmt quickly)
  add_library(${owner} OBJECT EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/cmake/precompiled.cpp)
  target_compile_options(${owner} PRIVATE ${quickly})
  if(is_program)
    # With the flags of a program; a library of objects, because it has nothing to link.
    set_target_properties(${owner} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${owner} PRIVATE ${CMAKE_CXX_COMPILE_OPTIONS_PIE})
  endif()
  target_link_libraries(${owner} PRIVATE sluice_options ${gtest} ${fmt})
  set(headers algorithm array atomic chrono condition_variable cstddef cstdint cstdlib cstring deque exception fstream
      functional limits list map memory mutex optional set span sstream string string_view thread unordered_map utility vector)
  if(gtest MATCHES "gmock")
    list(APPEND headers gmock/gmock.h)
  elseif(gtest)
    list(APPEND headers gtest/gtest.h)
  endif()
  if(fmt)
    list(APPEND headers fmt/format.h)
  endif()
  list(TRANSFORM headers REPLACE "(.+)" "$<$<COMPILE_LANGUAGE:CXX>:<\\1$<ANGLE-R>>")
  target_precompile_headers(${owner} PRIVATE ${headers})
endfunction()

# Precompiles the standard library, {fmt} and GoogleTest for every target of the project below a folder. Targets share them
# when they have no flags of their own: programs or not, with GoogleTest or not, and with which of the two forms of {fmt}. What does
# not fit after all is an error of the compiler (-Winvalid-pch).
function(sluice_precompile_headers folder)
  if(NOT SLUICE_COMPILE_ONCE)
    return()
  endif()
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    get_target_property(sources ${target} SOURCES)
    get_target_property(own_options ${target} COMPILE_OPTIONS)
    # From g++ 13 on, -O1 does not read what -O2 precompiled.
    set(owner sluice_precompiled)
    set(quickly "")
    if("${SLUICE_COMPILE_QUICKLY}" IN_LIST own_options)
      set(quickly ${SLUICE_COMPILE_QUICKLY})
      string(APPEND owner _quickly)
    endif()
    list(REMOVE_ITEM own_options ${SLUICE_COMPILE_QUICKLY})
    _sluice_linked(linked ${target})
    if(own_options OR NOT type MATCHES "EXECUTABLE|STATIC|SHARED|MODULE|OBJECT" OR NOT sources MATCHES "\\.cpp(;|$)"
       OR NOT "sluice_options" IN_LIST linked OR target MATCHES "^sluice_precompiled")
      continue()
    endif()
    string(COMPARE EQUAL ${type} EXECUTABLE is_program)
    if(is_program)
      string(APPEND owner _program)
    endif()
    set(gtest "")
    if(linked MATCHES "GTest::gmock")
      set(gtest GTest::gmock)
      string(APPEND owner _gmock)
    elseif(linked MATCHES "GTest::")
      set(gtest GTest::gtest)
      string(APPEND owner _gtest)
    endif()
    set(fmt "")
    if("fmt::fmt" IN_LIST linked)
      set(fmt fmt::fmt)
      string(APPEND owner _shared_fmt)
    elseif("sluice_fmt" IN_LIST linked)
      set(fmt sluice_fmt)
      string(APPEND owner _fmt)
    endif()
    if(NOT TARGET ${owner})
      _sluice_precompiled_headers(${owner} ${is_program} "${gtest}" "${fmt}" "${quickly}")
    endif()
    target_precompile_headers(${target} REUSE_FROM ${owner})
  endforeach()
  get_property(folders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(below IN LISTS folders)
    sluice_precompile_headers(${below})
  endforeach()
endfunction()

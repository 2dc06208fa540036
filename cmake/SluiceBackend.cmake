# SPDX-License-Identifier: BSD-3-Clause
# sluice_add_backend(<name>
#   SOURCES <files>            the module's sources
#   RUNTIME <soname> ...       the libraries whose presence in a process means "this vendor's runtime is in use"; a
#                              soname matches when a loaded library's file name starts with it
#   PRIORITY <n>               smaller is asked first when several backends know a pointer (native drivers before layers)
#   [DEVICES <patterns>]       files, as the shell writes them, of which a process that can use a device may open one
#   [MASKS <variables>]        of the environment, which name the devices that a process is shown; behind each, in the same
#                              string, values that name none
#   [SUPPORT_WORDS <words>] [MEMORY_KINDS <words>]
#                              what words.cpp answers where there is a device: until the module is loaded libsluice
#                              answers so where DEVICES and MASKS show one
#   [LINK <targets or flags>] [INCLUDE <folders>]
#   [NOT_INSTALLED])           built and tested, and no part of an installation
#
# Builds lib/sluice/libsluice_backend_<name>.so and, beside it, libsluice_backend_<name>.needs, the text file from which
# libsluice learns when to load the module without opening it.
function(sluice_add_backend name)
  cmake_parse_arguments(arg "NOT_INSTALLED" "PRIORITY" "SOURCES;RUNTIME;LINK;INCLUDE;DEVICES;MASKS;SUPPORT_WORDS;MEMORY_KINDS" ${ARGN})
  set(target sluice_backend_${name})
  add_library(${target} MODULE ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE sluice_options sluice_headers sluice_kernels Threads::Threads ${arg_LINK})
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_include_directories(${target} SYSTEM PRIVATE ${arg_INCLUDE})
  target_link_options(${target} PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/backend.map)
  set_target_properties(${target} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${SLUICE_MODULE_DIR} PREFIX lib
                        INSTALL_RPATH "$ORIGIN")
  foreach(pair "DEVICES;device" "MASKS;mask" "SUPPORT_WORDS;support" "MEMORY_KINDS;kind")
    list(GET pair 0 list)
    list(GET pair 1 word)
    list(TRANSFORM arg_${list} PREPEND "${word} ")
  endforeach()
  set(needs_lines "priority ${arg_PRIORITY}" ${arg_RUNTIME} ${arg_DEVICES} ${arg_MASKS} ${arg_SUPPORT_WORDS} ${arg_MEMORY_KINDS})
  set(needs ${SLUICE_MODULE_DIR}/libsluice_backend_${name}.needs)
  list(JOIN needs_lines "\n" needs_text)
  file(WRITE ${needs} "${needs_text}\n")
  if(NOT arg_NOT_INSTALLED)
    add_dependencies(sluice_runtime ${target})
    install(TARGETS ${target} LIBRARY DESTINATION ${SLUICE_INSTALL_MODULE_DIR})
    install(FILES ${needs} DESTINATION ${SLUICE_INSTALL_MODULE_DIR})
    set_property(GLOBAL APPEND PROPERTY SLUICE_INSTALLED_BACKENDS ${name})
  endif()
  set_property(GLOBAL APPEND PROPERTY SLUICE_BACKENDS ${name})
endfunction()

# sluice_embed_texts(<file> <headers>): writes entries {"name", "text"} for an array, one for each header, which is named from
# the repository's root. In the text's name the first folder is left out.
function(sluice_embed_texts output)
  set(entries "")
  foreach(header IN LISTS ARGN)
    set(file ${PROJECT_SOURCE_DIR}/${header})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} text)
    string(REGEX REPLACE "^[^/]*/(.*)$" "\\1" name ${header})
    string(APPEND entries "{\"${name}\", R\"sluice(${text})sluice\"},\n")
  endforeach()
  file(GENERATE OUTPUT ${output} CONTENT "${entries}")
endfunction()

# sluice_add_memory_module(<name> SOURCES <files> [LINK <targets or flags>] [INCLUDE <folders>])
# A module for sluice-bench alone, lib/sluice/libsluice_memory_<name>.so: the same table, filled as far as programs need it
# (group `program`). libsluice does not look for it, and no test of backends takes it.
function(sluice_add_memory_module name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK;INCLUDE" ${ARGN})
  set(target sluice_memory_${name})
  add_library(${target} MODULE ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE sluice_options sluice_headers sluice_kernels Threads::Threads ${arg_LINK})
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_include_directories(${target} SYSTEM PRIVATE ${arg_INCLUDE})
  target_link_options(${target} PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/backend.map)
  set_target_properties(${target} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${SLUICE_MODULE_DIR} PREFIX lib)
  add_dependencies(sluice_runtime ${target})
  install(TARGETS ${target} LIBRARY DESTINATION ${SLUICE_INSTALL_MODULE_DIR})
  set_property(GLOBAL APPEND PROPERTY SLUICE_MEMORY_MODULES ${name})
endfunction()

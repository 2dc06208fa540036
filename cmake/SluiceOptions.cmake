# SPDX-License-Identifier: BSD-3-Clause
# Language level, warnings, sanitizers and the layout of the build tree, which is the layout of an installation:
#   bin/                 sluice, sluice-bench-<flavour>
#   lib/                 libsluice_<flavour>.so
#   lib/sluice/          backend modules and the emulated device's runtime
# An installation has CMAKE_INSTALL_BINDIR and CMAKE_INSTALL_LIBDIR (lib64, lib/x86_64-linux-gnu) in place of bin and lib.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(SLUICE_MODULE_DIR ${PROJECT_BINARY_DIR}/lib/sluice)
set(SLUICE_INSTALL_MODULE_DIR ${CMAKE_INSTALL_LIBDIR}/sluice)
# Where an installed program looks for its libraries, as seen from its own folder.
file(RELATIVE_PATH SLUICE_LIBDIR_FROM_BINDIR ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
set(SLUICE_PYTHON_ENVS ${PROJECT_SOURCE_DIR}/.venv CACHE PATH "Where tools/setup put what PyPI gives")

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${PROJECT_SOURCE_DIR}/tools/ccache)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${PROJECT_SOURCE_DIR}/tools/ccache)
endif()

# Line tables are enough to read a stack trace, and a third of the size.
string(REPLACE "-g " "-g1 " CMAKE_CXX_FLAGS_RELWITHDEBINFO "${CMAKE_CXX_FLAGS_RELWITHDEBINFO}")

# Off by default: a newer compiler has warnings of its own. .ci/run asks for it.
option(SLUICE_WERROR "Warnings are errors" OFF)
set(SLUICE_SANITIZE "" CACHE STRING "address, undefined, address,undefined or thread")
option(SLUICE_COVERAGE "Instrument for gcov" OFF)

# Every target of the project links this.
add_library(sluice_options INTERFACE)
target_compile_options(sluice_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                       $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor> -fno-semantic-interposition)
target_compile_options(sluice_options INTERFACE $<$<COMPILE_LANGUAGE:C>:-Wno-error>)
if(SLUICE_WERROR)
  target_compile_options(sluice_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
if(SLUICE_SANITIZE)
  # With the checks in it, code takes five times as long to compile at -O2.
  string(REPLACE "-O2" "-O1" CMAKE_CXX_FLAGS_RELWITHDEBINFO "${CMAKE_CXX_FLAGS_RELWITHDEBINFO}")
  target_compile_options(sluice_options INTERFACE -fsanitize=${SLUICE_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all)
  target_link_options(sluice_options INTERFACE -fsanitize=${SLUICE_SANITIZE})
endif()
# The library alone is measured (src/CMakeLists.txt); what is linked to a part of it needs the counters' runtime.
if(SLUICE_COVERAGE)
  target_link_options(sluice_options INTERFACE --coverage)
endif()

# sluice_sanitized_targets([MORE] <target> ...): these are built for the tests that run under the sanitizers; with MORE only
# for those that `make check` leaves to `make check-sanitizers`. Names without a target are passed over (host memory has
# no backend).
function(sluice_sanitized_targets)
  set(targets ${ARGN})
  set(property SLUICE_SANITIZED_TARGETS)
  if("MORE" IN_LIST targets)
    list(REMOVE_ITEM targets MORE)
    set(property SLUICE_SANITIZED_TARGETS_MORE)
  endif()
  set_property(GLOBAL APPEND PROPERTY ${property} ${targets})
endfunction()

# The public and the contract headers.
add_library(sluice_headers INTERFACE)
target_include_directories(sluice_headers INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

# The bodies of kernels: headers alone. Sums are computed as they are written: no product is fused with a sum.
add_library(sluice_kernels INTERFACE)
target_include_directories(sluice_kernels INTERFACE ${PROJECT_SOURCE_DIR}/kernels)
target_compile_options(sluice_kernels INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)

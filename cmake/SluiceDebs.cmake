# SPDX-License-Identifier: BSD-3-Clause
# Debian packages, by CPack (packaging/make_debs). Each component of the installation is a package of the same name: sluice,
# libsluice-dev, sluice-bench, and sluice-<folder> for each folder of backends/ that has something to install.
get_cmake_property(debs COMPONENTS)
# Environment modules choose between prefixes; files of a package are where everybody looks.
list(FILTER debs INCLUDE REGEX "^(sluice|libsluice)")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME sluice)
set(CPACK_PACKAGE_VENDOR "the Sluice authors")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL ${debs})
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
                                                WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SOURCE sluice)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
# Dependencies, which only the staged files tell, and the files of /usr/share/doc.
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/packaging/debian/prepare.cmake)

# A description: the first line, then paragraphs.
get_property(modules GLOBAL PROPERTY SLUICE_MEMORY_MODULES)
foreach(deb IN LISTS debs)
  string(TOUPPER ${deb} DEB)
  string(REPLACE "sluice-" "" part ${deb})
  set(user "it")
  if(part IN_LIST modules)
    set(user "sluice-bench")
  endif()
  set(CPACK_DEBIAN_${DEB}_PACKAGE_NAME ${deb})
  set(CPACK_DEBIAN_${DEB}_PACKAGE_SECTION libs)
  set(CPACK_COMPONENT_${DEB}_DESCRIPTION "Device memory in MPI: module ${part}
Sluice makes the MPI that a machine has GPU-aware.

This module lets ${user} take the memory of devices that the runtime
${part} serves. No library of a vendor's is part of the package, and none is
needed until a program uses one.")
endforeach()
set(CPACK_DEBIAN_SLUICE_PACKAGE_SECTION net)
set(CPACK_COMPONENT_SLUICE_DESCRIPTION "Device memory in MPI, whichever MPI a machine has
Sluice makes the MPI that a machine has GPU-aware: the library stands
between a program and its MPI, and takes over what has device memory in it.

This package has the libraries for each binary interface of MPI, and the
program sluice. Each kind of device is a package of its own.")
set(CPACK_DEBIAN_SLUICE-BENCH_PACKAGE_SECTION net)
set(CPACK_COMPONENT_SLUICE-BENCH_DESCRIPTION "Measures MPI on host and device memory
sluice-bench measures messages, collective and one-sided operations, and
files of MPI, with a program for each binary interface.

Scripts compare results, draw them, and tune Sluice to a machine.")
set(CPACK_DEBIAN_LIBSLUICE-DEV_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_LIBSLUICE-DEV_DESCRIPTION "Headers of Sluice, which makes any MPI GPU-aware
Programs that know of Sluice ask it questions, and put messages into the
order of a device's streams.

This package has the headers, their manual pages, and what pkg-config and
CMake find Sluice by. Nothing of it is needed to run a program.")
include(CPack)

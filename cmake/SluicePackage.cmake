# SPDX-License-Identifier: BSD-3-Clause
# What other builds find Sluice by: find_package(Sluice) or add_subdirectory(), both with a target Sluice::<flavour> for each
# binary interface and Sluice::headers, and sluice_<flavour>.pc for pkg-config. All three ways put the library before the
# MPI and keep the MPI in the program.
include(CMakePackageConfigHelpers)

set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Sluice)
file(RELATIVE_PATH prefix_from_pkgconfig ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
foreach(flavour IN LISTS SLUICE_FLAVOURS)
  target_link_libraries(sluice_${flavour} INTERFACE sluice_headers)
  # The library defines all of MPI, so a linker that leaves out what nobody needs would leave out the MPI itself.
  target_link_options(sluice_${flavour} INTERFACE LINKER:--no-as-needed)
  set_target_properties(sluice_${flavour} PROPERTIES EXPORT_NAME ${flavour})
  add_library(Sluice::${flavour} ALIAS sluice_${flavour})
  configure_file(${CMAKE_CURRENT_LIST_DIR}/sluice.pc.in ${PROJECT_BINARY_DIR}/package/sluice_${flavour}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/package/sluice_${flavour}.pc DESTINATION ${pkgconfig_dir} COMPONENT libsluice-dev)
endforeach()
set_target_properties(sluice_headers PROPERTIES EXPORT_NAME headers)
add_library(Sluice::headers ALIAS sluice_headers)
install(TARGETS sluice_headers EXPORT SluiceTargets)

install(EXPORT SluiceTargets NAMESPACE Sluice:: FILE SluiceConfig.cmake DESTINATION ${package_dir}
        COMPONENT libsluice-dev)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/SluiceConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/SluiceConfigVersion.cmake DESTINATION ${package_dir} COMPONENT libsluice-dev)

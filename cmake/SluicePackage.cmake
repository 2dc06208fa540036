# SPDX-License-Identifier: BSD-3-Clause
# What other builds find Sluice by: find_package(Sluice) with a target Sluice::<flavour> for each binary interface, and
# sluice_<flavour>.pc for pkg-config. Both put the library before the MPI and keep the MPI in the program.
include(CMakePackageConfigHelpers)

foreach(flavour IN LISTS SLUICE_FLAVOURS)
  target_include_directories(sluice_${flavour} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  # The library defines all of MPI, so a linker that leaves out what nobody needs would leave out the MPI itself.
  target_link_options(sluice_${flavour} INTERFACE $<INSTALL_INTERFACE:LINKER:--no-as-needed>)
  set_target_properties(sluice_${flavour} PROPERTIES EXPORT_NAME ${flavour})
  configure_file(${CMAKE_CURRENT_LIST_DIR}/sluice.pc.in ${CMAKE_BINARY_DIR}/package/sluice_${flavour}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/package/sluice_${flavour}.pc DESTINATION lib/pkgconfig)
endforeach()

install(EXPORT SluiceTargets NAMESPACE Sluice:: FILE SluiceConfig.cmake DESTINATION lib/cmake/Sluice)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/package/SluiceConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/package/SluiceConfigVersion.cmake DESTINATION lib/cmake/Sluice)

# SPDX-License-Identifier: BSD-3-Clause
# libsluice_onemkl.so, beside the module: transforms by oneMKL (onemkl_transforms.h). Not built where there is none.
set(SLUICE_ONEMKL ${SLUICE_PYTHON_ENVS}/onemkl CACHE PATH "where oneMKL is installed: include/ and lib/")
set(onemkl_libraries "")
foreach(name sycl_dft intel_ilp64 tbb_thread core)
  file(GLOB found ${SLUICE_ONEMKL}/lib/libmkl_${name}.so ${SLUICE_ONEMKL}/lib/libmkl_${name}.so.[0-9]*)
  if(found)
    list(GET found 0 library)
    list(APPEND onemkl_libraries ${library})
  endif()
endforeach()
list(LENGTH onemkl_libraries n_libraries)
if(NOT n_libraries EQUAL 4 OR NOT EXISTS ${SLUICE_ONEMKL}/include/oneapi/mkl/dft.hpp)
  message(STATUS "backend sycl: no oneMKL in ${SLUICE_ONEMKL} (tools/setup installs it): programs transform by FFTW on CPU devices, "
                 "and not on others")
  return()
endif()
add_library(sluice_onemkl MODULE onemkl_transforms.cpp)
target_link_libraries(sluice_onemkl PRIVATE sluice_options sluice_headers ${oneapi}/lib/libsycl.so ${onemkl_libraries})
target_include_directories(sluice_onemkl SYSTEM PRIVATE ${oneapi}/include ${SLUICE_ONEMKL}/include)
# Its own libraries need those of the runtime, which the process has by then.
target_link_options(sluice_onemkl PRIVATE -Wl,-rpath-link,${oneapi}/lib)
set_target_properties(sluice_onemkl PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${SLUICE_MODULE_DIR} PREFIX lib
                      BUILD_RPATH "${SLUICE_ONEMKL}/lib" INSTALL_RPATH "$ORIGIN")
add_dependencies(sluice_runtime sluice_onemkl)
install(TARGETS sluice_onemkl LIBRARY DESTINATION ${SLUICE_INSTALL_MODULE_DIR})

# SPDX-License-Identifier: BSD-3-Clause
# Where the runtime of the private Python environment finds its CPU device and its own libraries.
list(APPEND SLUICE_TEST_ENVIRONMENT "OCL_ICD_FILENAMES=${SLUICE_PYTHON_ENVS}/oneapi/lib/libintelocl.so"
     "LD_LIBRARY_PATH=${SLUICE_PYTHON_ENVS}/oneapi/lib")
# Kernels that are compiled from their source, which takes seconds, are compiled once and for all processes.
list(APPEND SLUICE_TEST_ENVIRONMENT SYCL_CACHE_PERSISTENT=1 "SYCL_CACHE_DIR=${CMAKE_BINARY_DIR}/kernel_cache")
# Libraries of transforms besides the usual one: name:what the program says:environment.
if(TARGET sluice_onemkl)
  list(APPEND SLUICE_TEST_TRANSFORMS "onemkl:oneAPI Math Kernel Library:SLUICE_BENCH_SYCL_FFT=onemkl" "fftw:library fftw-3:SLUICE_BENCH_SYCL_FFT=fftw")
endif()
# A copy that reaches out of an allocation is refused.
set(SLUICE_TEST_REFUSES_REACHING_OUT TRUE)
# The emulated GPU of emulated_driver/ in the CPU device's place, under each of the runtime's adapters for Level Zero.
if(TARGET sluice_ze_emulated_gpu)
  set(level_zero ZE_ENABLE_ALT_DRIVERS=${CMAKE_BINARY_DIR}/backends/sycl/emulated_driver/libze_emulated_gpu.so)
  if(TARGET sluice_ze_old_loader)
    string(APPEND level_zero ":ZEL_LIBRARY_PATH=${CMAKE_BINARY_DIR}/backends/sycl/emulated_driver/old_loader")
  endif()
  string(APPEND level_zero ":SLUICE_SYCL_STREAMS=events")
  set(SLUICE_TEST_DEVICES level_zero:${level_zero}:SYCL_UR_USE_LEVEL_ZERO_V2=0
                          level_zero_v2:${level_zero}:SYCL_UR_USE_LEVEL_ZERO_V2=1)
endif()
# What sluice-bench cannot have on its CPU device, whose memory no other process can map; windows in device memory lie where the
# host MPI reaches them.
set(SLUICE_TEST_LACKS copy_list ipc_export ipc_open)
set(SLUICE_TEST_WINDOWS D:D)

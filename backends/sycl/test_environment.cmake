# SPDX-License-Identifier: BSD-3-Clause
# Where the runtime of the private Python environment finds its CPU device and its own libraries.
list(APPEND SLUICE_TEST_ENVIRONMENT "OCL_ICD_FILENAMES=${SLUICE_PYTHON_ENVS}/oneapi/lib/libintelocl.so"
     "LD_LIBRARY_PATH=${SLUICE_PYTHON_ENVS}/oneapi/lib")
# Kernels that are compiled from their source, which takes seconds, are compiled once and for all processes.
list(APPEND SLUICE_TEST_ENVIRONMENT SYCL_CACHE_PERSISTENT=1 "SYCL_CACHE_DIR=${PROJECT_BINARY_DIR}/kernel_cache")
# Libraries of transforms besides the usual one: name:what the program says:environment.
if(TARGET sluice_onemkl)
  list(APPEND SLUICE_TEST_TRANSFORMS "onemkl:oneAPI Math Kernel Library:SLUICE_BENCH_SYCL_FFT=onemkl" "fftw:library fftw-3:SLUICE_BENCH_SYCL_FFT=fftw")
endif()
# A copy that reaches out of an allocation is refused.
set(SLUICE_TEST_REFUSES_REACHING_OUT TRUE)
# The emulated GPU of emulated_driver/ in the CPU device's place, under each of the runtime's adapters for Level Zero.
if(TARGET sluice_ze_emulated_gpu)
  set(level_zero ZE_ENABLE_ALT_DRIVERS=${PROJECT_BINARY_DIR}/backends/sycl/emulated_driver/libze_emulated_gpu.so)
  if(TARGET sluice_ze_old_loader)
    string(APPEND level_zero ":ZEL_LIBRARY_PATH=${PROJECT_BINARY_DIR}/backends/sycl/emulated_driver/old_loader")
  endif()
  string(APPEND level_zero ":SLUICE_SYCL_STREAMS=events")
  set(v1 ${level_zero}:SYCL_UR_USE_LEVEL_ZERO_V2=0)
  set(v2 ${level_zero}:SYCL_UR_USE_LEVEL_ZERO_V2=1)
  set(SLUICE_TEST_DEVICES level_zero:${v1} level_zero_v2:${v2})
  # What users of this stack set, or have without setting it. Devices of two tiles: seen as one device (implicit scaling),
  # as two (explicit scaling), and as two that know their device. The runtime's adapters with lists that are executed, without
  # copy engines, with them for copies on the device, without pools of memory. Devices that read memory of malloc. The loader's
  # validation layer, whose check of parameters knows no flags of today, which the second adapter gives.
  set(SLUICE_TEST_SETTINGS
      implicit_scaling:${v1}:SLUICE_EMU_LEVEL_ZERO=tiles=2
      implicit_scaling_v2:${v2}:SLUICE_EMU_LEVEL_ZERO=tiles=2
      flat:${v1}:SLUICE_EMU_LEVEL_ZERO=tiles=2:ZE_FLAT_DEVICE_HIERARCHY=FLAT
      flat_v2:${v2}:SLUICE_EMU_LEVEL_ZERO=tiles=2:ZE_FLAT_DEVICE_HIERARCHY=FLAT
      combined:${v2}:SLUICE_EMU_LEVEL_ZERO=tiles=2:ZE_FLAT_DEVICE_HIERARCHY=COMBINED
      executed_lists:${v1}:UR_L0_USE_IMMEDIATE_COMMANDLISTS=0
      executed_lists_old_name:${v1}:SYCL_PI_LEVEL_ZERO_USE_IMMEDIATE_COMMANDLISTS=0
      lists_of_threads:${v1}:UR_L0_USE_IMMEDIATE_COMMANDLISTS=2
      no_copy_engines:${v1}:UR_L0_USE_COPY_ENGINE=0
      copy_engines_in_device:${v1}:UR_L0_USE_COPY_ENGINE_FOR_D2D_COPY=1
      no_pools:${v1}:UR_L0_DISABLE_USM_ALLOCATOR=1:UMF_MAX_OPENED_IPC_HANDLES=64
      no_pools_v2:${v2}:UR_L0_DISABLE_USM_ALLOCATOR=1:UMF_MAX_OPENED_IPC_HANDLES=64
      events_of_device:${v1}:UR_L0_DEVICE_SCOPE_EVENTS=2
      no_counting_events:${v2}:UR_L0_USE_DRIVER_COUNTER_BASED_EVENTS=0
      system_memory:${v2}:SLUICE_EMU_LEVEL_ZERO=system
      mask_of_rank:${v1}:SLUICE_EMU_MACHINE=devices=2:ZE_AFFINITY_MASK=@
      mask_of_tile:${v2}:SLUICE_EMU_LEVEL_ZERO=tiles=2:ZE_AFFINITY_MASK=0.@
      validated:${v1}:ZE_ENABLE_VALIDATION_LAYER=1:ZE_ENABLE_PARAMETER_VALIDATION=1:ZE_ENABLE_HANDLE_LIFETIME=1
      validated_v2:${v2}:ZE_ENABLE_VALIDATION_LAYER=1:ZE_ENABLE_HANDLE_LIFETIME=1
      integrated:${v2}:SLUICE_EMU_LEVEL_ZERO=integrated)
  # Calls of the driver that fail, and memory of which half is mapped.
  set(fail SLUICE_EMU_LEVEL_ZERO=fail)
  set(SLUICE_TEST_REFUSALS
      "get_handle:${v1}:${fail}=zeMemGetIpcHandle/1+|ipc::memory::get gave an empty handle|fallback ipc_export"
      "get_handle_v2:${v2}:${fail}=zeMemGetIpcHandle/1+|UR_RESULT_ERROR_DEVICE_LOST|fallback ipc_export"
      "get_range:${v2}:${fail}=zeMemGetAddressRange/1+|zeMemGetAddressRange: 0x70000001|fallback ipc_export"
      "open_handle:${v1}:${fail}=zeMemOpenIpcHandle/1+|ipc::memory::open|fallback ipc_open"
      "open_handle_v2:${v2}:${fail}=zeMemOpenIpcHandle/1+|ipc::memory::open|fallback ipc_open"
      "own_get_handle:${v2}:SLUICE_SYCL_IPC=level_zero:${fail}=zeMemGetIpcHandle/1+|zeMemGetIpcHandle: 0x70000001|fallback ipc_export"
      "own_open_handle:${v1}:SLUICE_SYCL_IPC=level_zero:${fail}=zeMemOpenIpcHandle/1+|zeMemOpenIpcHandle: 0x70000001|fallback ipc_open"
      "own_half:${v2}:SLUICE_SYCL_IPC=level_zero:SLUICE_EMU_LEVEL_ZERO=tiles=2,opens_half|ZE_FLAT_DEVICE_HIERARCHY=FLAT|fallback ipc_open"
      "half:${v1}:SLUICE_EMU_LEVEL_ZERO=tiles=2,opens_half|ZE_FLAT_DEVICE_HIERARCHY=FLAT|fallback ipc_open"
      "lists:${v1}:SLUICE_SYCL_LISTS=on:${fail}=zeCommandQueueCreate/1+|zeCommandQueueCreate: 0x70000001")
endif()
# What sluice-bench cannot have on its CPU device, whose memory no other process can map; windows in device memory lie where the
# host MPI reaches them.
set(SLUICE_TEST_LACKS copy_list ipc_export ipc_open)
set(SLUICE_TEST_WINDOWS D:D)

# SPDX-License-Identifier: BSD-3-Clause
# Without a device of this vendor the suite runs on the loop-back runtime (tests/), which acts on host memory: that
# examines the module's logic, not a GPU.
if(NOT EXISTS /dev/kfd)
  list(APPEND SLUICE_TEST_ENVIRONMENT "LD_LIBRARY_PATH=${PROJECT_BINARY_DIR}/backends/hip/loopback")
  set(SLUICE_TEST_STANDS_IN ON)
  # The loop-back of another vendor has shown the same of the library; here it is the module that is examined.
  set(SLUICE_TEST_FEW ON)
  set(SLUICE_TEST_REFUSED_CHANNELS "unmapped:HIP_LOOPBACK_REFUSES=mapping" "uncompiled:HIP_LOOPBACK_REFUSES=compiling")
endif()
# Queues on its streams, which are off by default; and how they trigger and wait besides the usual way. The loop-back has
# no other way then.
list(APPEND SLUICE_TEST_ENVIRONMENT SLUICE_HIP_STREAMS=auto)
set(SLUICE_TEST_STREAM_FORMS by_kernels:SLUICE_HIP_STREAMS=kernels)
if(NOT EXISTS /dev/kfd)
  string(APPEND SLUICE_TEST_STREAM_FORMS ":HIP_LOOPBACK_REFUSES=operations")
endif()
# The words that it answers, for the test of capabilities.
set(SLUICE_TEST_SUPPORT_WORDS hip rocm)
set(SLUICE_TEST_MEMORY_KIND_WORDS rocm rocm:host rocm:device rocm:managed)
# Managed memory has no handle; messages out of it go through memory that has one.
set(SLUICE_TEST_RELAYS_SHARED ON)

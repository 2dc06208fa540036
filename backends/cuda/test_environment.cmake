# SPDX-License-Identifier: BSD-3-Clause
# Without a driver on this machine the suite runs on the loop-back driver (tests/loopback_driver.cpp), which acts on host
# memory: that examines the module's logic, not a GPU.
find_library(SLUICE_CUDA_DRIVER libcuda.so.1 NO_CACHE)
if(NOT SLUICE_CUDA_DRIVER)
  list(APPEND SLUICE_TEST_ENVIRONMENT "LD_LIBRARY_PATH=${PROJECT_BINARY_DIR}/backends/cuda/loopback")
  set(SLUICE_TEST_STANDS_IN ON)
endif()
# What streams send may go aside of them, and what they receive where kernels wait; the loop-back driver lets it go too
# early.
set(SLUICE_TEST_SENDS_ASIDE ON)
set(SLUICE_TEST_RECEIVES_ASIDE SLUICE_CUDA_STREAMS=kernels)
if(NOT SLUICE_CUDA_DRIVER)
  set(SLUICE_TEST_SENDS_ASIDE_EARLY CUDA_LOOPBACK_FORGETS=starts)
endif()
# A program captures its streams into graphs; the loop-back driver forgets edges of those.
set(SLUICE_TEST_CAPTURES ON)
if(NOT SLUICE_CUDA_DRIVER)
  set(SLUICE_TEST_CAPTURES_FORGET CUDA_LOOPBACK_FORGETS=before_captured CUDA_LOOPBACK_FORGETS=behind_captured)
endif()
set(SLUICE_TEST_STREAM_FORMS by_kernels:SLUICE_CUDA_STREAMS=kernels
    by_memory:SLUICE_CUDA_STREAMS=memory as_kernels:SLUICE_CUDA_LAUNCH=kernel)
set(SLUICE_TEST_KERNEL_FORMS as_kernels:SLUICE_CUDA_LAUNCH=kernel)
# The words that it answers, for the test of capabilities.
set(SLUICE_TEST_SUPPORT_WORDS cuda)
set(SLUICE_TEST_MEMORY_KIND_WORDS cuda cuda:host cuda:device cuda:managed)
# Sorts of device memory besides cuMemAlloc's. Those that no other process can reach must be refused and fall back.
set(memory SLUICE_BENCH_CUDA_MEMORY)
set(SLUICE_TEST_MEMORIES pieces:${memory}=pieces fabric:${memory}=fabric_pieces)
set(SLUICE_TEST_PRIVATE_MEMORIES private:${memory}=private_pieces pool:${memory}=pool)
# Managed memory has no handle; messages out of it go through memory that has one.
set(SLUICE_TEST_RELAYS_SHARED ON)

# SPDX-License-Identifier: BSD-3-Clause
# The loader and the CPU runtime of the private Python environment.
list(APPEND SLUICE_TEST_ENVIRONMENT "OCL_ICD_FILENAMES=${SLUICE_PYTHON_ENVS}/oneapi/lib/libintelocl.so"
     "LD_LIBRARY_PATH=${SLUICE_PYTHON_ENVS}/oneapi/lib")
# Placements that a program may hand to any MPI.
set(SLUICE_TEST_HOST_REACHES P:P,M:M)

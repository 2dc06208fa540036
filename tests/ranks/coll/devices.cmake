# SPDX-License-Identifier: BSD-3-Clause
# Other devices of a backend, in reach of other processes. Their runtime keeps freed memory, so that nobody can tell.
sluice_test_devices(devices)
foreach(device IN LISTS devices)
  string(REPLACE ":" ";" words ${device})
  list(POP_FRONT words backend name)
  sluice_add_rank_test(coll NAME coll_device_${name} RANKS 2 MPIS ${first_mpi} BACKENDS ${backend}
                       ARGS ${together_alone}:*ARanksMemoryWasFreed LABELS coll devices TIMEOUT 300
                       ENV ${together} ${words} SLUICE_STATS_FILE=/dev/null)
  # An end of memory, and the first reductions of a process, are told in other ways there, or need settings of their own.
  sluice_add_rank_test(coll NAME full_coll_device_${name} RANKS 2 MPIS ${first_mpi} BACKENDS ${backend} LABELS coll devices full
                       ARGS --gtest_filter=-*PastTheEnd.*:FirstUse.* ENV ${words} TIMEOUT 900)
endforeach()

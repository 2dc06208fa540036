# Devices of several vendors in one communicator, and ranks without a device: as shipped, and with everything together.
set(unlike_ranks coll LABELS coll TIMEOUT 120 NO_SANITIZER ARGS --gtest_filter=UnlikeRanks.*)
_sluice_test_backends(first_backends faulty)
_sluice_test_backends(other_backends real)
foreach(form shipped together)
  set(in_form TEST_UNLIKE_RANKS=1)
  if(form STREQUAL together)
    list(APPEND in_form ${together} SLUICE_TUNING=p2p_ipc_threshold=1)
  endif()
  foreach(other IN LISTS other_backends)
    # The last rank's device is another vendor's, in the environment that this one needs.
    _sluice_test_environment(${other} other_environment other_fault_knob other_startup_s)
    set(on_last "")
    foreach(setting IN LISTS other_environment ITEMS TEST_BACKEND=${other})
      list(APPEND on_last --env-rank 2 ${setting})
    endforeach()
    sluice_add_rank_test(${unlike_ranks} NAME coll_unlike_ranks_${form}_${other} RANKS 3 MPIS ${first_mpi}
                         BACKENDS ${first_backends} ENV ${in_form} LAUNCH ${on_last})
  endforeach()
  sluice_add_rank_test(${unlike_ranks} NAME coll_masked_rank_${form} RANKS 3 MPIS ${one_of_each} BACKENDS faulty
                       ENV ${in_form} LAUNCH --env-rank 1 TEST_BACKEND=none)
endforeach()

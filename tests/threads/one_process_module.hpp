// SPDX-License-Identifier: BSD-3-Clause
// What the module one_process_module.cpp does wrong on purpose, for the thread that sets it.
#pragma once

// The faults of the calling thread. The module exports faults_of_this_thread(), which gives them out.
struct ThreadFaults {
  bool fails_copies = false;  // every copy and reduction is an error
  bool loses_copies = false;  // every copy is left out, and answered as done
};

using FaultsOfThisThread = ThreadFaults *(*)();

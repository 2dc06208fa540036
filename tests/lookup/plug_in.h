// SPDX-License-Identifier: BSD-3-Clause
// What the plug-in, which is linked to MPI, does for a program that is not.
#pragma once

// Sends `size_bytes` from rank 0 to rank 1; MPI is initialised. Returns an MPI error code.
extern "C" int plug_in_exchange(void *buffer, int size_bytes, int rank);

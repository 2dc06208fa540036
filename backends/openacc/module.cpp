// SPDX-License-Identifier: BSD-3-Clause
// The table of this memory module.
#include "program.h"

#define SLUICE_MODULE_NAMESPACE openacc
#define SLUICE_MODULE_NAME "openacc"
#include "../exported_memory_table.inc"

// SPDX-License-Identifier: BSD-3-Clause
// What the files of this module share. ../module_state.h has what all modules share: fail(), log_error(), g_services.
#pragma once

#include "../members.h"
#include "../module_state.h"
#include "sluice/backend.h"

namespace sluice::backends::template_backend {

// Each function is the member of sluice_backend_t with the same name. What it must do is written in
// include/sluice/backend.h, and docs/adding-a-backend.md says in which order to write them. They are defined in
// devices.cpp, pointers.cpp, memory.cpp, copies.cpp, ipc.cpp, reduce.cpp, kernel_copies.cpp, pack.cpp, stream.cpp,
// words.cpp and program.cpp.
#define SLUICE_MEMBER SLUICE_DECLARED
#include "../members.def"
#undef SLUICE_MEMBER

}  // namespace sluice::backends::template_backend

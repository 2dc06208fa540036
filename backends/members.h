// SPDX-License-Identifier: BSD-3-Clause
// For the files that read members.def. What a module's table has of a group: its members, or, for a module that says so
// in front of its table, null for each:
//
//   #undef SLUICE_GROUP_ipc
//   #define SLUICE_GROUP_ipc(name) nullptr
#pragma once

#include <type_traits>

#include "sluice/backend.h"

namespace sluice::backends {

// The type of the function that a member points to, with which a module declares its own: Member<decltype(...)> name;
template <typename Pointer>
using Member = std::remove_pointer_t<Pointer>;

}  // namespace sluice::backends

// As SLUICE_MEMBER in a module's namespace: declares the function.
// NOLINTNEXTLINE(bugprone-macro-parentheses): what is declared stands without
#define SLUICE_DECLARED(group, name) Member<decltype(sluice_backend_t::name)> name;

// NOLINTBEGIN(readability-identifier-naming): the groups' names are in lower case
#define SLUICE_GROUP_core(name) name
#define SLUICE_GROUP_program(name) name
#define SLUICE_GROUP_ipc(name) name
#define SLUICE_GROUP_words(name) name
#define SLUICE_GROUP_traits(name) name
#define SLUICE_GROUP_reduce(name) name
#define SLUICE_GROUP_stream(name) name
#define SLUICE_GROUP_program_stream(name) name
#define SLUICE_GROUP_kernel_copies(name) name
#define SLUICE_GROUP_pack(name) name
#define SLUICE_GROUP_channel(name) name
#define SLUICE_GROUP_wait(name) name
// NOLINTEND(readability-identifier-naming)

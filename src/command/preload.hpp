// SPDX-License-Identifier: BSD-3-Clause
// The list LD_PRELOAD of a launch: Sluice's library, what is preloaded already, and the sanitizers' runtimes, which
// want to be the first libraries of a program. All of it: any thread.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace sluice::command {

inline constexpr const char *kPreload = "LD_PRELOAD";

// `library` in front of what is preloaded already, once; behind sanitizers' runtimes with which that begins.
[[nodiscard]] std::string preloaded(const std::string &library, const std::string &existing);

// A command may set LD_PRELOAD for its ranks itself (env LD_PRELOAD=..., -x LD_PRELOAD=..., -genv LD_PRELOAD ...),
// which would hide ours: it gets the library too.
void extend_own_preloads(const std::string &library, std::vector<std::string> *command);

// The sanitizers' runtimes that a program is linked to, as it names them, in its order; none for what is no program.
[[nodiscard]] std::vector<std::string> sanitizer_runtimes(const std::filesystem::path &program);

// Puts the runtimes that the programs of `command` are linked to in front of all that is preloaded into these: a shell
// that starts such a program adds them. Not for launchers, whose own leaks a runtime would report. `positions`: of the
// programs, ascending.
void put_runtimes_first(const std::vector<std::size_t> &positions, std::vector<std::string> *command);

}  // namespace sluice::command

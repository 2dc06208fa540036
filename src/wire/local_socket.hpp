// SPDX-License-Identifier: BSD-3-Clause
// Sockets between processes of one user on one node, whose names are in no folder: a name goes with its socket, and
// that with its process, however it ends. Processes in different network name spaces do not see each other's. All of
// it: any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/file_descriptor.hpp"
#include "base/status.hpp"

namespace sluice::wire {

// Waits for others under `name`, of at most 63 bytes; nothing of it blocks. Errors: the name is taken, the system
// refuses.
[[nodiscard]] Status listen_at(std::string_view name, FileDescriptor *listener);

// Reaches the process of this user that waits under `name`; what is asked of `socket` blocks for some seconds at most.
// Errors: there is none of this user.
[[nodiscard]] Status connect_to(std::string_view name, FileDescriptor *socket);

// Whether a process of this user waits under `name`.
enum class Presence : std::uint8_t { kAbsent, kThere, kUnknown };
[[nodiscard]] Presence find_presence(std::string_view name) noexcept;

// The process at the other end is of this user.
[[nodiscard]] bool is_same_user(const FileDescriptor &socket) noexcept;

// What the system says, and what to do about it. Errors: always that one, kUnsupported.
[[nodiscard]] Status socket_refused(const char *what, int code);

}  // namespace sluice::wire

// SPDX-License-Identifier: BSD-3-Clause
// bad_peer(): the error for what another process told, and what cannot be.
#pragma once

#include <string>

#include "base/status.hpp"

namespace sluice {

// `what` says what the process told, and what was not done. The remedy is added. Any thread. Errors: always one,
// kBadPeer.
[[nodiscard]] Status bad_peer(const std::string &what);

}  // namespace sluice

// SPDX-License-Identifier: BSD-3-Clause
// write_file(): how a file that a user has named is written, in folders where others may write too.
#pragma once

#include <string>
#include <string_view>

#include "base/status.hpp"

namespace sluice {

// Writes `text` into a new file, or over what a regular file of this user's held. Never through a symbolic link, into a
// file that has a second name or that belongs to another user, and never into anything that could hold the caller up,
// as a FIFO does; a character device (/dev/null) is taken. Errors: kInvalidArgument: it is refused, and left as it was;
// or the system fails, and a part may be there. `what` ("the trace") and `knob` (which gave the path) are for the
// message. Blocks for the file system alone. Any thread.
[[nodiscard]] Status write_file(const std::string &path, std::string_view text, const char *what, const char *knob);

}  // namespace sluice

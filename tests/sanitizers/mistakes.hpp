// SPDX-License-Identifier: BSD-3-Clause
// Mistakes made on purpose, which a sanitizer must report and a test must fail for.
#pragma once

#include <string>

namespace sluice::tests {

// Makes the mistake `name`: none, read_past_the_end, lose_memory, overflow or race. False if there is none of that
// name.
bool make_mistake(const std::string &name);

}  // namespace sluice::tests

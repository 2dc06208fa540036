// SPDX-License-Identifier: BSD-3-Clause
// Which build of a library is in the process.
#pragma once

#include <string>

namespace sluice::bench::doctor {

// The number that the linker gave the library, in hexadecimal digits; `begin`: where the loader has put it. Empty where
// the linker gave none, or where no library lies there.
std::string build_of_library(const void *begin);

}  // namespace sluice::bench::doctor

// SPDX-License-Identifier: BSD-3-Clause
// Functions that only newer MPIs have, or a library below. They are asked for by name when a test runs, so that one
// program runs on all.
#pragma once

#include <dlfcn.h>

#include <string>

namespace sluice::bench {

// Local. Null when neither this MPI nor a library preloaded below us has the function.
template <class Function>
Function find_function(const std::string &name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_DEFAULT, name.c_str()));
}

// The same as a pointer to a function of that type. Throws MpiError with one line when there is none; every rank of a
// run gets the same answer.
[[noreturn]] void throw_missing(const std::string &name);
template <class Function>
Function require_mpi_function(const std::string &name) {
  const auto function = find_function<Function>(name);
  if (function == nullptr) {
    throw_missing(name);
  }
  return function;
}

}  // namespace sluice::bench

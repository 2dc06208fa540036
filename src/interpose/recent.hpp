// SPDX-License-Identifier: BSD-3-Clause
// Functions that a host MPI may lack: what a reference to one is bound to is asked when it is bound (docs/adr/0008).
#pragma once

#include <span>

namespace sluice::interpose {

struct RecentFunction {
  const char *name;
  void *(*resolve)();  // what a reference to it is to be bound to; null: there is no such function
};

// From now on the dynamic linker asks `resolve` whenever it binds one of these names to this library's definition.
// Until then it takes the definition. Where this process may not write to its own list of symbols, it goes on to. For
// constructors: nothing else may be looking names up. 20 us. One thread.
void ask_when_bound(std::span<const RecentFunction> functions) noexcept;

}  // namespace sluice::interpose

// SPDX-License-Identifier: BSD-3-Clause
// Which host MPI this is, where one of them has faults that the others have not.
#pragma once

#include <string_view>

namespace sluice::ops {

// Whether the host MPI's text of its version begins so. Asks the host MPI each time: for what is asked once. Any
// thread.
[[nodiscard]] bool is_host_library(std::string_view version_begins);

// Calls on files go to the place that they are told, and take duplicates of types. The same on all ranks. Any thread.
[[nodiscard]] bool trusts_files();

}  // namespace sluice::ops

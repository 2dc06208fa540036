// SPDX-License-Identifier: BSD-3-Clause
// Lists of copies for the queues of copies.cpp, where the runtime sits on Level Zero and the user asks for them
// (docs/adr/0051).
#pragma once

#include <memory>

#include "level_zero_lists.h"
#include "module.h"

namespace sluice::backends::sycl {

// Whether queues of that device may have lists at all. Throws what the runtime throws.
bool may_have_copy_lists(const ::sycl::device &device);
// Lists for memory of that context. SLUICE_ERROR_UNSUPPORTED: copies go one by one. Throws what the runtime throws.
Outcome open_copy_lists(const ::sycl::context &context, const ::sycl::device &device,
                        std::unique_ptr<level_zero::CopyLists> *lists);

}  // namespace sluice::backends::sycl

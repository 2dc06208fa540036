// SPDX-License-Identifier: BSD-3-Clause
// The geometry of MPI's datatype constructors: blocks of the parts to blocks of the whole. Calls no MPI.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.hpp"
#include "ops/datatype/block_list.hpp"
#include "ops/datatype/type_contents.hpp"

namespace sluice::ops {

// One of the datatypes that a constructor was given; the blocks belong to the caller.
struct Part {
  const BlockList *blocks = nullptr;
  std::int64_t extent_bytes = 0;
};

// Appends to `blocks` what the constructor in `contents` makes of `parts`, which stand for contents.types. Errors: too
// many blocks, a constructor that is not known, contents that make no sense. Any thread, for `blocks` of its own.
[[nodiscard]] Status assemble(const TypeContents &contents, const std::vector<Part> &parts, BlockList *blocks);

}  // namespace sluice::ops

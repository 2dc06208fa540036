// SPDX-License-Identifier: BSD-3-Clause
// SplitCall: a split collective call between its two functions, where its data is staged.
#pragma once

#include <memory>

#include "ops/io/block_run.hpp"
#include "ops/io/file_blocks.hpp"

namespace sluice::ops::io {

struct SplitCall {
  // Null where all was done in the first function; else the host MPI reads or writes its only block, if it has one.
  std::unique_ptr<FileBlocks> blocks;
  Outcome outcome;
};

}  // namespace sluice::ops::io

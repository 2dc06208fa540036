// SPDX-License-Identifier: BSD-3-Clause
// Reading and writing of one rank: MPI_File_read, MPI_File_write, and their forms at an offset and by the shared
// pointer.
#include <optional>

#include "ops/env/raise.hpp"
#include "ops/io/block_run.hpp"
#include "ops/io/call.hpp"
#include "ops/io/file_blocks.hpp"
#include "ops/io/file_facts.hpp"
#include "ops/io/own_pointer.hpp"
#include "ops/io/shared_pointer.hpp"

namespace sluice::ops::io {

int access(Call *call) {
  return guarded_on_file(call->file, [call]() -> int {
    const statistics::Stopwatch watch;
    const PointerTurn own_turn(*call);
    std::optional<SharedTurn> turn;
    if (call->form->position == Position::kShared) turn.emplace(state_of(call->file)->shared);
    if (turn && !turn->status().is_ok()) return raise_on_file(call->file, turn->status());
    // classify
    Buffer buffer;
    int result = MPI_SUCCESS;
    if (is_over_as_given(*call, watch, &buffer, &result)) return result;
    // plan
    FileFacts facts;
    bool is_one_access = false;
    result = find_facts(call->file, &facts);
    if (result == MPI_SUCCESS) result = find_is_one_access(*call, *state_of(call->file), &is_one_access);
    if (result != MPI_SUCCESS) return result;
    FileBlocks blocks;
    Outcome outcome;
    outcome.note(blocks.open(buffer, facts, is_one_access, call->form->operation));
    // execute
    run_blocks(*call, &blocks, blocks.n_blocks(), false, &outcome);
    // complete
    return complete(*call, buffer, outcome, watch);
  });
}

}  // namespace sluice::ops::io

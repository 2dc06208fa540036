// SPDX-License-Identifier: BSD-3-Clause
// Reading and writing of one rank with a request: MPI_File_iread, MPI_File_iwrite, and their forms at an offset and by
// the shared pointer. The engine calls the host MPI's blocking functions: they tell of every error, which the requests
// of host MPIs do not, and they wait for no other rank.
#include <memory>
#include <optional>

#include "ops/env/raise.hpp"
#include "ops/io/call.hpp"
#include "ops/io/file_request.hpp"
#include "ops/io/own_pointer.hpp"
#include "ops/io/shared_pointer.hpp"

namespace sluice::ops::io {
namespace {

class AloneRequest final : public FileRequest {
 public:
  AloneRequest(const Call &call, const Buffer &buffer)
      : FileRequest(call),
        buffer_(buffer),
        blocks_(std::make_unique<FileBlocks>()),
        run_(call_, blocks_.get(), &outcome_) {}

  // Errors: those of FileBlocks::open(). Returns the host MPI's code. Local; all is done when this returns of a call by
  // the shared pointer, which has to stand behind it then.
  int open() {
    FileFacts facts;
    bool is_one_access = false;
    int code = find_facts(call_.file, &facts);
    if (code == MPI_SUCCESS) code = find_is_one_access(call_, *state_of(call_.file), &is_one_access);
    if (code != MPI_SUCCESS) return code;
    Status status = facts.is_native ? Status() : hold_type();
    if (status.is_ok()) status = blocks_->open(buffer_, facts, is_one_access, call_.form->operation);
    if (!status.is_ok()) return raise_on_file(call_.file, status);
    code = take_position(blocks_->size_bytes(), facts.etype_bytes, &call_);
    if (code != MPI_SUCCESS) return code;
    run_.begin();
    if (call_.form->position != Position::kShared) return code;
    while (round_ < blocks_->n_blocks() && outcome_.is_good()) run_.take(round_++);
    run_.end();
    return code;
  }

 private:
  // Up to one block, for others wait for the turn.
  [[nodiscard]] bool go_on() override {
    if (round_ == blocks_->n_blocks() || !outcome_.is_good()) return run_.is_over();
    if (run_.is_ready(round_)) run_.take(round_++);
    return false;
  }
  void release() noexcept override { blocks_.reset(); }
  [[nodiscard]] const Buffer &buffer() const noexcept override { return buffer_; }
  [[nodiscard]] Outcome *outcome() noexcept override { return &outcome_; }

  Buffer buffer_;
  std::unique_ptr<FileBlocks> blocks_;
  Outcome outcome_;
  BlockRun run_;
  std::uint64_t round_ = 0;
};

}  // namespace

int start(Call *call) {
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
    const auto request = std::make_shared<AloneRequest>(*call, buffer);
    result = request->open();
    // execute and complete: by the engine
    return result == MPI_SUCCESS ? FileRequest::make(request) : result;
  });
}

}  // namespace sluice::ops::io

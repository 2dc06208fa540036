// SPDX-License-Identifier: BSD-3-Clause
// Collective reading and writing with a request: MPI_File_iread_all, MPI_File_iwrite_all, and their forms at an offset.
#include <algorithm>
#include <memory>

#include "ops/env/raise.hpp"
#include "ops/io/call.hpp"
#include "ops/io/file_request.hpp"
#include "ops/io/joint_call.hpp"
#include "ops/io/own_pointer.hpp"
#include "wire/host.hpp"
#include "wire/status.hpp"

namespace sluice::ops::io {
namespace {

class JointRequest final : public FileRequest {
 public:
  explicit JointRequest(const Call &call) : FileRequest(call) {}
  ~JointRequest() override { leave(); }
  JointRequest(const JointRequest &) = delete;
  JointRequest &operator=(const JointRequest &) = delete;
  JointRequest(JointRequest &&) = delete;
  JointRequest &operator=(JointRequest &&) = delete;

  // Local, and so are the other two. Return the host MPI's error code, raised already.
  int classify() { return joint_.classify(call_); }
  [[nodiscard]] const JointCall &joint() const noexcept { return joint_; }
  // The ranks ask each other; the call goes on behind those of the file that were made before.
  int ask();
  // The program's call at once, on the only block. Blocks for its copy.
  int make_for_itself();

 private:
  enum class Step : std::uint8_t { kAsking, kWaiting, kMaking, kEnding };

  [[nodiscard]] bool go_on() override;
  // Whether the host MPI's request is complete, or was none; with what it came to.
  [[nodiscard]] bool has_come(int *code, MPI_Status *status);
  [[nodiscard]] bool has_made_all();
  // The same, with the individual pointer left to the program.
  [[nodiscard]] bool go_on_making();
  void make_round(int (*function)(const Call &call, MPI_Request *request));
  void leave() noexcept {
    if (joint_.state != nullptr) joint_.state->order.leave(this);
  }
  void release() noexcept override { joint_.blocks.reset(); }
  [[nodiscard]] const Buffer &buffer() const noexcept override { return joint_.buffer; }
  [[nodiscard]] Outcome *outcome() noexcept override { return &joint_.outcome; }

  JointCall joint_;
  std::unique_ptr<BlockRun> run_;  // from the first round on
  Step step_ = Step::kAsking;
  std::uint64_t round_ = 0;
  std::uint64_t n_rounds_ = 1;
  bool is_made_ = false;                    // of the round: the host MPI has been called
  MPI_Request request_ = MPI_REQUEST_NULL;  // the host MPI's that is under way
};

int JointRequest::ask() {
  FileFacts facts;
  int code = find_facts(call_.file, &facts);
  if (code != MPI_SUCCESS) return code;
  MPI_Count element_bytes = 0;
  const bool has_data = joint_.has_data(call_);
  if (has_data) code = wire::host().MPI_Type_size_x(call_.type, &element_bytes);
  if (has_data) joint_.outcome.note(hold_type());
  const auto size_bytes = has_data ? static_cast<std::uint64_t>(element_bytes * call_.count) : 0;
  // The calls of all ranks are made later, by explicit offset.
  const PointerTurn own_turn(call_);
  if (code == MPI_SUCCESS) code = take_position(size_bytes, facts.etype_bytes, &call_);
  if (code != MPI_SUCCESS) return code;
  joint_.state->order.join(this);
  code = joint_.ask(&request_);
  return code == MPI_SUCCESS ? code : raise_on_file(call_.file, agreement_error(code));
}

int JointRequest::make_for_itself() {
  step_ = Step::kMaking;
  run_ = std::make_unique<BlockRun>(call_, joint_.blocks.get(), &joint_.outcome);
  run_->begin();
  make_round([](const Call &call, MPI_Request *request) {
    Call own = call;
    own.request = request;
    return own.form->make(own);
  });
  return joint_.outcome.code;
}

void JointRequest::make_round(int (*function)(const Call &call, MPI_Request *request)) {
  Call part = call_;
  run_->fill(round_, &part);
  const int code = function(part, &request_);
  is_made_ = true;
  if (code == MPI_SUCCESS) return;
  request_ = MPI_REQUEST_NULL;
  joint_.outcome.note(code);
}

bool JointRequest::has_come(int *code, MPI_Status *status) {
  if (request_ == MPI_REQUEST_NULL) return true;
  int is_done = 0;
  *code = wire::host().MPI_Test(&request_, &is_done, status);
  if (*code != MPI_SUCCESS) request_ = MPI_REQUEST_NULL;
  return is_done != 0 || *code != MPI_SUCCESS;
}

bool JointRequest::has_made_all() {
  if (is_made_) {
    int code = MPI_SUCCESS;
    MPI_Status status{};
    wire::clear(&status);
    if (!has_come(&code, &status)) return false;
    is_made_ = false;
    run_->note_made(round_++, code, status);
  }
  if (round_ == n_rounds_) return true;
  if (run_->is_ready(round_)) make_round(call_.form->start);
  return false;
}

bool JointRequest::go_on_making() {
  if (!joint_.is_asked()) return has_made_all();
  const KeptPointer pointer(call_.file, joint_.state.get());
  return pointer.is_kept() && has_made_all();
}

bool JointRequest::go_on() {
  int code = MPI_SUCCESS;
  switch (step_) {
    case Step::kAsking:
      if (!has_come(&code, MPI_STATUS_IGNORE)) return false;
      if (code != MPI_SUCCESS) {
        joint_.outcome.note(agreement_error(code));
        leave();
        return true;
      }
      joint_.hear();
      n_rounds_ = std::max<std::uint64_t>(joint_.n_rounds(), 1);
      run_ = std::make_unique<BlockRun>(call_, joint_.blocks.get(), &joint_.outcome);
      run_->begin();
      step_ = Step::kWaiting;
      [[fallthrough]];
    case Step::kWaiting:
      if (!joint_.state->order.is_turn(this)) return false;
      step_ = Step::kMaking;
      [[fallthrough]];
    case Step::kMaking:
      if (!go_on_making()) return false;
      leave();
      step_ = Step::kEnding;
      [[fallthrough]];
    case Step::kEnding:
      break;
  }
  return run_->is_over();
}

}  // namespace

int start_all(Call *call) {
  return guarded_on_file(call->file, [call]() -> int {
    const statistics::Stopwatch watch;
    // classify
    const auto request = std::make_shared<JointRequest>(*call);
    int result = request->classify();
    if (result != MPI_SUCCESS) return result;
    // plan
    const JointCall &joint = request->joint();
    if (!joint.is_asked() && joint.is_as_given()) {
      result = call->form->make(*call);
      joint.buffer.record(call->form->operation, joint.buffer.size_bytes(), watch.elapsed());
      return result;
    }
    result = joint.is_asked() ? request->ask() : request->make_for_itself();
    // execute and complete: by the engine
    return result == MPI_SUCCESS ? FileRequest::make(request) : result;
  });
}

}  // namespace sluice::ops::io

// SPDX-License-Identifier: BSD-3-Clause
// One program: makes the calls in order, completes all that gave a request in one array; as often as it is started.
#include "tests/ranks/coll/call_run.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/ranks/coll/issue.hpp"
#include "tests/support/completers.hpp"
#include "tests/support/host_mpi.hpp"

namespace sluice::tests {
namespace {

using Form = Variant::Form;

bool is_alltoall_of_lengths(What what) {
  return what == What::alltoallv || what == What::alltoallw;
}

// The call as this host MPI can make it: without the forms that it lacks or has faults in.
CollectiveCall possible(CollectiveCall call, const Place &place) {
  if (lacks_nested_types_in_programs()) call.is_nested = false;
#if MPI_VERSION < 4
  call.is_large = false;
  if (call.form == Form::persistent) call.form = Form::nonblocking;
#endif
  if (call.form == Form::persistent && breaks_persistent_collectives()) call.form = Form::nonblocking;
  const bool may_lose = call.what == What::bcast && place.is_between_groups && loses_data_between_groups();
  const bool may_hang = is_alltoall_of_lengths(call.what) && call.is_in_place && hangs_after_empty_ialltoallv();
  const bool may_miscount =
      call.what == What::alltoallw && call.where == Where::grid && miscounts_types_in_ialltoallw();
  if (may_lose || may_hang || may_miscount || call.what == What::reduce_local) call.form = Form::blocking;
  if (call.what == What::allgatherv && (place.size() == 1 || place.peers.size() == 1) &&
      misplaces_allgatherv_of_one_rank()) {
    call.what = What::allgather;
  }
  const bool is_alone = place.size() == 1;
  if (call.what == What::alltoallw && ((is_alone && misplaces_alltoallw_of_one_rank()) ||
                                       (place.is_between_groups && hangs_in_alltoallw_between_groups()))) {
    call.what = What::alltoallv;
  }
  if (place.is_between_groups && mixes_types_between_groups()) call.is_mixed = false;
  const bool may_overrun = (call.what == What::reduce_scatter || call.what == What::reduce_scatter_block) &&
                           overruns_in_reduce_scatter_block();
  if (may_overrun) call.sort = Sort::predefined;
  const bool may_miss =
      is_reduction(call.what) &&
      (call.form == Form::blocking ? overruns_in_reduce_with_lower_bound() : overruns_in_ireduce_with_lower_bound());
  if (may_miss && call.sort == Sort::commutative) call.sort = Sort::ordered;
  return call;
}

class ProgramRun {
 public:
  ProgramRun(Trial &run, const CollectiveProgram &program, const Places &places) : run_(run), program_(program) {
    for (const CollectiveCall &call : program.calls) {
      const Place &place = places.at(call.where);
      Part part{possible(call, place), &place, {}, MPI_REQUEST_NULL};
      part.buffers = make_buffers(run, part.call, place);
      parts_.push_back(std::move(part));
    }
  }

  void execute() {
    for (start_ = 0; start_ < program_.n_starts; ++start_) {
      requests_.clear();
      for (std::size_t i = 0; i < parts_.size(); ++i) begin(i);
      complete();
      for (const Part &part : parts_) part.buffers.recv.forget_rest();
      note_contents();
    }
    for (Part &part : parts_) {
      if (part.call.form == Form::persistent) run_.call("MPI_Request_free", MPI_Request_free(&part.request));
    }
  }

 private:
  struct Part {
    CollectiveCall call;
    const Place *place;
    CallBuffers buffers;
    MPI_Request request;
  };

  void begin(std::size_t index) {
    Part &part = parts_[index];
    const int iteration = start_ * static_cast<int>(parts_.size()) + static_cast<int>(index);
    part.buffers.send.fill(run_, iteration);
    part.buffers.recv.fill(run_, iteration);
    const bool is_persistent = part.call.form == Form::persistent;
    if (!is_persistent || start_ == 0) issue(run_, part.call, part.buffers, part.place->comm, &part.request);
    if (part.call.form == Form::blocking) return;
    if (is_persistent) run_.call("MPI_Start", MPI_Start(&part.request));
    requests_.push_back(part.request);
  }

  void complete() {
    const std::size_t n = requests_.size();
    std::vector<MPI_Request> requests = requests_;
    if (n != 0) {
      std::rotate(requests.begin(), requests.begin() + static_cast<std::ptrdiff_t>(program_.rotation % n),
                  requests.end());
    }
    requests.push_back(MPI_REQUEST_NULL);
    std::vector<MPI_Status> statuses(requests.size());
    const auto n_persistent = std::count_if(parts_.begin(), parts_.end(),
                                            [](const Part &part) { return part.call.form == Form::persistent; });
    std::size_t completer = program_.completer;
    // The first one, MPI_Wait, in place of the last one.
    if (n_persistent > 0 && completer + 1 == completers().size() && fails_in_testall_of_collectives()) completer = 0;
    completers()[completer].complete(run_, requests, program_.ignores_statuses ? nullptr : &statuses);
    // Persistent requests stay what they are.
    const auto n_left = std::count_if(requests.begin(), requests.end(), [](auto r) { return r != MPI_REQUEST_NULL; });
    EXPECT_EQ(n_left, n_persistent);
  }

  // The last contents are compared byte by byte.
  void note_contents() {
    if (start_ + 1 == program_.n_starts) {
      return;
    }
    for (const Part &part : parts_) {
      for (const CallBuffer *buffer : {&part.buffers.send, &part.buffers.recv}) {
        if (buffer->memory == nullptr) continue;
        run_.note(fmt::format("start {}, {}", start_, name_of(part.call.what)),
                  static_cast<long long>(hash_of(buffer->memory->read_with_guards())));
      }
    }
  }

  Trial &run_;
  const CollectiveProgram &program_;
  int start_ = 0;
  std::vector<Part> parts_;
  std::vector<MPI_Request> requests_;
};

}  // namespace

void run_collective_program(Trial &run, const CollectiveProgram &program, const Places &places) {
  ProgramRun(run, program, places).execute();
}

}  // namespace sluice::tests

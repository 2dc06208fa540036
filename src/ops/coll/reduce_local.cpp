// SPDX-License-Identifier: BSD-3-Clause
// MPI_Reduce_local and its large-count form: a reduction that nobody else has a part in.
#include <array>

#include "base/log.hpp"
#include "device/reduction.hpp"
#include "generated/operations.hpp"
#include "ops/coll/carry_out.hpp"
#include "ops/coll/reduction/kernel_choice.hpp"
#include "ops/env/errors.hpp"
#include "ops/p2p/side.hpp"
#include "wire/host.hpp"

namespace sluice::ops {
namespace {

// Whether the device has computed it, or has failed in a way that nothing else could mend: *status says which. False:
// nothing is changed.
bool reduce_by_kernel(const coll::Sides &sides, const coll::Call &call, const coll::ReductionPair &pair,
                      Status *status) {
  // MPI's inout is the second operand, in the first (MPI 4.1, section 6.9.7).
  const std::array<const void *, 2> sources = {call.send.buffer, call.recv.buffer};
  bool is_refused = false;
  *status = device::reduce(sides.recv.place(),
                           {pair.element, pair.operation, &call.recv.buffer, sources.data(), 1, sources.size(),
                            static_cast<std::uint64_t>(call.recv.count), 0, 0},
                           &is_refused);
  if (!is_refused) return true;
  log::warn_once("reduce_kernel", "coll", status->message() + "; the host reduces instead");
  statistics::record_fallback("no_kernel");
  *status = {};
  return false;
}

template <typename Count>
using ReduceLocalFunction = int (*wire::Host::*)(const void *, void *, Count, MPI_Datatype, MPI_Op);

template <typename Count>
int reduce_local_through(ReduceLocalFunction<Count> function, const void *inbuf, void *inoutbuf, Count count,
                         MPI_Datatype datatype, MPI_Op op) {
  if (!coll::look_whether_sides_matter()) return (wire::host().*function)(inbuf, inoutbuf, count, datatype, op);
  // It names no communicator; errors go where MPI sends those without one.
  const MPI_Comm comm = MPI_COMM_SELF;
  return guarded(comm, [&]() -> int {
    const statistics::Stopwatch watch;
    coll::Call call;
    call.comm = comm;
    call.send.set_buffer(inbuf);
    call.recv.buffer = inoutbuf;
    for (coll::Argument *argument : {&call.send, &call.recv}) {
      argument->count = count;
      argument->type = datatype;
    }
    // classify and plan
    coll::Sides sides;
    Status status = sides.send.classify(call.send, 1, {coll::Access::kRead}, coll::Use::kReduced);
    if (status.is_ok()) {
      status = sides.recv.classify(call.recv, 1, {coll::Access::kReadWrite}, coll::Use::kReduced);
    }
    if (status.is_ok()) status = sides.refusal();
    if (!status.is_ok()) return raise(comm, status);
    coll::ReductionPair pair{};
    const plan::ReductionPlan plan = coll::choose_kernel({&sides.send, &sides.recv}, datatype, op, &pair);
    // execute
    if (plan.route == Route::kKernel && reduce_by_kernel(sides, call, pair, &status)) {
      sides.send.record(Operation::kReduceLocal, plan.route, watch.elapsed());
      sides.recv.record(Operation::kReduceLocal, plan.route, watch.elapsed());
      return status.is_ok() ? MPI_SUCCESS : raise(comm, status);
    }
    status = sides.open(&call);
    if (status.is_ok()) status = sides.copy_down(coll::Down::kRead);
    if (!status.is_ok()) return raise(comm, status);
    const int result = (wire::host().*function)(call.send.buffer, call.recv.buffer, count, datatype, op);
    if (result != MPI_SUCCESS) return result;
    // complete
    status = sides.copy_up();
    sides.record(Operation::kReduceLocal, watch.elapsed());
    return status.is_ok() ? MPI_SUCCESS : raise(comm, status);
  });
}

}  // namespace

int reduce_local(const void *inbuf, void *inoutbuf, int count, MPI_Datatype datatype, MPI_Op op) {
  return reduce_local_through(&wire::Host::MPI_Reduce_local, inbuf, inoutbuf, count, datatype, op);
}

int reduce_local_c(const void *inbuf, void *inoutbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op) {
  return reduce_local_through(&wire::Host::MPI_Reduce_local_c, inbuf, inoutbuf, count, datatype, op);
}

}  // namespace sluice::ops

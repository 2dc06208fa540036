// SPDX-License-Identifier: BSD-3-Clause
#include "tests/ranks/coll/issue.hpp"

namespace sluice::tests {
namespace {

SLUICE_COLLECTIVE(Bcast, bcast)
SLUICE_COLLECTIVE(Gather, gather)
SLUICE_COLLECTIVE(Gatherv, gatherv)
SLUICE_COLLECTIVE(Scatter, scatter)
SLUICE_COLLECTIVE(Scatterv, scatterv)
SLUICE_COLLECTIVE(Allgather, allgather)
SLUICE_COLLECTIVE(Allgatherv, allgatherv)
SLUICE_COLLECTIVE(Alltoall, alltoall)
SLUICE_COLLECTIVE(Alltoallv, alltoallv)
SLUICE_COLLECTIVE(Alltoallw, alltoallw)
SLUICE_COLLECTIVE(Reduce, reduce)
SLUICE_COLLECTIVE(Allreduce, allreduce)
SLUICE_COLLECTIVE(Scan, scan)
SLUICE_COLLECTIVE(Exscan, exscan)
SLUICE_COLLECTIVE(Reduce_scatter, reduce_scatter)
SLUICE_COLLECTIVE(Reduce_scatter_block, reduce_scatter_block)
SLUICE_COLLECTIVE(Neighbor_allgather, neighbor_allgather)
SLUICE_COLLECTIVE(Neighbor_allgatherv, neighbor_allgatherv)
SLUICE_COLLECTIVE(Neighbor_alltoall, neighbor_alltoall)
SLUICE_COLLECTIVE(Neighbor_alltoallv, neighbor_alltoallv)
SLUICE_COLLECTIVE(Neighbor_alltoallw, neighbor_alltoallw)

// One call with counts of type `Count`.
template <class Count>
class Issue {
 public:
  Issue(Trial &run, const CollectiveCall &call, const CallBuffers &buffers, MPI_Comm comm, MPI_Request *request)
      : run_(run),
        call_(call),
        send_(buffers.send),
        recv_(buffers.recv),
        root_(buffers.root),
        op_(buffers.op),
        comm_(comm),
        request_(request) {}

  void make() const {
    switch (call_.what) {
      case What::barrier:
        return barrier();
      case What::bcast:
        return to(bcast_forms<Count>(), recv_.address, count(recv_), recv_.type, root_, comm_);
      case What::reduce_local:
        return reduce_local();
      default:
        return is_reduction(call_.what) ? reduction() : is_neighborly(call_.what) ? neighborly() : movement();
    }
  }

 private:
  using Places = Displacement<Count>;
  static Count count(const CallBuffer &buffer) { return static_cast<Count>(buffer.count); }
  static const Count *counts(const CallBuffer &buffer) { return buffer.counts.as<Count>(); }
  template <class Number>
  static const Number *places(const CallBuffer &buffer) {
    return buffer.displacements.as<Number>();
  }

  template <class... Arguments, class... Given>
  void to(const Forms<Arguments...> &forms, Given... given) const {
    switch (call_.form) {
      case Variant::Form::blocking:
        return run_.call(forms.name, forms.block(given...));
      case Variant::Form::nonblocking:
        return run_.call(forms.name, forms.start(given..., request_));
      case Variant::Form::persistent:
        return run_.call(forms.name, forms.init(given..., MPI_INFO_NULL, request_));
    }
  }

  void barrier() const {
    if (call_.form == Variant::Form::blocking) return run_.call("MPI_Barrier", MPI_Barrier(comm_));
#if MPI_VERSION >= 4
    if (call_.form == Variant::Form::persistent) {
      return run_.call("MPI_Barrier_init", MPI_Barrier_init(comm_, MPI_INFO_NULL, request_));
    }
#endif
    run_.call("MPI_Ibarrier", MPI_Ibarrier(comm_, request_));
  }

  void reduce_local() const {
#if MPI_VERSION >= 4
    if (call_.is_large) {
      return run_.call("MPI_Reduce_local_c",
                       MPI_Reduce_local_c(send_.address, recv_.address, send_.count, send_.type, op_));
    }
#endif
    run_.call("MPI_Reduce_local",
              MPI_Reduce_local(send_.address, recv_.address, static_cast<int>(send_.count), send_.type, op_));
  }

  void movement() const {
    const void *in = send_.address;
    void *out = recv_.address;
    switch (call_.what) {
      case What::gather:
        return to(gather_forms<Count>(), in, count(send_), send_.type, out, count(recv_), recv_.type, root_, comm_);
      case What::gatherv:
        return to(gatherv_forms<Count>(), in, count(send_), send_.type, out, counts(recv_), places<Places>(recv_),
                  recv_.type, root_, comm_);
      case What::scatter:
        return to(scatter_forms<Count>(), in, count(send_), send_.type, out, count(recv_), recv_.type, root_, comm_);
      case What::scatterv:
        return to(scatterv_forms<Count>(), in, counts(send_), places<Places>(send_), send_.type, out, count(recv_),
                  recv_.type, root_, comm_);
      case What::allgather:
        return to(allgather_forms<Count>(), in, count(send_), send_.type, out, count(recv_), recv_.type, comm_);
      case What::allgatherv:
        return to(allgatherv_forms<Count>(), in, count(send_), send_.type, out, counts(recv_), places<Places>(recv_),
                  recv_.type, comm_);
      case What::alltoall:
        return to(alltoall_forms<Count>(), in, count(send_), send_.type, out, count(recv_), recv_.type, comm_);
      case What::alltoallv:
        return to(alltoallv_forms<Count>(), in, counts(send_), places<Places>(send_), send_.type, out, counts(recv_),
                  places<Places>(recv_), recv_.type, comm_);
      default:
        return to(alltoallw_forms<Count>(), in, counts(send_), places<Places>(send_), send_.type_array(), out,
                  counts(recv_), places<Places>(recv_), recv_.type_array(), comm_);
    }
  }

  void reduction() const {
    const void *in = send_.address;
    void *out = recv_.address;
    // In place, and where the result does not come, the other buffer says how long the input is.
    const CallBuffer &said = send_.memory != nullptr ? send_ : recv_;
    switch (call_.what) {
      case What::reduce:
        return to(reduce_forms<Count>(), in, out, count(said), said.type, op_, root_, comm_);
      case What::allreduce:
        return to(allreduce_forms<Count>(), in, out, count(said), said.type, op_, comm_);
      case What::scan:
        return to(scan_forms<Count>(), in, out, count(said), said.type, op_, comm_);
      case What::exscan:
        return to(exscan_forms<Count>(), in, out, count(said), said.type, op_, comm_);
      case What::reduce_scatter:
        return to(reduce_scatter_forms<Count>(), in, out, counts(recv_), recv_.type, op_, comm_);
      default:
        return to(reduce_scatter_block_forms<Count>(), in, out, count(recv_), recv_.type, op_, comm_);
    }
  }

  void neighborly() const {
    const void *in = send_.address;
    void *out = recv_.address;
    switch (call_.what) {
      case What::neighbor_allgather:
        return to(neighbor_allgather_forms<Count>(), in, count(send_), send_.type, out, count(recv_), recv_.type,
                  comm_);
      case What::neighbor_allgatherv:
        return to(neighbor_allgatherv_forms<Count>(), in, count(send_), send_.type, out, counts(recv_),
                  places<Places>(recv_), recv_.type, comm_);
      case What::neighbor_alltoall:
        return to(neighbor_alltoall_forms<Count>(), in, count(send_), send_.type, out, count(recv_), recv_.type, comm_);
      case What::neighbor_alltoallv:
        return to(neighbor_alltoallv_forms<Count>(), in, counts(send_), places<Places>(send_), send_.type, out,
                  counts(recv_), places<Places>(recv_), recv_.type, comm_);
      default:
        return to(neighbor_alltoallw_forms<Count>(), in, counts(send_), places<MPI_Aint>(send_), send_.type_array(),
                  out, counts(recv_), places<MPI_Aint>(recv_), recv_.type_array(), comm_);
    }
  }

  Trial &run_;
  const CollectiveCall &call_;
  const CallBuffer &send_;
  const CallBuffer &recv_;
  int root_;
  MPI_Op op_;
  MPI_Comm comm_;
  MPI_Request *request_;
};

}  // namespace

void issue(Trial &run, const CollectiveCall &call, const CallBuffers &buffers, MPI_Comm comm, MPI_Request *request) {
#if MPI_VERSION >= 4
  if (call.is_large) {
    return Issue<MPI_Count>(run, call, buffers, comm, request).make();
  }
#endif
  Issue<int>(run, call, buffers, comm, request).make();
}

}  // namespace sluice::tests

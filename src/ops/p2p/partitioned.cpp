// SPDX-License-Identifier: BSD-3-Clause
// MPI_Psend_init, MPI_Precv_init, their large-count forms, MPI_Pready, MPI_Pready_range, MPI_Pready_list, MPI_Parrived:
// the host MPI's own partitioned communication, on staging memory.
#include "generated/operations.hpp"
#include "ops/env/errors.hpp"
#include "ops/p2p/partitioned_request.hpp"
#include "progress/engine.hpp"

namespace sluice::ops {
namespace {

using progress::TrackedRequests;
using PartitionedPtr = std::shared_ptr<PartitionedRequest>;

// The buffer of a partitioned operation as the program names it.
struct Partitions {
  const void *buffer;
  int n_partitions;
  MPI_Count count;  // elements of one partition
  MPI_Datatype type;
  int peer;
};

// The staging memory is taken here, once, and held until the request is freed. `init` calls the host MPI's function
// with a buffer, the count of one partition and a type.
template <typename Init>
int init_through(Operation operation, const Partitions &given, MPI_Comm comm, MPI_Request *request, Init init) {
  // Sending does not change the buffer; one pointer serves both directions.
  void *buffer = const_cast<void *>(given.buffer);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  MPI_Count n_elements = 0;
  // Impossible numbers are for the host MPI to judge.
  const bool is_possible =
      given.n_partitions > 0 &&
      !__builtin_mul_overflow(given.count, static_cast<MPI_Count>(given.n_partitions), &n_elements);
  if (is_plain_host_traffic() || !is_possible) return init(buffer, given.count, given.type);
  return guarded(comm, [&]() -> int {
    auto partitioned = std::make_shared<PartitionedRequest>(operation, comm, given.n_partitions, given.count);
    // What is sent is taken for received too: an image, which only a send can be, has no part that is one partition.
    Side &side = partitioned->side;
    Status status = Buffer::of_plain(buffer, n_elements, given.type, given.peer, &side);
    if (status.is_ok() && side.is_staged()) status = side.open(true);
    if (!status.is_ok()) return raise(comm, status);
    const int result = init(side.buffer(), side.count() / given.n_partitions, side.type());
    if (result == MPI_SUCCESS && side.is_staged()) TrackedRequests::process().add(*request, std::move(partitioned));
    return result;
  });
}

using PsendInitFunction = decltype(wire::Host::MPI_Psend_init) wire::Host::*;
using PrecvInitFunction = decltype(wire::Host::MPI_Precv_init) wire::Host::*;

int psend_init_through(PsendInitFunction function, const Partitions &given, int tag, MPI_Comm comm, MPI_Info info,
                       MPI_Request *request) {
  const auto init = [&](void *buffer, MPI_Count count, MPI_Datatype type) {
    return (wire::host().*function)(buffer, given.n_partitions, count, type, given.peer, tag, comm, info, request);
  };
  return init_through(Operation::kPsendInit, given, comm, request, init);
}

int precv_init_through(PrecvInitFunction function, const Partitions &given, int tag, MPI_Comm comm, MPI_Info info,
                       MPI_Request *request) {
  const auto init = [&](void *buffer, MPI_Count count, MPI_Datatype type) {
    return (wire::host().*function)(buffer, given.n_partitions, count, type, given.peer, tag, comm, info, request);
  };
  return init_through(Operation::kPrecvInit, given, comm, request, init);
}

// What stands beside `request` when it is a partitioned one of ours; else null.
PartitionedPtr find_partitioned(MPI_Request request) {
  if (request == MPI_REQUEST_NULL) return nullptr;
  return std::dynamic_pointer_cast<PartitionedRequest>(TrackedRequests::process().find(request));
}

// Brings partitions down with `bring_down`, then tells the host MPI with `tell`. After an error the host MPI is told of
// none of them, and the program may call again.
template <typename BringDown, typename Tell>
int ready_through(MPI_Request request, BringDown bring_down, Tell tell) {
  if (TrackedRequests::process().is_empty()) return tell();
  return guarded(MPI_COMM_SELF, [&]() -> int {
    const PartitionedPtr partitioned = find_partitioned(request);
    if (partitioned != nullptr && partitioned->is_sender()) {
      if (Status status = bring_down(partitioned.get()); !status.is_ok()) {
        return raise(partitioned->communicator(), status);
      }
    }
    return tell();
  });
}

// Partitions that do not exist are for the host MPI to refuse.
Status bring_down_range(PartitionedRequest *partitioned, int low, int high) {
  if (high < low || !partitioned->has_partition(low) || !partitioned->has_partition(high)) return {};
  return partitioned->ready(low, high - low + 1);
}

// MPIs differ in whether the list is const.
template <typename Function>
struct SecondParameter;
template <typename First, typename Second, typename Third>
struct SecondParameter<int (*)(First, Second, Third)> {
  using Type = Second;
};
using List = SecondParameter<decltype(wire::Host::MPI_Pready_list)>::Type;

}  // namespace

int psend_init(const void *buf, int partitions, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
               MPI_Comm comm, MPI_Info info, MPI_Request *request) {
  return psend_init_through(&wire::Host::MPI_Psend_init, {buf, partitions, count, datatype, dest}, tag, comm, info,
                            request);
}

int psend_init_c(const void *buf, int partitions, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                 MPI_Comm comm, MPI_Info info, MPI_Request *request) {
  return psend_init_through(&wire::Host::MPI_Psend_init_c, {buf, partitions, count, datatype, dest}, tag, comm, info,
                            request);
}

int precv_init(void *buf, int partitions, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
               MPI_Info info, MPI_Request *request) {
  return precv_init_through(&wire::Host::MPI_Precv_init, {buf, partitions, count, datatype, source}, tag, comm, info,
                            request);
}

int precv_init_c(void *buf, int partitions, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                 MPI_Info info, MPI_Request *request) {
  return precv_init_through(&wire::Host::MPI_Precv_init_c, {buf, partitions, count, datatype, source}, tag, comm, info,
                            request);
}

int pready(int partition, MPI_Request request) {
  return ready_through(
      request, [&](PartitionedRequest *partitioned) { return bring_down_range(partitioned, partition, partition); },
      [&] { return wire::host().MPI_Pready(partition, request); });
}

int pready_range(int partition_low, int partition_high, MPI_Request request) {
  return ready_through(
      request,
      [&](PartitionedRequest *partitioned) { return bring_down_range(partitioned, partition_low, partition_high); },
      [&] { return wire::host().MPI_Pready_range(partition_low, partition_high, request); });
}

int pready_list(int length, List array_of_partitions, MPI_Request request) {
  const auto bring_down = [&](PartitionedRequest *partitioned) {
    Status status;
    for (int i = 0; array_of_partitions != nullptr && i < length && status.is_ok(); ++i) {
      status = bring_down_range(partitioned, array_of_partitions[i], array_of_partitions[i]);
    }
    return status;
  };
  return ready_through(request, bring_down,
                       [&] { return wire::host().MPI_Pready_list(length, array_of_partitions, request); });
}

int parrived(MPI_Request request, int partition, int *flag) {
  if (TrackedRequests::process().is_empty() && !progress::Engine::process().is_busy()) {
    return wire::host().MPI_Parrived(request, partition, flag);
  }
  return guarded(MPI_COMM_SELF, [&]() -> int {
    // Programs ask until the answer is yes; meanwhile a peer may need something of this process.
    progress::Engine::process().turn();
    const int result = wire::host().MPI_Parrived(request, partition, flag);
    if (result != MPI_SUCCESS || *flag == 0) return result;
    const PartitionedPtr partitioned = find_partitioned(request);
    if (partitioned == nullptr || partitioned->is_sender() || !partitioned->has_partition(partition)) return result;
    const Status status = partitioned->arrived(partition, 1);
    return status.is_ok() ? result : raise(partitioned->communicator(), status);
  });
}

}  // namespace sluice::ops

// SPDX-License-Identifier: BSD-3-Clause
// MPI_Psend_init, MPI_Precv_init, their large-count forms, MPI_Pready, MPI_Pready_range, MPI_Pready_list, MPI_Parrived:
// the host MPI's own partitioned communication, on staging memory; or, inside a node, copies between devices
// (docs/adr/0071). And sluice_pready_on_stream, sluice_get_partition_flags (docs/adr/0076).
#include "ops/p2p/partitioned.hpp"

#include <optional>

#include "base/log.hpp"
#include "generated/operations.hpp"
#include "ops/env/errors.hpp"
#include "ops/env/world.hpp"
#include "ops/p2p/partitioned_match.hpp"
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
  int tag;
};

// Makes the program's request with `init`, and behind it the offer by which the sides learn of each other, where they
// do. `partitioned`: what stands beside the request, if it is staged, or a send that streams may make ready.
template <typename Init>
int init_and_offer(Operation operation, const Partitions &given, MPI_Comm comm, MPI_Request *request,
                   const PartitionedPtr &partitioned, Init init) {
  const bool is_staged = partitioned->side.is_staged();
  PartitionedMatch::Route route{given.peer, -1, given.tag, comm};
  std::shared_ptr<PartitionedMatch> match;
  if (PartitionedMatch::is_wanted(&route)) {
    match = std::make_shared<PartitionedMatch>(operation == Operation::kPsendInit, route);
  }
  std::optional<PartitionedMatch::InOrder> in_order;
  if (match != nullptr) in_order.emplace();
  const int result = init();
  // MPICH 5 returns success after some bad arguments, without a request.
  if (result != MPI_SUCCESS || *request == MPI_REQUEST_NULL) return result;
  partitioned->name(*request);
  if (match != nullptr) {
    if (is_staged) partitioned->await_match();
    if (match->begin(is_staged ? partitioned : nullptr, partitioned->side.region(), given.n_partitions) !=
        MPI_SUCCESS) {
      log::warn_once("partitions_offer", "p2p", "the host MPI could not make a partitioned request of Sluice's");
      partitioned->go_staged();
    }
  }
  const bool may_have_streams = partitioned->is_sender() && !device::known_backends().empty();
  if (is_staged || may_have_streams) TrackedRequests::process().add(*request, partitioned);
  return result;
}

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
    const PartitionedRequest::Arguments arguments{given.n_partitions, given.count, given.peer, given.tag};
    auto partitioned = std::make_shared<PartitionedRequest>(operation, comm, arguments);
    // What is sent is taken for received too: an image, which only a send can be, has no part that is one partition.
    Side &side = partitioned->side;
    Status status = Buffer::of_plain(buffer, n_elements, given.type, given.peer, &side);
    if (status.is_ok() && side.is_staged()) status = side.open(true);
    if (!status.is_ok()) return raise(comm, status);
    return init_and_offer(operation, given, comm, request, partitioned,
                          [&] { return init(side.buffer(), side.count() / given.n_partitions, side.type()); });
  });
}

using PsendInitFunction = decltype(wire::Host::MPI_Psend_init) wire::Host::*;
using PrecvInitFunction = decltype(wire::Host::MPI_Precv_init) wire::Host::*;

int psend_init_through(PsendInitFunction function, const Partitions &given, MPI_Comm comm, MPI_Info info,
                       MPI_Request *request) {
  const auto init = [&](void *buffer, MPI_Count count, MPI_Datatype type) {
    return (wire::host().*function)(buffer, given.n_partitions, count, type, given.peer, given.tag, comm, info,
                                    request);
  };
  return init_through(Operation::kPsendInit, given, comm, request, init);
}

int precv_init_through(PrecvInitFunction function, const Partitions &given, MPI_Comm comm, MPI_Info info,
                       MPI_Request *request) {
  const auto init = [&](void *buffer, MPI_Count count, MPI_Datatype type) {
    return (wire::host().*function)(buffer, given.n_partitions, count, type, given.peer, given.tag, comm, info,
                                    request);
  };
  return init_through(Operation::kPrecvInit, given, comm, request, init);
}

// What stands beside `request` when it is a partitioned one of ours; else null.
PartitionedPtr find_partitioned(MPI_Request request) {
  if (request == MPI_REQUEST_NULL) return nullptr;
  return std::dynamic_pointer_cast<PartitionedRequest>(TrackedRequests::process().find(request));
}

// Makes partitions ready with `ready`, then tells the host MPI with `tell` if that says so. After an error the host MPI
// is told of none of them, and the program may call again.
template <typename MakeReady, typename Tell>
int ready_through(MPI_Request request, MakeReady ready, Tell tell) {
  if (TrackedRequests::process().is_empty()) return tell();
  return guarded(MPI_COMM_SELF, [&]() -> int {
    const PartitionedPtr partitioned = find_partitioned(request);
    if (partitioned == nullptr) return tell();
    bool tells_host = true;
    const Status status = ready(partitioned.get(), &tells_host);
    if (!status.is_ok()) return raise(partitioned->communicator(), status);
    return tells_host ? tell() : MPI_SUCCESS;
  });
}

// The list of a request that goes directly, or of which that is not known yet: one by one, because it may become the
// host MPI's meanwhile. *code: the host MPI's.
Status ready_one_by_one(PartitionedRequest *partitioned, MPI_Request request, int length, const int *list, int *code) {
  Status status;
  for (int i = 0; list != nullptr && i < length && status.is_ok() && *code == MPI_SUCCESS; ++i) {
    bool tells_host = false;
    status = partitioned->ready(list[i], list[i], &tells_host);
    if (status.is_ok() && tells_host) *code = wire::host().MPI_Pready(list[i], request);
  }
  return status;
}

// `body` is given the partitioned request of ours that stands beside `request`.
template <typename Body>
int on_partitioned(MPI_Request request, Body body) {
  int code = MPI_SUCCESS;
  if (!is_usable("partitions made ready by streams and kernels", &code)) return code;
  return guarded(MPI_COMM_SELF, [&]() -> int {
    const PartitionedPtr partitioned = find_partitioned(request);
    if (partitioned == nullptr) {
      return raise(MPI_COMM_SELF,
                   Status::error(ErrorKind::kInvalidArgument,
                                 "streams and kernels cannot make partitions of this request ready: it is no request "
                                 "of MPI_Psend_init, or no device's runtime was in the process when it was made; use "
                                 "MPI_Pready"));
    }
    const Status status = body(partitioned.get());
    return status.is_ok() ? MPI_SUCCESS : raise(partitioned->communicator(), status);
  });
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
  return psend_init_through(&wire::Host::MPI_Psend_init, {buf, partitions, count, datatype, dest, tag}, comm, info,
                            request);
}

int psend_init_c(const void *buf, int partitions, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                 MPI_Comm comm, MPI_Info info, MPI_Request *request) {
  return psend_init_through(&wire::Host::MPI_Psend_init_c, {buf, partitions, count, datatype, dest, tag}, comm, info,
                            request);
}

int precv_init(void *buf, int partitions, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
               MPI_Info info, MPI_Request *request) {
  return precv_init_through(&wire::Host::MPI_Precv_init, {buf, partitions, count, datatype, source, tag}, comm, info,
                            request);
}

int precv_init_c(void *buf, int partitions, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                 MPI_Info info, MPI_Request *request) {
  return precv_init_through(&wire::Host::MPI_Precv_init_c, {buf, partitions, count, datatype, source, tag}, comm, info,
                            request);
}

int pready(int partition, MPI_Request request) {
  return ready_through(
      request,
      [&](PartitionedRequest *partitioned, bool *tells_host) {
        return partitioned->ready(partition, partition, tells_host);
      },
      [&] { return wire::host().MPI_Pready(partition, request); });
}

int pready_range(int partition_low, int partition_high, MPI_Request request) {
  return ready_through(
      request,
      [&](PartitionedRequest *partitioned, bool *tells_host) {
        return partitioned->ready(partition_low, partition_high, tells_host);
      },
      [&] { return wire::host().MPI_Pready_range(partition_low, partition_high, request); });
}

int pready_list(int length, List array_of_partitions, MPI_Request request) {
  int code = MPI_SUCCESS;
  const auto ready = [&](PartitionedRequest *partitioned, bool *tells_host) {
    if (!partitioned->is_staged()) {
      *tells_host = false;
      return ready_one_by_one(partitioned, request, length, array_of_partitions, &code);
    }
    Status status;
    for (int i = 0; array_of_partitions != nullptr && i < length && status.is_ok(); ++i) {
      status = partitioned->ready(array_of_partitions[i], array_of_partitions[i], tells_host);
    }
    *tells_host = true;
    return status;
  };
  const int result =
      ready_through(request, ready, [&] { return wire::host().MPI_Pready_list(length, array_of_partitions, request); });
  return result == MPI_SUCCESS ? code : result;
}

int pready_on_stream(MPI_Request request, int partition, void *stream) {
  return on_partitioned(
      request, [&](PartitionedRequest *partitioned) { return partitioned->ready_on_stream(partition, stream); });
}

int get_partition_flags(MPI_Request request, sluice_partition_flags_t *flags) {
  return on_partitioned(request, [&](PartitionedRequest *partitioned) {
    return flags != nullptr
               ? partitioned->give_flags(flags)
               : Status::error(ErrorKind::kInvalidArgument,
                               "the pointer to the flags is null; give the address of a sluice_partition_flags_t");
  });
}

int parrived(MPI_Request request, int partition, int *flag) {
  if (TrackedRequests::process().is_empty() && !progress::Engine::process().is_busy()) {
    return wire::host().MPI_Parrived(request, partition, flag);
  }
  return guarded(MPI_COMM_SELF, [&]() -> int {
    const PartitionedPtr partitioned = find_partitioned(request);
    bool has_arrived = false;
    Status looked;
    const auto look = [&] {
      looked = partitioned->look(partition, &has_arrived);
      return has_arrived || !looked.is_ok();
    };
    const bool is_known = partitioned != nullptr && !partitioned->is_staged() && look();
    // Programs ask until the answer is yes; meanwhile a peer may need something of this process.
    if (!is_known) progress::Engine::process().turn();
    if (partitioned != nullptr && !partitioned->is_staged()) {
      if (!is_known) look();
      *flag = has_arrived ? 1 : 0;
      return looked.is_ok() ? MPI_SUCCESS : raise(partitioned->communicator(), looked);
    }
    const int result = wire::host().MPI_Parrived(request, partition, flag);
    if (result != MPI_SUCCESS || *flag == 0) return result;
    if (partitioned == nullptr || partitioned->is_sender() || !partitioned->has_partition(partition)) return result;
    const Status status = partitioned->arrived(partition, 1);
    return status.is_ok() ? result : raise(partitioned->communicator(), status);
  });
}

}  // namespace sluice::ops

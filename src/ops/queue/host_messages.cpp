// SPDX-License-Identifier: BSD-3-Clause
#include "ops/queue/host_messages.hpp"

#include <string>

#include "generated/operations.hpp"
#include "ops/coll/call/host_trust.hpp"
#include "ops/datatype/held_type.hpp"
#include "ops/datatype/layout_of.hpp"
#include "wire/host.hpp"
#include "wire/status.hpp"

namespace sluice::ops::queue {
namespace {

class PlainMessage final : public PointMessage {
 public:
  using PointMessage::PointMessage;
  [[nodiscard]] Status hold() { return type_.hold(&given_.type); }

 private:
  [[nodiscard]] int start_transfer() override {
    return given_.is_send
               ? isend(given_.buffer, given_.count, given_.type, given_.peer, given_.tag, given_.comm, &request_)
               : irecv(given_.buffer, given_.count, given_.type, given_.peer, given_.tag, given_.comm, &request_);
  }
  [[nodiscard]] bool test_transfer(int *code, MPI_Status *status) override {
    return test_request(&request_, code, status);
  }

  HeldType type_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

class CollectiveMessage final : public Message {
 public:
  CollectiveMessage(const CollectiveArguments &given, MemoryKind kind) noexcept
      : Message(given.operation, given.comm, kind), given_(given) {}

  [[nodiscard]] Status hold() {
    // MPI's own operations take MPI's own types alone, which nobody frees (and of which Sluice does not know all).
    if (given_.operation == Operation::kEnqueueAllreduce && !coll::is_by_own_operation(given_.op)) return {};
    if (given_.send_type != MPI_DATATYPE_NULL && given_.send_buf != MPI_IN_PLACE) {
      if (Status status = send_type_.hold(&given_.send_type); !status.is_ok()) return status;
    }
    return given_.recv_type != MPI_DATATYPE_NULL ? recv_type_.hold(&given_.recv_type) : Status();
  }

 private:
  [[nodiscard]] int start_transfer() override {
    const CollectiveArguments &g = given_;
    switch (g.operation) {
      case Operation::kEnqueueAllreduce:
        return iallreduce(g.send_buf, g.recv_buf, g.recv_count, g.recv_type, g.op, g.comm, &request_);
      case Operation::kEnqueueBcast:
        return ibcast(g.recv_buf, g.recv_count, g.recv_type, g.root, g.comm, &request_);
      case Operation::kEnqueueAllgather:
        return iallgather(g.send_buf, g.send_count, g.send_type, g.recv_buf, g.recv_count, g.recv_type, g.comm,
                          &request_);
      default:
        return wire::host().MPI_Ibarrier(g.comm, &request_);
    }
  }
  [[nodiscard]] bool test_transfer(int *code, MPI_Status *status) override {
    return test_request(&request_, code, status);
  }
  [[nodiscard]] std::string describe() const override { return std::string(name(given_.operation)); }
  [[nodiscard]] std::uint64_t payload_bytes(const MPI_Status & /*status*/) const override {
    int size_bytes = 0;
    if (given_.recv_type == MPI_DATATYPE_NULL ||
        wire::host().MPI_Type_size(given_.recv_type, &size_bytes) != MPI_SUCCESS) {
      return 0;
    }
    return static_cast<std::uint64_t>(size_bytes) * static_cast<std::uint64_t>(given_.recv_count);
  }

  CollectiveArguments given_;
  HeldType send_type_;
  HeldType recv_type_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

Status check_collective(const CollectiveArguments &given) {
  if (given.comm == MPI_COMM_NULL) {
    return Status::error(ErrorKind::kInvalidArgument,
                         "the queue was made without a communicator (SLUICE_QUEUE_VENDOR_FORM), and a collective "
                         "operation goes on its queue's; make the queue by MPIX_Create_queue(comm, stream, &queue)");
  }
  int is_inter = 0;
  int size = 0;
  const wire::Host &host = wire::host();
  if (host.MPI_Comm_test_inter(given.comm, &is_inter) != MPI_SUCCESS ||
      host.MPI_Comm_size(given.comm, &size) != MPI_SUCCESS) {
    return Status::error(ErrorKind::kInvalidArgument,
                         "the queue's communicator is none any more; free the communicator after the queue");
  }
  if (is_inter != 0) {
    return Status::error(ErrorKind::kInvalidArgument,
                         "collective operations of queues go within one group, and the queue's communicator is an "
                         "intercommunicator; make the queue with an intracommunicator");
  }
  const auto is_bad_type = [](MPI_Datatype type) { return type != MPI_DATATYPE_NULL && !is_valid(type); };
  if (given.send_count < 0 || given.recv_count < 0 || given.root < 0 || given.root >= size ||
      is_bad_type(given.send_type) || is_bad_type(given.recv_type)) {
    return Status::error(ErrorKind::kInvalidArgument,
                         "a count is negative, the root is no rank of the queue's communicator, or a datatype is none "
                         "or not committed; give counts from 0 on, a rank of it, and committed datatypes");
  }
  return {};
}

// Where the buffers lie: both on the stream's device, or the host's.
Status classify_collective(const CollectiveArguments &given, const device::Stream &stream, MemoryKind *kind) {
  // Only read here.
  auto *send_buf = const_cast<void *>(given.send_buf);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  const Arguments sent{true, send_buf, given.send_count, given.send_type, 0, 0, given.comm};
  const Arguments received{false, given.recv_buf, given.recv_count, given.recv_type, 0, 0, given.comm};
  for (const Arguments &side : {sent, received}) {
    if (side.type == MPI_DATATYPE_NULL || side.buffer == MPI_IN_PLACE) continue;
    transfer::Region region;
    if (Status status = classify_buffer(side, stream, &region); !status.is_ok()) return status;
    if (region.place.kind == MemoryKind::kDevice) *kind = MemoryKind::kDevice;
  }
  return {};
}

class PersistentMessage final : public Message {
 public:
  PersistentMessage(MPI_Request persistent, MPI_Comm comm) noexcept
      : Message(std::nullopt, comm, MemoryKind::kHost), persistent_(persistent) {}

 private:
  [[nodiscard]] int start_transfer() override { return start(&persistent_); }
  [[nodiscard]] bool test_transfer(int *code, MPI_Status *status) override {
    return test_request(&persistent_, code, status);
  }
  [[nodiscard]] std::string describe() const override { return "a persistent operation"; }
  [[nodiscard]] std::uint64_t payload_bytes(const MPI_Status & /*status*/) const override { return 0; }

  MPI_Request persistent_;
};

}  // namespace

bool test_request(MPI_Request *request, int *code, MPI_Status *status) {
  int is_done = 0;
  *code = test(request, &is_done, status);
  return *code != MPI_SUCCESS || is_done != 0;
}

Status make_plain_message(const Arguments &given, const transfer::Region &region, MessagePtr *message) {
  return make_holding<PlainMessage>(message, given, region);
}

Status make_collective_message(const CollectiveArguments &given, const device::Stream &stream, MessagePtr *message) {
  MemoryKind kind = MemoryKind::kHost;
  if (Status status = check_collective(given); !status.is_ok()) return status;
  if (Status status = classify_collective(given, stream, &kind); !status.is_ok()) return status;
  return make_holding<CollectiveMessage>(message, given, kind);
}

Status make_persistent_message(MPI_Request persistent, MPI_Comm comm, MessagePtr *message) {
  if (persistent == MPI_REQUEST_NULL) {
    return Status::error(ErrorKind::kInvalidArgument,
                         "the persistent request is MPI_REQUEST_NULL; make one (MPI_Send_init, MPI_Recv_init, ...)");
  }
  // What is not started has an empty status at once.
  int is_inactive = 0;
  MPI_Status shown = {};
  wire::clear(&shown);
  if (request_get_status(persistent, &is_inactive, &shown) != MPI_SUCCESS || is_inactive == 0) {
    return Status::error(ErrorKind::kInvalidArgument,
                         "a queue takes a persistent request that is not started, or whose last start is complete, and "
                         "this one is active; complete it first (MPI_Wait)");
  }
  *message = std::make_shared<PersistentMessage>(persistent, comm);
  return {};
}

}  // namespace sluice::ops::queue

// SPDX-License-Identifier: BSD-3-Clause
#include "ops/queue/collectives.hpp"

#include <string>
#include <utility>

#include "generated/operations.hpp"
#include "ops/coll/call/host_trust.hpp"
#include "ops/datatype/layout_of.hpp"
#include "ops/queue/held_type.hpp"
#include "wire/host.hpp"

namespace sluice::ops::queue {
namespace {

class CollectiveCarrier final : public Carrier {
 public:
  explicit CollectiveCarrier(const CollectiveArguments &given) noexcept : given_(given) {}

  [[nodiscard]] Status hold() {
    // MPI's own operations take MPI's own types alone, which nobody frees (and of which Sluice does not know all).
    if (given_.operation == Operation::kEnqueueAllreduce && !coll::is_by_own_operation(given_.op)) return {};
    if (given_.send_type != MPI_DATATYPE_NULL && given_.send_buf != MPI_IN_PLACE) {
      if (Status status = send_type_.hold(&given_.send_type); !status.is_ok()) return status;
    }
    return given_.recv_type != MPI_DATATYPE_NULL ? recv_type_.hold(&given_.recv_type) : Status();
  }

  [[nodiscard]] int begin() override {
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
  [[nodiscard]] bool poll(int *code, MPI_Status *status) override {
    int is_done = 0;
    *code = test(&request_, &is_done, status);
    return *code != MPI_SUCCESS || is_done != 0;
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

 private:
  CollectiveArguments given_;
  HeldType send_type_;
  HeldType recv_type_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

}  // namespace

Status check_collective(const CollectiveArguments &given, const MPI_Request *request) {
  if (request == nullptr) return Status::error(ErrorKind::kInvalidArgument, "the pointer to the request is null");
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
    return Status::error(ErrorKind::kInvalidArgument, "the queue's communicator is none any more");
  }
  if (is_inter != 0) {
    return Status::error(ErrorKind::kInvalidArgument,
                         "collective operations of queues go within one group; this is an intercommunicator");
  }
  const auto is_bad_type = [](MPI_Datatype type) { return type != MPI_DATATYPE_NULL && !is_valid(type); };
  if (given.send_count < 0 || given.recv_count < 0 || given.root < 0 || given.root >= size ||
      is_bad_type(given.send_type) || is_bad_type(given.recv_type)) {
    return Status::error(ErrorKind::kInvalidArgument,
                         "a count is negative, the root is no rank of the queue's communicator, or a datatype is none "
                         "or not committed");
  }
  return {};
}

Status make_collective_carrier(const CollectiveArguments &given, CarrierPtr *carrier) {
  auto made = std::make_unique<CollectiveCarrier>(given);
  if (Status status = made->hold(); !status.is_ok()) return status;
  *carrier = std::move(made);
  return {};
}

}  // namespace sluice::ops::queue

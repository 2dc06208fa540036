// SPDX-License-Identifier: BSD-3-Clause
#include "ops/queue/persistent.hpp"

#include "generated/operations.hpp"
#include "wire/status.hpp"

namespace sluice::ops::queue {
namespace {

class PersistentCarrier final : public Carrier {
 public:
  explicit PersistentCarrier(MPI_Request persistent) noexcept : persistent_(persistent) {}

  [[nodiscard]] int begin() override { return start(&persistent_); }
  [[nodiscard]] bool poll(int *code, MPI_Status *status) override {
    int is_done = 0;
    *code = test(&persistent_, &is_done, status);
    return *code != MPI_SUCCESS || is_done != 0;
  }
  [[nodiscard]] std::string describe() const override { return "a persistent operation"; }
  [[nodiscard]] std::uint64_t payload_bytes(const MPI_Status & /*status*/) const override { return 0; }

 private:
  MPI_Request persistent_;
};

}  // namespace

Status check_persistent(MPI_Request persistent, const MPI_Request *request) {
  if (request == nullptr) return Status::error(ErrorKind::kInvalidArgument, "the pointer to the request is null");
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
                         "the request is active; a queue takes a persistent one that is not started, or whose last "
                         "start is complete");
  }
  return {};
}

CarrierPtr make_persistent_carrier(MPI_Request persistent) {
  return std::make_unique<PersistentCarrier>(persistent);
}

}  // namespace sluice::ops::queue

// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include "generated/operations.hpp"
#include "ops/queue/carrier.hpp"
#include "ops/queue/held_type.hpp"
#include "wire/host.hpp"
#include "wire/status.hpp"

namespace sluice::ops::queue {
namespace {

class PlainCarrier final : public Carrier {
 public:
  explicit PlainCarrier(const Arguments &given) noexcept : given_(given) {}
  [[nodiscard]] Status hold() { return type_.hold(&given_.type); }

  [[nodiscard]] int begin() override {
    return given_.is_send
               ? isend(given_.buffer, given_.count, given_.type, given_.peer, given_.tag, given_.comm, &request_)
               : irecv(given_.buffer, given_.count, given_.type, given_.peer, given_.tag, given_.comm, &request_);
  }
  [[nodiscard]] bool poll(int *code, MPI_Status *status) override {
    int is_done = 0;
    *code = test(&request_, &is_done, status);
    return *code != MPI_SUCCESS || is_done != 0;
  }
  [[nodiscard]] std::string describe() const override {
    return fmt::format("{} {}, tag {}", given_.is_send ? "to" : "from", given_.peer, given_.tag);
  }
  [[nodiscard]] std::uint64_t payload_bytes(const MPI_Status &status) const override {
    if (!given_.is_send) return wire::received_bytes(status);
    int size_bytes = 0;
    if (wire::host().MPI_Type_size(given_.type, &size_bytes) != MPI_SUCCESS) return 0;
    return static_cast<std::uint64_t>(size_bytes) * static_cast<std::uint64_t>(given_.count);
  }

 private:
  Arguments given_;
  HeldType type_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

}  // namespace

Status make_plain_carrier(const Arguments &given, CarrierPtr *carrier) {
  auto made = std::make_unique<PlainCarrier>(given);
  if (Status status = made->hold(); !status.is_ok()) return status;
  *carrier = std::move(made);
  return {};
}

}  // namespace sluice::ops::queue

// SPDX-License-Identifier: BSD-3-Clause
#include "ops/queue/copied_messages.hpp"

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "device/copy.hpp"
#include "device/staging_pool.hpp"
#include "generated/operations.hpp"
#include "ops/coll/call/host_trust.hpp"
#include "ops/datatype/held_type.hpp"
#include "ops/datatype/layout_of.hpp"
#include "wire/host.hpp"

namespace sluice::ops::queue {
namespace {

// Pinned memory for a stream of that device; StagingLease::is_pooled() says whether there was any.
void take_pinned(const device::Place &place, std::uint64_t size_bytes, device::StagingLease *lease) {
  const device::StagingSource source{place.backend, place.device, StagingMemory::kRuntime};
  const Status status = device::StagingPool::process().acquire(source, size_bytes, lease);
  if (!status.is_ok()) log::debug("ops", "a message goes by the thread: " + status.message());
}

// A receive's pinned memory first gets what the buffer has, because the whole of it is copied back, however long the
// message is.
class CopiedMessage final : public PointMessage {
 public:
  CopiedMessage(const Arguments &given, const transfer::Region &region) noexcept
      : PointMessage(given, region), place_(region.place) {}
  // Errors: the host MPI refuses to hold the datatype. Without memory is_open() says no.
  [[nodiscard]] Status hold() {
    take_pinned(place_, flat_.size_bytes(), &lease_);
    return is_open() ? type_.hold(&given_.type) : Status();
  }
  [[nodiscard]] bool is_open() const noexcept { return lease_.is_pooled(); }

  void plan_copies(std::vector<sluice_copy_t> *copies) override {
    copies->push_back({lease_.data(), flat_.origin(), flat_.size_bytes()});
  }
  [[nodiscard]] bool plan_back(sluice_copy_t *copy) override {
    Taker nobody = Taker::kNobody;
    if (given_.is_send || !taker_.compare_exchange_strong(nobody, Taker::kStream)) return false;
    *copy = {flat_.origin(), lease_.data(), flat_.size_bytes()};
    return true;
  }
  void back_refused() noexcept override { taker_.store(Taker::kNobody); }
  [[nodiscard]] Status land(std::uint64_t size_bytes) override {
    Taker nobody = Taker::kNobody;
    if (given_.is_send || size_bytes == 0 || !taker_.compare_exchange_strong(nobody, Taker::kHost)) return {};
    return device::copy(place_, flat_.origin(), lease_.data(), size_bytes);
  }

 private:
  enum class Taker : std::uint8_t { kNobody, kStream, kHost };

  // A send goes past Sluice: its pinned memory would be taken for the program's, and go by way of the device.
  [[nodiscard]] int start_transfer() override {
    std::byte *buffer = transfer::at(lease_.data(), static_cast<std::byte *>(given_.buffer) - flat_.origin());
    return given_.is_send ? wire::host().MPI_Isend(buffer, given_.count, given_.type, given_.peer, given_.tag,
                                                   given_.comm, &request_)
                          : irecv(buffer, given_.count, given_.type, given_.peer, given_.tag, given_.comm, &request_);
  }
  [[nodiscard]] bool test_transfer(int *code, MPI_Status *status) override {
    return test_request(&request_, code, status);
  }

  const device::Place place_;
  device::StagingLease lease_;
  HeldType type_;
  std::atomic<Taker> taker_{Taker::kNobody};
  MPI_Request request_ = MPI_REQUEST_NULL;
};

// Pinned memory for what the rank gives, and behind it for the result. MPI_IN_PLACE stays so, and has the second only.
class CopiedReduction final : public Message {
 public:
  CopiedReduction(const CollectiveArguments &given, const transfer::Region &result) noexcept
      : Message(given.operation, given.comm, result.place.kind),
        given_(given),
        place_(result.place),
        size_bytes_(result.span_bytes()),
        offset_((size_bytes_ + kLine - 1) / kLine * kLine) {}
  [[nodiscard]] Status hold() {
    take_pinned(place_, offset_ + size_bytes_, &lease_);
    return is_open() && coll::is_by_own_operation(given_.op) ? type_.hold(&given_.recv_type) : Status();
  }
  [[nodiscard]] bool is_open() const noexcept { return lease_.is_pooled(); }

  void plan_copies(std::vector<sluice_copy_t> *copies) override {
    if (!is_in_place()) copies->push_back({lease_.data(), given_.send_buf, size_bytes_});
    copies->push_back({result(), given_.recv_buf, size_bytes_});  // all of it is copied back, gaps and what is left
  }
  [[nodiscard]] bool plan_back(sluice_copy_t *copy) override {
    *copy = {given_.recv_buf, result(), size_bytes_};
    return true;
  }

 private:
  [[nodiscard]] bool is_in_place() const noexcept { return given_.send_buf == MPI_IN_PLACE; }
  [[nodiscard]] std::byte *result() const noexcept { return lease_.data() + offset_; }

  [[nodiscard]] int start_transfer() override {
    const void *own = is_in_place() ? MPI_IN_PLACE : lease_.data();
    return iallreduce(own, result(), given_.recv_count, given_.recv_type, given_.op, given_.comm, &request_);
  }
  [[nodiscard]] bool test_transfer(int *code, MPI_Status *status) override {
    return test_request(&request_, code, status);
  }
  [[nodiscard]] std::string describe() const override { return std::string(name(given_.operation)); }
  [[nodiscard]] std::uint64_t payload_bytes(const MPI_Status & /*status*/) const override { return size_bytes_; }

  CollectiveArguments given_;
  const device::Place place_;
  static constexpr std::uint64_t kLine = 64;
  const std::uint64_t size_bytes_;
  const std::uint64_t offset_;  // of the result: aligned for any element
  device::StagingLease lease_;
  HeldType type_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

// Elements one behind the other from the address on: MPI's own types may have gaps within an element.
bool is_one_array(const transfer::Region &region) noexcept {
  return region.first_byte() == 0 && region.span_bytes() != 0 &&
         (region.layout->is_contiguous || region.layout->end_byte <= region.layout->extent_bytes);
}

}  // namespace

Status make_copied_reduction(const CollectiveArguments &given, const device::Stream &stream, MessagePtr *checked) {
  transfer::LayoutPtr named;
  if (!named_layout(given.recv_type, &named)) return {};
  const Arguments received{false, given.recv_buf, given.recv_count, given.recv_type, 0, 0, given.comm};
  // Only read here.
  auto *send_buf = const_cast<void *>(given.send_buf);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  const Arguments sent{true, send_buf, given.send_count, given.send_type, 0, 0, given.comm};
  for (const Arguments &side : {sent, received}) {
    if (side.buffer == MPI_IN_PLACE) continue;
    transfer::Region region;
    if (Status status = classify_buffer(side, stream, &region); !status.is_ok()) return status;
    if (region.place.kind != MemoryKind::kDevice || !is_one_array(region)) return {};
    if (side.is_send) continue;
    auto made = std::make_shared<CopiedReduction>(given, region);
    if (Status status = made->hold(); !status.is_ok()) return status;
    if (made->is_open()) *checked = std::move(made);
  }
  return {};
}

bool can_be_copied(const transfer::Region &region, const device::Stream &stream) noexcept {
  return region.place.kind == MemoryKind::kDevice && region.layout->is_contiguous && region.size_bytes() != 0 &&
         region.place.backend == &stream.backend() && region.place.device == stream.device();
}

Status make_copied_message(const Arguments &given, const transfer::Region &region, MessagePtr *message) {
  auto made = std::make_shared<CopiedMessage>(given, region);
  if (Status status = made->hold(); !status.is_ok()) return status;
  if (made->is_open()) *message = std::move(made);
  return {};
}

}  // namespace sluice::ops::queue

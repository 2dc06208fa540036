// SPDX-License-Identifier: BSD-3-Clause
// What a library says of itself is not believed (libfabric's shm claims memory of devices where there is none): a
// message of this process to itself has to come as it was sent.
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "device/copy.hpp"
#include "device/device_memory.hpp"
#include "network/network.hpp"

namespace sluice::network {
namespace {

// Longer than what libraries carry inside a header, so that it goes the way of data.
constexpr std::size_t kBytes = std::size_t{64} << 10;
constexpr int kSelf = -1;                          // a number that no rank has
constexpr std::uint64_t kTag = ~std::uint64_t{0};  // a tag that no message has
constexpr std::chrono::seconds kLongest{10};

using Block = std::array<std::byte, kBytes>;

Status failed(const char *what) {
  return Status::error(ErrorKind::kBackend, fmt::format("a trial message {}; set SLUICE_NETWORK=off", what));
}

// The memory of a trial, and whether a library may still use it.
struct Trial {
  device::DeviceMemory out;
  device::DeviceMemory in;
  bool is_in_use = false;
};

// Polls until `transfer` has ended. Errors: its own; it took too long. *is_in_use: it has not ended even so.
Status finish(Transfer *transfer, std::chrono::steady_clock::time_point deadline, bool *is_in_use) {
  constexpr std::chrono::seconds kToCancel{1};
  Status outcome;
  bool is_cancelled = false;
  while (!transfer->poll(&outcome)) {
    const auto now = std::chrono::steady_clock::now();
    if (now < deadline) continue;
    if (!is_cancelled) transfer->cancel();
    is_cancelled = true;
    if (now < deadline + kToCancel) continue;
    *is_in_use = true;
    break;
  }
  return is_cancelled ? failed("did not come within 10 seconds") : outcome;
}

// From one block of the trial to the other. Errors: the provider's.
Status carry(Provider *provider, const device::Place &whose, Trial *trial) {
  const Memory out{whose, trial->out.data(), kBytes};
  const Memory in{whose, trial->in.data(), kBytes};
  bool *const is_in_use = &trial->is_in_use;
  const auto deadline = std::chrono::steady_clock::now() + kLongest;
  std::unique_ptr<Transfer> receiving;
  if (Status status = provider->receive(in, kTag, &receiving); !status.is_ok()) return status;
  std::unique_ptr<Transfer> sending;
  Status sent;
  while (sent.is_ok() && sending == nullptr && std::chrono::steady_clock::now() < deadline) {
    sent = provider->send(out, kSelf, provider->address(), kTag, &sending);
  }
  if (!sent.is_ok() || sending == nullptr) {
    const Status cancelled = finish(receiving.get(), std::chrono::steady_clock::now(), is_in_use);
    return !sent.is_ok() ? sent : !cancelled.is_ok() ? failed("was not taken within 10 seconds") : cancelled;
  }
  // Both, whatever becomes of the other: each still names memory.
  const Status received = finish(receiving.get(), deadline, is_in_use);
  const Status ended = finish(sending.get(), deadline, is_in_use);
  return received.is_ok() ? ended : received;
}

}  // namespace

Status try_on(Provider *provider, const device::Place &place, bool *is_final) {
  *is_final = false;  // as long as the runtime, which may only have no memory now, is what refuses
  if (place.backend->table().device_alloc == nullptr) {
    *is_final = true;
    return Status::error(ErrorKind::kUnsupported,
                         "Sluice has no device memory of its own to try it with; set SLUICE_NETWORK=off");
  }
  auto trial = std::make_unique<Trial>();
  Status status = trial->out.acquire(place, kBytes);
  if (status.is_ok()) status = trial->in.acquire(place, kBytes);
  if (!status.is_ok()) return status;
  const auto pattern = std::make_unique<Block>();
  const auto came = std::make_unique<Block>();
  for (std::size_t i = 0; i < kBytes; ++i) (*pattern)[i] = static_cast<std::byte>(i * 7 + i / 251);
  came->fill(std::byte{0});
  const device::Place whose{MemoryKind::kDevice, place.backend, place.device_index(), 0};
  status = device::copy(whose, trial->out.data(), pattern->data(), kBytes);
  if (status.is_ok()) status = device::copy(whose, trial->in.data(), came->data(), kBytes);
  if (!status.is_ok()) return status;
  *is_final = true;
  if (!provider->takes({whose, trial->out.data(), kBytes})) {
    return Status::error(ErrorKind::kUnsupported,
                         "it takes this memory for memory of the host; install a library that was built for this "
                         "device, or set SLUICE_NETWORK=off");
  }
  status = carry(provider, whose, trial.get());
  if (status.is_ok()) status = device::copy(whose, came->data(), trial->in.data(), kBytes);
  if (status.is_ok() && *came != *pattern) status = failed("came changed");
  if (trial->is_in_use) [[maybe_unused]]
    const Trial *never_given_back = trial.release();
  return status;
}

}  // namespace sluice::network

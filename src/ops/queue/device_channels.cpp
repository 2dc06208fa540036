// SPDX-License-Identifier: BSD-3-Clause
// The engine `device`: which of a queue's messages go by channels (docs/adr/0033), or belong to a graph (0057).
#include "ops/queue/captured.hpp"
#include "ops/queue/channel_messages.hpp"
#include "ops/queue/channel_pairs.hpp"
#include "ops/queue/channels.hpp"
#include "ops/queue/engine.hpp"

namespace sluice::ops::queue {
namespace {

class DeviceChannels final : public Carriers {
 public:
  explicit DeviceChannels(const device::Stream &stream) noexcept : stream_(stream) {}
  [[nodiscard]] Route route() const noexcept override { return Route::kQueueDevice; }
  [[nodiscard]] Status carry(const Arguments &given, const device::Place &place, CarrierPtr *carrier) override;
  [[nodiscard]] Status capture(const Arguments &given, const device::Place &place, CarrierPtr *carrier) override;
  void turn() noexcept override { Channels::process().turn(); }
  [[nodiscard]] bool is_idle() override { return Channels::process().has_sent_all(); }
  [[nodiscard]] std::unique_lock<std::mutex> hold() override { return Channels::process().hold(); }

 private:
  const device::Stream &stream_;
  ChannelPairs pairs_;
};

Status DeviceChannels::carry(const Arguments &given, const device::Place &place, CarrierPtr *carrier) {
  bool is_reached = false;
  ChannelKey key;
  if (Status status = pairs_.find(given, &is_reached, &key); !status.is_ok() || !is_reached) return status;
  return make_channel_carrier(given, place, stream_, key, carrier);
}

Status DeviceChannels::capture(const Arguments &given, const device::Place &place, CarrierPtr *carrier) {
  bool is_reached = false;
  ChannelKey key;
  if (Status status = pairs_.find(given, &is_reached, &key); !status.is_ok()) return status;
  return make_captured_carrier(given, place, stream_, is_reached ? &key : nullptr, carrier);
}

}  // namespace

std::unique_ptr<Carriers> make_device_channels(const device::Stream &stream) {
  return std::make_unique<DeviceChannels>(stream);
}

}  // namespace sluice::ops::queue

// SPDX-License-Identifier: BSD-3-Clause
// The engine `device`: which of a queue's messages go by channels (docs/adr/0033), or belong to a graph (0057).
#include <utility>
#include <vector>

#include "ops/comm/comm_memo.hpp"
#include "ops/queue/carriers.hpp"
#include "ops/queue/channel_messages.hpp"
#include "ops/queue/channels.hpp"
#include "ops/queue/comm_number.hpp"
#include "wire/channel.hpp"

namespace sluice::ops::queue {
namespace {

class DeviceChannels final : public Carriers {
 public:
  explicit DeviceChannels(const device::Stream &stream) noexcept : stream_(stream) {}
  [[nodiscard]] bool can_wait() const noexcept override { return true; }
  [[nodiscard]] bool can_go_aside() const noexcept override { return true; }
  [[nodiscard]] bool can_capture() const noexcept override { return true; }
  [[nodiscard]] bool match_in_host() const noexcept override { return false; }
  [[nodiscard]] Status carry(const Arguments &given, const transfer::Region &region, MessagePtr *message) override;
  [[nodiscard]] Status carry_signal(const Arguments &given, const rma::WindowPtr &window,
                                    std::vector<MessagePtr> behind, MessagePtr *message) override;
  void turn() noexcept override { Channels::process().turn(); }
  [[nodiscard]] bool is_idle() override { return Channels::process().has_sent_all(); }
  [[nodiscard]] std::unique_lock<std::mutex> hold() override { return Channels::process().hold(); }

 private:
  // *key: the channel of `given`, where *is_reached. Hot for a pair that was found before; else some calls of the host
  // MPI, for whose lock a progress thread may be waited for. Errors: the communicator cannot be told from another one.
  [[nodiscard]] Status find_channel(const Arguments &given, bool *is_reached, ChannelKey *key);

  const device::Stream &stream_;
  struct Pair {
    MPI_Comm comm = MPI_COMM_NULL;
    int peer = MPI_PROC_NULL;
    ChannelKey key;  // but for the tag
  };
  // As many as a rank has neighbours in three dimensions, and some more.
  CommMemo<Pair, 32> reached_;
};

Status DeviceChannels::find_channel(const Arguments &given, bool *is_reached, ChannelKey *key) {
  const Pair *known =
      reached_.find([&](const Pair &pair) { return pair.comm == given.comm && pair.peer == given.peer; });
  *is_reached = known != nullptr;
  if (known != nullptr) {
    *key = known->key;
  } else {
    // One that is not reached is not kept: its communicator may be one without a state.
    if (!is_within_world(given, &key->peer) || !wire::Channel::process().is_local(key->peer)) return {};
    if (Status status = comm_number(given.comm, 32, &key->comm); !status.is_ok()) return status;
    *is_reached = true;
    reached_.keep({given.comm, given.peer, *key});
  }
  key->tag = given.tag;
  return {};
}

Status DeviceChannels::carry(const Arguments &given, const transfer::Region &region, MessagePtr *message) {
  bool is_reached = false;
  ChannelKey key;
  if (Status status = find_channel(given, &is_reached, &key); !status.is_ok()) return status;
  if (stream_.is_captured()) {
    return make_captured_message(given, region, stream_, is_reached ? &key : nullptr, message);
  }
  return is_reached ? make_channel_message(given, region, stream_, key, {}, message)
                    : Carriers::carry(given, region, message);
}

Status DeviceChannels::carry_signal(const Arguments &given, const rma::WindowPtr &window,
                                    std::vector<MessagePtr> behind, MessagePtr *message) {
  const bool is_other = given.peer >= 0 && given.peer != window->rank;
  const int world_rank = is_other ? window->world_ranks[static_cast<std::size_t>(given.peer)] : -1;
  const bool is_reached = is_other && wire::Channel::process().is_local(world_rank);
  if (!is_reached && !stream_.is_captured()) {
    return Carriers::carry_signal(given, window, std::move(behind), message);
  }
  const auto key = ChannelKey::of_signals(world_rank, window->number, window->world_ranks.front());
  {
    const std::scoped_lock lock(window->epochs_mutex);
    window->at_end = [key] { Channels::process().forget(key.comm, key.tag); };
  }
  transfer::Region nothing;
  nothing.layout = std::make_shared<transfer::Layout>(transfer::Layout::basic(1));
  if (!stream_.is_captured()) return make_channel_message(given, nothing, stream_, key, behind, message);
  return make_captured_message(given, nothing, stream_, is_reached ? &key : nullptr, message);
}

}  // namespace

std::unique_ptr<Carriers> make_device_channels(const device::Stream &stream) {
  return std::make_unique<DeviceChannels>(stream);
}

}  // namespace sluice::ops::queue

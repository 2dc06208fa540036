// SPDX-License-Identifier: BSD-3-Clause
#include "ops/queue/engine_exchange.hpp"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include "base/knobs.hpp"
#include "base/log.hpp"
#include "network/choice.hpp"
#include "ops/queue/channels.hpp"
#include "ops/queue/comm_number.hpp"
#include "wire/channel.hpp"
#include "wire/fabric.hpp"
#include "wire/host.hpp"
#include "wire/host_failure.hpp"

namespace sluice::ops::queue {
namespace {

// One rank's part of the exchange. Nothing of it is trusted but its length, which is bounded.
struct Card {
  std::uint32_t size_bytes = 0;  // 0: not reached there
  char address[wire::Fabric::kAddressBytes] = {};
};

Card own_card() {
  Card card;
  const Knobs &knobs = Knobs::process();
  wire::Fabric &fabric = wire::Fabric::process();
  const std::string &network = knobs.text("SLUICE_NETWORK");
  const std::string provider =
      network.starts_with(network::kFabricWord) ? network.substr(network::kFabricWord.size()) : "auto";
  if (const Status status = fabric.open(provider); !status.is_ok()) {
    log::warn("ops", "the engine dwq of queues is not there: " + status.message() +
                         "; messages of queues go by the engine thread");
    return card;
  }
  const std::string address = fabric.address();
  card.size_bytes = static_cast<std::uint32_t>(address.size());
  std::ranges::copy(address, card.address);
  return card;
}

// Which engines all ranks asked for by name; `channels`: or left to Sluice, where they may have queues.
struct Wanted {
  int dwq = 0;
  int device = 0;
  int channels = 0;
};

// All ranks named `device`; written before the first queue.
bool is_device_named = false;

// Collective over the channel, of every job that has one.
Wanted wanted_by_all(Wanted wanted) {
  const int code =
      wire::host().MPI_Allreduce(MPI_IN_PLACE, &wanted, 3, MPI_INT, MPI_MIN, wire::Channel::process().comm());
  return code == MPI_SUCCESS ? wanted : Wanted();
}

// Queues need that level of threads.
bool may_have_queues() {
  int provided = MPI_THREAD_SINGLE;
  return wire::host().MPI_Query_thread(&provided) == MPI_SUCCESS && provided == MPI_THREAD_MULTIPLE;
}

void close_fabric() noexcept {
  end_comm_numbers();
  wire::Fabric::process().close();
}

// Collective over the channel; opens something where all ranks asked for the engine dwq.
void open_fabric() {
  const wire::Channel &channel = wire::Channel::process();
  const Card card = own_card();
  std::vector<Card> cards(static_cast<std::size_t>(channel.size()));
  constexpr int kBytes = sizeof(Card);
  const int code = wire::host().MPI_Allgather(&card, kBytes, MPI_BYTE, cards.data(), kBytes, MPI_BYTE, channel.comm());
  std::vector<std::string> addresses(cards.size());
  for (std::size_t rank = 0; rank < cards.size() && code == MPI_SUCCESS; ++rank) {
    addresses[rank].assign(cards[rank].address, std::min<std::size_t>(cards[rank].size_bytes, sizeof card.address));
  }
  wire::Fabric &fabric = wire::Fabric::process();
  Status status;
  if (code != MPI_SUCCESS) status = wire::host_failure(code, "exchange addresses");
  if (status.is_ok() && fabric.is_open()) status = fabric.connect(addresses);
  if (status.is_ok() && fabric.is_open()) status = begin_comm_numbers();
  if (!status.is_ok()) log::error("ops", status.message());
  // The others count on those that gave an address: all of these can, or none does.
  const int is_good = status.is_ok() ? 1 : 0;
  if (wanted_by_all({is_good, 0, 0}).dwq != 0) return;
  log::warn("ops",
            "the engine dwq of queues is not there: a rank could not begin it; messages go by the engine thread");
  close_fabric();
}

}  // namespace

void open_engines() noexcept {
  try {
    const std::string &engine = Knobs::process().text("SLUICE_QUEUE_ENGINE");
    Wanted here = {engine == "dwq" ? 1 : 0, engine == "device" ? 1 : 0, 0};
    here.channels = here.device != 0 || (engine == "auto" && may_have_queues()) ? 1 : 0;
    Wanted agreed;
    if (wire::Channel::process().is_open()) agreed = wanted_by_all(here);
    if (agreed.dwq != 0) return open_fabric();
    is_device_named = agreed.device != 0;
    if (agreed.channels != 0) Channels::process().open();
    const bool is_named = here.dwq != 0 || here.device != 0;
    if (!is_named || agreed.device != 0) return;
    log::warn("ops", "the engine " + engine + " of queues is not there: not all ranks have SLUICE_QUEUE_ENGINE=" +
                         engine + ", or none can have device memory; messages of queues go by the engine thread");
  } catch (const std::exception &error) {
    log::error("ops", std::string("the engines of queues: ") + error.what());
  }
}

bool is_agreed_engine(plan::QueueEngine engine, bool is_named) noexcept {
  if (engine == plan::QueueEngine::kDevice) {
    return Channels::process().is_open() && (is_device_named || !is_named);
  }
  return engine == plan::QueueEngine::kDwq && wire::Fabric::process().is_open();
}

void close_engines() noexcept {
  try {
    Channels::process().close();
  } catch (const std::exception &error) {
    log::error("ops", std::string("the engine device of queues: ") + error.what());
  }
  close_fabric();
}

}  // namespace sluice::ops::queue

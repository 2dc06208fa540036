// SPDX-License-Identifier: BSD-3-Clause
// The messages of one pair of ranks.
#include "bench/doctor/pair_message.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <span>

#include "bench/doctor/pairs.hpp"
#include "bench/doctor/said_lines.hpp"
#include "bench/memory/pattern.hpp"
#include "bench/mpi/route_watch.hpp"

namespace sluice::bench::doctor {
namespace {

constexpr int kTag = 71;
constexpr int kShortRounds = 100;
constexpr int kLongRounds = 10;
// A sender learns with its first messages that the receiver has device memory; these are staged.
constexpr int kFirstRounds = 10;

// How often each mechanism was refused so far in this process.
std::map<std::string, std::uint64_t> refusals() {
  const Json document = library_statistics();
  if (document.is_discarded() || !document.contains("fallbacks")) return {};
  return document.at("fallbacks").get<std::map<std::string, std::uint64_t>>();
}

void send(const PairMemory &memory, const World &world, int peer, std::uint64_t size_bytes) {
  check_mpi(MPI_Send(memory.outgoing(), static_cast<int>(size_bytes), MPI_BYTE, peer, kTag, world.communicator()),
            "MPI_Send");
}

void receive(const PairMemory &memory, const World &world, int peer, std::uint64_t size_bytes) {
  check_mpi(MPI_Recv(memory.incoming(), static_cast<int>(size_bytes), MPI_BYTE, peer, kTag, world.communicator(),
                     MPI_STATUS_IGNORE),
            "MPI_Recv");
}

// Sends first where this rank is the smaller one, and receives first where it is the larger.
template <class Send, class Receive>
void in_order(const World &world, int peer, const Send &send_one, const Receive &receive_one) {
  if (world.rank() < peer) {
    send_one();
    receive_one();
  } else {
    receive_one();
    send_one();
  }
}

struct Checked {
  std::string route;  // by which the message came
  bool is_right = false;
};

Checked check_one(PairMemory &memory, const World &world, int peer, std::uint64_t size_bytes) {
  const std::span host(memory.host().data(), size_bytes);
  const Pattern sent(static_cast<std::uint32_t>(world.rank()), size_bytes, 0);
  const Pattern wanted(static_cast<std::uint32_t>(peer), size_bytes, 0);
  wanted.poison(host);
  memory.module().copy(memory.incoming(), host.data(), size_bytes);
  sent.fill(host);
  memory.module().copy(memory.outgoing(), host.data(), size_bytes);
  memory.module().synchronize();

  Checked checked;
  RouteWatch watch(SLUICE_MEMORY_DEVICE, SLUICE_MEMORY_DEVICE);
  in_order(
      world, peer, [&] { send(memory, world, peer, size_bytes); },
      [&] {
        if (watch.is_there()) watch.begin();
        receive(memory, world, peer, size_bytes);
        if (watch.is_there()) checked.route = describe(watch.end());
      });
  memory.module().copy(host.data(), memory.incoming(), size_bytes);
  checked.is_right = wanted.find_error(host).empty();
  return checked;
}

// So many messages in each direction.
void play(const PairMemory &memory, const World &world, int peer, std::uint64_t size_bytes, int n_rounds) {
  for (int i = 0; i < n_rounds; ++i) {
    in_order(
        world, peer, [&] { send(memory, world, peer, size_bytes); }, [&] { receive(memory, world, peer, size_bytes); });
  }
}

// Of one message, in microseconds: half of a round trip, the mean of so many.
double time_us(const PairMemory &memory, const World &world, int peer, std::uint64_t size_bytes, int n_rounds) {
  play(memory, world, peer, size_bytes, n_rounds / 4);
  const auto begin = std::chrono::steady_clock::now();
  play(memory, world, peer, size_bytes, n_rounds);
  const std::chrono::duration<double, std::micro> passed = std::chrono::steady_clock::now() - begin;
  return passed.count() / (2.0 * n_rounds);
}

}  // namespace

PairMemory::PairMemory(const std::string &folder, const std::string &backend, int local_rank, std::uint64_t size_bytes)
    : module_([&] {
        DeviceModule module(folder, backend);
        module.select(static_cast<std::int32_t>(local_rank) % module.n_devices());
        return module;
      }()),
      outgoing_(Buffer::program_memory(&module_, SLUICE_MEMORY_DEVICE, size_bytes)),
      incoming_(Buffer::program_memory(&module_, SLUICE_MEMORY_DEVICE, size_bytes)),
      host_(size_bytes) {}

bool PairMemory::can_be_exported() const {
  const auto &table = module_.table();
  return table.device_traits == nullptr || (table.device_traits(module_.device()) & SLUICE_DEVICE_NO_EXPORT) == 0;
}

Json exchange(PairMemory &memory, const World &world, int peer) {
  const std::map<std::string, std::uint64_t> before = refusals();
  SaidLines said;
  play(memory, world, peer, kShortBytes, kFirstRounds);
  play(memory, world, peer, kLongBytes, kFirstRounds / 4);
  const Checked short_one = check_one(memory, world, peer, kShortBytes);
  const Checked long_one = check_one(memory, world, peer, kLongBytes);
  const double short_us = time_us(memory, world, peer, kShortBytes, kShortRounds);
  const double long_us = time_us(memory, world, peer, kLongBytes, kLongRounds);
  const std::vector<std::string> warnings = said.take();

  Json refused = Json::array();
  for (const auto &[reason, count] : refusals()) {
    const auto known = before.find(reason);
    if (known == before.end() || known->second < count) refused.push_back(reason);
  }
  Json side = {{"rank", world.rank()},
               {"device", memory.device()},
               {"short_route", short_one.route},
               {"long_route", long_one.route},
               {"is_right", short_one.is_right && long_one.is_right},
               {"fallbacks", refused},
               {"warnings", warnings}};
  if (world.rank() < peer) {
    side["latency_us"] = short_us;
    side["bandwidth_gb_per_s"] = static_cast<double>(kLongBytes) / long_us / 1e3;
  }
  return side;
}

}  // namespace sluice::bench::doctor

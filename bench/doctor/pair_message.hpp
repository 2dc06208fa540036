// SPDX-License-Identifier: BSD-3-Clause
// The messages of one pair of ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/doctor/findings.hpp"
#include "bench/memory/buffer.hpp"
#include "bench/memory/device_module.hpp"
#include "bench/mpi/world.hpp"

namespace sluice::bench::doctor {

// Device memory to send from and to receive in, of one device. One thread.
class PairMemory {
 public:
  // The device is the one at `local_rank`, counted round. Throws DeviceError.
  PairMemory(const std::string &folder, const std::string &backend, int local_rank, std::uint64_t size_bytes);

  PairMemory(const PairMemory &) = delete;
  PairMemory &operator=(const PairMemory &) = delete;
  ~PairMemory() = default;

  std::int32_t device() const { return module_.device(); }
  // False for a device none of whose memory any other process can reach.
  bool can_be_exported() const;
  std::byte *outgoing() const { return outgoing_.data(); }
  std::byte *incoming() const { return incoming_.data(); }
  // Host memory as long as one of them.
  std::vector<std::byte> &host() { return host_; }
  DeviceModule &module() { return module_; }

 private:
  DeviceModule module_;
  Buffer outgoing_;
  Buffer incoming_;
  std::vector<std::byte> host_;
};

// Sends messages to the peer and receives as many; the peer does the same. The smaller rank sends first. Returns this
// side: the routes by which its messages came, whether their bytes were right, the mechanisms that were refused, what
// the library warned of, and, at the smaller rank, latency and bandwidth. Throws MpiError and DeviceError.
Json exchange(PairMemory &memory, const World &world, int peer);

}  // namespace sluice::bench::doctor

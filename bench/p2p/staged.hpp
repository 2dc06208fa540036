// SPDX-License-Identifier: BSD-3-Clause
// What a program does by hand: the paper's naive baseline (copy down, MPI on host memory, copy up, with the vendor's
// plain blocking copy), or packing, MPI on contiguous memory, unpacking.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bench/cli/family_options.hpp"
#include "bench/memory/staging_place.hpp"
#include "bench/p2p/calls.hpp"

namespace sluice::bench {

// The functions of SomeCalls on messages that are moved through a StagingPlace. In a window each message has its own
// staging memory, and a received message is copied up while later ones arrive.
template <class SomeCalls>
class Staged {
 public:
  // Allocates the staging memory: throws DeviceError. module and type outlive this.
  Staged(const StagingPlace &place, Slots slots, const MessageType &type, const FamilyOptions &options)
      : place_(place), size_bytes_(type.size_bytes()), device_(std::move(slots)), host_(add_staging(), type, options) {}

  std::size_t n_sends() const { return host_.n_sends(); }
  std::size_t n_recvs() const { return host_.n_recvs(); }
  void send(std::size_t slot) {
    stage_down(slot);
    host_.send(slot);
  }
  void recv(std::size_t slot) {
    host_.recv(slot);
    stage_up(slot);
  }
  void start_send(std::size_t slot) {
    stage_down(slot);
    host_.start_send(slot);
  }
  void start_recv(std::size_t slot) { host_.start_recv(slot); }
  void finish_sends() { host_.finish_sends(); }
  void finish_recvs() {
    if (!place_.is_staged()) {
      host_.finish_recvs();
      return;
    }
    for (std::size_t slot = 0; slot < device_.recv.size(); ++slot) {
      host_.finish_recv(slot);
      stage_up(slot);
    }
  }
  std::string verify_statuses() const { return host_.verify_statuses(); }

 private:
  Slots add_staging() {
    Slots staged = device_;
    if (place_.is_staged()) {
      for (std::vector<void *> *pointers : {&staged.send, &staged.recv}) {
        const std::size_t n = pointers->size();
        memory_.push_back(place_.allocate(size_bytes_, n));
        *pointers = staging_pointers(memory_.back(), size_bytes_, n);
      }
    }
    staged_ = staged;
    return staged;
  }
  void stage_down(std::size_t slot) {
    if (place_.is_staged()) {
      place_.stage_down(staged_.send[slot], device_.send[slot], size_bytes_);
    }
  }
  void stage_up(std::size_t slot) {
    if (place_.is_staged()) {
      place_.stage_up(device_.recv[slot], staged_.recv[slot], size_bytes_);
    }
  }

  StagingPlace place_;
  std::uint64_t size_bytes_;
  Slots device_;
  std::vector<Buffer> memory_;
  Slots staged_;
  SomeCalls host_;
};

}  // namespace sluice::bench

// SPDX-License-Identifier: BSD-3-Clause
// Fabric: libfabric, for messages that the network starts by itself when a counter says so (fi_trigger(3), deferred
// work). Loaded with dlopen when it is asked for; a build without libfabric's headers has none.
//
// It is asked for by SLUICE_QUEUE_ENGINE=dwq alone: for all else the host MPI is the only network (docs/adr/0034).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/status.hpp"

namespace sluice::wire {

// A number that counts up and starts deferred work on its way. One thread at a time, but for add().
class FabricTrigger {
 public:
  struct State;
  FabricTrigger() noexcept;
  ~FabricTrigger();
  FabricTrigger(const FabricTrigger &) = delete;
  FabricTrigger &operator=(const FabricTrigger &) = delete;
  FabricTrigger(FabricTrigger &&) = delete;
  FabricTrigger &operator=(FabricTrigger &&) = delete;

  // Errors: the provider refuses. Setup cost.
  [[nodiscard]] Status open();
  // Counts up by `by`; by 0 it has the provider look again at what it could not start for want of room. Any thread.
  // Errors: the provider refuses.
  [[nodiscard]] Status add(std::uint64_t by) const;

 private:
  friend class FabricMessage;
  std::unique_ptr<State> state_;
};

// One message. It may be destroyed while under way: what the provider holds of it lives until the fabric is closed. Not
// so the message's memory, which is the caller's to keep. One thread at a time.
class FabricMessage {
 public:
  struct State;
  // Complete, well or not, with what came of a receive.
  struct Outcome {
    Status error;  // kTruncated: `bytes` are what the receive has room for, and they are there
    std::uint64_t bytes = 0;
  };

  FabricMessage() noexcept;
  ~FabricMessage();
  FabricMessage(const FabricMessage &) = delete;
  FabricMessage &operator=(const FabricMessage &) = delete;
  FabricMessage(FabricMessage &&) = delete;
  FabricMessage &operator=(FabricMessage &&) = delete;

  // Gives the provider a send that goes when `trigger` has come to `number`. Sends of one trigger to one peer go in the
  // order of their numbers. `tag` has Fabric::tag_bits() bits. *is_taken false, and nothing given: the provider has no
  // room for it, or refuses (once warned); send it with send() when it is time. Errors: no counter for it.
  [[nodiscard]] Status defer_send(const FabricTrigger &trigger, std::uint64_t number, const void *data,
                                  std::size_t size_bytes, int world_rank, std::uint64_t tag, bool *is_taken);
  // Sends, and posts a receive, at once; *is_taken false: try again. Receives match in the order in which they were
  // posted. Within a turn. Errors: the provider refuses.
  [[nodiscard]] Status send(const void *data, std::size_t size_bytes, int world_rank, std::uint64_t tag,
                            bool *is_taken);
  [[nodiscard]] Status receive(void *data, std::size_t size_bytes, int world_rank, std::uint64_t tag, bool *is_taken);
  // Whether it is complete; once true. After Fabric::turn(); within a turn.
  [[nodiscard]] bool poll(Outcome *outcome);

 private:
  std::unique_ptr<State> state_;
};

// open(), connect() and close(): one thread, and no other is in here. All else: any thread, where nothing else is said.
class Fabric {
 public:
  struct State;
  static constexpr std::size_t kAddressBytes = 256;

  // The process's. Never destroyed.
  static Fabric &process();

  // Opens an endpoint of `provider` (auto: the first of cxi, sockets). Blocks. Errors: libfabric or its headers are
  // missing, it has no such provider, the provider cannot do deferred work, or refuses; then it is not open.
  [[nodiscard]] Status open(const std::string &provider);
  // Where others reach this process, of at most kAddressBytes.
  [[nodiscard]] std::string address() const;
  // Learns where the others are: one for each rank of MPI_COMM_WORLD, empty where it has none. Errors: an address that
  // the provider refuses.
  [[nodiscard]] Status connect(std::span<const std::string> addresses);

  // From a good open() to close().
  [[nodiscard]] bool is_open() const noexcept { return state_ != nullptr; }
  // Whether messages can go to and come from `world_rank`. Hot.
  [[nodiscard]] bool reaches(int world_rank) const noexcept;
  // Bits of a tag that the provider looks at.
  [[nodiscard]] unsigned tag_bits() const noexcept;
  [[nodiscard]] std::string provider() const;

  // Notes what has become complete. Within a turn.
  void turn() noexcept;
  // Ends everything, messages under way too: nothing reads or writes their memory any more. One thread; no other is in
  // here, and none of the messages is asked any more.
  void close() noexcept;

 private:
  friend class FabricTrigger;
  friend class FabricMessage;
  Fabric() noexcept;
  std::unique_ptr<State> state_;
};

}  // namespace sluice::wire

// SPDX-License-Identifier: BSD-3-Clause
// Provider: a library that moves memory of devices between processes of different nodes, as messages that their
// receiver has asked for.
//
// Messages, and no reads of registered memory: such a library chooses among its own protocols for a message (a read by
// the network card, blocks through the host, several cards at once), registers memory by itself, and notices when the
// program frees it. docs/adr/0087 has what was weighed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "device/place.hpp"

namespace sluice::network {

// The longest address of a process, in bytes; a provider with longer ones is not opened.
inline constexpr std::size_t kMostAddressBytes = 4096;

// One run of bytes of this process. It stays as it is, and with its owner, until the transfer that names it has ended.
struct Memory {
  device::Place place;  // of the first byte
  std::byte *data = nullptr;
  std::uint64_t size_bytes = 0;
};

// One message under way. Destroyed once it has ended, or with its provider closed. A send may go earlier, where nobody
// receives it: the library may read its memory a while longer. One thread at a time.
class Transfer {
 public:
  Transfer() noexcept = default;
  virtual ~Transfer() = default;
  Transfer(const Transfer &) = delete;
  Transfer &operator=(const Transfer &) = delete;
  Transfer(Transfer &&) = delete;
  Transfer &operator=(Transfer &&) = delete;

  // Goes on with all transfers of the provider, also after this one has ended: the other side may need that until its
  // own transfer has ended. True once this one has: then its memory is the caller's, and what was received is there for
  // the CPU and for every later command of a device. *outcome: how it ended, with the native text; kBackend for a
  // failure and for what was cancelled. Never blocks. Hot.
  [[nodiscard]] virtual bool poll(Status *outcome) = 0;
  // Has a receive end soon whose message does not come; it may have come meanwhile. poll() says when it has ended.
  virtual void cancel() noexcept = 0;
};

// Threads: any, for all of it.
class Provider {
 public:
  Provider() noexcept = default;
  // Ends everything: no transfer is asked any more, and no memory of one is used.
  virtual ~Provider() = default;
  Provider(const Provider &) = delete;
  Provider &operator=(const Provider &) = delete;
  Provider(Provider &&) = delete;
  Provider &operator=(Provider &&) = delete;

  // As SLUICE_NETWORK names it. Both sides of a message need the same.
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  // Where other processes reach this one: plain bytes, at most kMostAddressBytes.
  [[nodiscard]] virtual const std::string &address() const noexcept = 0;
  // Whether it takes memory of that sort, as far as it can say without trying (network.hpp tries). `memory` is there
  // during the call. May take milliseconds the first time.
  [[nodiscard]] virtual bool takes(const Memory &memory) = 0;

  // Sends to the process `peer` (a number of the caller's, always the same for one address), which has begun to receive
  // `tag`. Connects the first time. `address` may come from anybody: nonsense is an error and never a crash as far as
  // the library's own checks go. *transfer null without an error: not now; call again. Errors: the library refuses.
  [[nodiscard]] virtual Status send(const Memory &memory, int peer, std::string_view address, std::uint64_t tag,
                                    std::unique_ptr<Transfer> *transfer) = 0;
  // Receives the message with `tag`, of exactly that length. Each tag is used for one message at a time. Errors: the
  // library refuses.
  [[nodiscard]] virtual Status receive(const Memory &memory, std::uint64_t tag,
                                       std::unique_ptr<Transfer> *transfer) = 0;
};

// UCX. Any thread. Errors: kUnsupported: libucp cannot be loaded, or Sluice was built without its headers; kBackend: it
// refuses.
[[nodiscard]] Status open_ucp(std::unique_ptr<Provider> *provider);

// A network card in software between processes of one machine, for tests: it copies by the receiver's device, from the
// sender's memory, which it reaches by the group `ipc`. It believes every process of the user that finds its socket.
// What goes wrong between processes; what a process sends to itself arrives.
enum class Fault : std::uint8_t {
  kNone,
  kRefuses,  // every send is refused
  kBusy,     // no send is ever taken
  kFails,    // every transfer fails once it is matched
  kSlow      // every transfer takes some turns longer
};
// Any thread. Errors: kUnsupported: no socket.
[[nodiscard]] Status open_simulated(Fault fault, std::unique_ptr<Provider> *provider);

}  // namespace sluice::network

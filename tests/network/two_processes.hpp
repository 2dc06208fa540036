// SPDX-License-Identifier: BSD-3-Clause
// The two processes of the suite. The other one is spawned and never forked: a runtime may be up in this one.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "network/provider.hpp"
#include "tests/support/backend_module.hpp"
#include "tests/support/memory.hpp"

namespace sluice::tests::network_test {

// As the command line says; the other process is given the same.
struct Options {
  std::string provider = "simulated";
  std::string backend;  // "": memory of the host
  std::string module_dir;
  int peer_socket = -1;  // of the other process
};
Options &options();

inline constexpr auto kPatience = std::chrono::seconds(60);

// What one process asks of the other: it receives `n` messages with the tags from `tag` on, posted from the last to the
// first, and sends each back with kBack added to its tag.
struct Question {
  std::uint64_t tag = 0;
  std::uint64_t size_bytes = 0;
  std::uint64_t n = 0;  // 0: the other process is to end
};
inline constexpr std::uint64_t kBack = 1000;

// A provider of the sort that the options name, and memory for it.
class Site {
 public:
  // "" or why there is none; then `is_broken` says that this is no reason to skip.
  std::string open(bool *is_broken);
  [[nodiscard]] network::Provider &provider() const { return *provider_; }
  [[nodiscard]] Memory allocate(std::size_t size_bytes) const;
  // The memory as a provider takes it.
  [[nodiscard]] static network::Memory of(const Memory &memory, std::size_t size_bytes);
  // The number by which the provider knows that address.
  [[nodiscard]] int number_of(const std::string &address) const;

 private:
  const BackendModule *module_ = nullptr;
  std::unique_ptr<network::Provider> provider_;
  mutable std::vector<std::string> addresses_;
};

// Polls until it has ended; a test that waits longer than kPatience fails.
Status finish(network::Transfer *transfer);
// Sends to `address`, however often the provider has to be asked.
Status send(const Site &site, const network::Memory &memory, const std::string &address, std::uint64_t tag,
            std::unique_ptr<network::Transfer> *transfer);

// The other process, as this one sees it. Throws std::runtime_error.
class Peer {
 public:
  explicit Peer(const Site &site);
  ~Peer();
  Peer(const Peer &) = delete;
  Peer &operator=(const Peer &) = delete;
  Peer(Peer &&) = delete;
  Peer &operator=(Peer &&) = delete;

  [[nodiscard]] const std::string &address() const { return address_; }
  // Returns once its receives are posted.
  void ask(const Question &question) const;
  // Tells it that all messages of the question have ended here, and goes on with the library, of which `any` is a
  // message, until they have ended there, too.
  void end_together(network::Transfer *any) const;
  // Kills it.
  void kill() const;

 private:
  int pid_ = -1;
  int socket_ = -1;
  std::string address_;
};

// The part of the other process; its exit status.
int be_peer(const Site &site, int socket);

}  // namespace sluice::tests::network_test

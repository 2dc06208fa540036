// SPDX-License-Identifier: BSD-3-Clause
// Another process that uses the same module: this program once more, as a child that does what it is told over a pair
// of sockets. One line asks, one line answers: "ok <words>" or "<result code> <text>".
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "sluice/backend.h"

namespace conformance {

// What an export gave, in this process or in a peer.
struct Export {
  sluice_ipc_handle_t handle{};
  uint64_t base_offset = 0;
  uint64_t size_bytes = 0;
};

std::string to_hex(const sluice_ipc_handle_t &handle);
bool from_hex(const std::string &text, sluice_ipc_handle_t *handle);

// How many descriptors and mappings a process has.
struct Holdings {
  long n_descriptors = 0;
  long n_mappings = 0;
};
Holdings holdings();

struct Answer {
  sluice_result_t result = SLUICE_ERROR_NATIVE;
  std::string text;  // words of the answer, or what went wrong
  bool is_ok() const { return result == SLUICE_SUCCESS; }
};

// Owns the child; ends and reaps it at the end.
class Peer {
 public:
  Peer();
  ~Peer() { end(); }
  Peer(const Peer &) = delete;
  Peer &operator=(const Peer &) = delete;

  const std::string &problem() const { return problem_; }  // "" when the child runs
  // Asks and waits for the answer. A child that is gone is SLUICE_ERROR_NATIVE with a text that says so.
  Answer ask(const std::string &question) const;
  // "" when the answer is ok, else what it says.
  std::string order(const std::string &question) const;

  // Device memory of the peer, numbered from 0 in order of making.
  std::string alloc(int32_t device, size_t size_bytes) const;
  Answer export_memory(size_t index, size_t offset, Export *exported) const;
  // Opens a handle on the peer's device; mappings are numbered from 0 in order of opening.
  Answer open(int32_t device, const sluice_ipc_handle_t &handle) const;

  // Ends the child; its exit status, or -1 when it did not end by itself.
  int end();

 private:
  pid_t pid_ = -1;
  int socket_ = -1;
  std::string problem_;
};

// The child's side: answers until the other end closes. The exit status.
int run_peer(int socket);
// The option with which this program is such a child, followed by the number of the socket.
inline constexpr const char *kPeerOption = "--ipc-peer";
// What this program was started with, for starting it again.
void remember_arguments(const std::string &backend, const std::string &module_dir);

}  // namespace conformance

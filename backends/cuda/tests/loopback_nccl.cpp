// SPDX-License-Identifier: BSD-3-Clause
// A library of messages beside the loop-back driver, with the names and numbers of NCCL: ranks are joined by sockets,
// one for each pair, and what is sent moves in the driver's streams. It examines the calls of the module, not NCCL.
//
// LOOPBACK_NCCL is a list of words: `share`, ranks may share a device, which is refused else as NCCL does; `old`, the
// library says that it is an old one; `error`, every exchange is refused; `swap`, the first two parts that this rank
// gets change places; `short`, what this rank sends to others lacks its last byte.
#include "loopback_nccl.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

using namespace loopback::nccl;

namespace {

struct Part {
  bool is_send;
  char *memory;
  size_t size_bytes;
  int peer;
};

// It ends when neither the program nor a stream refers to it.
using Shared = std::shared_ptr<Communicator>;

thread_local char t_last_error[200] = "";

}  // namespace

namespace loopback::nccl {

Communicator::~Communicator() {
  for (const int socket : sockets) {
    if (socket >= 0) close(socket);
  }
}

bool is_asked_for(const char *word) {
  const char *words = std::getenv("LOOPBACK_NCCL");
  return words != nullptr && ("," + std::string(words) + ",").find("," + std::string(word) + ",") != std::string::npos;
}

int fail(int result, const std::string &text) {
  std::snprintf(t_last_error, sizeof t_last_error, "%s", text.c_str());
  return result;
}

}  // namespace loopback::nccl

namespace {

// ---- exchanges, in the thread of a stream ----

// One direction between two ranks: the length of what is sent, then its bytes.
struct Flow {
  int socket;
  short event;  // POLLIN or POLLOUT
  Part part;
  uint64_t announced = 0;
  size_t n_done = 0;  // of both
  bool is_over = false;

  // False: the other rank is gone.
  bool step();
};

// Receives beyond the part's end come to nothing.
bool Flow::step() {
  std::array<char, 4096> nowhere;
  char *const head = reinterpret_cast<char *>(&announced);
  char *at = nowhere.data();
  size_t n = nowhere.size();
  if (n_done < sizeof announced) {
    at = head + n_done;
    n = sizeof announced - n_done;
  } else {
    const size_t done = n_done - sizeof announced;
    const size_t inside = std::min<size_t>(announced, part.size_bytes);
    if (done < inside) at = part.memory + done;
    n = done < inside ? inside - done : std::min<size_t>(n, announced - done);
  }
  const ssize_t moved =
      part.is_send ? send(socket, at, n, MSG_NOSIGNAL | MSG_DONTWAIT) : recv(socket, at, n, MSG_DONTWAIT);
  if (moved < 0) return errno == EAGAIN || errno == EINTR;
  if (moved == 0) return false;
  n_done += static_cast<size_t>(moved);
  is_over = n_done >= sizeof announced && n_done == sizeof announced + announced;
  return true;
}

bool run_flows(std::vector<Flow> flows) {
  while (true) {
    std::vector<pollfd> waiting;
    std::vector<Flow *> behind;
    for (Flow &flow : flows) {
      if (flow.is_over) continue;
      waiting.push_back({flow.socket, flow.event, 0});
      behind.push_back(&flow);
    }
    if (waiting.empty()) return true;
    if (poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) return false;
    for (size_t i = 0; i < waiting.size(); ++i) {
      if (waiting[i].revents != 0 && !behind[i]->step()) return false;
    }
  }
}

void carry(const Communicator &communicator, const std::vector<Part> &parts) {
  const auto is_reachable = [&](const Part &part) {
    return loopback::is_reachable(part.memory, part.size_bytes, communicator.device);
  };
  if (!loopback::may_run([&] { return std::all_of(parts.begin(), parts.end(), is_reachable); })) return;
  std::vector<Flow> flows;
  std::vector<Part> received;
  const Part *own_sent = nullptr;
  const Part *own_received = nullptr;
  for (const Part &part : parts) {
    if (!part.is_send) received.push_back(part);
    if (part.peer == communicator.rank) {
      (part.is_send ? own_sent : own_received) = &part;
      continue;
    }
    const uint64_t announced = part.is_send ? part.size_bytes - (is_asked_for("short") ? 1 : 0) : 0;
    flows.push_back({communicator.sockets[static_cast<size_t>(part.peer)],
                     static_cast<short>(part.is_send ? POLLOUT : POLLIN), part, announced});
  }
  if (own_sent != nullptr && own_received != nullptr) {
    std::memcpy(own_received->memory, own_sent->memory, std::min(own_sent->size_bytes, own_received->size_bytes));
  }
  if (!run_flows(std::move(flows))) {
    // As a fault on the device: nothing runs any more.
    if (!communicator.is_aborted) loopback_break();
    return;
  }
  if (is_asked_for("swap") && received.size() > 1) {
    std::swap_ranges(received[0].memory, received[0].memory + std::min(received[0].size_bytes, received[1].size_bytes),
                     received[1].memory);
  }
}

// ---- the calls between a start and an end, of this thread ----

struct Calls {
  int depth = 0;
  Shared communicator;
  CUstream stream = nullptr;
  std::vector<Part> parts;
};

Calls &calls() {
  thread_local Calls of_thread;
  return of_thread;
}

// One send and one receive for each peer, of one communicator and one stream: the module makes no others.
int add(const Part &part, int type, void *communicator, CUstream stream) {
  Calls &now = calls();
  if (now.depth == 0) return fail(kInvalidUsage, "loop-back: a send or a receive outside of a group of calls");
  const Shared &shared = *static_cast<Shared *>(communicator);
  const bool is_known = part.peer >= 0 && part.peer < static_cast<int>(shared->sockets.size());
  if (!is_known || type != 0 || part.size_bytes == 0 || stream == nullptr) {
    return fail(kInvalidArgument, "loop-back: peer " + std::to_string(part.peer) + ", type " + std::to_string(type) +
                                      ", " + std::to_string(part.size_bytes) + " bytes");
  }
  const bool is_repeated = std::any_of(now.parts.begin(), now.parts.end(), [&](const Part &other) {
    return other.is_send == part.is_send && other.peer == part.peer;
  });
  if (is_repeated || (now.communicator != nullptr && (now.communicator != shared || now.stream != stream))) {
    return fail(kInvalidUsage, "loop-back: one send and one receive for each peer are taken");
  }
  now.communicator = shared;
  now.stream = stream;
  now.parts.push_back(part);
  return kSuccess;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names are the library's
extern "C" {

int ncclGetVersion(int *version) {
  *version = is_asked_for("old") ? 21705 : 22809;
  return kSuccess;
}

const char *ncclGetErrorString(int result) {
  switch (result) {
    case kSuccess:
      return "no error";
    case kSystemError:
      return "unhandled system error";
    case kInvalidArgument:
      return "invalid argument";
    default:
      return "invalid usage";
  }
}

const char *ncclGetLastError(void * /*communicator*/) {
  return t_last_error;
}

int ncclGetUniqueId(Id *id) {
  return make_id(id);
}

int ncclCommInitRank(void **communicator, int n_ranks, Id id, int rank) {
  *communicator = nullptr;
  if (n_ranks < 1 || n_ranks > kMostRanks || rank < 0 || rank >= n_ranks) {
    return fail(kInvalidArgument, "loop-back: rank " + std::to_string(rank) + " of " + std::to_string(n_ranks));
  }
  if (loopback::current() == nullptr) return fail(kInvalidUsage, "loop-back: no device is current");
  auto made = std::make_shared<Communicator>();
  made->rank = rank;
  made->device = loopback::current()->device;
  const int result = join(id, n_ranks, made.get());
  if (result == kSuccess) *communicator = new Shared(std::move(made));
  return result;
}

// As NCCL's may, it waits until the others have come, or are gone.
int ncclCommDestroy(void *communicator) {
  const std::unique_ptr<Shared> ended(static_cast<Shared *>(communicator));
  meet_at_end(**ended);
  return kSuccess;
}

// A stream that waits for another rank sees the end of its sockets.
int ncclCommAbort(void *communicator) {
  Communicator &aborted = **static_cast<Shared *>(communicator);
  aborted.is_aborted = true;
  for (const int socket : aborted.sockets) {
    if (socket >= 0) shutdown(socket, SHUT_RDWR);
  }
  delete static_cast<Shared *>(communicator);
  return kSuccess;
}

int ncclGroupStart() {
  ++calls().depth;
  return kSuccess;
}

int ncclGroupEnd() {
  Calls &now = calls();
  if (now.depth == 0) return fail(kInvalidUsage, "loop-back: no group of calls was started");
  if (--now.depth > 0) return kSuccess;
  const Calls ended = std::move(now);
  now = {};
  if (is_asked_for("error")) return fail(kSystemError, "loop-back: refused\nas it was asked for");
  if (ended.communicator == nullptr) return kSuccess;
  ended.stream->enqueue([communicator = ended.communicator, parts = ended.parts] { carry(*communicator, parts); });
  return kSuccess;
}

int ncclSend(const void *data, size_t count, int type, int peer, void *communicator, CUstream stream) {
  return add({true, static_cast<char *>(const_cast<void *>(data)), count, peer}, type, communicator, stream);
}

int ncclRecv(void *data, size_t count, int type, int peer, void *communicator, CUstream stream) {
  return add({false, static_cast<char *>(data), count, peer}, type, communicator, stream);
}
}
// NOLINTEND(readability-identifier-naming)

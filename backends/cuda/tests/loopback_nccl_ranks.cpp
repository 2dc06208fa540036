// SPDX-License-Identifier: BSD-3-Clause
// The ranks of the library of messages beside the loop-back driver find each other.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <map>
#include <mutex>

#include "loopback_nccl.h"

namespace loopback::nccl {
namespace {

std::mutex g_mutex;

struct Hello {
  int rank;
  int n_ranks;
  CUdevice device;
};

struct Answer {
  int first = -1;  // of two ranks that share a device
  int second = -1;
  CUdevice device = -1;
};

std::map<std::string, int> &listeners() {
  static auto *const all = new std::map<std::string, int>();
  return *all;
}

bool send_all(int socket, const void *data, size_t size_bytes) {
  const auto *bytes = static_cast<const char *>(data);
  while (size_bytes > 0) {
    const ssize_t n = send(socket, bytes, size_bytes, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes += n;
    size_bytes -= static_cast<size_t>(n);
  }
  return true;
}

bool receive_all(int socket, void *data, size_t size_bytes) {
  auto *bytes = static_cast<char *>(data);
  while (size_bytes > 0) {
    const ssize_t n = recv(socket, bytes, size_bytes, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes += n;
    size_bytes -= static_cast<size_t>(n);
  }
  return true;
}

union Control {
  char bytes[CMSG_SPACE(kMostRanks * sizeof(int))];
  cmsghdr align;
};

// The sockets of a rank to all others, in their order, behind an answer that says that all is well.
bool send_sockets(int connection, const std::vector<int> &sockets) {
  char byte = 0;
  iovec data = {&byte, 1};
  Control control = {};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes;
  message.msg_controllen = CMSG_SPACE(sockets.size() * sizeof(int));
  cmsghdr *header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sockets.size() * sizeof(int));
  std::memcpy(CMSG_DATA(header), sockets.data(), sockets.size() * sizeof(int));
  return sendmsg(connection, &message, MSG_NOSIGNAL) == 1;
}

std::vector<int> receive_sockets(int connection, size_t n_sockets) {
  char byte = 0;
  iovec data = {&byte, 1};
  Control control = {};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof control.bytes;
  std::vector<int> sockets(n_sockets, -1);
  if (recvmsg(connection, &message, MSG_CMSG_CLOEXEC) != 1) return {};
  const cmsghdr *header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_len != CMSG_LEN(n_sockets * sizeof(int))) return {};
  std::memcpy(sockets.data(), CMSG_DATA(header), n_sockets * sizeof(int));
  return sockets;
}

int duplicate(const Answer &answer) {
  return fail(kInvalidUsage, "Duplicate GPU detected : rank " + std::to_string(answer.first) + " and rank " +
                                 std::to_string(answer.second) + " both on CUDA device " +
                                 std::to_string(answer.device));
}

// Of rank 0: hears all others.
bool meet(int listener, int n_ranks, std::vector<int> *connections, std::vector<CUdevice> *devices) {
  for (int i = 1; i < n_ranks; ++i) {
    const int connection = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    Hello hello = {};
    if (connection < 0 || !receive_all(connection, &hello, sizeof hello)) return false;
    const bool is_good = hello.rank > 0 && hello.rank < n_ranks && hello.n_ranks == n_ranks &&
                         (*connections)[static_cast<size_t>(hello.rank)] < 0;
    if (!is_good) return false;
    (*connections)[static_cast<size_t>(hello.rank)] = connection;
    (*devices)[static_cast<size_t>(hello.rank)] = hello.device;
  }
  return true;
}

Answer find_shared_device(const std::vector<CUdevice> &devices) {
  for (size_t i = 0; i < devices.size() && !is_asked_for("share"); ++i) {
    for (size_t k = i + 1; k < devices.size(); ++k) {
      if (devices[i] == devices[k]) return {static_cast<int>(i), static_cast<int>(k), devices[i]};
    }
  }
  return {};
}

int join_as_first(const Id &id, int n_ranks, Communicator *made) {
  int listener = -1;
  {
    const std::scoped_lock lock(g_mutex);
    const auto found = listeners().find(std::string(id.bytes, sizeof id.bytes));
    if (found != listeners().end()) {
      listener = found->second;
      listeners().erase(found);
    }
  }
  if (listener < 0) return fail(kInvalidUsage, "loop-back: rank 0 has not made this id");
  const auto n = static_cast<size_t>(n_ranks);
  std::vector<int> connections(n, -1);
  std::vector<CUdevice> devices(n, made->device);
  const bool has_met = meet(listener, n_ranks, &connections, &devices);
  close(listener);
  if (!has_met) return fail(kSystemError, "loop-back: the ranks did not come together");
  const Answer answer = find_shared_device(devices);
  std::vector<std::vector<int>> sockets(n, std::vector<int>(n, -1));
  bool is_told = true;
  for (size_t i = 0; i < n && answer.first < 0; ++i) {
    for (size_t k = i + 1; k < n; ++k) {
      int ends[2] = {-1, -1};
      is_told = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0 && is_told;
      sockets[i][k] = ends[0];
      sockets[k][i] = ends[1];
    }
  }
  made->sockets = sockets[0];
  for (size_t k = 1; k < n; ++k) {
    is_told = is_told && send_all(connections[k], &answer, sizeof answer);
    if (answer.first < 0) {
      sockets[k].erase(sockets[k].begin() + static_cast<std::ptrdiff_t>(k));
      is_told = is_told && send_sockets(connections[k], sockets[k]);
      for (const int socket : sockets[k]) close(socket);
    }
    close(connections[k]);
  }
  if (answer.first >= 0) return duplicate(answer);
  return is_told ? kSuccess : fail(kSystemError, "loop-back: another rank went away");
}

int join_as_other(const Id &id, int n_ranks, Communicator *made) {
  sockaddr_un address = {};
  const auto length = static_cast<socklen_t>(static_cast<unsigned char>(id.bytes[0]));
  std::memcpy(&address, id.bytes + 1, std::min(sizeof address, sizeof id.bytes - 1));
  const int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const Hello hello = {made->rank, n_ranks, made->device};
  Answer answer;
  const bool is_answered =
      connection >= 0 && connect(connection, reinterpret_cast<sockaddr *>(&address), length) == 0 &&
      send_all(connection, &hello, sizeof hello) && receive_all(connection, &answer, sizeof answer);
  if (is_answered && answer.first < 0) made->sockets = receive_sockets(connection, static_cast<size_t>(n_ranks) - 1);
  if (connection >= 0) close(connection);
  if (is_answered && answer.first >= 0) return duplicate(answer);
  if (made->sockets.empty()) return fail(kSystemError, "loop-back: rank 0 cannot be reached");
  made->sockets.insert(made->sockets.begin() + made->rank, -1);
  return kSuccess;
}

}  // namespace

// The address that the kernel chooses, which nobody else has.
int make_id(Id *id) {
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  socklen_t length = sizeof address;
  const bool listens =
      listener >= 0 && bind(listener, reinterpret_cast<sockaddr *>(&address), sizeof(sa_family_t)) == 0 &&
      listen(listener, kMostRanks) == 0 && getsockname(listener, reinterpret_cast<sockaddr *>(&address), &length) == 0;
  if (!listens) {
    const std::string why = std::strerror(errno);
    if (listener >= 0) close(listener);
    return fail(kSystemError, "loop-back: no socket: " + why);
  }
  *id = {};
  id->bytes[0] = static_cast<char>(length);
  std::memcpy(id->bytes + 1, &address, length);
  const std::scoped_lock lock(g_mutex);
  listeners()[std::string(id->bytes, sizeof id->bytes)] = listener;
  return kSuccess;
}

// What another rank has sent and this one never took comes before its end.
void meet_at_end(const Communicator &communicator) {
  for (const int socket : communicator.sockets) {
    if (socket >= 0) shutdown(socket, SHUT_WR);
  }
  for (const int socket : communicator.sockets) {
    char byte = 0;
    while (socket >= 0 && receive_all(socket, &byte, sizeof byte)) continue;
  }
}

int join(const Id &id, int n_ranks, Communicator *made) {
  return made->rank == 0 ? join_as_first(id, n_ranks, made) : join_as_other(id, n_ranks, made);
}

}  // namespace loopback::nccl

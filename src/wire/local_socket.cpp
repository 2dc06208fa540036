// SPDX-License-Identifier: BSD-3-Clause
#include "wire/local_socket.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

#include "base/system_reason.hpp"

namespace sluice::wire {
namespace {

constexpr int kPatienceS = 5;  // a process that is stopped must not stop another

socklen_t fill_address(std::string_view name, sockaddr_un *address) noexcept {
  *address = {};
  address->sun_family = AF_UNIX;
  const std::size_t length = std::min(name.size(), sizeof address->sun_path - 1);
  std::copy_n(name.data(), length, address->sun_path + 1);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
}

int connect_socket(const FileDescriptor &to, std::string_view name) noexcept {
  sockaddr_un address;
  const socklen_t length = fill_address(name, &address);
  int result = 0;
  do {
    result = connect(to.get(), reinterpret_cast<const sockaddr *>(&address), length);
  } while (result != 0 && errno == EINTR);
  return result;
}

}  // namespace

Status socket_refused(const char *what, int code) {
  return Status::error(ErrorKind::kUnsupported,
                       fmt::format("sockets of a node: {}: {}", what,
                                   system_reason(code, "start its processes as one user, in one network name space")));
}

Status listen_at(std::string_view name, FileDescriptor *listener) {
  *listener = FileDescriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (listener->get() < 0) return socket_refused("socket", errno);
  sockaddr_un address;
  const socklen_t length = fill_address(name, &address);
  if (bind(listener->get(), reinterpret_cast<const sockaddr *>(&address), length) != 0) {
    return socket_refused("bind", errno);
  }
  return listen(listener->get(), SOMAXCONN) == 0 ? Status() : socket_refused("listen", errno);
}

Status connect_to(std::string_view name, FileDescriptor *to) {
  *to = FileDescriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (to->get() < 0) return socket_refused("socket", errno);
  const timeval limit = {kPatienceS, 0};
  if (setsockopt(to->get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0 ||
      setsockopt(to->get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) != 0) {
    return socket_refused("setsockopt", errno);
  }
  if (connect_socket(*to, name) != 0) return socket_refused("connect", errno);
  return is_same_user(*to) ? Status() : socket_refused("another user's socket", EACCES);
}

Presence find_presence(std::string_view name) noexcept {
  const FileDescriptor to(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (to.get() < 0) return Presence::kUnknown;
  if (connect_socket(to, name) == 0) return is_same_user(to) ? Presence::kThere : Presence::kUnknown;
  return errno == ECONNREFUSED ? Presence::kAbsent : Presence::kUnknown;
}

bool is_same_user(const FileDescriptor &socket) noexcept {
  ucred peer = {};
  socklen_t length = sizeof peer;
  return getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == geteuid();
}

}  // namespace sluice::wire

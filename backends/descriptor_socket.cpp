// SPDX-License-Identifier: BSD-3-Clause
// Both ends of a socket over which descriptors go.
#include "descriptor_socket.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

#include "signals_blocked.h"

namespace sluice::backends {

struct DescriptorServer::Running {
  DescriptorProtocol protocol{};
  Descriptor listener;
  Descriptor end;  // written to when the thread shall end
  uint64_t name[2] = {0, 0};
  pid_t pid = -1;  // a fork's child has no such thread
  std::thread thread;
};

namespace {

// Both ends run on one node and answer at once; a process that is stopped must not stop another.
constexpr int kPatienceS = 5;

// Between looks whether this process has a descriptor again.
constexpr int kPauseMs = 10;

constexpr size_t kControlBytes = CMSG_SPACE(kMostDescriptors * sizeof(int));

// The address in the name space of names without files: it goes when its socket goes.
socklen_t fill_address(const uint64_t name[2], sockaddr_un *address) {
  *address = {};
  address->sun_family = AF_UNIX;
  const int length = std::snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "sluice-%016llx%016llx",
                                   static_cast<unsigned long long>(name[0]), static_cast<unsigned long long>(name[1]));
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<size_t>(length));
}

// The process at the other end belongs to this user.
bool is_same_user(int socket, pid_t *pid) {
  ucred peer = {};
  socklen_t length = sizeof peer;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return false;
  *pid = peer.pid;
  return peer.uid == geteuid();
}

bool limit_waiting(int socket) {
  const timeval limit = {kPatienceS, 0};
  return setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0 &&
         setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) == 0;
}

// ---- the end that has the files ----

// An answer that cannot be sent shows at the other end.
bool send_answer(int socket, const std::vector<std::byte> &answer, const std::vector<Descriptor> &descriptors) {
  alignas(cmsghdr) char control[kControlBytes] = {};
  iovec part = {const_cast<std::byte *>(answer.data()), answer.size()};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  const size_t n = std::min(descriptors.size(), kMostDescriptors);
  if (n > 0) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(n * sizeof(int));
    cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(n * sizeof(int));
    auto *numbers = reinterpret_cast<int *>(CMSG_DATA(header));
    for (size_t i = 0; i < n; ++i) numbers[i] = descriptors[i].get();
  }
  return sendmsg(socket, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(answer.size());
}

void serve_one(int socket, const DescriptorProtocol &protocol) {
  pid_t pid = 0;
  if (!limit_waiting(socket) || !is_same_user(socket, &pid)) return;
  std::vector<std::byte> question(protocol.question_bytes);
  while (recv(socket, question.data(), question.size(), 0) == static_cast<ssize_t>(question.size())) {
    std::vector<std::byte> answer(protocol.answer_bytes);
    std::vector<Descriptor> descriptors;
    if (!protocol.answer(question.data(), answer.data(), &descriptors)) return;
    if (!send_answer(socket, answer, descriptors)) return;
  }
}

void serve(int listener, int end, const DescriptorProtocol &protocol) {
  pollfd waited[2] = {{listener, POLLIN, 0}, {end, POLLIN, 0}};
  while (true) {
    if (poll(waited, 2, -1) < 0 && errno != EINTR) return;
    if (waited[1].revents != 0) return;
    if (waited[0].revents == 0) continue;
    const Descriptor asking(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
    if (asking.get() >= 0) {
      serve_one(asking.get(), protocol);
    } else if (errno == EMFILE || errno == ENFILE) {
      poll(waited + 1, 1, kPauseMs);  // who asks waits on the listener until then
    }
  }
}

Outcome fail_with_errno(const char *call) {
  const int code = errno;
  return {SLUICE_ERROR_UNSUPPORTED, std::string(call) + ": " + system_reason(code) + "; memory is not handed over"};
}

Outcome open_listener(Descriptor *listener, Descriptor *end, uint64_t name[2]) {
  constexpr size_t kNameBytes = 2 * sizeof(uint64_t);
  if (getrandom(name, kNameBytes, 0) != kNameBytes) return fail_with_errno("getrandom");
  listener->reset(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (listener->get() < 0) return fail_with_errno("socket");
  end->reset(eventfd(0, EFD_CLOEXEC));
  if (end->get() < 0) return fail_with_errno("eventfd");
  sockaddr_un address = {};
  const socklen_t length = fill_address(name, &address);
  if (bind(listener->get(), reinterpret_cast<const sockaddr *>(&address), length) != 0 ||
      listen(listener->get(), 64) != 0) {
    return fail_with_errno("bind of a local socket");
  }
  return {};
}

}  // namespace

Outcome DescriptorServer::start(uint64_t name[2]) {
  const std::scoped_lock lock(mutex_);
  if (running_ == nullptr || running_->pid != getpid()) {
    auto made = std::make_unique<Running>();
    made->protocol = protocol_;
    made->pid = getpid();
    Outcome outcome = open_listener(&made->listener, &made->end, made->name);
    if (!outcome.is_success()) return outcome;
    const SignalsBlocked blocked;
    if (!blocked.is_blocked()) return {SLUICE_ERROR_UNSUPPORTED, "pthread_sigmask failed"};
    try {
      const Running *running = made.get();
      made->thread = std::thread([running] { serve(running->listener.get(), running->end.get(), running->protocol); });
    } catch (const std::system_error &error) {
      return {SLUICE_ERROR_UNSUPPORTED, std::string("no thread for handing memory over: ") + error.what()};
    }
    running_ = made.release();  // a parent's, whose thread is not here, is left as it is
  }
  std::copy_n(running_->name, 2, name);
  return {};
}

void DescriptorServer::stop() {
  const std::scoped_lock lock(mutex_);
  if (running_ == nullptr || running_->pid != getpid()) return;
  Running *ending = std::exchange(running_, nullptr);
  const uint64_t one = 1;
  if (write(ending->end.get(), &one, sizeof one) == sizeof one) {
    ending->thread.join();
    delete ending;
  } else {
    ending->thread.detach();  // and still looks at it
  }
}

// ---- the end that wants them ----

namespace {

using ProcessKey = std::tuple<int32_t, uint32_t, uint64_t>;

// Processes that cannot be reached: another name space of networks (a container of its own), another user, or gone.
// Asking again for each message would cost more than it ever gives.
std::mutex g_unreachable_mutex;

std::set<ProcessKey> &unreachable() {
  static auto *all = new std::set<ProcessKey>();  // never destroyed: messages may come while the process exits
  return *all;
}

ProcessKey key_of(const ProcessIdentity &process) {
  return {process.pid, process.pid_namespace, process.start_time};
}

bool is_unreachable(const ProcessIdentity &process) {
  const std::scoped_lock lock(g_unreachable_mutex);
  return unreachable().contains(key_of(process));
}

Outcome give_up(const ProcessIdentity &process, const std::string &why) {
  const std::scoped_lock lock(g_unreachable_mutex);
  unreachable().insert(key_of(process));
  return {SLUICE_ERROR_UNSUPPORTED,
          "process " + std::to_string(process.pid) + " cannot be asked for its memory: " + why};
}

// A socket that is not there is that of a process that has ended, or one of another name space.
std::string why_not_connected(const ProcessIdentity &server, int code) {
  const std::string ended = server.pid_namespace == this_process().pid_namespace && server.start_time != 0
                                ? why_unseen(server.pid, server.start_time)
                                : "";
  if (!ended.empty()) return ended;
  return system_reason(code) + "; both need the same user and the same network name space";
}

// Takes over the descriptors that came with a message.
void take_descriptors(msghdr *message, std::vector<Descriptor> *descriptors) {
  for (cmsghdr *header = CMSG_FIRSTHDR(message); header != nullptr; header = CMSG_NXTHDR(message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const size_t n = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < n; ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(header) + i * sizeof number, sizeof number);
      descriptors->emplace_back(number);
    }
  }
}

}  // namespace

Outcome DescriptorClient::connect(const uint64_t name[2], const ProcessIdentity &server) {
  if (is_unreachable(server)) {
    return {SLUICE_ERROR_UNSUPPORTED, "the process that has the memory could not be asked for it before"};
  }
  connection_.reset(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (connection_.get() < 0) {  // this process's own trouble, which may pass
    return {SLUICE_ERROR_NATIVE, "no socket to ask for another process's memory: " + system_reason(errno)};
  }
  sockaddr_un address = {};
  const socklen_t length = fill_address(name, &address);
  if (!limit_waiting(connection_.get()) ||
      ::connect(connection_.get(), reinterpret_cast<const sockaddr *>(&address), length) != 0) {
    const int code = errno;
    return give_up(server, why_not_connected(server, code));
  }
  pid_t pid = 0;
  if (!is_same_user(connection_.get(), &pid)) return give_up(server, "it belongs to another user");
  if (server.pid_namespace == this_process().pid_namespace && pid != server.pid) {
    return give_up(server, "another process answers in its place");
  }
  return {};
}

Outcome DescriptorClient::ask(const void *question, size_t question_bytes, void *answer, size_t answer_bytes,
                              std::vector<Descriptor> *descriptors) {
  alignas(cmsghdr) char control[kControlBytes] = {};
  iovec part = {answer, answer_bytes};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (send(connection_.get(), question, question_bytes, MSG_NOSIGNAL) != static_cast<ssize_t>(question_bytes)) {
    return {SLUICE_ERROR_NATIVE, "the process that has the memory is gone"};
  }
  const ssize_t n = recvmsg(connection_.get(), &message, MSG_CMSG_CLOEXEC);
  const int code = errno;
  if (n < 0) {
    return {SLUICE_ERROR_NATIVE, std::string("the process that has the memory does not answer: ") + strerror(code)};
  }
  take_descriptors(&message, descriptors);
  if ((message.msg_flags & MSG_CTRUNC) != 0) {
    return {SLUICE_ERROR_NATIVE, "the memory's descriptors could not be taken in: " + system_reason(EMFILE)};
  }
  if (n == 0) return {SLUICE_ERROR_NATIVE, "the process that has the memory has ended"};
  if (n != static_cast<ssize_t>(answer_bytes) || (message.msg_flags & MSG_TRUNC) != 0) {
    return {SLUICE_ERROR_NATIVE, "the process that has the memory answers in the way of another version"};
  }
  return {};
}

}  // namespace sluice::backends

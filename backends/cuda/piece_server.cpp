// SPDX-License-Identifier: BSD-3-Clause
// The end of the piece socket that has the memory: one thread, which exports a piece when it is asked for it and keeps
// nothing, so that memory that the program frees is free.
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "../signals_blocked.h"
#include "piece_message.h"
#include "piece_socket.h"

namespace sluice::backends::cuda {

namespace {

struct Server {
  Descriptor listener;
  Descriptor end;  // written to when the thread shall end
  uint64_t name[2] = {0, 0};
  pid_t pid = -1;  // a fork's child has no such thread
  std::thread thread;
};

std::mutex g_mutex;
Server *g_server = nullptr;  // a plain pointer: a process that exits without an end leaves the thread asleep

// The pieces that the question names, as they are now; refused when they are not the ones that were exported.
sluice_result_t find_named(const PieceRange &range, std::vector<Piece> *pieces) {
  const sluice_result_t result = find_pieces(range.begin, range.begin + range.size_bytes, range.device, pieces);
  if (result != SLUICE_SUCCESS) return result;
  const bool is_same = pieces->size() == range.n_pieces && pieces->front().begin == range.begin &&
                       identity_of(*pieces) == range.identity;
  return is_same ? SLUICE_SUCCESS
                 : fail(SLUICE_ERROR_NATIVE, "the exporter has freed the memory or mapped other to it");
}

sluice_result_t share_named(const PieceQuestion &question, PieceAnswer *answer, std::vector<Descriptor> *descriptors) {
  std::vector<Piece> pieces;
  sluice_result_t result = find_named(question.range, &pieces);
  if (result != SLUICE_SUCCESS) return result;
  if (question.first >= pieces.size()) return fail(SLUICE_ERROR_INVALID_ARGUMENT, "the range has no such piece");
  const size_t n = std::min<size_t>(pieces.size() - question.first, kPiecesAtOnce);
  for (size_t i = 0; i < n; ++i) {
    int descriptor = -1;
    result = share_piece(pieces[question.first + i], &answer->pieces[i], &descriptor);
    if (descriptor >= 0) descriptors->emplace_back(descriptor);
    if (result != SLUICE_SUCCESS) return result;
  }
  answer->n_pieces = static_cast<uint32_t>(n);
  // What was handed out is what was asked for, whatever the program has freed meanwhile.
  return find_named(question.range, &pieces);
}

sluice_result_t answer_in_context(const PieceQuestion &question, PieceAnswer *answer,
                                  std::vector<Descriptor> *descriptors) {
  CUcontext context = nullptr;
  bool is_retained = false;
  sluice_result_t result = find_context(question.range.device, &context, &is_retained);
  if (result != SLUICE_SUCCESS) return result;
  {
    const ContextScope scope(context);
    result = scope.result();
    if (result == SLUICE_SUCCESS) result = share_named(question, answer, descriptors);
  }
  release_context(question.range.device, is_retained);
  return result;
}

// An answer that cannot be sent shows at the other end.
void send_answer(int socket, const PieceAnswer &answer, const std::vector<Descriptor> &descriptors) {
  alignas(cmsghdr) char control[CMSG_SPACE(kPiecesAtOnce * sizeof(int))] = {};
  iovec part = {const_cast<PieceAnswer *>(&answer), sizeof answer};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(descriptors.size() * sizeof(int));
    cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
    auto *numbers = reinterpret_cast<int *>(CMSG_DATA(header));
    for (size_t i = 0; i < descriptors.size(); ++i) numbers[i] = descriptors[i].get();
  }
  if (sendmsg(socket, &message, MSG_NOSIGNAL) < 0) log_line(3, "a process that asked for memory is gone");
}

void serve_one(int socket) {
  pid_t pid = 0;
  if (!limit_waiting(socket) || !is_same_user(socket, &pid)) return;
  PieceQuestion question = {};
  while (recv(socket, &question, sizeof question, 0) == sizeof question && question.magic == kPieceMagic) {
    auto answer = std::make_unique<PieceAnswer>();
    std::vector<Descriptor> descriptors;
    const sluice_result_t result = answer_in_context(question, answer.get(), &descriptors);
    answer->magic = kPieceMagic;
    answer->result = result;
    if (result != SLUICE_SUCCESS) {
      answer->n_pieces = 0;
      descriptors.clear();
      answer->text[std::string(error_text()).copy(answer->text, sizeof answer->text - 1)] = '\0';
    }
    send_answer(socket, *answer, descriptors);
  }
}

void serve(const Server &server) {
  pollfd waited[2] = {{server.listener.get(), POLLIN, 0}, {server.end.get(), POLLIN, 0}};
  while (true) {
    if (poll(waited, 2, -1) < 0 && errno != EINTR) return;
    if (waited[1].revents != 0) return;
    if (waited[0].revents == 0) continue;
    const Descriptor asking(accept4(server.listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (asking.get() >= 0) serve_one(asking.get());
  }
}

sluice_result_t fail_with_errno(const char *call) {
  const int code = errno;
  return fail(SLUICE_ERROR_UNSUPPORTED, std::string(call) + ": " + strerror(code) + "; memory is not handed over");
}

sluice_result_t listen_for(Server *server) {
  if (getrandom(server->name, sizeof server->name, 0) != sizeof server->name) return fail_with_errno("getrandom");
  server->listener.reset(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  server->end.reset(eventfd(0, EFD_CLOEXEC));
  if (server->listener.get() < 0 || server->end.get() < 0) return fail_with_errno("socket");
  sockaddr_un address = {};
  const socklen_t length = fill_address(server->name, &address);
  if (bind(server->listener.get(), reinterpret_cast<const sockaddr *>(&address), length) != 0 ||
      listen(server->listener.get(), 64) != 0) {
    return fail_with_errno("bind of a local socket");
  }
  return SLUICE_SUCCESS;
}

sluice_result_t start_thread(Server *server) {
  const SignalsBlocked blocked;
  if (!blocked.is_blocked()) return fail(SLUICE_ERROR_UNSUPPORTED, "pthread_sigmask failed");
  try {
    server->thread = std::thread([server] { serve(*server); });
  } catch (const std::system_error &error) {
    return fail(SLUICE_ERROR_UNSUPPORTED, std::string("no thread for handing memory over: ") + error.what());
  }
  return SLUICE_SUCCESS;
}

}  // namespace

sluice_result_t serve_pieces(uint64_t socket_name[2]) {
  const std::scoped_lock lock(g_mutex);
  if (g_server == nullptr || g_server->pid != getpid()) {
    auto server = std::make_unique<Server>();
    server->pid = getpid();
    sluice_result_t result = listen_for(server.get());
    if (result == SLUICE_SUCCESS) result = start_thread(server.get());
    if (result != SLUICE_SUCCESS) return result;
    g_server = server.release();  // a parent's, whose thread is not here, is left as it is
  }
  std::copy_n(g_server->name, 2, socket_name);
  return SLUICE_SUCCESS;
}

void stop_serving_pieces() {
  const std::scoped_lock lock(g_mutex);
  if (g_server == nullptr || g_server->pid != getpid()) return;
  const std::unique_ptr<Server> server(g_server);
  g_server = nullptr;
  const uint64_t one = 1;
  if (write(server->end.get(), &one, sizeof one) == sizeof one) {
    server->thread.join();
  } else {
    server->thread.detach();
  }
}

}  // namespace sluice::backends::cuda

// SPDX-License-Identifier: BSD-3-Clause
// The end of the piece socket that wants the memory.
#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "../process_identity.h"
#include "piece_message.h"
#include "piece_socket.h"

namespace sluice::backends::cuda {

namespace {

using ProcessKey = std::tuple<int32_t, uint32_t, uint64_t>;

// Processes that cannot be reached: another name space of networks (a container of its own), another user, or gone.
// Asking again for each message would cost more than it ever gives.
std::mutex g_mutex;

std::set<ProcessKey> &unreachable() {
  static auto *all = new std::set<ProcessKey>();  // never destroyed: messages may come while the process exits
  return *all;
}

ProcessKey key_of(const HandleLayout &layout) {
  return {layout.pid, layout.pid_namespace, layout.start_time};
}

bool is_unreachable(const HandleLayout &layout) {
  const std::scoped_lock lock(g_mutex);
  return unreachable().contains(key_of(layout));
}

sluice_result_t give_up(const HandleLayout &layout, const std::string &why) {
  const std::scoped_lock lock(g_mutex);
  unreachable().insert(key_of(layout));
  return fail(SLUICE_ERROR_UNSUPPORTED, "process " + std::to_string(layout.pid) + " cannot be asked for its memory: " +
                                            why + "; both need the same user and the same network name space");
}

sluice_result_t open_connection(const HandleLayout &layout, Descriptor *connection) {
  connection->reset(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address = {};
  const socklen_t length = fill_address(layout.way.pieces.socket_name, &address);
  if (connection->get() < 0 || !limit_waiting(connection->get()) ||
      connect(connection->get(), reinterpret_cast<const sockaddr *>(&address), length) != 0) {
    const int code = errno;
    return give_up(layout, strerror(code));
  }
  pid_t pid = 0;
  if (!is_same_user(connection->get(), &pid)) return give_up(layout, "it belongs to another user");
  if (layout.pid_namespace == this_process().pid_namespace && pid != layout.pid) {
    return give_up(layout, "another process answers in its place");
  }
  return SLUICE_SUCCESS;
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

sluice_result_t ask(int socket, const PieceQuestion &question, PieceAnswer *answer,
                    std::vector<Descriptor> *descriptors) {
  alignas(cmsghdr) char control[CMSG_SPACE(kPiecesAtOnce * sizeof(int))] = {};
  iovec part = {answer, sizeof *answer};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (send(socket, &question, sizeof question, MSG_NOSIGNAL) != sizeof question) {
    return fail(SLUICE_ERROR_NATIVE, "the process that has the memory is gone");
  }
  const ssize_t n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  const int code = errno;
  take_descriptors(&message, descriptors);
  if (n < 0) {
    return fail(SLUICE_ERROR_NATIVE, std::string("the process that has the memory does not answer: ") + strerror(code));
  }
  const bool is_whole = n == sizeof *answer && answer->magic == kPieceMagic &&
                        (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0 && answer->n_pieces <= kPiecesAtOnce;
  if (!is_whole) {
    return fail(SLUICE_ERROR_NATIVE,
                "the process that has the memory ended, or this one has no room for more open files");
  }
  if (answer->result == SLUICE_SUCCESS && answer->n_pieces > 0) return SLUICE_SUCCESS;
  answer->text[sizeof answer->text - 1] = '\0';
  return fail(answer->result == SLUICE_ERROR_UNSUPPORTED ? SLUICE_ERROR_UNSUPPORTED : SLUICE_ERROR_NATIVE,
              std::string("the process that has the memory: ") + answer->text);
}

sluice_result_t map_answer(const PieceAnswer &answer, const std::vector<Descriptor> &descriptors,
                           PieceMapping *mapping) {
  size_t next = 0;
  for (uint32_t i = 0; i < answer.n_pieces; ++i) {
    const bool has_descriptor = answer.pieces[i].way == PieceWay::kDescriptor && next < descriptors.size();
    const sluice_result_t result = mapping->add(answer.pieces[i], has_descriptor ? descriptors[next++].get() : -1);
    if (result != SLUICE_SUCCESS) return result;
  }
  return SLUICE_SUCCESS;
}

}  // namespace

sluice_result_t fetch_pieces(const HandleLayout &layout, int32_t device, void **base) {
  const PieceRange &range = layout.way.pieces;
  if (range.n_pieces == 0 || range.n_pieces > kMostPieces || range.size_bytes != layout.size_bytes) {
    return fail(SLUICE_ERROR_INVALID_ARGUMENT, "these bytes are no handle of this backend: a value out of its range");
  }
  if (is_unreachable(layout)) {
    return fail(SLUICE_ERROR_UNSUPPORTED, "the process that has the memory could not be asked for it before");
  }
  Descriptor connection;
  sluice_result_t result = open_connection(layout, &connection);
  PieceMapping mapping;
  if (result == SLUICE_SUCCESS) result = mapping.reserve(range.size_bytes);
  PieceQuestion question = {kPieceMagic, range, 0, 0};
  while (result == SLUICE_SUCCESS && question.first < range.n_pieces) {
    auto answer = std::make_unique<PieceAnswer>();
    std::vector<Descriptor> descriptors;
    result = ask(connection.get(), question, answer.get(), &descriptors);
    if (result == SLUICE_SUCCESS) result = map_answer(*answer, descriptors, &mapping);
    question.first += answer->n_pieces;
  }
  return result == SLUICE_SUCCESS ? mapping.finish(device, base) : result;
}

}  // namespace sluice::backends::cuda

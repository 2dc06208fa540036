// SPDX-License-Identifier: BSD-3-Clause
// What the two ends of a piece socket say to each other, and the calls that both need.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "pieces.h"

namespace sluice::backends::cuda {

// Pieces of one answer; the kernel passes 253 descriptors at once.
inline constexpr uint32_t kPiecesAtOnce = 64;
// Both ends run on one node and answer at once; a process that is stopped must not stop another.
inline constexpr int kPatienceS = 5;

struct PieceQuestion {
  uint64_t magic;
  PieceRange range;
  uint32_t first;  // of the pieces that are wanted now
  uint32_t zero;
};

struct PieceAnswer {
  uint64_t magic;
  uint32_t result;  // a sluice_result_t; the text says more
  uint32_t n_pieces;
  char text[240];
  SharedPiece pieces[kPiecesAtOnce];
};

inline constexpr uint64_t kPieceMagic = 0x31534543454950ULL;  // "PIECES1"

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor() { reset(); }
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
  Descriptor(Descriptor &&other) noexcept : number_(other.number_) { other.number_ = -1; }
  Descriptor &operator=(Descriptor &&) = delete;

  int get() const { return number_; }
  void reset(int number = -1) {
    if (number_ >= 0) close(number_);  // nothing was written to it that could be lost
    number_ = number;
  }

 private:
  int number_;
};

// The address in the name space of names without files: it goes when its socket goes.
inline socklen_t fill_address(const uint64_t name[2], sockaddr_un *address) {
  *address = {};
  address->sun_family = AF_UNIX;
  const int length = std::snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "sluice-%016llx%016llx",
                                   static_cast<unsigned long long>(name[0]), static_cast<unsigned long long>(name[1]));
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<size_t>(length));
}

// The process at the other end belongs to this user.
inline bool is_same_user(int socket, pid_t *pid) {
  ucred peer = {};
  socklen_t length = sizeof peer;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return false;
  *pid = peer.pid;
  return peer.uid == geteuid();
}

inline bool limit_waiting(int socket) {
  const timeval limit = {kPatienceS, 0};
  return setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0 &&
         setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) == 0;
}

}  // namespace sluice::backends::cuda

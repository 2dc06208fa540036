// SPDX-License-Identifier: BSD-3-Clause
// What the files of the library of messages beside the loop-back driver share (loopback_nccl.cpp).
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "loopback.h"

namespace loopback::nccl {

inline constexpr int kSuccess = 0;
inline constexpr int kSystemError = 2;
inline constexpr int kInvalidArgument = 4;
inline constexpr int kInvalidUsage = 5;
inline constexpr int kMostRanks = 32;

struct Id {
  char bytes[128];
};

struct Communicator {
  int rank = 0;
  std::vector<int> sockets;  // to each rank; -1 for this one
  CUdevice device = 0;
  std::atomic<bool> is_aborted = false;

  Communicator() = default;
  ~Communicator();
  Communicator(const Communicator &) = delete;
  Communicator &operator=(const Communicator &) = delete;
};

// Whether the environment variable LOOPBACK_NCCL has the word.
bool is_asked_for(const char *word);
// Keeps the text for ncclGetLastError() and returns the result.
int fail(int result, const std::string &text);

// ---- loopback_nccl_ranks.cpp: how ranks find each other. Rank 0 listens at the address in the id, and gives each pair
// a socket. Each returns an error's number. ----

int make_id(Id *id);
// Fills in the sockets of a communicator that has its rank and device. Blocks until all ranks have come.
int join(const Id &id, int n_ranks, Communicator *made);
// Blocks until all ranks have called it, or one is gone.
void meet_at_end(const Communicator &communicator);

}  // namespace loopback::nccl

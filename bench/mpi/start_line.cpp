// SPDX-License-Identifier: BSD-3-Clause
// All ranks begin an iteration together.
#include "bench/mpi/start_line.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

namespace sluice::bench {
namespace {

constexpr int kClockTag = 98;
constexpr int kStamps = 100;
constexpr int kRehearsals = 21;
constexpr double kLateUs = 1;
constexpr double kSpareFactor = 2;

double local_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Rank 0's host name on all ranks, cut to what a processor name may be.
bool is_on_roots_host(const World &world) {
  char name[MPI_MAX_PROCESSOR_NAME + 1] = "";
  world.host().copy(name, MPI_MAX_PROCESSOR_NAME);
  check_mpi(MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD), "MPI_Bcast");
  return world.host() == name;
}

}  // namespace

SharedClock::SharedClock(const World &world) {
  const int is_remote = is_on_roots_host(world) ? 0 : 1;
  std::vector<int> remotes(static_cast<std::size_t>(world.n_ranks()));
  check_mpi(MPI_Allgather(&is_remote, 1, MPI_INT, remotes.data(), 1, MPI_INT, MPI_COMM_WORLD), "MPI_Allgather");
  for (int rank = 1; rank < world.n_ranks(); ++rank) {
    if (remotes[static_cast<std::size_t>(rank)] != 0) {
      if (world.is_root()) answer(world, rank);
      if (world.rank() == rank) ask_root(world);
    }
  }
}

double SharedClock::now_us() const {
  return local_us() + offset_us_;
}

void SharedClock::ask_root(const World &world) {
  double fastest = std::numeric_limits<double>::max();
  for (int i = 0; i < kStamps; ++i) {
    double stamp = 0;
    const double asked = local_us();
    check_mpi(MPI_Send(&stamp, 1, MPI_DOUBLE, 0, kClockTag, world.communicator()), "MPI_Send");
    check_mpi(MPI_Recv(&stamp, 1, MPI_DOUBLE, 0, kClockTag, world.communicator(), MPI_STATUS_IGNORE), "MPI_Recv");
    const double answered = local_us();
    if (answered - asked < fastest) {
      fastest = answered - asked;
      offset_us_ = stamp - (asked + answered) / 2;
      error_us_ = fastest / 2;
    }
  }
}

void SharedClock::answer(const World &world, int rank) {
  for (int i = 0; i < kStamps; ++i) {
    double stamp = 0;
    check_mpi(MPI_Recv(&stamp, 1, MPI_DOUBLE, rank, kClockTag, world.communicator(), MPI_STATUS_IGNORE), "MPI_Recv");
    stamp = local_us();
    check_mpi(MPI_Send(&stamp, 1, MPI_DOUBLE, rank, kClockTag, world.communicator()), "MPI_Send");
  }
}

StartLine::StartLine(const World &world, StartRule rule)
    : rule_(rule),
      clock_(world),
      is_crowded_(static_cast<unsigned>(world.n_local_ranks()) >= std::max(1U, std::thread::hardware_concurrency())) {
  if (rule_ == StartRule::barrier) {
    return;
  }
  std::vector<double> delays;
  for (int i = 0; i < kRehearsals; ++i) {
    const double latest = agree_on_latest();
    delays.push_back(clock_.now_us() - latest);
  }
  std::sort(delays.begin(), delays.end());
  const double typical = delays[delays.size() / 2];
  check_mpi(MPI_Allreduce(&typical, &lead_us_, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD), "MPI_Allreduce");
  lead_us_ = kSpareFactor * lead_us_ + 1;
}

double StartLine::agree_on_latest() const {
  const double now = clock_.now_us();
  double latest = 0;
  check_mpi(MPI_Allreduce(&now, &latest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD), "MPI_Allreduce");
  return latest;
}

void StartLine::wait_until(double time_us) const {
  while (clock_.now_us() < time_us) {
    if (is_crowded_) {
      ::sched_yield();
    }
  }
}

double StartLine::wait() {
  if (rule_ == StartRule::barrier) {
    check_mpi(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
    return clock_.now_us();
  }
  const double start = agree_on_latest() + lead_us_;
  if (clock_.now_us() > start + kLateUs) {
    ++n_late_;
  }
  wait_until(start);
  return start;
}

}  // namespace sluice::bench

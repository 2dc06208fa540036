// SPDX-License-Identifier: BSD-3-Clause
// The ranks of the run: who is where, and how they agree that something went wrong.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace sluice::bench {

// An MPI call returned an error. Only this rank knows; the others may be waiting for it.
class MpiError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The same error is known on every rank: the run can end in order.
class AgreedError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws MpiError with the MPI's own text. Hot when rc is MPI_SUCCESS.
void throw_mpi_error(int rc, const char *call);
inline void check_mpi(int rc, const char *call) {
  if (rc != MPI_SUCCESS) [[unlikely]] {
    throw_mpi_error(rc, call);
  }
}

// MPI from MPI_Init to MPI_Finalize, on MPI_COMM_WORLD with errors returned. One object in a process; calls are
// collective unless said otherwise.
class World {
 public:
  // thread_level: what is asked of MPI_Init_thread; thread_level() says what was got.
  World(int *argc, char ***argv, int thread_level = MPI_THREAD_SINGLE);
  World(const World &) = delete;
  World &operator=(const World &) = delete;
  // Local. Calls MPI_Finalize.
  ~World();

  int rank() const { return rank_; }
  int n_ranks() const { return n_ranks_; }
  bool is_root() const { return rank_ == 0; }
  // Position among the ranks that share this machine's memory.
  int local_rank() const { return local_rank_; }
  // Ranks that share this machine's memory, this one among them.
  int n_local_ranks() const { return n_local_ranks_; }
  const std::string &host() const { return host_; }
  int thread_level() const { return thread_level_; }
  // What MPI_Init took on this rank.
  double init_us() const { return init_us_; }
  MPI_Comm communicator() const { return MPI_COMM_WORLD; }

  void barrier() const;
  // Every rank says whether it has an error text. Returns, on all ranks, the text of the lowest that has, with its
  // number; "" when none has.
  std::string first_error(const std::string &error) const;
  // True on all ranks when all gave the same text.
  bool is_same_everywhere(const std::string &text) const;
  // The error of first_error, thrown as AgreedError when it is not "".
  void agree(const std::string &error) const;
  // The texts of all ranks, on rank 0; empty elsewhere.
  std::vector<std::string> gather(const std::string &text) const;

  // The numbers of all ranks of this host, in the order of local_rank().
  std::vector<int> gather_on_host(int value) const;

  // Local. Of MPI_Get_library_version and MPI_Get_version.
  std::string library_version() const;
  std::string standard_version() const;

 private:
  void find_local_rank();

  int rank_ = 0;
  int n_ranks_ = 0;
  int local_rank_ = 0;
  int n_local_ranks_ = 1;
  int thread_level_ = MPI_THREAD_SINGLE;
  double init_us_ = 0;
  std::string host_;
};

// Runs `action` and returns the text of what it threw, "" when it threw nothing.
template <class Action>
std::string error_of(Action &&action) {
  try {
    action();
  } catch (const std::exception &error) {
    return error.what();
  }
  return "";
}

}  // namespace sluice::bench

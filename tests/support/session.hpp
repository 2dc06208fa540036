// SPDX-License-Identifier: BSD-3-Clause
// What a rank test knows of the run it is part of: options, communicator, the backend to take memory from.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/backend_module.hpp"
#include "tests/support/memory.hpp"

namespace sluice::tests {

struct Options {
  std::string backend;          // "" for host memory only
  bool is_full = false;         // --matrix full
  bool opens_late = false;      // --open-late: the backend's runtime appears after MPI_Init
  bool wants_threads = false;   // --threads: MPI_THREAD_MULTIPLE
  std::uint64_t seed = 1;       // --seed, of the differential test
  int n_programs = 0;           // --programs; 0: as many as the matrix says
  bool prints_digests = false;  // --digests, of the differential test
  std::string sources;          // --sources a.cpp,b.cpp: the tests of these files alone; "" for all
};

// One per process, made by the rank-aware main.
class Session {
 public:
  static Session &get();

  // Takes the tests' own options out of argv. Returns "" or what is wrong with them.
  std::string parse(int &argc, char **argv);
  // Opens the backend and MPI in the order that the options say. Returns "" or a reason to skip everything.
  std::string open(int &argc, char **&argv);
  // Frees what belongs to MPI and finalizes it.
  void close();

  const Options &options() const { return options_; }
  // A duplicate of MPI_COMM_WORLD that returns errors.
  MPI_Comm comm() const { return comm_; }
  int rank() const { return rank_; }
  int size() const { return size_; }
  // The rank to exchange messages with, and whether this rank begins. The number of ranks is even.
  int partner() const { return rank_ ^ 1; }
  bool begins() const { return (rank_ & 1) == 0; }

  // Null when only host memory is tested.
  const BackendModule *module() const { return module_; }
  // The kinds of memory that exist here; host always does.
  const std::vector<Kind> &kinds() const { return kinds_; }
  bool has_kind(Kind kind) const;
  bool has_sluice() const { return has_sluice_; }
  // Device memory allocated before MPI_Init; null with --open-late and without a backend.
  Memory *early_memory() const { return early_memory_.get(); }

  // True on every rank when it is true on any. Collective.
  bool agree_any(bool value) const;

 private:
  // The option that takes no value and is called `name`; null: there is none.
  bool *find_flag(std::string_view name);
  std::string open_backend();
  void find_kinds();

  Options options_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  const BackendModule *module_ = nullptr;
  std::vector<Kind> kinds_{Kind::host};
  bool has_sluice_ = false;
  std::unique_ptr<Memory> early_memory_;
};

// Device memory, where there is any.
inline Kind device_or_host() {
  return Session::get().has_kind(Kind::device) ? Kind::device : Kind::host;
}

}  // namespace sluice::tests

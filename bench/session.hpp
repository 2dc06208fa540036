// SPDX-License-Identifier: BSD-3-Clause
// Everything a test is given: options, ranks, device memory, and where to report.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/cli/options.hpp"
#include "bench/memory/device_module.hpp"
#include "bench/memory/rank_place.hpp"
#include "bench/mpi/route_watch.hpp"
#include "bench/mpi/world.hpp"
#include "bench/report/row.hpp"

namespace sluice::bench {

class Report;
struct RunRecord;

class Session {
 public:
  // Collective. Checks the number of ranks, opens the report, loads the device module and binds this rank's device
  // (--bind), refuses to let ranks share a device unless that was asked for, and refuses to hand device memory to an
  // MPI that does not take it. Throws AgreedError with the one line that the user sees. options, world and report
  // outlive the session.
  Session(const Options &options, const World &world, Report &report, std::vector<std::string> command);
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;
  ~Session();

  const Options &options() const { return options_; }
  const World &world() const { return world_; }
  // Null when everything lies in host memory.
  DeviceModule *module() { return module_ ? &*module_ : nullptr; }
  // Where this rank's messages lie; of a collective: what it sends, and what it receives.
  sluice_memory_kind_t memory() const { return memory_; }
  sluice_memory_kind_t recv_memory() const { return recv_memory_; }

  // Local, before begin(). A line for the heading and for JSON.
  void add_note(std::string note);
  // Collective. Prints the heading for rows with these columns.
  void begin(Columns columns);
  // Collective, around the untimed iterations of a row: has the library below count, and says which routes ran; nothing
  // when there is none. Throw AgreedError.
  void begin_routes();
  std::vector<RankRoute> end_routes();
  // Collective. Reports the row and, when its check failed (the same text on all ranks), ends the run: throws
  // AgreedError.
  void add(Row row);

 private:
  void require_ranks() const;
  void choose_memory();
  void bind_device();
  std::int32_t choose_device();
  void require_awareness();
  void prove_check();
  bool has_memory(sluice_memory_kind_t kind) const { return memory_ == kind || recv_memory_ == kind; }
  std::string describe_rank() const;

  const Options &options_;
  const World &world_;
  Report &report_;
  std::unique_ptr<RunRecord> run_;
  std::optional<DeviceModule> module_;
  sluice_memory_kind_t memory_ = SLUICE_MEMORY_HOST;
  sluice_memory_kind_t recv_memory_ = SLUICE_MEMORY_HOST;
  RankPlace place_;
  std::string check_place_;  // who looks at this rank's memory: "device", or "host" and why; "" without device memory
  std::optional<RouteWatch> watch_;  // none when no library below tells
};

}  // namespace sluice::bench

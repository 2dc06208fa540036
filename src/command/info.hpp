// SPDX-License-Identifier: BSD-3-Clause
// `sluice info`: what Sluice finds on this machine. Collected into values first, then printed as text or JSON. All of
// it is pure but for collect_info().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/knobs.hpp"
#include "base/types.hpp"
#include "command/host_mpis.hpp"
#include "command/installation.hpp"
#include "plan/tuning.hpp"
#include "sluice/backend.h"

namespace sluice::command {

// One module and the devices that it sees.
struct BackendInfo {
  std::string name;
  std::string module;          // file
  std::string problem;         // why it is not loaded; empty when it is
  std::string staging_memory;  // the one that `auto` means, on device 0
  std::string tuning;          // paths of the tuning tables for device 0, as they hold; empty: none
  std::vector<sluice_device_info_t> devices;
};

// A knob of the library or of a backend, or a setting, with the value in force.
struct KnobInfo {
  std::string name;
  std::string value;
  std::string source;  // "default" or "environment"
  std::string range;   // empty for backends' knobs, whose sentence says it
  std::string doc;
  std::string experimental;  // experimental_of(doc)
  bool is_tunable = false;   // of a setting: tables may set it
};

// What of a knob no device has run, as its text says (knobs.def): "experimental" for all of it, "experimental: on" for
// some of its values; empty: nothing.
[[nodiscard]] std::string experimental_of(std::string_view doc);

// What would happen to one message.
struct RouteQuestion {
  std::uint64_t size_bytes = 0;
  MemoryKind from = MemoryKind::kDevice;
  MemoryKind to = MemoryKind::kDevice;
};
struct RouteAnswer {
  RouteQuestion question;
  std::string backend;  // whose staging memory was taken; empty when no backend is loaded
  std::string send;     // plan::explain of the sender's side, for whatever peer
  std::string receive;
  std::string send_in_node;   // to a rank of this node with Sluice
  std::string send_unmapped;  // the same out of memory that no other process can map
  std::string send_far;       // to a rank of another node with Sluice
};

// The library that moves device memory between nodes (SLUICE_NETWORK).
struct NetworkInfo {
  std::string provider;  // "none", "ucp", "simulated"
  std::string reason;
  std::string problem;  // why it does not start; empty: it does, or there is none
};

// What the ranks of a communicator would try for a blocking collective call, or of a window for a one-sided operation.
struct WaysQuestion {
  std::string operation;         // "allreduce", "put"; one of operation_names()
  std::uint64_t size_bytes = 0;  // of the longest buffer
  int n_ranks = 2;
  int n_nodes = 1;
};
struct WaysAnswer {
  WaysQuestion question;
  std::string backend;                 // of the devices; empty when no backend is loaded
  std::vector<std::string> sentences;  // plan::explain for each way
};

// The operations that WaysQuestion may name.
[[nodiscard]] std::vector<std::string> operation_names();

// What would bring a payload with gaps together, on the way to each place where it may be wanted.
struct PackQuestion {
  std::uint64_t size_bytes = 0;  // of payload
  std::uint64_t run_bytes = 0;   // of each of its runs, not 0
  std::uint64_t gap_bytes = 0;   // between two of them
  MemoryKind kind = MemoryKind::kDevice;
};
struct PackAnswer {
  PackQuestion question;
  std::string backend;                 // of the device; empty when no backend is loaded
  std::vector<std::string> sentences;  // plan::explain for each leg
};

// What would carry the messages of a queue, where all ranks have the same knobs.
struct QueueAnswer {
  std::string backend;                 // of the stream; empty when no loaded one takes streams of programs
  std::vector<std::string> sentences;  // plan::explain for ranks of one node, and of several
};

// What collect_info() is to find out besides.
struct InfoQuestions {
  std::optional<RouteQuestion> route;
  std::optional<WaysQuestion> ways;
  bool asks_queue = false;
  std::optional<PackQuestion> pack;
};

struct Info {
  std::vector<HostMpi> host_mpis;
  std::vector<FoundLauncher> launchers;
  Installation installation;
  std::vector<BackendInfo> backends;
  std::vector<KnobInfo> knobs;
  std::vector<KnobInfo> settings;
  std::vector<plan::TuningTable> tuning;  // found, whether a device here fits or not
  std::vector<std::string> problems;      // unknown knobs, unreadable modules
  NetworkInfo network;
  std::optional<RouteAnswer> route;
  std::optional<WaysAnswer> ways;
  std::optional<QueueAnswer> queue;
  std::optional<PackAnswer> pack;
};

// Looks at the machine. Loads every module to ask it for its devices. `library_folder` as in find_installation. Forks,
// so call it while the process has one thread.
[[nodiscard]] Info collect_info(const std::string &library_folder, const InfoQuestions &questions);

// For people: lines with a heading each.
[[nodiscard]] std::string to_text(const Info &info);
// For scripts: one JSON object.
[[nodiscard]] std::string to_json(const Info &info);

// "0.1.0"
[[nodiscard]] std::string version();

}  // namespace sluice::command

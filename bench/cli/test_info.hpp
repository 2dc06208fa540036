// SPDX-License-Identifier: BSD-3-Clause
// What the command line must know of a test. Each test registers itself (bench/catalogue.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace sluice::bench {

class Session;

// The quantity that a test prints.
enum class Metric { latency_us, bandwidth_mbps, copy_us, rate_per_s, init_us };

// Groups of tests that share options and the rule which rank gets which placement word.
enum class Family {
  p2p,    // ranks in pairs: the first word is for the lower half
  fan,    // the first word is for rank 0, the second for all others
  coll,   // as fan; one word serves all
  rma,    // two ranks
  micro,  // no messages
};

struct TestInfo {
  std::string name = {};
  std::string title = {};  // one line, for --list and the heading
  Family family = Family::p2p;
  Metric metric = Metric::latency_us;
  int min_ranks = 2;
  int max_ranks = 2;                    // 0: no limit
  bool is_paired = false;               // the number of ranks must be even
  bool has_sizes = true;                // false: there is no message, and one row
  std::uint64_t min_size = 0;           // smallest message, in bytes
  std::uint64_t max_size = UINT64_MAX;  // largest one that the counts of its calls can say
  std::uint64_t size_step = 1;          // sizes are multiples of it: bytes of an element
  std::string default_range = {};       // as -m takes it; empty: 1:4M, starting at min_size
  bool has_placement = true;            // takes the words H D M P
  bool has_two_buffers = false;         // a rank sends from one and receives into another in one call: takes D/H
  bool needs_device = false;            // means nothing without -d
  bool needs_threads = false;           // several threads of a rank call MPI
  bool has_large_counts = false;        // takes --large-count
  bool has_derived_types = false;       // takes -D
  bool has_fresh_memory = false;        // takes --cold, and
  bool has_rotation = true;             // --rotate
  bool has_element_type = false;        // takes -T
  bool has_operation = false;           // takes --op
  bool has_block_layouts = false;       // takes --layout
  bool has_requests = false;            // its accesses have forms with requests: takes -s request
  bool has_overlap = false;             // something is computed meanwhile: takes --compute
  std::function<void(Session &)> run = {};
};

}  // namespace sluice::bench

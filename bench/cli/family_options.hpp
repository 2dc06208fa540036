// SPDX-License-Identifier: BSD-3-Clause
// Options that only some families of tests read.
#pragma once

#include <cstdint>
#include <string>

#include "bench/cli/derived_type.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's own name
class App;
}

namespace sluice::bench {

enum class ElementType { bytes, int32, int64, float32, float64 };
enum class Operation { sum, max, min };

// How the ranks of a collective begin an iteration together.
enum class StartRule {
  clock,   // at an agreed time of the synchronised clocks
  barrier  // when MPI_Barrier lets them go, as OSU does
};

// How long the blocks of the collectives that have counts for each pair of ranks are.
enum class BlockLayout {
  even,   // one size each
  uneven  // by rank and peer, some nothing (bench/peers/uneven_blocks.hpp)
};

// Who computes while a non-blocking collective is under way.
enum class ComputePlace {
  host,
  device,
  both,  // at the same time
  each   // first the one, then the other: both figures
};

enum class WindowKind { create, allocate, dynamic, shared };

// Whether MPI lends the memory of such a window; it is host memory then.
inline bool is_of_mpi(WindowKind kind) {
  return kind == WindowKind::allocate || kind == WindowKind::shared;
}

enum class Epoch {
  lock,
  lock_all,
  flush,
  flush_local,
  flush_all,
  flush_local_all,
  request,  // the accesses' forms with requests, which are waited for
  fence,
  pscw
};

// How a device packs by hand.
enum class PackWay {
  either,  // by a kernel where it has one
  kernel,
  copies  // one for each block, in one batch
};

// A torus of `dimensions` dimensions; neighbours up to `radius` steps away along each.
struct Topology {
  int dimensions = 1;
  int radius = 1;
};

struct FamilyOptions {
  ElementType type = ElementType::int32;
  Operation operation = Operation::sum;
  StartRule start = StartRule::clock;
  WindowKind window = WindowKind::allocate;
  Epoch epoch = Epoch::flush;
  Topology topology;
  BlockLayout layout = BlockLayout::even;
  int n_groups = 1;   // communicators that run a collective at the same time
  int n_threads = 2;  // of each rank, latency_mt
  ComputePlace compute = ComputePlace::host;
  int n_progress_calls = 0;  // MPI_Test calls while a non-blocking collective is under way
  int n_partitions = 8;
  PackWay pack_way = PackWay::either;
  DerivedType message;            // what point-to-point messages are made of
  bool has_large_counts = false;  // MPI_Send_c and the like
};

// The words as the user typed them.
struct FamilyWords {
  std::string type;  // empty: the test's own
  std::string operation = "sum";
  std::string start = "clock";
  std::string window;  // empty: allocate, or create where memory is not the host's
  std::string epoch = "flush";
  std::string compute;  // empty: host
  std::string topology = "cart:1:1";
  std::string layout = "even";
  std::string threads;
  std::string message;
  std::string pack_way = "auto";
  bool has_large_counts = false;
  std::int64_t groups = 1;
  std::int64_t partitions = 8;
};

void declare_family_options(CLI::App &app, FamilyWords &words);

// usual: the elements when none are named. Throws OptionError.
FamilyOptions interpret_family(const FamilyWords &words, ElementType usual);

std::uint64_t element_bytes(ElementType type);

// The words of the values, for JSON and headings.
const char *word_of(ElementType type);
const char *word_of(Operation operation);
const char *word_of(StartRule start);
const char *word_of(BlockLayout layout);
const char *word_of(ComputePlace place);
const char *word_of(WindowKind window);
const char *word_of(Epoch epoch);
const char *word_of(PackWay way);

}  // namespace sluice::bench

// SPDX-License-Identifier: BSD-3-Clause
// The ranks of the run.
#include "bench/mpi/world.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <numeric>

namespace sluice::bench {

void throw_mpi_error(int rc, const char *call) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (MPI_Error_string(rc, text, &length) != MPI_SUCCESS) {
    length = 0;
  }
  throw MpiError(fmt::format("{} failed: {}", call, std::string(text, static_cast<std::size_t>(length))));
}

World::World(int *argc, char ***argv, int thread_level) {
  const auto start = std::chrono::steady_clock::now();
  check_mpi(MPI_Init_thread(argc, argv, thread_level, &thread_level_), "MPI_Init_thread");
  init_us_ = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
  check_mpi(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &n_ranks_), "MPI_Comm_size");
  char host[MPI_MAX_PROCESSOR_NAME] = "";
  int length = 0;
  check_mpi(MPI_Get_processor_name(host, &length), "MPI_Get_processor_name");
  host_.assign(host, static_cast<std::size_t>(length));
  find_local_rank();
}

World::~World() {
  if (MPI_Finalize() != MPI_SUCCESS) {
    fmt::print(stderr, "sluice-bench: rank {}: MPI_Finalize failed\n", rank_);
  }
}

void World::find_local_rank() {
  MPI_Comm node = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node), "MPI_Comm_split_type");
  check_mpi(MPI_Comm_rank(node, &local_rank_), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(node, &n_local_ranks_), "MPI_Comm_size");
  check_mpi(MPI_Comm_free(&node), "MPI_Comm_free");
}

std::vector<int> World::gather_on_host(int value) const {
  MPI_Comm node = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node), "MPI_Comm_split_type");
  std::vector<int> values(static_cast<std::size_t>(n_local_ranks_));
  check_mpi(MPI_Allgather(&value, 1, MPI_INT, values.data(), 1, MPI_INT, node), "MPI_Allgather");
  check_mpi(MPI_Comm_free(&node), "MPI_Comm_free");
  return values;
}

void World::barrier() const {
  check_mpi(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
}

std::string World::first_error(const std::string &error) const {
  const int mine = error.empty() ? n_ranks_ : rank_;
  int first = n_ranks_;
  check_mpi(MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD), "MPI_Allreduce");
  if (first == n_ranks_) {
    return "";
  }
  int length = static_cast<int>(error.size());
  check_mpi(MPI_Bcast(&length, 1, MPI_INT, first, MPI_COMM_WORLD), "MPI_Bcast");
  std::string text = error;
  text.resize(static_cast<std::size_t>(length));
  check_mpi(MPI_Bcast(text.data(), length, MPI_CHAR, first, MPI_COMM_WORLD), "MPI_Bcast");
  return n_ranks_ > 1 ? fmt::format("rank {}: {}", first, text) : text;
}

bool World::is_same_everywhere(const std::string &text) const {
  // The hash and its complement in one reduction: the smallest of both are complements only when all are equal.
  const std::uint64_t hash = std::hash<std::string>{}(text);
  const std::uint64_t mine[] = {hash, ~hash};
  std::uint64_t smallest[2] = {};
  check_mpi(MPI_Allreduce(mine, smallest, 2, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD), "MPI_Allreduce");
  return smallest[0] == ~smallest[1];
}

void World::agree(const std::string &error) const {
  const std::string first = first_error(error);
  if (!first.empty()) {
    throw AgreedError(first);
  }
}

std::vector<std::string> World::gather(const std::string &text) const {
  const int length = static_cast<int>(text.size());
  const auto n_lengths = static_cast<std::size_t>(is_root() ? n_ranks_ : 0);
  std::vector<int> lengths(n_lengths);
  check_mpi(MPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, MPI_COMM_WORLD), "MPI_Gather");
  std::vector<int> offsets(n_lengths);
  std::exclusive_scan(lengths.begin(), lengths.end(), offsets.begin(), 0);
  std::string all(static_cast<std::size_t>(std::accumulate(lengths.begin(), lengths.end(), 0)), '\0');
  check_mpi(MPI_Gatherv(text.data(), length, MPI_CHAR, all.data(), lengths.data(), offsets.data(), MPI_CHAR, 0,
                        MPI_COMM_WORLD),
            "MPI_Gatherv");
  std::vector<std::string> texts;
  texts.reserve(n_lengths);
  for (std::size_t i = 0; i < n_lengths; ++i) {
    texts.push_back(all.substr(static_cast<std::size_t>(offsets[i]), static_cast<std::size_t>(lengths[i])));
  }
  return texts;
}

std::string World::library_version() const {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  check_mpi(MPI_Get_library_version(text, &length), "MPI_Get_library_version");
  std::string version(text);  // some MPIs count the final zero, some do not
  while (!version.empty() && (version.back() == '\n' || version.back() == ' ')) {
    version.pop_back();
  }
  return version;
}

std::string World::standard_version() const {
  int major = 0;
  int minor = 0;
  check_mpi(MPI_Get_version(&major, &minor), "MPI_Get_version");
  return fmt::format("{}.{}", major, minor);
}

}  // namespace sluice::bench

// SPDX-License-Identifier: BSD-3-Clause
#include "wire/node_flags.hpp"

#include <numeric>

#include "wire/host.hpp"

namespace sluice::wire {
namespace {

Status refused(const char *function) {
  return Status::error(ErrorKind::kBackend, std::string("flags of a node: the host MPI refused ") + function);
}

}  // namespace

Status NodeFlags::open(MPI_Comm comm, int rank, const std::vector<std::uint64_t> &nodes) {
  places_.assign(nodes.size(), -1);
  std::vector<int> places(nodes.size(), -1);
  int n_processes = 0;
  int first = -1;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i] != nodes[static_cast<std::size_t>(rank)]) continue;
    if (first < 0) first = static_cast<int>(i);
    places[i] = n_processes++;
  }
  MPI_Comm node = MPI_COMM_NULL;
  if (host().MPI_Comm_split(comm, first, rank, &node) != MPI_SUCCESS) return refused("MPI_Comm_split");
  Status status = share(node, rank == first, static_cast<std::size_t>(n_processes));
  if (host().MPI_Comm_free(&node) != MPI_SUCCESS && status.is_ok()) status = refused("MPI_Comm_free");
  if (!status.is_ok()) return status;
  places_ = std::move(places);
  own_place_ = places_[static_cast<std::size_t>(rank)];
  free_.resize(kPerProcess);
  std::iota(free_.rbegin(), free_.rend(), 1);  // the lowest is taken first
  return {};
}

// Every process goes through all of it, whatever fails here: others count on the calls.
Status NodeFlags::share(MPI_Comm node, bool is_first, std::size_t n_processes) {
  const std::size_t size_bytes = n_processes * kPerProcess * kLineBytes;
  SegmentName name{};
  Status status;
  if (is_first) status = SharedSegment::create(size_bytes, &segment_, &name);
  const bool has_name = is_first && status.is_ok();
  int is_good = host().MPI_Bcast(name.data(), static_cast<int>(name.size()), MPI_BYTE, 0, node) == MPI_SUCCESS ? 1 : 0;
  if (is_good == 0) status = refused("MPI_Bcast");
  if (!is_first && is_good != 0) status = SharedSegment::open(name, size_bytes, &segment_);
  is_good = status.is_ok() ? 1 : 0;
  const int code = host().MPI_Allreduce(MPI_IN_PLACE, &is_good, 1, MPI_INT, MPI_MIN, node);
  if (has_name) SharedSegment::remove_name(name);
  if (!status.is_ok()) return status;
  if (code != MPI_SUCCESS) return refused("MPI_Allreduce");
  return is_good != 0 ? Status() : Status::error(ErrorKind::kUnsupported, "another process of this node has no flags");
}

int NodeFlags::take() noexcept {
  const std::scoped_lock lock(mutex_);
  if (free_.empty()) return 0;
  const int flag = free_.back();
  free_.pop_back();
  return flag;
}

void NodeFlags::give(int flag) noexcept {
  const std::scoped_lock lock(mutex_);
  free_.push_back(flag);  // as many as there were: no memory is needed
}

}  // namespace sluice::wire

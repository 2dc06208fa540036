// SPDX-License-Identifier: BSD-3-Clause
// NodeLevels: the ranks of a communicator by the nodes that they lie on, with a communicator inside each node and one
// across the nodes for each lane. Hangs on the communicator, and goes with it.
#pragma once

#include <memory>
#include <vector>

#include "base/status.hpp"
#include "ops/coll/call/member.hpp"
#include "ops/comm/attempts.hpp"
#include "ops/comm/comm_state.hpp"
#include "ops/comm/staging_comm.hpp"
#include "wire/mpi.hpp"

namespace sluice::ops::coll {

// Where each rank lies. Nodes are numbered by their lowest rank, the ranks of a node from 0. It does not change once it
// is made, so any thread may read it.
struct NodeMap {
  std::vector<int> node;   // by rank
  std::vector<int> local;  // by rank
  int n_nodes = 0;
  int least_local = 0;  // ranks on the emptiest node
  int most_local = 0;   // on the fullest
  bool is_node_major = true;

  // All nodes have as many ranks.
  [[nodiscard]] bool is_uniform() const noexcept { return least_local == most_local; }
  // The rank in lane `lane` of the process that stands there for `node`.
  [[nodiscard]] int rank_in_lane(int lane, int of_node) const noexcept;
};

// Threads: one at a time on the communicator, as MPI has collective calls. map(), requests() and whole() do not change
// once find() knows them: any.
class NodeLevels {
 public:
  // The levels of `comm`; null when it has none (one group of several is needed, on several nodes, some with more than
  // one rank, and communicators of the host MPI's for it), which is the same on all ranks. Collective over `comm` at
  // the first call where there are: blocks, in turns. Errors: those of the host MPI. Hot.
  [[nodiscard]] static Status of(MPI_Comm comm, const Member &member, std::shared_ptr<NodeLevels> *levels);

  // The same for calls with requests, which have communicators of their own: their steps are started at times that
  // differ from rank to rank. Errors: those of the host MPI; *levels is null then.
  [[nodiscard]] static Status for_requests(MPI_Comm comm, const Member &member, std::shared_ptr<NodeLevels> *levels);
  // For a non-blocking call, which may not make them: what is there already. Else null, and the next blocking
  // collective call makes them (seek). Local.
  [[nodiscard]] static std::shared_ptr<NodeLevels> find(MPI_Comm comm, const Member &member);
  // In a blocking collective call on `comm`: makes them where find() did not find any. Collective where it does
  // anything; blocks, in turns. Errors: those of the host MPI. Hot where nobody has asked.
  [[nodiscard]] static Status seek(MPI_Comm comm);
  // Those of MPI_COMM_WORLD, when all of its ranks have opened the channel; and of `made`, which all ranks of `parent`
  // have just made of it, where its share allows. So a program that has nothing but calls with requests finds them.
  // Collective; block, in turns. An error is logged: a call that needs them meets it again.
  static void make_for_world() noexcept;
  static void make_for_new(MPI_Comm parent, MPI_Comm made) noexcept;

  explicit NodeLevels(NodeMap map) : map_(std::move(map)) {}
  ~NodeLevels();
  NodeLevels(const NodeLevels &) = delete;
  NodeLevels &operator=(const NodeLevels &) = delete;

  // As long as this lives; it never changes.
  [[nodiscard]] const NodeMap &map() const noexcept { return map_; }
  // Inside the node and across the nodes. Errors in them come back as codes.
  struct Pair {
    MPI_Comm node = MPI_COMM_NULL;
    MPI_Comm lane = MPI_COMM_NULL;
  };
  // Of blocking calls, once of() has made them.
  [[nodiscard]] MPI_Comm node() const noexcept { return blocking_.node; }
  [[nodiscard]] MPI_Comm lane() const noexcept { return blocking_.lane; }
  // Of calls with requests: level_group.hpp has them, and makes more of them.
  [[nodiscard]] const Pair &requests() const noexcept { return requests_; }
  [[nodiscard]] MPI_Comm whole() const noexcept { return whole_.get(); }
  // At operations that move data and at reductions, which succeed and fail for other reasons.
  [[nodiscard]] Attempts &attempts(bool is_reduction) noexcept { return is_reduction ? reductions_ : movements_; }

 private:
  // *is_made: all ranks have both, or else none is used.
  [[nodiscard]] Status split(MPI_Comm comm, const Member &member, Pair *pair, bool *is_made) const;

  NodeMap map_;
  Pair requests_;
  Pair blocking_;
  bool has_sought_blocking_ = false;
  bool has_blocking_ = false;
  StagingComm whole_;  // all ranks
  Attempts movements_;
  Attempts reductions_;
};

class LevelGroup;

struct LevelsOfComm {
  static constexpr CommPart kPart = CommPart::kLevels;

  std::shared_ptr<NodeLevels> levels;
  bool has_sought = false;
  // A non-blocking call had a use for them, and may not make them.
  bool are_wanted = false;
  // For how many of the communicators that are made of this one they are made ahead.
  std::uint32_t n_ahead = 0;
  // What calls with requests share that go across them (level_group.hpp).
  std::shared_ptr<LevelGroup> group;
};

// `nodes`: by rank, equal on one node. For tests too. Pure.
[[nodiscard]] NodeMap map_nodes(const std::vector<std::uint64_t> &nodes);

}  // namespace sluice::ops::coll

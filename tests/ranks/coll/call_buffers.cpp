// SPDX-License-Identifier: BSD-3-Clause
#include "tests/ranks/coll/call_buffers.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <map>
#include <memory>

#include "tests/support/host_mpi.hpp"

namespace sluice::tests {
namespace {

// What the draws of a call are asked.
enum Question : int { kIsEmpty, kLength, kType, kPredefined, kOp, kKind, kOrder, kGap, kBegin, kSignature, kLayout };
constexpr int kSend = 0;
constexpr int kRecv = 1000;  // added to the number of a block, or of a type

// Elements of a type, without a word about how many.
struct Shape {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  std::ptrdiff_t extent_bytes = 0;
  std::ptrdiff_t low_bytes = 0;   // of the first byte, from an element's address
  std::ptrdiff_t high_bytes = 0;  // behind the last one
  long long per_grain = 0;        // elements
  Content content = Content::bytes;
};

// How the blocks of a buffer lie.
enum class Spread : std::uint8_t { one_after_the_other, in_extents, in_bytes };

// One buffer under construction.
class Builder {
 public:
  Builder(const CollectiveCall &call, int session_rank, int side) : call_(call), rank_(session_rank), side_(side) {}

  CallBuffer build(Trial &run, const std::vector<long long> &grains, Spread spread) {
    place_blocks(grains, spread);
    CallBuffer buffer;
    const std::vector<Kind> &kinds = Session::get().kinds();
    const Kind kind = kinds[call_.draws.below(4, kKind, rank_, side_) % kinds.size()];
    if (high_ <= low_) low_ = high_ = 0;
    buffer.memory = &run.buffer(kind, static_cast<std::size_t>(high_ - low_));
    // The address may lie outside of the memory.
    buffer.address = reinterpret_cast<void *>(reinterpret_cast<std::intptr_t>(buffer.memory->data()) - low_);
    buffer.count = counts_.empty() ? 0 : counts_.front();
    buffer.counts = Numbers(counts_);
    buffer.displacements = Numbers(displacements_);
    buffer.types = types_;
    const Shape shape = shape_of(0);
    buffer.type = shape.type;
    buffer.content = shape.content;
    buffer.layouts = layouts_;
    return buffer;
  }

 private:
  bool has_own_types() const {
    return call_.is_mixed && !is_reduction(call_.what) && !call_.is_in_place && call_.what != What::bcast;
  }

  // The same again when it is asked for again.
  Shape nested_shape(int block) {
    constexpr std::array kRepeats = {1, 2, 3, 4, 6, 8, 12, 16, 24, 48};
    constexpr long long kRepeatsOfGrain = 48;
    const Signature signature = random_signature(call_.draws.below(~0ULL, kSignature));
    const int asked_by = has_own_types() ? rank_ + 1 : 0;
    const int number = has_own_types() ? side_ + block + 1 : 0;
    const int n_repeats = kRepeats[call_.draws.below(kRepeats.size(), kType, asked_by, number)];
    std::shared_ptr<const RandomLayout> &made = made_[number];
    if (made == nullptr) {
      made = std::make_shared<RandomLayout>(call_.draws.below(~0ULL, kLayout, asked_by, number), signature, n_repeats,
                                            has_own_types() && side_ == kSend);
      layouts_.push_back(made);
    }
    return {made->type(),       made->extent_bytes(),        made->low_bytes(),
            made->high_bytes(), kRepeatsOfGrain / n_repeats, Content::bytes};
  }

  Shape shape_of(int block) {
    if (call_.is_nested) return nested_shape(block);
    if (is_reduction(call_.what) && call_.sort == Sort::predefined) {
      const std::vector<Predefined> &types = predefined_types();
      const Predefined &predefined = types[call_.draws.below(types.size(), kPredefined)];
      int size = 0;
      MPI_Type_size(predefined.type, &size);
      return {predefined.type, size, 0, size, 6, predefined.content};
    }
    const std::vector<Elements> &types = all_element_types();
    const std::uint64_t which = has_own_types() ? call_.draws.below(types.size(), kType, rank_, side_ + block)
                                                : call_.draws.below(types.size(), kType);
    const Elements &elements = types[which];
    const auto [first, last] = std::minmax_element(elements.places.begin(), elements.places.end());
    constexpr auto kIntBytes = static_cast<std::ptrdiff_t>(sizeof(int));
    return {elements.type,         elements.extent_ints * kIntBytes,
            *first * kIntBytes,    (*last + 1) * kIntBytes,
            6 / elements.n_ints(), Content::bytes};
  }

  // From the first block on, or from the last; with gaps between them that are small or large.
  void place_blocks(const std::vector<long long> &grains, Spread spread) {
    const std::size_t n = grains.size();
    counts_.resize(n);
    displacements_.assign(n, -7);  // of an empty block: anything
    // MPICH 4.0 looks at the first type even where there is none.
    if (spread == Spread::in_bytes) types_.assign(n + 1, MPI_INT);
    const bool is_backwards = spread != Spread::one_after_the_other && call_.draws.one_in(2, kOrder, rank_, side_);
    std::ptrdiff_t next = 0;
    if (spread != Spread::one_after_the_other) {
      next -= static_cast<std::ptrdiff_t>(call_.draws.below(200, kBegin, rank_, side_));
    }
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t block = is_backwards ? n - 1 - i : i;
      const Shape shape = shape_of(spread == Spread::in_bytes ? static_cast<int>(block) : 0);
      counts_[block] = grains[block] * shape.per_grain;
      if (spread == Spread::in_bytes) types_[block] = shape.type;
      if (counts_[block] > 0) next = place_block(block, shape, spread, next);
    }
  }

  // Returns where the next one may begin.
  std::ptrdiff_t place_block(std::size_t block, const Shape &shape, Spread spread, std::ptrdiff_t next) {
    const auto count = static_cast<std::ptrdiff_t>(counts_[block]);
    const int number = side_ + static_cast<int>(block);
    std::ptrdiff_t origin = static_cast<std::ptrdiff_t>(block) * count * shape.extent_bytes;
    if (spread != Spread::one_after_the_other) {
      const bool is_far = call_.draws.one_in(4, kGap, rank_, number);
      const std::ptrdiff_t gap = is_far ? 3 * count * shape.extent_bytes : 4;
      const std::ptrdiff_t unit = spread == Spread::in_extents ? shape.extent_bytes : 4;
      const std::ptrdiff_t wanted = next + gap - shape.low_bytes;
      // Rounded up, of negative numbers too.
      const std::ptrdiff_t displacement = wanted >= 0 ? (wanted + unit - 1) / unit : -(-wanted / unit);
      origin = displacement * unit;
      displacements_[block] = spread == Spread::in_extents ? displacement : origin;
    }
    low_ = std::min(low_, origin + shape.low_bytes);
    const std::ptrdiff_t end = origin + (count - 1) * shape.extent_bytes + shape.high_bytes;
    high_ = std::max(high_, end);
    return end;
  }

  const CollectiveCall &call_;
  int rank_;
  int side_;
  std::vector<long long> counts_;
  std::vector<long long> displacements_;
  std::vector<MPI_Datatype> types_;
  std::map<int, std::shared_ptr<const RandomLayout>> made_;
  std::vector<std::shared_ptr<const RandomLayout>> layouts_;
  std::ptrdiff_t low_ = std::numeric_limits<std::ptrdiff_t>::max();
  std::ptrdiff_t high_ = std::numeric_limits<std::ptrdiff_t>::min();
};

// The buffers of one call at this rank.
class Buffers {
 public:
  Buffers(Trial &run, const CollectiveCall &call, const Place &place)
      : run_(run), call_(call), place_(place), me_(Session::get().rank()) {
    const std::vector<int> &group = place.group_with_root();
    const int root = call.root % static_cast<int>(group.size());
    root_ = group[static_cast<std::size_t>(root)];
    made_.root = root;
    if (place.is_between_groups && place.is_in_group_with_root()) {
      made_.root = is_root() ? MPI_ROOT : MPI_PROC_NULL;
    }
  }

  CallBuffers make() {
    if (is_reduction(call_.what)) {
      made_.op = op();
      reduce();
    } else if (is_neighborly(call_.what)) {
      neighbors();
    } else if (call_.what >= What::bcast && call_.what <= What::scatterv) {
      with_root();
    } else if (call_.what != What::barrier) {
      without_root();
    }
    return made_;
  }

 private:
  bool is_root() const { return me_ == root_; }
  // One of those that the root sends to, or that send to it.
  bool is_leaf() const { return place_.is_between_groups ? !place_.is_in_group_with_root() : true; }

  // Of what goes from rank `source` to rank `destination` of the session; -1 stands for no rank or any.
  long long same() const { return static_cast<long long>(call_.grains); }
  long long own(int source, int destination) const {
    if (call_.draws.one_in(4, kIsEmpty, source, destination)) {
      return 0;
    }
    return static_cast<long long>(call_.draws.below(call_.grains + 1, kLength, source, destination));
  }
  template <class LengthOf>
  static std::vector<long long> for_each(const std::vector<int> &ranks, LengthOf length_of) {
    std::vector<long long> result;
    for (const int rank : ranks) result.push_back(length_of(rank));
    return result;
  }

  void send(const std::vector<long long> &grains, Spread spread = Spread::one_after_the_other) {
    made_.send = Builder(call_, me_, kSend).build(run_, grains, spread);
    made_.send.is_filled = true;
  }
  void recv(const std::vector<long long> &grains, Spread spread = Spread::one_after_the_other) {
    made_.recv = Builder(call_, me_, kRecv).build(run_, grains, spread);
  }
  // The input is where the result goes.
  void exchange(CallBuffer *other) {
    (other == &made_.send ? made_.recv : made_.send).is_filled = true;
    *other = {};
    other->address = MPI_IN_PLACE;
  }

  void with_root() {
    const bool has_lengths = call_.what == What::gatherv || call_.what == What::scatterv;
    const bool is_gather = call_.what == What::gather || call_.what == What::gatherv;
    const Spread spread = has_lengths ? Spread::in_extents : Spread::one_after_the_other;
    const auto length = [&](int leaf) { return has_lengths ? own(leaf, root_) : same(); };
    if (call_.what == What::bcast) {
      recv({same()});
      made_.recv.is_filled = is_root();
      // Counts and types are looked at there too.
      if (!is_leaf() && !is_root()) made_.recv.address = CallBuffer().address;
      return;
    }
    const std::vector<long long> all = is_root() ? for_each(place_.peers, length) : std::vector<long long>();
    if (is_gather) {
      if (is_leaf()) send({length(me_)});
      if (is_root()) recv(all, spread);
    } else {
      if (is_root()) send(all, spread);
      if (is_leaf()) recv({length(me_)});
    }
    if (call_.is_in_place && is_root()) exchange(is_gather ? &made_.send : &made_.recv);
  }

  void without_root() {
    const bool is_all_to_all = call_.what >= What::alltoall;
    const bool has_lengths = call_.what != What::allgather && call_.what != What::alltoall;
    Spread spread = has_lengths ? Spread::in_extents : Spread::one_after_the_other;
    if (call_.what == What::alltoallw) spread = Spread::in_bytes;
    const auto length = [&](int source, int destination) {
      if (!has_lengths) return same();
      if (!is_all_to_all) return own(source, -1);
      // In place as much goes there as comes from there.
      return call_.is_in_place ? own(std::min(source, destination), std::max(source, destination))
                               : own(source, destination);
    };
    if (is_all_to_all) {
      send(for_each(place_.peers, [&](int peer) { return length(me_, peer); }), spread);
    } else {
      send({length(me_, -1)});
    }
    recv(for_each(place_.peers, [&](int peer) { return length(peer, me_); }), spread);
    if (call_.is_in_place) exchange(&made_.send);
  }

  void neighbors() {
    const bool has_lengths = call_.what != What::neighbor_allgather && call_.what != What::neighbor_alltoall;
    Spread spread = has_lengths ? Spread::in_extents : Spread::one_after_the_other;
    if (call_.what == What::neighbor_alltoallw) spread = Spread::in_bytes;
    const auto length = [&](int source, int destination) { return has_lengths ? own(source, destination) : same(); };
    if (call_.what <= What::neighbor_allgatherv) {
      send({length(me_, -1)});
      recv(for_each(place_.sources, [&](int source) { return length(source, -1); }), spread);
    } else {
      send(for_each(place_.destinations, [&](int destination) { return length(me_, destination); }), spread);
      recv(for_each(place_.sources, [&](int source) { return length(source, me_); }), spread);
    }
  }

  void reduce() {
    if (call_.what == What::reduce_scatter || call_.what == What::reduce_scatter_block) {
      reduce_scatter();
      return;
    }
    const bool has_root = call_.what == What::reduce;
    if (!has_root || is_leaf()) send({same()});
    if (!has_root || !is_leaf() || is_root()) recv({same()});
    if (has_root && !is_leaf() && !is_root()) made_.recv.address = CallBuffer().address;
    made_.recv.is_filled = call_.what == What::reduce_local;
    if (call_.is_in_place && (!has_root || is_root())) exchange(&made_.send);
  }

  void reduce_scatter() {
    const auto length = [&](int rank) {
      // Between groups both give as much.
      if (place_.is_between_groups) return same() * static_cast<long long>(place_.peers.size());
      return call_.what == What::reduce_scatter ? own(rank, -1) : same();
    };
    const std::vector<long long> lengths = for_each(place_.own, length);
    long long all = 0;
    for (const long long each : lengths) all += each;
    send({all});
    recv({call_.is_in_place ? all : length(me_)});
    // The call is told of the parts of the result.
    std::vector<long long> counts = lengths;
    const long long per_grain = all > 0 ? made_.send.count / all : 0;
    for (long long &count : counts) count *= per_grain;
    made_.recv.counts = Numbers(counts);
    made_.recv.count = length(me_) * per_grain;
    if (call_.is_in_place) {
      made_.recv.told_bytes =
          Builder(call_, me_, kRecv).build(run_, {length(me_)}, Spread::one_after_the_other).memory->size_bytes();
      exchange(&made_.send);
    }
  }

  MPI_Op op() const {
    if (call_.sort == Sort::ordered) return ordered_op();
    if (call_.sort == Sort::commutative) return commutative_op();
    const std::vector<Predefined> &types = predefined_types();
    const std::vector<MPI_Op> &ops = types[call_.draws.below(types.size(), kPredefined)].ops;
    return ops[call_.draws.below(ops.size(), kOp)];
  }

  Trial &run_;
  const CollectiveCall &call_;
  const Place &place_;
  int me_;
  int root_ = 0;
  CallBuffers made_;
};

}  // namespace

void CallBuffer::fill(const Trial &run, int iteration) const {
  if (memory == nullptr) {
    return;
  }
  if (!is_filled) {
    memory->fill(kPoison);
    return;
  }
  run.refill(*memory, iteration);
  if (content == Content::bytes) {
    return;
  }
  Bytes bytes = memory->read();
  make_reducible(content, &bytes);
  memory->write(0, bytes.data(), bytes.size());
}

void CallBuffer::forget_rest() const {
  if (memory == nullptr || memory->size_bytes() <= told_bytes) {
    return;
  }
  const Bytes poison(memory->size_bytes() - told_bytes, kPoison);
  memory->write(told_bytes, poison.data(), poison.size());
}

CallBuffers make_buffers(Trial &run, const CollectiveCall &call, const Place &place) {
  return Buffers(run, call, place).make();
}

}  // namespace sluice::tests

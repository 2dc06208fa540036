// SPDX-License-Identifier: BSD-3-Clause
#include "tests/support/random_layouts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "tests/support/dice.hpp"
#include "tests/support/host_mpi.hpp"

namespace sluice::tests {
namespace {

constexpr int kMostTries = 12;
constexpr int kDeepest = 4;

struct Bounds {
  MPI_Aint extent = 0;
  MPI_Aint low = 0;  // true bounds
  MPI_Aint high = 0;
};

Bounds bounds_of(MPI_Datatype type) {
  Bounds bounds;
  MPI_Aint lower = 0;
  MPI_Aint length = 0;
  MPI_Type_get_extent(type, &lower, &bounds.extent);
  MPI_Type_get_true_extent(type, &bounds.low, &length);
  bounds.high = bounds.low + length;
  return bounds;
}

bool is_named(MPI_Datatype type) {
  int n_integers = 0;
  int n_addresses = 0;
  int n_types = 0;
  int combiner = MPI_COMBINER_NAMED;
  MPI_Type_get_envelope(type, &n_integers, &n_addresses, &n_types, &combiner);
  return combiner == MPI_COMBINER_NAMED;
}

// Whether some of the bytes of `count` elements in a row are the same: told by which are written.
bool overlaps(MPI_Datatype type, int count) {
  const Bounds bounds = bounds_of(type);
  int element_bytes = 0;
  MPI_Type_size(type, &element_bytes);
  const int size_bytes = element_bytes * count;
  const std::vector<unsigned char> packed(static_cast<std::size_t>(size_bytes), 1);
  std::vector<unsigned char> memory(static_cast<std::size_t>(bounds.high - bounds.low + (count - 1) * bounds.extent),
                                    0);
  int position = 0;
  MPI_Unpack(packed.data(), size_bytes, &position, memory.data() - bounds.low, count, type, MPI_COMM_SELF);
  return std::count(memory.begin(), memory.end(), 1) != size_bytes;
}

// One attempt at a type. What it is made of is freed at once, as MPI allows.
class Maker {
 public:
  // is_tight: no gaps between the predefined types of a signature.
  Maker(Dice &dice, const Signature &signature, bool may_overlap, bool is_tight, std::string *how)
      : dice_(dice), signature_(signature), may_overlap_(may_overlap), is_tight_(is_tight), how_(how) {}

  MPI_Datatype nested(int n, int depth) {
    if (depth == 0) {
      return n == 1 ? basic() : contiguous(n, 0);
    }
    switch (dice_.below(12)) {
      case 0:
        return contiguous(n, depth - 1);
      case 1:
      case 2:
        return vector(n, depth - 1);
      case 3:
      case 4:
      case 5:
      case 6:
        return indexed(n, depth - 1);
      case 7:
        return structure(n, depth - 1);
      case 8:
        return subarray(n, depth - 1);
      case 9:
        return darray(n, depth - 1);
      case 10:
        return resized(n, depth - 1);
      default:
        return duplicate(n, depth - 1);
    }
  }

 private:
  using Ints = std::vector<int>;

  void say(const char *name, int n) { *how_ += std::string(name) + ' ' + std::to_string(n) + ", "; }

  // The new type, of which `part` is a part.
  static MPI_Datatype instead_of(MPI_Datatype part, MPI_Datatype made) {
    release(part);
    return made;
  }
  static void release(MPI_Datatype part) {
    if (!is_named(part)) MPI_Type_free(&part);
  }

  int divisor_of(int n) {
    Ints divisors;
    for (int d = 1; d <= n; ++d) {
      if (n % d == 0) divisors.push_back(d);
    }
    return divisors[dice_.below(divisors.size())];
  }
  // So many numbers whose product is n.
  Ints factors_of(int n, int count) {
    Ints factors;
    for (; count > 1; --count) {
      factors.push_back(divisor_of(n));
      n /= factors.back();
    }
    factors.push_back(n);
    dice_.shuffle(&factors);
    return factors;
  }
  // Numbers whose sum is n, some of them 0.
  Ints parts_of(int n) {
    Ints parts;
    while (n > 0) {
      if (dice_.one_in(6)) parts.push_back(0);
      parts.push_back(1 + dice_.below_int(n));
      n -= parts.back();
    }
    return parts;
  }

  // Where blocks of so many bytes that begin at `low` may lie: apart from each other, in any order, on both sides of
  // the address; or, now and then, anywhere. In units, of bytes or extents.
  std::vector<MPI_Aint> places_of(const std::vector<Bounds> &blocks, MPI_Aint unit) {
    std::vector<std::size_t> order(blocks.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    if (dice_.one_in(2)) dice_.shuffle(&order);
    const bool is_anywhere = may_overlap_ && dice_.one_in(4);
    std::vector<MPI_Aint> places(blocks.size());
    MPI_Aint next = dice_.one_in(3) ? -static_cast<MPI_Aint>(dice_.below(64)) : 0;
    const MPI_Aint step = dice_.one_in(4) ? 1 : 8;  // of h-types: aligned, or not
    for (const std::size_t i : order) {
      const MPI_Aint grid = unit == 1 ? step : unit;
      const MPI_Aint wanted = next - blocks[i].low + grid * static_cast<MPI_Aint>(dice_.below(3));
      // Rounded up, of negative numbers too.
      const MPI_Aint place = wanted >= 0 ? (wanted + grid - 1) / grid : -(-wanted / grid);
      places[i] = (is_anywhere ? static_cast<MPI_Aint>(dice_.below(5)) : place) * grid / unit;
      next = places[i] * unit + blocks[i].high;
    }
    return places;
  }
  static std::vector<MPI_Aint> tight_places_of(const std::vector<Bounds> &blocks) {
    std::vector<MPI_Aint> places;
    MPI_Aint next = 0;
    for (const Bounds &block : blocks) {
      places.push_back(next);
      next += block.high;
    }
    return places;
  }
  static Bounds block_of(const Bounds &part, int length) {
    return {0, part.low, part.high + std::max(length - 1, 0) * part.extent};
  }

  MPI_Datatype basic() {
    const std::size_t n = signature_.basics.size();
    if (n == 1) return signature_.basics.front();
    std::vector<Bounds> blocks;
    for (const MPI_Datatype type : signature_.basics) blocks.push_back(bounds_of(type));
    const std::vector<MPI_Aint> places = is_tight_ ? tight_places_of(blocks) : places_of(blocks, 1);
    const Ints lengths(n, 1);
    MPI_Datatype made = MPI_DATATYPE_NULL;
    MPI_Type_create_struct(static_cast<int>(n), lengths.data(), places.data(), signature_.basics.data(), &made);
    say("struct of basics", static_cast<int>(n));
    return made;
  }

  MPI_Datatype contiguous(int n, int depth) {
    const int count = depth == 0 ? n : divisor_of(n);
    const MPI_Datatype part = nested(n / count, depth);
    MPI_Datatype made = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(count, part, &made);
    say("contiguous", count);
    return instead_of(part, made);
  }

  MPI_Datatype vector(int n, int depth) {
    const Ints factors = factors_of(n, 3);
    const int count = factors[0];
    const int length = factors[1];
    const MPI_Datatype part = nested(factors[2], depth);
    const Bounds bounds = bounds_of(part);
    const Bounds block = block_of(bounds, length);
    const MPI_Aint long_bytes = block.high - block.low;
    const bool is_tight = dice_.one_in(5);  // interleaved, or on each other
    const bool is_backwards = dice_.one_in(3);
    MPI_Datatype made = MPI_DATATYPE_NULL;
    if (dice_.one_in(2)) {
      MPI_Aint stride = is_tight ? 1 + dice_.below_int(3) : (long_bytes - 1) / bounds.extent + 1 + dice_.below_int(3);
      if (is_backwards) stride = -stride;
      MPI_Type_vector(count, length, static_cast<int>(stride), part, &made);
      say("vector", count);
    } else {
      MPI_Aint stride = is_tight ? 4 * dice_.below_int(5) : long_bytes + dice_.below_int(17);
      if (is_backwards) stride = -stride;
      MPI_Type_create_hvector(count, length, stride, part, &made);
      say("hvector", count);
    }
    return instead_of(part, made);
  }

  // The four with a list of blocks.
  MPI_Datatype indexed(int n, int depth) {
    const int in_part = divisor_of(n);
    const MPI_Datatype part = nested(in_part, depth);
    const Bounds bounds = bounds_of(part);
    const bool is_even = dice_.one_in(2);
    const bool is_in_bytes = dice_.one_in(2);
    const int length = is_even ? divisor_of(n / in_part) : 0;
    const Ints lengths = is_even ? Ints(static_cast<std::size_t>(n / in_part / length), length) : parts_of(n / in_part);
    std::vector<Bounds> blocks;
    for (const int each : lengths) blocks.push_back(block_of(bounds, each));
    const std::vector<MPI_Aint> bytes = places_of(blocks, is_in_bytes ? 1 : bounds.extent);
    const Ints places(bytes.begin(), bytes.end());
    const int count = static_cast<int>(lengths.size());
    MPI_Datatype made = MPI_DATATYPE_NULL;
    if (is_in_bytes) {
      is_even ? MPI_Type_create_hindexed_block(count, length, bytes.data(), part, &made)
              : MPI_Type_create_hindexed(count, lengths.data(), bytes.data(), part, &made);
    } else {
      is_even ? MPI_Type_create_indexed_block(count, length, places.data(), part, &made)
              : MPI_Type_indexed(count, lengths.data(), places.data(), part, &made);
    }
    say(is_in_bytes ? "hindexed" : "indexed", count);
    return instead_of(part, made);
  }

  MPI_Datatype structure(int n, int depth) {
    const Ints parts = parts_of(n);
    Ints lengths;
    std::vector<MPI_Datatype> types;
    std::vector<Bounds> blocks;
    for (const int each : parts) {
      lengths.push_back(each == 0 ? 0 : divisor_of(each));
      types.push_back(each == 0 ? MPI_INT : nested(each / lengths.back(), dice_.below_int(depth + 1)));
      blocks.push_back(block_of(bounds_of(types.back()), lengths.back()));
    }
    const std::vector<MPI_Aint> places = places_of(blocks, 1);
    MPI_Datatype made = MPI_DATATYPE_NULL;
    MPI_Type_create_struct(static_cast<int>(parts.size()), lengths.data(), places.data(), types.data(), &made);
    say("struct", static_cast<int>(parts.size()));
    for (const MPI_Datatype type : types) release(type);
    return made;
  }

  int order() { return dice_.one_in(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN; }

  MPI_Datatype subarray(int n, int depth) {
    const int n_dims = 1 + dice_.below_int(3);
    Ints inner = factors_of(n, n_dims + 1);
    const MPI_Datatype part = nested(inner.back(), depth);
    inner.pop_back();
    Ints sizes;
    Ints starts;
    for (const int each : inner) {
      sizes.push_back(each + dice_.below_int(3));
      starts.push_back(dice_.below_int(sizes.back() - each + 1));
    }
    MPI_Datatype made = MPI_DATATYPE_NULL;
    MPI_Type_create_subarray(n_dims, sizes.data(), inner.data(), starts.data(), order(), part, &made);
    say("subarray", n_dims);
    return instead_of(part, made);
  }

  MPI_Datatype darray(int n, int depth) {
    const int n_dims = 1 + dice_.below_int(2);
    Ints own = factors_of(n, n_dims + 1);
    const MPI_Datatype part = nested(own.back(), depth);
    own.pop_back();
    Ints sizes;
    Ints by;
    Ints arguments;
    Ints grid;
    int n_ranks = 1;
    int rank = 0;
    for (const int each : own) {
      int place = 0;
      grid.push_back(1);
      switch (dice_.below(3)) {
        case 0:
          by.push_back(MPI_DISTRIBUTE_NONE);
          arguments.push_back(MPI_DISTRIBUTE_DFLT_DARG);
          sizes.push_back(each);
          break;
        case 1:  // the last rank of the dimension has the rest
          by.push_back(MPI_DISTRIBUTE_BLOCK);
          grid.back() = 1 + dice_.below_int(3);
          place = grid.back() - 1;
          arguments.push_back(each + dice_.below_int(2));
          sizes.push_back(place * arguments.back() + each);
          break;
        default:
          by.push_back(MPI_DISTRIBUTE_CYCLIC);
          grid.back() = 1 + dice_.below_int(2);
          place = dice_.below_int(grid.back());
          arguments.push_back(divisor_of(each));
          sizes.push_back(each * grid.back());
      }
      n_ranks *= grid.back();
      rank = rank * grid.back() + place;
    }
    MPI_Datatype made = MPI_DATATYPE_NULL;
    MPI_Type_create_darray(n_ranks, rank, n_dims, sizes.data(), by.data(), arguments.data(), grid.data(), order(), part,
                           &made);
    say("darray", n_dims);
    return instead_of(part, made);
  }

  MPI_Datatype resized(int n, int depth) {
    const MPI_Datatype part = nested(n, depth);
    const Bounds bounds = bounds_of(part);
    const MPI_Aint lower = dice_.one_in(2) ? bounds.low : static_cast<MPI_Aint>(dice_.below(80)) - 40;
    // Shorter than what is in it: elements in a row interleave, or overlap.
    const MPI_Aint extent =
        dice_.one_in(4) ? 4 + 4 * dice_.below_int(3) : bounds.high - bounds.low + dice_.below_int(20);
    MPI_Datatype made = MPI_DATATYPE_NULL;
    MPI_Type_create_resized(part, lower, extent, &made);
    say("resized", static_cast<int>(extent));
    return instead_of(part, made);
  }

  MPI_Datatype duplicate(int n, int depth) {
    const MPI_Datatype part = nested(n, depth);
    MPI_Datatype made = MPI_DATATYPE_NULL;
    MPI_Type_dup(part, &made);
    say("dup", n);
    return instead_of(part, made);
  }

  Dice &dice_;
  const Signature &signature_;
  bool may_overlap_;
  bool is_tight_;
  std::string *how_;
};

}  // namespace

Signature random_signature(std::uint64_t seed) {
  const std::array<MPI_Datatype, 7> all = {MPI_BYTE,   MPI_SHORT,           MPI_INT, MPI_INT64_T, MPI_FLOAT,
                                           MPI_DOUBLE, MPI_C_DOUBLE_COMPLEX};
  Dice dice(seed);
  Signature signature;
  const int n = dice.one_in(2) ? 1 : 2 + dice.below_int(2);
  for (int i = 0; i < n; ++i) {
    const MPI_Datatype another = dice.one_of(all);
    signature.basics.push_back(i > 0 && mishandles_types_of_uneven_lengths() ? signature.basics.front() : another);
    int size_bytes = 0;
    MPI_Type_size(signature.basics.back(), &size_bytes);
    signature.size_bytes += static_cast<std::size_t>(size_bytes);
  }
  return signature;
}

RandomLayout::RandomLayout(std::uint64_t seed, const Signature &signature, int n_repeats, bool may_overlap) {
  Dice dice(seed);
  const auto most_bytes = static_cast<MPI_Aint>(6 * signature.size_bytes * static_cast<std::size_t>(n_repeats) + 32);
  for (int i = 0; i < kMostTries; ++i) {
    how_.clear();
    // The last one is as good as any that does.
    const int depth = i + 1 < kMostTries ? 1 + dice.below_int(kDeepest) : 0;
    type_ = Maker(dice, signature, may_overlap && depth > 0, depth == 0, &how_).nested(n_repeats, depth);
    const Bounds bounds = bounds_of(type_);
    extent_bytes_ = bounds.extent;
    low_bytes_ = bounds.low;
    high_bytes_ = bounds.high;
    if (is_named(type_)) MPI_Type_dup(type_, &type_);
    MPI_Type_commit(&type_);
    const bool is_short = extent_bytes_ > 0 && std::max(extent_bytes_, high_bytes_ - low_bytes_) <= most_bytes &&
                          std::max(low_bytes_, -high_bytes_) <= most_bytes;
    if (is_short) {
      const MPI_Aint n_neighbours = std::min<MPI_Aint>((high_bytes_ - low_bytes_) / extent_bytes_ + 2, 64);
      if (may_overlap || !overlaps(type_, static_cast<int>(n_neighbours))) return;
    }
    MPI_Type_free(&type_);
  }
  ADD_FAILURE() << "no layout of " << n_repeats << " repeats from seed " << seed;
}

RandomLayout::~RandomLayout() {
  if (type_ != MPI_DATATYPE_NULL) MPI_Type_free(&type_);
}

}  // namespace sluice::tests

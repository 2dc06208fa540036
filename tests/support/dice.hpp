// SPDX-License-Identifier: BSD-3-Clause
// Random numbers that are the same everywhere.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace sluice::tests {

// std::uniform_int_distribution differs between libraries; a seed must mean the same program everywhere.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t below(std::uint64_t bound) { return engine_() % bound; }
  int below_int(int bound) { return static_cast<int>(below(static_cast<std::uint64_t>(bound))); }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  template <class Value, std::size_t n>
  Value one_of(const std::array<Value, n> &values) {
    return values[below(n)];
  }
  template <class Value>
  void shuffle(std::vector<Value> *values) {
    for (std::size_t i = values->size(); i > 1; --i) std::swap((*values)[i - 1], (*values)[below(i)]);
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace sluice::tests

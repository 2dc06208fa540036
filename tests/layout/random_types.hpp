// SPDX-License-Identifier: BSD-3-Clause
// Nested datatypes from a seed, by every constructor of MPI that C can call.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "wire/host.hpp"

namespace sluice::tests {

// A datatype that is freed, with the constructors that made it.
struct MadeType {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  std::string how;
  bool is_owned = true;

  MadeType() = default;
  MadeType(MPI_Datatype given, std::string text, bool owned);
  MadeType(MadeType &&other) noexcept;
  MadeType &operator=(MadeType &&other) noexcept;
  MadeType(const MadeType &) = delete;
  MadeType &operator=(const MadeType &) = delete;
  ~MadeType();
};

class RandomTypes {
 public:
  explicit RandomTypes(std::uint64_t seed) : engine_(seed) {}

  // A committed type, small enough to be packed in a test.
  MadeType make();

  // How often each constructor was used, by name, "_c" for the ones with large counts.
  [[nodiscard]] const std::vector<std::string> &used() const { return used_; }

 private:
  MadeType nested(int depth);
  MadeType basic();
  MadeType blocks(int which, const MadeType &part, bool is_large);
  MadeType structure(int depth, bool is_large);
  MadeType subarray(const MadeType &part, bool is_large);
  MadeType darray(const MadeType &part, bool is_large);
  int between(int low, int high) { return std::uniform_int_distribution<int>(low, high)(engine_); }

  std::mt19937_64 engine_;
  std::vector<std::string> used_;
};

// The distributed arrays of 7 x 5 elements by every pair of distributions, argument (default, and `largest_argument`),
// order and rank.
std::vector<MadeType> all_darrays(int largest_argument);

}  // namespace sluice::tests

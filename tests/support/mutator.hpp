// SPDX-License-Identifier: BSD-3-Clause
// Mutator: changes messages at random, often to numbers at which arithmetic goes wrong. The same seed, the same
// changes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>

namespace sluice::tests {

class Mutator {
 public:
  // `size_bytes`: a length that the messages tell of, for numbers near it.
  Mutator(std::uint64_t seed, std::uint64_t size_bytes) : random_(seed), size_bytes_(size_bytes) {}

  // Changes one to four things in the bytes from `begin` to `end`, at least 8.
  void mutate(std::byte *bytes, std::size_t begin, std::size_t end) {
    const std::size_t n_bytes = end - begin;
    bytes += begin;
    for (std::uint64_t n = 1 + below(4); n-- > 0;) {
      switch (below(4)) {
        case 0:
          bytes[below(n_bytes)] ^= static_cast<std::byte>(1U << below(8));
          break;
        case 1:
          bytes[below(n_bytes)] = static_cast<std::byte>(below(256));
          break;
        case 2:
          put(bytes + below(n_bytes / 8) * 8, 8);
          break;
        default:
          put(bytes + below(n_bytes / 4) * 4, 4);
      }
    }
  }
  std::uint64_t below(std::uint64_t end) { return random_() % end; }
  std::uint64_t odd_number() {
    const std::array<std::uint64_t, 12> numbers = {0,           1,           255,         256,
                                                   size_bytes_, 0x7fffffffU, 0x80000000U, 0xffffffffU,
                                                   1,           1ULL << 62U, 1ULL << 63U, ~std::uint64_t{0}};
    return numbers[below(numbers.size())] + below(3) - 1;
  }

 private:
  void put(std::byte *at, std::size_t n_bytes) {
    const std::uint64_t number = odd_number();
    std::memcpy(at, &number, n_bytes);
  }
  std::mt19937_64 random_;
  std::uint64_t size_bytes_;
};

}  // namespace sluice::tests

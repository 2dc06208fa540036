// SPDX-License-Identifier: BSD-3-Clause
// Reductions of half and bfloat16, where the host MPI has such types, by the devices of a node. Not all host MPIs can
// reduce them on the host: the expected numbers are whole, small, and known without any.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "tests/ranks/coll/moving.hpp"
#include "tests/support/host_mpi.hpp"

namespace sluice::tests::short_numbers_test {
namespace {

struct ShortType {
  const char *name;
  MPI_Datatype type;
  int fraction_bits;
  int exponent_bias;
};

// Exact for numbers of few enough bits, as these are.
std::uint16_t bits_of(const ShortType &of, int number) {
  if (number == 0) return 0;
  int exponent = 0;
  const double fraction = std::frexp(std::abs(number), &exponent);  // from 0.5 up to 1
  const auto digits = static_cast<int>(std::lround(std::ldexp(fraction * 2 - 1, of.fraction_bits)));
  const int sign = number < 0 ? 0x8000 : 0;
  return static_cast<std::uint16_t>(sign | ((exponent - 1 + of.exponent_bias) << of.fraction_bits) | digits);
}

double number_of(const ShortType &of, std::uint16_t bits) {
  const int fraction = bits & ((1 << of.fraction_bits) - 1);
  const int exponent = ((bits & 0x7FFF) >> of.fraction_bits) - of.exponent_bias;
  const double number = std::ldexp(1 + std::ldexp(fraction, -of.fraction_bits), exponent);
  return (bits & 0x8000) != 0 ? -number : number;
}

// The nearest, the even one of two.
std::uint16_t nearest_bits(const ShortType &of, double number) {
  int exponent = 0;
  std::frexp(number, &exponent);
  const double digits = std::ldexp(number, of.fraction_bits + 1 - exponent);
  const double nearest = std::ldexp(std::nearbyint(digits), exponent - of.fraction_bits - 1);
  const double fraction = std::frexp(std::abs(nearest), &exponent);
  const auto kept = static_cast<int>(std::ldexp(fraction * 2 - 1, of.fraction_bits));
  return static_cast<std::uint16_t>((number < 0 ? 0x8000 : 0) |
                                    ((exponent - 1 + of.exponent_bias) << of.fraction_bits) | kept);
}

std::vector<ShortType> short_types() {
  std::vector<ShortType> types;
  if (aborts_on_unknown_types()) return types;
#ifdef MPI_REAL2
  types.push_back({"MPI_REAL2", MPI_REAL2, 10, 15});
#endif
#ifdef MPIX_C_FLOAT16
  types.push_back({"MPIX_C_FLOAT16", MPIX_C_FLOAT16, 10, 15});
#endif
#ifdef MPIX_BFLOAT16
  types.push_back({"MPIX_BFLOAT16", MPIX_BFLOAT16, 7, 127});
#endif
  // A header names types that the library need not have.
  EXPECT_EQ(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), MPI_SUCCESS);
  EXPECT_EQ(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN), MPI_SUCCESS);
  std::erase_if(types, [](const ShortType &of) {
    int size_bytes = 0;
    return MPI_Type_size(of.type, &size_bytes) != MPI_SUCCESS || size_bytes != 2;
  });
  return types;
}

class ShortNumbers : public Together {};

// Powers of two: sums and products of up to eight of them are exact.
int number_of(int rank, int i) {
  const int numbers[] = {1, -2, 2, -1, 2};
  return numbers[(i * 3 + rank) % 5];
}

TEST_F(ShortNumbers, AreReducedByTheDevices) {
  const std::vector<ShortType> types = short_types();
  if (types.empty()) GTEST_SKIP() << "missing: a type of half or bfloat16 in this host MPI";
  struct Operation {
    const char *name;
    MPI_Op op;
    int (*fold)(int, int);
  };
  const Operation operations[] = {{"sum", MPI_SUM, [](int a, int b) { return a + b; }},
                                  {"product", MPI_PROD, [](int a, int b) { return a * b; }},
                                  {"minimum", MPI_MIN, [](int a, int b) { return std::min(a, b); }},
                                  {"maximum", MPI_MAX, [](int a, int b) { return std::max(a, b); }}};
  for (const ShortType &of : types) {
    for (const Operation &operation : operations) {
      for (const int count : {1, 63, 1'001}) {
        SCOPED_TRACE(std::string(of.name) + ", " + operation.name + " of " + std::to_string(count));
        std::vector<std::uint16_t> mine;
        std::vector<std::uint16_t> wanted;
        for (int i = 0; i < count; ++i) {
          mine.push_back(bits_of(of, number_of(session_.rank(), i)));
          int result = number_of(0, i);
          for (int rank = 1; rank < session_.size(); ++rank) result = operation.fold(result, number_of(rank, i));
          wanted.push_back(bits_of(of, result));
        }
        const std::size_t size_bytes = mine.size() * sizeof(mine[0]);
        const Memory in(session_.module(), Kind::device, size_bytes + 2);
        const Memory out(session_.module(), Kind::device, size_bytes);
        in.write(2, mine.data(), size_bytes);
        const long long before = calls_by("MPI_Allreduce", "kernel");
        ASSERT_EQ(MPI_Allreduce(in.at(2), out.data(), count, of.type, operation.op, session_.comm()), MPI_SUCCESS);
        EXPECT_GT(calls_by("MPI_Allreduce", "kernel"), before);
        Bytes expected(size_bytes);
        std::memcpy(expected.data(), wanted.data(), size_bytes);
        ASSERT_EQ(find_difference(expected, out.read()), "");
      }
    }
  }
}

// Numbers from 1 to 2 with every digit: each operation rounds, from the left in the order of the ranks.
TEST_F(ShortNumbers, AreRoundedInTheOrderOfTheRanks) {
  const std::vector<ShortType> types = short_types();
  if (types.empty()) GTEST_SKIP() << "missing: a type of half or bfloat16 in this host MPI";
  const auto input = [](const ShortType &of, int rank, int i) {
    const int fraction = (i * 37 + rank * 101 + 11) & ((1 << of.fraction_bits) - 1);
    return static_cast<std::uint16_t>((of.exponent_bias << of.fraction_bits) | fraction);
  };
  for (const ShortType &of : types) {
    for (const MPI_Op op : {MPI_SUM, MPI_PROD}) {
      for (const int count : {1, 63, 1'001}) {
        std::vector<std::uint16_t> mine;
        std::vector<std::uint16_t> wanted;
        for (int i = 0; i < count; ++i) {
          mine.push_back(input(of, session_.rank(), i));
          wanted.push_back(input(of, 0, i));
          for (int rank = 1; rank < session_.size(); ++rank) {
            const double so_far = number_of(of, wanted.back());
            const double next = number_of(of, input(of, rank, i));
            wanted.back() = nearest_bits(of, op == MPI_SUM ? so_far + next : so_far * next);
          }
        }
        Bytes expected(mine.size() * sizeof(mine[0]));
        std::memcpy(expected.data(), wanted.data(), expected.size());
        const Memory in(session_.module(), Kind::device, expected.size());
        const Memory out(session_.module(), Kind::device, expected.size());
        in.write(0, mine.data(), expected.size());
        ASSERT_EQ(MPI_Allreduce(in.data(), out.data(), count, of.type, op, session_.comm()), MPI_SUCCESS);
        ASSERT_EQ(find_difference(expected, out.read()), "") << of.name << (op == MPI_SUM ? " sum" : " product");
      }
    }
  }
}

}  // namespace
}  // namespace sluice::tests::short_numbers_test

// SPDX-License-Identifier: BSD-3-Clause
// MPI_Reduce_local on device memory, computed by the device: every operation on every predefined type that devices
// know, against the host MPI on host copies. Started with SLUICE_COLL_KERNEL=always and statistics.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/oracle.hpp"
#include "tests/support/statistics.hpp"

namespace sluice::tests {
namespace {

struct NamedOp {
  const char *name;
  MPI_Op op;
};

struct TypeCase {
  const char *name;
  MPI_Datatype type;
  std::vector<NamedOp> ops;
  std::size_t size_bytes;  // from one element to the next
  // Writes element `i` of the first (0) or second (1) buffer.
  std::function<void(unsigned char *element, int i, int which)> make;
};

// Any bits do for integers.
template <typename T>
void make_integer(unsigned char *element, int i, int which) {
  const auto value = static_cast<T>((static_cast<unsigned long long>(i) + 1) * 0x9E3779B97F4A7C15ULL >> (which * 7));
  std::memcpy(element, &value, sizeof(T));
}

// Numbers whose sums and products are rounded.
template <typename T>
T number(int i, int which) {
  const T value = T{1} / static_cast<T>(i * 7 + which * 13 + 3);
  return (i + which) % 3 == 0 ? -value : value;
}

template <typename T>
void make_number(unsigned char *element, int i, int which) {
  const T value = number<T>(i, which);
  std::memcpy(element, &value, sizeof(T));
}

template <typename T>
void make_complex(unsigned char *element, int i, int which) {
  const T parts[] = {number<T>(i, which), number<T>(i + 5, 1 - which)};
  std::memcpy(element, parts, sizeof(parts));
}

template <typename T>
void make_truth(unsigned char *element, int i, int which) {
  const auto value = static_cast<T>((i >> which) % 2);
  std::memcpy(element, &value, sizeof(T));
}

// Values that are often equal, with places that are not; the gap keeps what is there.
template <typename T>
void make_pair(unsigned char *element, int i, int which) {
  struct Pair {
    T value;
    int place;
  };
  const auto value = static_cast<T>((i * 31 + which * 17) % 5);
  const int place = (i + which * 3) % 7;
  std::memcpy(element, &value, sizeof(T));
  std::memcpy(element + offsetof(Pair, place), &place, sizeof(place));
}

#define OP(name) {#name, MPI_##name}

std::vector<TypeCase> all_types() {
  const std::vector<NamedOp> arithmetic = {OP(SUM), OP(PROD), OP(MIN), OP(MAX)};
  const std::vector<NamedOp> logical = {OP(LAND), OP(LOR), OP(LXOR)};
  const std::vector<NamedOp> bitwise = {OP(BAND), OP(BOR), OP(BXOR)};
  const std::vector<NamedOp> sums = {OP(SUM), OP(PROD)};
  const std::vector<NamedOp> places = {OP(MINLOC), OP(MAXLOC)};
  std::vector<NamedOp> integer = arithmetic;
  integer.insert(integer.end(), logical.begin(), logical.end());
  integer.insert(integer.end(), bitwise.begin(), bitwise.end());
  return {{"signed char", MPI_SIGNED_CHAR, integer, 1, make_integer<signed char>},
          {"unsigned char", MPI_UNSIGNED_CHAR, integer, 1, make_integer<unsigned char>},
          {"short", MPI_SHORT, integer, 2, make_integer<short>},
          {"unsigned short", MPI_UNSIGNED_SHORT, integer, 2, make_integer<unsigned short>},
          {"int", MPI_INT, integer, 4, make_integer<int>},
          {"unsigned", MPI_UNSIGNED, integer, 4, make_integer<unsigned>},
          {"long", MPI_LONG, integer, 8, make_integer<long>},
          {"uint64_t", MPI_UINT64_T, integer, 8, make_integer<unsigned long>},
          {"MPI_Aint", MPI_AINT, bitwise, 8, make_integer<long>},
          {"float", MPI_FLOAT, arithmetic, 4, make_number<float>},
          {"double", MPI_DOUBLE, arithmetic, 8, make_number<double>},
          {"float complex", MPI_C_FLOAT_COMPLEX, sums, 8, make_complex<float>},
          {"double complex", MPI_C_DOUBLE_COMPLEX, sums, 16, make_complex<double>},
          {"bool", MPI_C_BOOL, logical, 1, make_truth<unsigned char>},
          {"LOGICAL", MPI_LOGICAL, logical, 4, make_truth<int>},
          {"byte", MPI_BYTE, bitwise, 1, make_integer<unsigned char>},
          {"short and int", MPI_SHORT_INT, places, 8, make_pair<short>},
          {"two ints", MPI_2INT, places, 8, make_pair<int>},
          {"long and int", MPI_LONG_INT, places, 16, make_pair<long>},
          {"float and int", MPI_FLOAT_INT, places, 8, make_pair<float>},
          {"double and int", MPI_DOUBLE_INT, places, 16, make_pair<double>}};
}

void write_elements(const Memory &memory, const TypeCase &of, int count, int which) {
  std::vector<unsigned char> bytes(static_cast<std::size_t>(count) * of.size_bytes, kPoison);
  for (int i = 0; i < count; ++i) of.make(bytes.data() + static_cast<std::size_t>(i) * of.size_bytes, i, which);
  memory.write(0, bytes.data(), bytes.size());
}

bool is_forced() {
  const char *value = std::getenv("SLUICE_COLL_KERNEL");
  return value != nullptr && std::string_view(value) == "always";
}

const Case kOnDevice = {.send = Kind::device, .recv = Kind::device};

// The routes of MPI_Reduce_local that a body takes, in calls; every call counts twice, once for each buffer.
long long kernels_of(const std::function<void()> &body) {
  const long long before = calls_by("MPI_Reduce_local", "kernel");
  body();
  return (calls_by("MPI_Reduce_local", "kernel") - before) / 2;
}

// Some host MPIs compare unsigned integers as signed ones, or let short ones saturate; those pairs are left to them.
bool may_be_left_to_the_host(const TypeCase &of, const NamedOp &op) {
  const std::string_view type = of.name;
  const std::string_view operation = op.name;
  const bool is_compared = type.starts_with('u') && (operation == "MIN" || operation == "MAX");
  const bool is_short = of.size_bytes <= 2 && (operation == "SUM" || operation == "PROD");
  return is_compared || is_short;
}

}  // namespace

TEST(Kernel, GivesTheHostMpisResult_ForEveryOperationOnEveryType) {
  if (!Session::get().has_kind(Kind::device)) GTEST_SKIP() << "missing: device memory";
  for (const TypeCase &of : all_types()) {
    for (const NamedOp &op : of.ops) {
      SCOPED_TRACE(std::string(of.name) + " " + op.name);
      const long long kernels = kernels_of([&] {
        for (const int count : {1, 333, 4096}) {
          compare_with_host(kOnDevice, [&](Trial &run) {
            const std::size_t size_bytes = static_cast<std::size_t>(count) * of.size_bytes;
            const Memory &in = run.buffer(run.send_kind(), size_bytes);
            const Memory &inout = run.buffer(run.recv_kind(), size_bytes);
            write_elements(in, of, count, 0);
            write_elements(inout, of, count, 1);
            run.call(op.name, MPI_Reduce_local(in.data(), inout.data(), count, of.type, op.op));
          });
        }
      });
      if (is_forced() && Session::get().has_sluice()) {
        const bool is_left = kernels == 0 && may_be_left_to_the_host(of, op);
        EXPECT_TRUE(kernels == 3 || is_left) << kernels << " of 3 calls went by the kernel";
      }
      if (testing::Test::HasFailure()) return;
    }
  }
}

// Elements that lie where a compiler would not put them.
TEST(Kernel, GivesTheHostMpisResult_WhereverTheElementsLie) {
  if (!Session::get().has_kind(Kind::device)) GTEST_SKIP() << "missing: device memory";
  for (const int shift : {1, 4, 7, 8}) {
    for (const int other : {0, 1, 4}) {
      compare_with_host(kOnDevice, [&](Trial &run) {
        constexpr int kCount = 1001;
        std::vector<double> numbers(kCount);
        for (int i = 0; i < kCount; ++i) numbers[static_cast<std::size_t>(i)] = number<double>(i, 0);
        const Memory &in = run.buffer(run.send_kind(), kCount * sizeof(double) + 16);
        const Memory &inout = run.buffer(run.recv_kind(), kCount * sizeof(double) + 16);
        const auto first = static_cast<std::size_t>(shift);
        const auto second = static_cast<std::size_t>(other);
        in.write(first, numbers.data(), kCount * sizeof(double));
        inout.write(second, numbers.data(), kCount * sizeof(double));
        run.call("MPI_SUM", MPI_Reduce_local(in.at(first), inout.at(second), kCount, MPI_DOUBLE, MPI_SUM));
      });
    }
  }
}

// What is not the device's goes through the host as before: memory of two kinds, and types of no element.
TEST(Kernel, IsNotUsed_WhereTheDeviceCannot) {
  if (!Session::get().has_kind(Kind::device)) GTEST_SKIP() << "missing: device memory";
  const long long kernels = kernels_of([] {
    for (const Case &kinds :
         {Case{.send = Kind::host, .recv = Kind::device}, Case{.send = Kind::device, .recv = Kind::host}}) {
      compare_with_host(kinds, [](Trial &run) {
        const Memory &in = run.input(400, 0);
        const Memory &inout = run.buffer(run.recv_kind(), 400);
        run.refill(inout, 1);
        run.call("MPI_BXOR", MPI_Reduce_local(in.data(), inout.data(), 100, MPI_INT, MPI_BXOR));
      });
    }
    compare_with_host(kOnDevice, [](Trial &run) {
      const Memory &in = run.buffer(run.send_kind(), 100 * sizeof(long double));
      const Memory &inout = run.buffer(run.recv_kind(), 100 * sizeof(long double));
      const std::vector<long double> ones(100, 1.0L);
      for (const Memory *memory : {&in, &inout}) memory->write(0, ones.data(), 100 * sizeof(long double));
      run.call("MPI_SUM", MPI_Reduce_local(in.data(), inout.data(), 100, MPI_LONG_DOUBLE, MPI_SUM));
      for (const Memory *memory : {&in, &inout}) memory->fill(0);  // the bytes behind a number's own mean nothing
    });
  });
  if (Session::get().has_sluice()) {
    EXPECT_EQ(kernels, 0);
  }
}

// Started with a kernel that fails.
TEST(KernelFault, IsAnErrorOfTheCall_AndTheNextOneWorks) {
  const char *fault = std::getenv("SLUICE_TEST_KERNEL_FAILS");
  if (fault == nullptr) GTEST_SKIP() << "missing: SLUICE_TEST_KERNEL_FAILS, with which the first kernel fails";
  const Memory in(Session::get().module(), Kind::device, 400);
  const Memory inout(Session::get().module(), Kind::device, 400);
  in.fill(1);
  inout.fill(2);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  EXPECT_NE(MPI_Reduce_local(in.data(), inout.data(), 100, MPI_INT, MPI_BOR), MPI_SUCCESS);
  EXPECT_EQ(find_difference(Bytes(400, 2), inout.read()), "");
  EXPECT_EQ(MPI_Reduce_local(in.data(), inout.data(), 100, MPI_INT, MPI_BOR), MPI_SUCCESS);
  EXPECT_EQ(find_difference(Bytes(400, 3), inout.read()), "");
}

}  // namespace sluice::tests

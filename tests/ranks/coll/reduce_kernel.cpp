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

#include "tests/ranks/coll/reduction_types.hpp"
#include "tests/support/oracle.hpp"
#include "tests/support/statistics.hpp"

namespace sluice::tests::reduce_kernel_test {
namespace {

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

}  // namespace

TEST(Kernel, GivesTheHostMpisResult_ForEveryOperationOnEveryType) {
  if (!Session::get().has_kind(Kind::device)) GTEST_SKIP() << "missing: device memory";
  for (const TypeCase &of : reduction_types()) {
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

// Whatever pair of predefined type and operation the host MPI takes, the device computes it, or it is listed with the
// reason why not.
TEST(Kernel, IsThere_ForEveryPairThatTheHostMpiTakes_ButForThoseThatAreListed) {
  if (!Session::get().has_kind(Kind::device)) GTEST_SKIP() << "missing: device memory";
  if (!is_forced() || !Session::get().has_sluice()) GTEST_SKIP() << "missing: SLUICE_COLL_KERNEL=always";
  const Memory in(Session::get().module(), Kind::device, 64);
  const Memory inout(Session::get().module(), Kind::device, 64);
  in.fill(0);
  inout.fill(0);
  std::size_t n_pairs = 0;
  for (const NamedType &of : all_types_by_name()) {
    for (const NamedOp &op : all_operations()) {
      if (!is_accepted(of.type, op.op) || is_listed_as_staged(of.name, op.name)) continue;
      ++n_pairs;
      const long long kernels =
          kernels_of([&] { EXPECT_EQ(MPI_Reduce_local(in.data(), inout.data(), 1, of.type, op.op), MPI_SUCCESS); });
      EXPECT_EQ(kernels, 1) << of.name << " " << op.name
                            << " is staged, and data/staged_reductions.txt says nothing of it";
    }
  }
  EXPECT_GT(n_pairs, 200U);
}

// Elements that lie where a compiler would not put them.
TEST(Kernel, GivesTheHostMpisResult_WhereverTheElementsLie) {
  if (!Session::get().has_kind(Kind::device)) GTEST_SKIP() << "missing: device memory";
  for (const int shift : {1, 4, 7, 8}) {
    for (const int other : {0, 1, 4}) {
      compare_with_host(kOnDevice, [&](Trial &run) {
        constexpr int kCount = 1001;
        std::vector<double> numbers(kCount);
        for (int i = 0; i < kCount; ++i) numbers[static_cast<std::size_t>(i)] = rounded_number<double>(i, 0);
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

}  // namespace sluice::tests::reduce_kernel_test

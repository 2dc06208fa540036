// SPDX-License-Identifier: BSD-3-Clause
// A sum of integers that several ranks start together, with buffers of its own.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <cstring>
#include <vector>

#include "tests/support/memory.hpp"
#include "tests/support/session.hpp"

namespace sluice::tests {

inline int number_of(int rank, int round, int i) {
  return (i * 7 + rank * 131 + round * 1009) % 100'003;
}

// One sum, with buffers of its own.
struct Sum {
  static constexpr int kUsualCount = 6'007;

  Sum(Kind kind, int n, int in_round, bool in_place)
      : round(in_round),
        is_in_place(in_place),
        in(Session::get().module(), kind, static_cast<std::size_t>(n) * sizeof(int)),
        out(Session::get().module(), kind, static_cast<std::size_t>(n) * sizeof(int)) {
    fill(in_round);
  }

  int count() const { return static_cast<int>(in.size_bytes() / sizeof(int)); }
  const void *input() const { return is_in_place ? MPI_IN_PLACE : in.data(); }

  void fill(int new_round) {
    round = new_round;
    std::vector<int> numbers;
    for (int i = 0; i < count(); ++i) numbers.push_back(number_of(Session::get().rank(), round, i));
    in.write(0, numbers.data(), in.size_bytes());
    if (is_in_place) {
      out.write(0, numbers.data(), in.size_bytes());
    } else {
      out.fill(kPoison);
    }
  }
  void start(MPI_Comm comm) {
    ASSERT_EQ(MPI_Iallreduce(input(), out.data(), count(), MPI_INT, MPI_SUM, comm, &request), MPI_SUCCESS);
  }
  // Every byte, of the input too, which nobody may have written to.
  void check() const {
    std::vector<int> wanted;
    std::vector<int> given;
    for (int i = 0; i < count(); ++i) {
      int sum = 0;
      for (int rank = 0; rank < Session::get().size(); ++rank) sum += number_of(rank, round, i);
      wanted.push_back(sum);
      given.push_back(number_of(Session::get().rank(), round, i));
    }
    const auto bytes_of = [](const std::vector<int> &numbers) {
      Bytes bytes(numbers.size() * sizeof(int));
      std::memcpy(bytes.data(), numbers.data(), bytes.size());
      return bytes;
    };
    EXPECT_EQ(find_difference(bytes_of(wanted), out.read()), "") << "the sum of round " << round;
    EXPECT_EQ(find_difference(bytes_of(given), in.read()), "") << "the input of round " << round;
  }

  int round;
  bool is_in_place;
  Memory in;
  Memory out;
  MPI_Request request = MPI_REQUEST_NULL;
};

}  // namespace sluice::tests

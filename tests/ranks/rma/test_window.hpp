// SPDX-License-Identifier: BSD-3-Clause
// Windows of the tests: made and freed by all ranks together, with errors returned.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/support/oracle.hpp"

namespace sluice::tests {

class TestWindow {
 public:
  TestWindow(const Memory &memory, int disp_unit) : TestWindow(memory.data(), memory.size_bytes(), disp_unit) {}
  TestWindow(void *base, std::size_t size_bytes, int disp_unit) {
    EXPECT_EQ(MPI_Win_create(base, static_cast<MPI_Aint>(size_bytes), disp_unit, MPI_INFO_NULL, Session::get().comm(),
                             &window_),
              MPI_SUCCESS);
    MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN);
  }
  ~TestWindow() {
    EXPECT_EQ(MPI_Win_free(&window_), MPI_SUCCESS);
    EXPECT_EQ(window_, MPI_WIN_NULL);
  }
  TestWindow(const TestWindow &) = delete;
  TestWindow &operator=(const TestWindow &) = delete;
  TestWindow(TestWindow &&) = delete;
  TestWindow &operator=(TestWindow &&) = delete;

  MPI_Win get() const { return window_; }

 private:
  MPI_Win window_ = MPI_WIN_NULL;
};

// Kinds of memory: the origins', and the windows' of ranks with even and with odd numbers.
struct WindowKinds {
  Kind origin;
  Kind even;
  Kind odd;
};

inline std::string describe(const WindowKinds &kinds) {
  return std::string("from ") + kind_name(kinds.origin) + " to " + kind_name(kinds.even) + " and " +
         kind_name(kinds.odd);
}

// What the window of this rank lies in: host memory in the run on host copies.
inline Kind window_kind(const Trial &run, const WindowKinds &kinds) {
  if (run.recv_kind() == Kind::host) return Kind::host;
  return Session::get().rank() % 2 == 0 ? kinds.even : kinds.odd;
}

// Compares `operation` with the same on host copies, for each kind of origin and of the odd ranks' windows; in the
// narrow quick matrix the two are of one kind, host or device memory. The even ranks have device memory, so that the
// windows are Sluice's. Whether the test goes on: the same on all ranks.
inline bool compare_each_kind(const std::function<void(Trial &, const WindowKinds &)> &operation,
                              Breadth breadth = Breadth::wide) {
  if (!Session::get().has_kind(Kind::device)) {
    [] { GTEST_SKIP() << "missing: device memory"; }();
    return false;
  }
  const bool is_narrow = breadth == Breadth::narrow && !Session::get().options().is_full;
  const std::vector<Kind> kinds_here = is_narrow ? std::vector{Kind::host, Kind::device} : Session::get().kinds();
  for (const Kind origin : kinds_here) {
    for (const Kind odd : kinds_here) {
      if (is_narrow && origin != odd) continue;
      const WindowKinds kinds{origin, Kind::device, odd};
      SCOPED_TRACE(describe(kinds));
      compare_with_host({origin, Kind::device, 0}, [&](Trial &run) { operation(run, kinds); });
      if (Session::get().agree_any(testing::Test::HasFailure())) return false;
    }
  }
  return true;
}

inline int error_class_of(int code) {
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  return error_class;
}

}  // namespace sluice::tests

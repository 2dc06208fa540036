// SPDX-License-Identifier: BSD-3-Clause
// main() of every rank test: GoogleTest with results that all ranks agree on.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdio>
#include <memory>
#include <string>

#include "tests/support/of_sources.hpp"
#include "tests/support/session.hpp"

namespace sluice::tests {
namespace {

constexpr int kSkipStatus = 77;  // ctest's SKIP_RETURN_CODE
constexpr int kMostFailuresShown = 20;

// Prints successes on rank 0 and failures on the ranks that have them, and counts what the ranks agree on.
class RankListener : public testing::EmptyTestEventListener {
 public:
  void OnTestStart(const testing::TestInfo &test) override {
    n_shown_ = 0;
    if (is_first()) {
      fmt::print("[ RUN      ] {}.{}\n", test.test_suite_name(), test.name());
      std::fflush(stdout);
    }
  }

  void OnTestPartResult(const testing::TestPartResult &part) override {
    if (!part.failed() || ++n_shown_ > kMostFailuresShown) {
      return;
    }
    const std::string text =
        fmt::format("rank {}: {}:{}: {}\n", Session::get().rank(), part.file_name() != nullptr ? part.file_name() : "?",
                    part.line_number(), part.message());
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }

  void OnTestEnd(const testing::TestInfo &test) override {
    const Session &session = Session::get();
    int counts[2] = {test.result()->Failed() ? 1 : 0, test.result()->Skipped() ? 1 : 0};
    MPI_Allreduce(MPI_IN_PLACE, counts, 2, MPI_INT, MPI_SUM, session.comm());
    const bool is_failed = counts[0] > 0;
    const bool is_skipped = !is_failed && counts[1] > 0;
    ++(is_failed ? n_failed_ : is_skipped ? n_skipped_ : n_passed_);
    if (!is_first()) {
      return;
    }
    std::string detail;
    if (is_failed) {
      detail = fmt::format(" (on {} of {} ranks)", counts[0], session.size());
    } else if (is_skipped && test.result()->total_part_count() > 0) {
      detail = fmt::format(": {}", test.result()->GetTestPartResult(0).message());
    }
    fmt::print("[ {} ] {}.{}{} ({} ms)\n",
               is_failed    ? " FAILED "
               : is_skipped ? "SKIPPED "
                            : "     OK ",
               test.test_suite_name(), test.name(), detail, test.result()->elapsed_time());
    std::fflush(stdout);
  }

  // What the process ends with.
  int status() const {
    if (is_first()) {
      fmt::print("{} passed, {} failed, {} skipped\n", n_passed_, n_failed_, n_skipped_);
    }
    if (n_failed_ > 0 || n_passed_ + n_skipped_ == 0) {
      return 1;
    }
    return n_passed_ == 0 ? kSkipStatus : 0;
  }

 private:
  static bool is_first() { return Session::get().rank() == 0; }

  int n_passed_ = 0;
  int n_failed_ = 0;
  int n_skipped_ = 0;
  int n_shown_ = 0;
};

int run(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  Session &session = Session::get();
  const std::string wrong = session.parse(argc, argv);
  if (!wrong.empty()) {
    fmt::print(stderr,
               "{}\noptions: --backend NAME --matrix quick|full --sources FILE,... --open-late --threads --seed N "
               "--programs N --digests\n",
               wrong);
    return 2;
  }
  if (const std::string unknown = choose_tests_of(session.options().sources); !unknown.empty()) {
    fmt::print(stderr, "--sources: {}\n", unknown);
    return 2;
  }
  if (GTEST_FLAG_GET(list_tests)) return RUN_ALL_TESTS();
  const std::string missing = session.open(argc, argv);
  int status = kSkipStatus;
  if (!missing.empty()) {
    if (session.rank() == 0) {
      fmt::print("skipped: {}\n", missing);
    }
  } else if (session.module() != nullptr && !session.has_sluice()) {
    fmt::print(stderr, "a backend is to be tested, but libsluice is not preloaded (tests/launch --sluice LIBDIR)\n");
    status = 1;
  } else {
    // GoogleTest owns the listener.
    auto listener = std::make_unique<RankListener>();
    const RankListener &results = *listener;
    testing::TestEventListeners &listeners = testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(listener.release());
    // What the ranks agreed on counts; what this rank alone saw only adds failures outside of tests.
    const int alone = RUN_ALL_TESTS();
    status = results.status();
    if (status == 0 && alone != 0) {
      status = alone;
    }
  }
  std::fflush(stdout);
  session.close();
  return status;
}

}  // namespace
}  // namespace sluice::tests

int main(int argc, char **argv) {
  return sluice::tests::run(argc, argv);
}

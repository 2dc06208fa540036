// SPDX-License-Identifier: BSD-3-Clause
// Collective calls in which the counts of one rank reach past the end of its device memory: that rank gets an error and
// not a byte of its neighbours in the address space is written, and the others end with an error or the right result.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/ranks/coll/moving.hpp"
#include "tests/ranks/coll/variants.hpp"

namespace sluice::tests::past_the_end_test {
namespace {

using Form = Variant::Form;
enum class End : std::uint8_t { kSent, kReceived };

// Whole pages with the guard behind it, so that memory may lie side by side; less than one block of any call.
constexpr std::size_t kShortBytes = 16384 - kGuardBytes;
constexpr int kNeighbors = 8;

// Short memory, and as much around it as there may be.
class Short {
 public:
  Short() {
    const Session &session = Session::get();
    for (int i = 0; i < kNeighbors; ++i) around_.emplace_back(session.module(), Kind::device, kShortBytes);
    memory_ = std::make_unique<Memory>(session.module(), Kind::device, kShortBytes);
    for (int i = 0; i < kNeighbors; ++i) around_.emplace_back(session.module(), Kind::device, kShortBytes);
  }
  Memory take() { return std::move(*memory_); }
  void expect_untouched() const {
    const Bytes poison(kShortBytes + kGuardBytes, kPoison);
    for (const Memory &memory : around_) EXPECT_EQ(find_difference(poison, memory.read_with_guards()), "");
  }

 private:
  std::vector<Memory> around_;
  std::unique_ptr<Memory> memory_;
};

class PastTheEnd : public testing::Test {
 protected:
  void SetUp() override {
    if (!session_.has_kind(Kind::device)) GTEST_SKIP() << "missing: device memory";
    broken_ = session_.size() - 1;
  }
  bool is_broken() const { return session_.rank() == broken_; }

  // Whether the broken rank's buffer counts in an operation of that name.
  bool counts(std::string_view name, int root, End end) const {
    const bool is_root = root == broken_;
    if (name == "MPI_Bcast") return is_root == (end == End::kSent);
    if (name.starts_with("MPI_Gather") || name == "MPI_Reduce") return is_root || end == End::kSent;
    if (name.starts_with("MPI_Scatter")) return is_root || end == End::kReceived;
    return true;
  }
  static void expect_refusal(int code, const char *name) {
    int error_class = MPI_SUCCESS;
    MPI_Error_class(code, &error_class);
    char text[MPI_MAX_ERROR_STRING] = {};
    int length = 0;
    if (code != MPI_SUCCESS) MPI_Error_string(code, text, &length);
    EXPECT_EQ(error_class, MPI_ERR_BUFFER) << name << ": " << text;
    EXPECT_NE(std::string_view(text).find("over the end of an allocation"), std::string_view::npos)
        << name << ": " << text;
  }

  const Session &session_ = Session::get();
  int broken_ = 0;
};

class FormsPastTheEnd : public PastTheEnd, public testing::WithParamInterface<Form> {
 protected:
  // A rank that has nothing to send says so where the ranks agree on how they go (TEST_STARTS_AGREE: in starts, too);
  // where each stages for itself a start can only return the error, and the others wait (docs/adr/0049).
  bool ends_everywhere(End end) const {
    return GetParam() == Form::blocking || end == End::kReceived ||
           (GetParam() == Form::nonblocking && std::getenv("TEST_STARTS_AGREE") != nullptr);
  }

  int run(const Moving &moving, const Buffers &buffers, int root) const {
    if (GetParam() == Form::blocking) return moving.call(buffers, root, session_.comm());
    MPI_Request request = MPI_REQUEST_NULL;
    int code = GetParam() == Form::nonblocking ? moving.start(buffers, root, session_.comm(), &request)
                                               : moving.init(buffers, root, session_.comm(), &request);
    if (GetParam() == Form::persistent && code == MPI_SUCCESS) code = MPI_Start(&request);
    if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (GetParam() == Form::persistent && request != MPI_REQUEST_NULL) {
      EXPECT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
    }
    return code;
  }
};

TEST_P(FormsPastTheEnd, AreRefused_AndNobodyWaits) {
  for (const Moving &moving : movements()) {
    if (GetParam() == Form::persistent && moving.init == nullptr) continue;
    for (const End end : {End::kSent, End::kReceived}) {
      for (const int root : {0, session_.size() - 1}) {
        if (!counts(moving.name, root, end) || !ends_everywhere(end)) continue;
        SCOPED_TRACE(testing::Message() << moving.name << ", root " << root << ", end " << static_cast<int>(end));
        Short memory;
        Buffers buffers(Kind::device, root);
        if (is_broken()) (end == End::kSent ? buffers.in : buffers.out) = memory.take();
        const int code = run(moving, buffers, root);
        if (is_broken()) {
          expect_refusal(code, moving.name);
        } else if (code == MPI_SUCCESS) {
          expect_right(moving, buffers, root, root);
        }
        memory.expect_untouched();
        // Still usable, and all are here again.
        int sum = 1;
        ASSERT_EQ(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, session_.comm()), MPI_SUCCESS);
        ASSERT_EQ(sum, session_.size());
      }
    }
  }
}

struct Reducing {
  const char *name;
  std::function<int(void *in, void *out, int count, int root, MPI_Comm comm)> call;
};

std::vector<Reducing> reductions() {
  const MPI_Op op = MPI_BXOR;
  return {
      {"MPI_Reduce", [=](void *in, void *out, int count, int root,
                         MPI_Comm comm) { return MPI_Reduce(in, out, count, MPI_INT, op, root, comm); }},
      {"MPI_Allreduce", [=](void *in, void *out, int count, int,
                            MPI_Comm comm) { return MPI_Allreduce(in, out, count, MPI_INT, op, comm); }},
      {"MPI_Scan",
       [=](void *in, void *out, int count, int, MPI_Comm comm) { return MPI_Scan(in, out, count, MPI_INT, op, comm); }},
      {"MPI_Reduce_scatter_block",
       [=](void *in, void *out, int count, int, MPI_Comm comm) {
         return MPI_Reduce_scatter_block(in, out, count, MPI_INT, op, comm);
       }},
  };
}

TEST_F(PastTheEnd, OfReductions_IsRefused_AndNobodyWaits) {
  constexpr int kCount = 7500;
  const auto room = kCount * sizeof(int) * static_cast<std::size_t>(session_.size());
  for (const Reducing &reducing : reductions()) {
    for (const End end : {End::kSent, End::kReceived}) {
      if (!counts(reducing.name, broken_, end)) continue;
      SCOPED_TRACE(testing::Message() << reducing.name << ", end " << static_cast<int>(end));
      Short memory;
      Memory in(session_.module(), Kind::device, room);
      Memory out(session_.module(), Kind::device, room);
      in.fill_pattern(session_.rank(), 1);
      if (is_broken()) (end == End::kSent ? in : out) = memory.take();
      const int code = reducing.call(in.data(), out.data(), kCount, broken_, session_.comm());
      if (is_broken()) expect_refusal(code, reducing.name);
      memory.expect_untouched();
      int sum = 1;
      ASSERT_EQ(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, session_.comm()), MPI_SUCCESS);
      ASSERT_EQ(sum, session_.size());
    }
  }
}

// The last of its runs, behind gaps that lie within the memory, is the one that leaves it; in place.
TEST_F(PastTheEnd, OfTypesWithGaps_IsRefused_InPlaceToo) {
  MPI_Datatype gapped = MPI_DATATYPE_NULL;
  ASSERT_EQ(MPI_Type_vector(5, 100, 1000, MPI_INT, &gapped), MPI_SUCCESS);
  ASSERT_EQ(MPI_Type_commit(&gapped), MPI_SUCCESS);
  const std::size_t room = 20'000 * static_cast<std::size_t>(session_.size());
  Short memory;
  Memory all(session_.module(), Kind::device, room);
  if (is_broken()) all = memory.take();
  const int code = MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all.data(), 1, gapped, session_.comm());
  if (is_broken()) expect_refusal(code, "MPI_Allgather");
  memory.expect_untouched();
  EXPECT_EQ(MPI_Type_free(&gapped), MPI_SUCCESS);
}

INSTANTIATE_TEST_SUITE_P(Each, FormsPastTheEnd, testing::Values(Form::blocking, Form::nonblocking, Form::persistent));

}  // namespace
}  // namespace sluice::tests::past_the_end_test

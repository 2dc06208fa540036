// SPDX-License-Identifier: BSD-3-Clause
// Wrong arguments and wrong synchronisation: MPI's error class through the window's error handler, once, and nothing is
// written.
#include <string>

#include "tests/ranks/rma/test_window.hpp"

namespace sluice::tests::bad_input_test {
namespace {

int n_handled = 0;
void note_error(MPI_Win * /*window*/, int * /*code*/, ...) {
  ++n_handled;
}

// A window of device memory, whose errors are counted and come back.
class BadInput : public testing::Test {
 protected:
  void SetUp() override {
    if (!Session::get().has_kind(Kind::device)) GTEST_SKIP() << "missing: device memory";
    memory_ = std::make_unique<Memory>(Session::get().module(), Kind::device, 256);
    in_ = std::make_unique<Memory>(Session::get().module(), Kind::device, 256);
    window_ = std::make_unique<TestWindow>(*memory_, 1);
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    MPI_Win_create_errhandler(note_error, &handler);
    MPI_Win_set_errhandler(win(), handler);
    MPI_Errhandler_free(&handler);
    n_handled = 0;
  }
  void TearDown() override {
    if (window_ == nullptr) return;
    window_.reset();
    EXPECT_EQ(find_difference(Bytes(256, kPoison), memory_->read()), "");
  }

  MPI_Win win() const { return window_->get(); }
  void *in() const { return in_->data(); }
  int next() const { return (Session::get().rank() + 1) % Session::get().size(); }
  static void expect(const std::string &what, int code, int error_class) {
    EXPECT_EQ(error_class_of(code), error_class) << what;
    EXPECT_EQ(n_handled, 1) << what;
    n_handled = 0;
  }

  std::unique_ptr<TestWindow> window_;

 private:
  std::unique_ptr<Memory> memory_;
  std::unique_ptr<Memory> in_;
};

TEST_F(BadInput, OfOperations) {
  expect("no epoch", MPI_Put(in(), 8, MPI_BYTE, next(), 0, 8, MPI_BYTE, win()), MPI_ERR_RMA_SYNC);
  ASSERT_EQ(MPI_Win_fence(0, win()), MPI_SUCCESS);
  expect("rank", MPI_Put(in(), 8, MPI_BYTE, Session::get().size(), 0, 8, MPI_BYTE, win()), MPI_ERR_RANK);
  expect("rank", MPI_Get(in(), 8, MPI_BYTE, -77, 0, 8, MPI_BYTE, win()), MPI_ERR_RANK);
  expect("beyond", MPI_Put(in(), 8, MPI_BYTE, next(), 249, 8, MPI_BYTE, win()), MPI_ERR_RMA_RANGE);
  expect("before", MPI_Put(in(), 8, MPI_BYTE, next(), -1, 8, MPI_BYTE, win()), MPI_ERR_RMA_RANGE);
  expect("far", MPI_Put(in(), 8, MPI_BYTE, next(), MPI_Aint{1} << 62, 8, MPI_BYTE, win()), MPI_ERR_RMA_RANGE);
  MPI_Datatype wide = MPI_DATATYPE_NULL;
  MPI_Type_vector(2, 4, 253, MPI_BYTE, &wide);
  expect("not committed", MPI_Put(in(), 8, MPI_BYTE, next(), 0, 1, wide, win()), MPI_ERR_TYPE);
  MPI_Type_commit(&wide);
  expect("type beyond", MPI_Put(in(), 8, MPI_BYTE, next(), 0, 1, wide, win()), MPI_ERR_RMA_RANGE);
  MPI_Type_free(&wide);
  expect("count", MPI_Put(in(), -1, MPI_BYTE, next(), 0, 8, MPI_BYTE, win()), MPI_ERR_COUNT);
  expect("type", MPI_Put(in(), 8, MPI_DATATYPE_NULL, next(), 0, 8, MPI_BYTE, win()), MPI_ERR_TYPE);
  expect("too long", MPI_Put(in(), 9, MPI_BYTE, next(), 0, 8, MPI_BYTE, win()), MPI_ERR_TRUNCATE);
  EXPECT_EQ(MPI_Put(in(), 8, MPI_BYTE, MPI_PROC_NULL, 0, 8, MPI_BYTE, win()), MPI_SUCCESS);
  ASSERT_EQ(MPI_Win_fence(MPI_MODE_NOSUCCEED, win()), MPI_SUCCESS);
  expect("epoch is over", MPI_Put(in(), 8, MPI_BYTE, next(), 0, 8, MPI_BYTE, win()), MPI_ERR_RMA_SYNC);
}

TEST_F(BadInput, OfAccumulates) {
  ASSERT_EQ(MPI_Win_fence(0, win()), MPI_SUCCESS);
  MPI_Op own = MPI_OP_NULL;
  MPI_Op_create([](void *, void *, int *, MPI_Datatype *) {}, 1, &own);
  expect("own operation", MPI_Accumulate(in(), 1, MPI_INT, next(), 0, 1, MPI_INT, own, win()), MPI_ERR_OP);
  MPI_Op_free(&own);
  expect("no operation on floats", MPI_Accumulate(in(), 1, MPI_FLOAT, next(), 0, 1, MPI_FLOAT, MPI_BAND, win()),
         MPI_ERR_OP);
  expect("types differ", MPI_Accumulate(in(), 1, MPI_FLOAT, next(), 0, 1, MPI_INT, MPI_SUM, win()), MPI_ERR_TYPE);
  expect("lengths differ", MPI_Accumulate(in(), 2, MPI_INT, next(), 0, 1, MPI_INT, MPI_SUM, win()), MPI_ERR_TRUNCATE);
  expect("beyond", MPI_Accumulate(in(), 1, MPI_INT, next(), 253, 1, MPI_INT, MPI_SUM, win()), MPI_ERR_RMA_RANGE);
  ASSERT_EQ(MPI_Win_fence(0, win()), MPI_SUCCESS);
}

TEST_F(BadInput, OfSynchronisation) {
  expect("unlock", MPI_Win_unlock(next(), win()), MPI_ERR_RMA_SYNC);
  expect("unlock_all", MPI_Win_unlock_all(win()), MPI_ERR_RMA_SYNC);
  expect("flush", MPI_Win_flush(next(), win()), MPI_ERR_RMA_SYNC);
  expect("complete", MPI_Win_complete(win()), MPI_ERR_RMA_SYNC);
  expect("wait", MPI_Win_wait(win()), MPI_ERR_RMA_SYNC);
  expect("lock type", MPI_Win_lock(4711, next(), 0, win()), MPI_ERR_LOCKTYPE);
  expect("lock rank", MPI_Win_lock(MPI_LOCK_SHARED, Session::get().size(), 0, win()), MPI_ERR_RANK);
  ASSERT_EQ(MPI_Win_lock(MPI_LOCK_SHARED, next(), 0, win()), MPI_SUCCESS);
  expect("locked", MPI_Win_lock(MPI_LOCK_SHARED, next(), 0, win()), MPI_ERR_RMA_SYNC);
  expect("fence", MPI_Win_fence(0, win()), MPI_ERR_RMA_SYNC);
  expect("lock_all", MPI_Win_lock_all(0, win()), MPI_ERR_RMA_SYNC);
  if (Session::get().size() > 1) {
    const int own = Session::get().rank();
    expect("not locked", MPI_Put(in(), 8, MPI_BYTE, own, 0, 8, MPI_BYTE, win()), MPI_ERR_RMA_SYNC);
  }
  MPI_Win window = win();
  expect("free", MPI_Win_free(&window), MPI_ERR_RMA_SYNC);
  EXPECT_EQ(window, win());
  ASSERT_EQ(MPI_Win_unlock(next(), win()), MPI_SUCCESS);
}

// What a window is made of; the ranks with good memory hear of it, too.
TEST(BadWindows, AreRefusedOnAllRanks) {
  const Session &session = Session::get();
  if (!session.has_kind(Kind::device)) GTEST_SKIP() << "missing: device memory";
  const Memory memory(session.module(), Kind::device, 256);
  const bool is_bad = session.rank() == session.size() - 1;
  MPI_Win window = MPI_WIN_NULL;
  // The guards end where the allocation does.
  const int beyond = MPI_Win_create(memory.data(), is_bad ? 1 << 30 : 256, 1, MPI_INFO_NULL, session.comm(), &window);
  EXPECT_EQ(error_class_of(beyond), MPI_ERR_BUFFER);
  const int unit = MPI_Win_create(memory.data(), 256, is_bad ? 0 : 1, MPI_INFO_NULL, session.comm(), &window);
  EXPECT_EQ(error_class_of(unit), is_bad ? MPI_ERR_DISP : MPI_ERR_BUFFER);
}

}  // namespace
}  // namespace sluice::tests::bad_input_test

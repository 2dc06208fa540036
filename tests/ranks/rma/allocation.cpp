// SPDX-License-Identifier: BSD-3-Clause
// MPI_Win_allocate with mpi_memory_alloc_kind: memory of a device, on all ranks or on some; what the window says of
// itself; and windows that get none.
#include <array>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "tests/ranks/rma/test_window.hpp"

namespace sluice::tests::allocation_test {
namespace {

// MPICH 4.0 looks for memory that it allocated in the wrong place when the size is no multiple of 16.
constexpr std::size_t kBytes = 5120;

// The value of a key in the window's info; "" without.
std::string info_of(MPI_Win window, const char *key) {
  MPI_Info info = MPI_INFO_NULL;
  EXPECT_EQ(MPI_Win_get_info(window, &info), MPI_SUCCESS);
  std::array<char, 512> value{};
  int is_there = 0;
  EXPECT_EQ(MPI_Info_get(info, key, static_cast<int>(value.size()) - 1, value.data(), &is_there), MPI_SUCCESS);
  EXPECT_EQ(MPI_Info_free(&info), MPI_SUCCESS);
  return is_there != 0 ? value.data() : "";
}

// The kind of the backend's device memory, out of what MPI says that it takes; "" where it names none.
std::string device_kind() {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Comm_get_info(MPI_COMM_WORLD, &info);
  std::array<char, 512> value{};
  int is_there = 0;
  MPI_Info_get(info, "mpi_memory_alloc_kinds", static_cast<int>(value.size()) - 1, value.data(), &is_there);
  MPI_Info_free(&info);
  const std::string kinds = std::string(",") + value.data() + ",";
  const std::size_t end = kinds.find(":device,");
  if (is_there == 0 || end == std::string::npos) return "";
  const std::size_t begin = kinds.rfind(',', end) + 1;
  return kinds.substr(begin, end - begin);
}

class AllocatedWindow {
 public:
  // `kind`: "" for no hint.
  AllocatedWindow(const std::string &kind, std::size_t size_bytes, int disp_unit) {
    MPI_Info info = MPI_INFO_NULL;
    if (!kind.empty()) {
      MPI_Info_create(&info);
      MPI_Info_set(info, "mpi_memory_alloc_kind", kind.c_str());
    }
    EXPECT_EQ(
        MPI_Win_allocate(static_cast<MPI_Aint>(size_bytes), disp_unit, info, Session::get().comm(), &base_, &window_),
        MPI_SUCCESS);
    if (info != MPI_INFO_NULL) MPI_Info_free(&info);
    MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN);
  }
  ~AllocatedWindow() {
    EXPECT_EQ(MPI_Win_free(&window_), MPI_SUCCESS);
    EXPECT_EQ(window_, MPI_WIN_NULL);
  }
  AllocatedWindow(const AllocatedWindow &) = delete;
  AllocatedWindow &operator=(const AllocatedWindow &) = delete;
  AllocatedWindow(AllocatedWindow &&) = delete;
  AllocatedWindow &operator=(AllocatedWindow &&) = delete;

  MPI_Win get() const { return window_; }
  std::byte *base() const { return static_cast<std::byte *>(base_); }

 private:
  void *base_ = nullptr;
  MPI_Win window_ = MPI_WIN_NULL;
};

// MPI's own way into the window's memory: messages, which take any memory.
void write_own(std::byte *to, const Bytes &bytes) {
  const int n = static_cast<int>(bytes.size());
  MPI_Sendrecv(bytes.data(), n, MPI_BYTE, 0, 1, to, n, MPI_BYTE, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}
Bytes read_own(const std::byte *from, std::size_t size_bytes) {
  Bytes bytes(size_bytes);
  const int n = static_cast<int>(size_bytes);
  MPI_Sendrecv(from, n, MPI_BYTE, 0, 1, bytes.data(), n, MPI_BYTE, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  return bytes;
}

// All operations on blocks of the next rank's memory.
void access_next(Trial &run, const std::string &kind) {
  const Session &session = Session::get();
  const Memory &shown = run.buffer(Kind::host, kBytes);
  const Memory &in = run.input(1000, 1);
  const Memory &out = run.buffer(run.send_kind(), 1000);
  const std::vector<int> numbers(20, 3 + session.rank());
  const Memory &given = run.buffer(run.send_kind(), 80);
  given.write(0, numbers.data(), 80);
  const Memory &fetched = run.buffer(run.send_kind(), 80);
  run.refill(shown, 9);
  const AllocatedWindow window(run.send_kind() == Kind::host ? "" : kind, kBytes, 4);
  write_own(window.base(), shown.read(0, kBytes));
  const int next = (session.rank() + 1) % session.size();
  run.call("fence", MPI_Win_fence(0, window.get()));
  run.call("put", MPI_Put(in.data(), 1000, MPI_BYTE, next, 10, 1000, MPI_BYTE, window.get()));
  run.call("get", MPI_Get(out.data(), 1000, MPI_BYTE, next, 500, 1000, MPI_BYTE, window.get()));
  run.call("accumulate", MPI_Accumulate(given.data(), 20, MPI_INT, next, 400, 20, MPI_INT, MPI_BXOR, window.get()));
  run.call("get_accumulate", MPI_Get_accumulate(given.data(), 20, MPI_INT, fetched.data(), 20, MPI_INT, next, 900, 20,
                                                MPI_INT, MPI_BXOR, window.get()));
  run.call("fence", MPI_Win_fence(0, window.get()));
  run.call("lock", MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, window.get()));
  run.call("put", MPI_Put(in.data(), 1, MPI_BYTE, next, 1200, 1, MPI_BYTE, window.get()));
  run.call("unlock", MPI_Win_unlock(next, window.get()));
  MPI_Barrier(session.comm());
  const Bytes now = read_own(window.base(), kBytes);
  shown.write(0, now.data(), now.size());
}

TEST(Allocation, GivesDeviceMemory_ThatAllOperationsTake) {
  const std::string kind = device_kind();
  if (kind.empty() || !Session::get().has_kind(Kind::device)) GTEST_SKIP() << "missing: a kind of device memory";
  compare_with_host({Kind::device, Kind::host, 0}, [&](Trial &run) { access_next(run, kind + ":device"); });
}

TEST(Allocation, GivesDeviceMemoryToRanksThatAsk) {
  const std::string kind = device_kind();
  if (kind.empty() || !Session::get().has_kind(Kind::device)) GTEST_SKIP() << "missing: a kind of device memory";
  const bool asks = Session::get().rank() == 0;
  compare_with_host({Kind::device, Kind::host, 0}, [&](Trial &run) { access_next(run, asks ? kind : ""); });
}

TEST(Allocation, SaysWhatWasGiven) {
  const std::string kind = device_kind();
  if (kind.empty() || !Session::get().has_kind(Kind::device)) GTEST_SKIP() << "missing: a kind of device memory";
  const Session &session = Session::get();
  const std::size_t own_bytes = session.rank() == 1 ? 0 : 640;
  const AllocatedWindow window(kind, own_bytes, 8);
  EXPECT_EQ(info_of(window.get(), "mpi_memory_alloc_kind"), kind + ":device");
  EXPECT_NE(info_of(window.get(), "mpi_memory_alloc_kinds").find(kind), std::string::npos);
  void *value = nullptr;
  int is_set = 0;
  EXPECT_EQ(MPI_Win_get_attr(window.get(), MPI_WIN_BASE, &value, &is_set), MPI_SUCCESS);
  EXPECT_EQ(value, window.base());
  EXPECT_EQ(window.base() == nullptr, own_bytes == 0);
  MPI_Win_get_attr(window.get(), MPI_WIN_CREATE_FLAVOR, &value, &is_set);
  EXPECT_EQ(*static_cast<int *>(value), MPI_WIN_FLAVOR_ALLOCATE);
  MPI_Win_get_attr(window.get(), MPI_WIN_SIZE, &value, &is_set);
  EXPECT_EQ(*static_cast<MPI_Aint *>(value), static_cast<MPI_Aint>(own_bytes));
  MPI_Aint size_bytes = -1;
  int unit = -1;
  void *reached = nullptr;
  EXPECT_EQ(MPI_Win_shared_query(window.get(), session.rank(), &size_bytes, &unit, &reached), MPI_SUCCESS);
  EXPECT_EQ(size_bytes, static_cast<MPI_Aint>(own_bytes));
  EXPECT_EQ(reached, window.base());
  EXPECT_EQ(unit, 8);
  EXPECT_EQ(error_class_of(MPI_Win_shared_query(window.get(), session.size(), &size_bytes, &unit, &reached)),
            MPI_ERR_RANK);
}

// The address of another rank's memory may be given to operations that take memory of this rank's.
TEST(Allocation, SharesAddressesThatCanBeUsed) {
  const std::string kind = device_kind();
  if (kind.empty() || !Session::get().has_kind(Kind::device)) GTEST_SKIP() << "missing: a kind of device memory";
  const Session &session = Session::get();
  const AllocatedWindow window(kind, 640, 1);
  Memory expected(session.module(), Kind::host, 640);
  expected.fill_pattern(session.rank(), 1);
  write_own(window.base(), expected.read());
  MPI_Barrier(session.comm());
  const int next = (session.rank() + 1) % session.size();
  MPI_Aint size_bytes = -1;
  int unit = -1;
  void *reached = nullptr;
  EXPECT_EQ(MPI_Win_shared_query(window.get(), next, &size_bytes, &unit, &reached), MPI_SUCCESS);
  EXPECT_EQ(reached == nullptr, size_bytes == 0);
  if (reached != nullptr) {
    EXPECT_EQ(size_bytes, 640);
    EXPECT_EQ(find_pattern_error(read_own(static_cast<std::byte *>(reached), 640), next, 1), "");
  }
  MPI_Barrier(session.comm());
}

TEST(Allocation, OfUnknownKinds_IsMemoryOfTheHost) {
  for (const char *kind : {"", "mpi", "nobodys:device", ":device", "system", "nobodys"}) {
    SCOPED_TRACE(kind);
    const AllocatedWindow window(kind, 640, 1);
    EXPECT_EQ(info_of(window.get(), "mpi_memory_alloc_kind").find(":device"), std::string::npos);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, Session::get().rank(), 0, window.get());
    std::memset(window.base(), 7, 640);
    MPI_Win_unlock(Session::get().rank(), window.get());
  }
}

TEST(Allocation, OfASharedWindow_IsMemoryOfTheHost) {
  const std::string kind = device_kind();
  if (kind.empty()) GTEST_SKIP() << "missing: a kind of device memory";
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpi_memory_alloc_kind", kind.c_str());
  void *base = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  ASSERT_EQ(MPI_Win_allocate_shared(64, 1, info, Session::get().comm(), &base, &window), MPI_SUCCESS);
  std::memset(base, 7, 64);
  MPI_Info_free(&info);
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
}

// More than there is, at one rank: all hear of it.
TEST(Allocation, ThatFails_FailsOnAllRanks) {
  const std::string kind = device_kind();
  if (kind.empty() || !Session::get().has_kind(Kind::device)) GTEST_SKIP() << "missing: a kind of device memory";
  const Session &session = Session::get();
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpi_memory_alloc_kind", kind.c_str());
  void *base = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  const MPI_Aint size_bytes = session.rank() == 0 ? MPI_Aint{1} << 50 : 64;
  EXPECT_EQ(error_class_of(MPI_Win_allocate(size_bytes, 1, info, session.comm(), &base, &window)), MPI_ERR_NO_MEM);
  const int unit = session.rank() == 0 ? -1 : 1;
  EXPECT_EQ(error_class_of(MPI_Win_allocate(64, unit, info, session.comm(), &base, &window)),
            session.rank() == 0 ? MPI_ERR_DISP : MPI_ERR_BUFFER);
  MPI_Info_free(&info);
}

}  // namespace
}  // namespace sluice::tests::allocation_test

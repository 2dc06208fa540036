// SPDX-License-Identifier: BSD-3-Clause
// The ways to other processes, on the loop-back driver: which one memory takes, that a handle never outlives what it
// names, and what is refused. The other process is a child that this one forks, which only opens and reads.
#include <cuda.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <iterator>
#include <map>
#include <string>

#include "../../module_table.h"
#include "loopback.h"
#include "sluice/backend.h"

namespace {

constexpr size_t kPieceBytes = 65536;  // the loop-back driver's grain

std::map<std::string, std::string> &knobs() {
  static std::map<std::string, std::string> all;
  return all;
}

const sluice_host_services_t kServices = {sizeof kServices, [](int, const char *) {},
                                          [](const char *name) -> const char * {
                                            const auto found = knobs().find(name);
                                            return found != knobs().end() ? found->second.c_str() : nullptr;
                                          }};

const sluice_backend_t &table() {
  return sluice::backends::module_table();
}

// The module under its knobs, or with device memory of that sort for programs; device 0 is current.
class Ladder : public testing::Test {
 protected:
  void SetUp() override { start({}); }
  void TearDown() override {
    loopback::state().refuses_fabric = false;
    table().fini();
  }
  static void start(const std::map<std::string, std::string> &wanted, const char *memory = "plain") {
    static bool is_first = true;
    if (!is_first) table().fini();
    is_first = false;
    knobs() = wanted;
    ASSERT_EQ(setenv("SLUICE_BENCH_CUDA_MEMORY", memory, 1), 0);  // NOLINT(concurrency-mt-unsafe): the only thread
    ASSERT_EQ(table().init(&kServices), SLUICE_SUCCESS) << table().last_error();
    ASSERT_EQ(table().program_set_device(0), SLUICE_SUCCESS) << table().last_error();
  }
};

// Addresses for `n` pieces, of which each is mapped on its own, as an allocator that grows does.
class Segment {
 public:
  explicit Segment(size_t n) : n_(n) { EXPECT_EQ(cuMemAddressReserve(&base_, n * kPieceBytes, 0, 0, 0), CUDA_SUCCESS); }
  ~Segment() {
    for (size_t i = 0; i < n_; ++i) unmap(i);
    EXPECT_EQ(cuMemAddressFree(base_, n_ * kPieceBytes), CUDA_SUCCESS);
  }
  Segment(const Segment &) = delete;
  Segment &operator=(const Segment &) = delete;

  void map(size_t i, int types, char content) {
    CUmemAllocationProp properties = {};
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;  // device 0
    properties.requestedHandleTypes = static_cast<CUmemAllocationHandleType>(types);
    CUmemGenericAllocationHandle memory = 0;
    ASSERT_EQ(cuMemCreate(&memory, kPieceBytes, &properties, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuMemMap(at(i), kPieceBytes, 0, memory, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuMemRelease(memory), CUDA_SUCCESS);
    CUmemAccessDesc access = {};  // of device 0
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    ASSERT_EQ(cuMemSetAccess(at(i), kPieceBytes, &access, 1), CUDA_SUCCESS);
    std::memset(pointer(i), content, kPieceBytes);
  }
  void unmap(size_t i) { cuMemUnmap(at(i), kPieceBytes); }
  void *pointer(size_t i) const { return reinterpret_cast<void *>(at(i)); }

 private:
  CUdeviceptr at(size_t i) const { return base_ + i * kPieceBytes; }
  size_t n_;
  CUdeviceptr base_ = 0;
};

struct Export {
  sluice_ipc_handle_t handle{};
  uint64_t offset = 0;
  uint64_t size = 0;
};

sluice_result_t export_memory(const void *address, uint64_t wanted, Export *made) {
  made->size = wanted;
  return table().ipc_export(address, &made->handle, &made->offset, &made->size);
}

bool is_same(const Export &one, const Export &other) {
  return std::memcmp(one.handle.bytes, other.handle.bytes, sizeof one.handle.bytes) == 0;
}

uint32_t mechanism_of(const Export &made) {
  uint32_t number = 0;
  std::memcpy(&number, made.handle.bytes + 8, sizeof number);
  return number;
}

constexpr int kRefused = 100;

// What a child that opens the handle reads `at` bytes behind the exported address, or kRefused.
int read_in_child(const Export &made, size_t at) {
  const pid_t child = fork();
  if (child == 0) {
    void *base = nullptr;
    uint64_t mapped_bytes = 0;
    if (table().ipc_open(0, &made.handle, &base, &mapped_bytes) != SLUICE_SUCCESS) {
      std::fprintf(stderr, "  child: %s\n", table().last_error());
      _exit(kRefused);
    }
    const char found = static_cast<const char *>(base)[made.offset + at];
    _exit(table().ipc_close(0, base) == SLUICE_SUCCESS ? found : kRefused + 1);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "the child ended by signal " << WTERMSIG(status);
  return WEXITSTATUS(status);
}

// The `size_bytes` from `address` on go by the mechanism of that number, and the child reads `content` in their byte
// `at`.
void expect_export(const void *address, uint64_t size_bytes, uint32_t mechanism, size_t at, int content) {
  Export made;
  ASSERT_EQ(export_memory(address, size_bytes, &made), SLUICE_SUCCESS) << table().last_error();
  EXPECT_EQ(mechanism_of(made), mechanism);
  EXPECT_EQ(read_in_child(made, at), content);
}

long n_descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
}

TEST_F(Ladder, PlainMemory_GoesByTheDriversHandle) {
  void *memory = nullptr;
  ASSERT_EQ(table().program_alloc(SLUICE_MEMORY_DEVICE, 5000, &memory), SLUICE_SUCCESS);
  std::memset(memory, 7, 5000);
  expect_export(memory, 5000, 1, 4999, 7);
  EXPECT_EQ(table().program_free(memory), SLUICE_SUCCESS);
}

TEST_F(Ladder, OnePieceForTheFabric_NeedsNobodyToAsk) {
  Segment segment(1);
  segment.map(0, 8, 9);
  expect_export(segment.pointer(0), 100, 2, 50, 9);
}

TEST_F(Ladder, FabricThatIsRefused_GivesWayToDescriptors) {
  Segment segment(1);
  segment.map(0, 8 | 1, 9);
  loopback::state().refuses_fabric = true;
  expect_export(segment.pointer(0), 100, 3, 50, 9);
}

TEST_F(Ladder, PiecesOfDifferentSorts_MakeOneRange) {
  Segment segment(3);
  segment.map(0, 1, 1);
  segment.map(1, 8, 2);
  segment.map(2, 8 | 1, 3);
  Export made;
  ASSERT_EQ(export_memory(static_cast<char *>(segment.pointer(0)) + 10, 3 * kPieceBytes - 10, &made), SLUICE_SUCCESS);
  EXPECT_EQ(mechanism_of(made), 3U);
  EXPECT_EQ(made.offset, 10U);
  EXPECT_EQ(made.size, 3 * kPieceBytes);
  EXPECT_EQ(read_in_child(made, 0), 1);
  EXPECT_EQ(read_in_child(made, kPieceBytes), 2);
  EXPECT_EQ(read_in_child(made, 3 * kPieceBytes - 11), 3);
}

// More than one answer holds.
TEST_F(Ladder, ManyPieces_AreHandedOverInTurns) {
  constexpr size_t kPieces = 200;
  Segment segment(kPieces);
  for (size_t i = 0; i < kPieces; ++i) segment.map(i, 1, static_cast<char>(i % 50));
  Export made;
  ASSERT_EQ(export_memory(segment.pointer(0), kPieces * kPieceBytes, &made), SLUICE_SUCCESS);
  for (const size_t i : {size_t{0}, size_t{63}, size_t{64}, size_t{199}}) {
    EXPECT_EQ(read_in_child(made, i * kPieceBytes + 5), static_cast<int>(i % 50));
  }
}

TEST_F(Ladder, ARange_HoldsWhatWasAskedForAndKeepsItsLength) {
  Segment segment(4);
  for (size_t i = 0; i < 4; ++i) segment.map(i, 1, 5);
  Export one;
  Export longer;
  Export again;
  ASSERT_EQ(export_memory(segment.pointer(0), 100, &one), SLUICE_SUCCESS);
  EXPECT_EQ(one.size, kPieceBytes);
  ASSERT_EQ(export_memory(segment.pointer(0), 2 * kPieceBytes, &longer), SLUICE_SUCCESS);
  EXPECT_EQ(longer.size, 2 * kPieceBytes);
  ASSERT_EQ(export_memory(segment.pointer(0), 100, &again), SLUICE_SUCCESS);
  EXPECT_TRUE(is_same(longer, again)) << "messages of two lengths would make the other side map anew each time";
}

// T6: the addresses stay, what is mapped to them does not.
TEST_F(Ladder, AnotherPieceInTheSamePlace_HasAnotherHandle) {
  Segment segment(2);
  segment.map(0, 1, 5);
  segment.map(1, 1, 6);
  Export before;
  Export after;
  ASSERT_EQ(export_memory(segment.pointer(0), 2 * kPieceBytes, &before), SLUICE_SUCCESS);
  ASSERT_EQ(read_in_child(before, kPieceBytes), 6);
  segment.unmap(1);
  segment.map(1, 1, 8);
  EXPECT_EQ(read_in_child(before, kPieceBytes), kRefused) << "an old handle led to new memory";
  ASSERT_EQ(export_memory(segment.pointer(0), 2 * kPieceBytes, &after), SLUICE_SUCCESS);
  EXPECT_FALSE(is_same(before, after));
  EXPECT_EQ(read_in_child(after, kPieceBytes), 8);
}

// A number would tell a cache of handles that nothing has changed when a piece behind the first one has.
TEST_F(Ladder, MemoryOfPieces_HasNoNumber) {
  Segment segment(1);
  segment.map(0, 1, 5);
  for (int i = 0; i < 3; ++i) {
    sluice_pointer_info_t info = {};
    ASSERT_EQ(table().query_pointer(segment.pointer(0), &info), SLUICE_SUCCESS);
    EXPECT_EQ(info.kind, SLUICE_MEMORY_DEVICE);
    EXPECT_EQ(info.allocation_id, 0U);
  }
}

TEST_F(Ladder, PrivatePieces_EndTheRange) {
  Segment segment(3);
  segment.map(0, 1, 5);
  segment.map(1, 0, 6);
  segment.map(2, 1, 7);
  Export made;
  ASSERT_EQ(export_memory(segment.pointer(0), 3 * kPieceBytes, &made), SLUICE_SUCCESS);
  EXPECT_EQ(made.size, kPieceBytes);
  EXPECT_EQ(export_memory(segment.pointer(1), 100, &made), SLUICE_ERROR_UNSUPPORTED);
  EXPECT_NE(std::strstr(table().last_error(), "not made to be exported"), nullptr) << table().last_error();
}

// T8.
TEST_F(Ladder, MemoryOfAPool_IsRefusedWithItsReason) {
  start({}, "pool");
  void *memory = nullptr;
  ASSERT_EQ(table().program_alloc(SLUICE_MEMORY_DEVICE, 5000, &memory), SLUICE_SUCCESS);
  Export made;
  EXPECT_EQ(export_memory(memory, 5000, &made), SLUICE_ERROR_UNSUPPORTED);
  EXPECT_NE(std::strstr(table().last_error(), "pool"), nullptr) << table().last_error();
  EXPECT_EQ(table().program_free(memory), SLUICE_SUCCESS);
}

TEST_F(Ladder, AProcessThatHasNoServer_IsAskedOnce) {
  Segment segment(1);
  segment.map(0, 1, 5);
  Export made;
  ASSERT_EQ(export_memory(segment.pointer(0), 100, &made), SLUICE_SUCCESS);
  table().fini();  // the last user: the thread ends
  knobs() = {};
  EXPECT_EQ(read_in_child(made, 0), kRefused);
  ASSERT_EQ(table().init(&kServices), SLUICE_SUCCESS);
}

TEST_F(Ladder, TheServer_HoldsNothing) {
  Segment segment(2);
  segment.map(0, 1, 5);
  segment.map(1, 1, 5);
  Export made;
  ASSERT_EQ(export_memory(segment.pointer(0), 2 * kPieceBytes, &made), SLUICE_SUCCESS);
  ASSERT_EQ(read_in_child(made, 0), 5);
  const long before = n_descriptors();
  for (int i = 0; i < 20; ++i) ASSERT_EQ(read_in_child(made, 0), 5);
  EXPECT_LE(n_descriptors(), before + 1);  // the last connection may not be closed yet
  table().fini();
  EXPECT_LT(n_descriptors(), before);
  ASSERT_EQ(table().init(&kServices), SLUICE_SUCCESS);
}

TEST_F(Ladder, Knob_ForbidsWays) {
  start({{"SLUICE_CUDA_IPC", "fd"}});
  Segment segment(1);
  segment.map(0, 8 | 1, 9);
  Export made;
  ASSERT_EQ(export_memory(segment.pointer(0), 100, &made), SLUICE_SUCCESS);
  EXPECT_EQ(mechanism_of(made), 3U);
  void *plain = nullptr;
  ASSERT_EQ(table().program_alloc(SLUICE_MEMORY_DEVICE, 100, &plain), SLUICE_SUCCESS);
  EXPECT_EQ(export_memory(plain, 100, &made), SLUICE_ERROR_UNSUPPORTED);
  EXPECT_EQ(table().program_free(plain), SLUICE_SUCCESS);
}

TEST_F(Ladder, Knob_WithAnotherWord_LeavesTheDefaultInForce) {
  start({{"SLUICE_CUDA_IPC", "fd,pigeon"}});
  Export made;
  void *plain = nullptr;
  ASSERT_EQ(table().program_alloc(SLUICE_MEMORY_DEVICE, 100, &plain), SLUICE_SUCCESS);
  EXPECT_EQ(export_memory(plain, 100, &made), SLUICE_SUCCESS) << table().last_error();
  EXPECT_EQ(table().program_free(plain), SLUICE_SUCCESS);
}

// Blocking copies to memory that takes no attribute must be complete when they return all the same.
TEST_F(Ladder, MemoryWithoutTheAttribute_SetsTheContextsFlag) {
  constexpr unsigned kOther = 0x04;
  for (const bool is_pool : {false, true}) {
    start({}, is_pool ? "pool" : "pieces");
    loopback::state().context_flags[0] = kOther;
    void *memory = nullptr;
    ASSERT_EQ(table().program_alloc(SLUICE_MEMORY_DEVICE, 100, &memory), SLUICE_SUCCESS);
    sluice_pointer_info_t info = {};
    ASSERT_EQ(table().query_pointer(memory, &info), SLUICE_SUCCESS);
    EXPECT_EQ(loopback::state().context_flags[0], kOther | CU_CTX_SYNC_MEMOPS);
    EXPECT_EQ(table().program_free(memory), SLUICE_SUCCESS);
  }
  loopback::state().context_flags[0] = 0;
  start({});
  void *memory = nullptr;
  ASSERT_EQ(table().program_alloc(SLUICE_MEMORY_DEVICE, 100, &memory), SLUICE_SUCCESS);
  sluice_pointer_info_t info = {};
  ASSERT_EQ(table().query_pointer(memory, &info), SLUICE_SUCCESS);
  EXPECT_EQ(loopback::state().context_flags[0], 0U) << "plain memory takes the attribute";
  EXPECT_EQ(table().program_free(memory), SLUICE_SUCCESS);
}

// T10: a program that does not wait for its own kernels.
TEST_F(Ladder, SyncKnob_WaitsForTheProgramsStreams) {
  for (const auto &[mode, n_waits] : std::map<std::string, int>{{"none", 0}, {"default", 2}}) {
    start({{"SLUICE_CUDA_SYNC", mode}});
    void *memory = nullptr;
    ASSERT_EQ(table().program_alloc(SLUICE_MEMORY_DEVICE, 100, &memory), SLUICE_SUCCESS);
    sluice_pointer_info_t info = {};
    const int before = loopback::state().n_default_waits;
    ASSERT_EQ(table().query_pointer(memory, &info), SLUICE_SUCCESS);
    EXPECT_EQ(loopback::state().n_default_waits, before + n_waits) << mode;
    ASSERT_EQ(table().query_pointer(&info, &info), SLUICE_SUCCESS);
    EXPECT_EQ(loopback::state().n_default_waits, before + n_waits) << "host memory waits for nothing";
    EXPECT_EQ(table().program_free(memory), SLUICE_SUCCESS);
  }
}

}  // namespace

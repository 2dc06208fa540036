// SPDX-License-Identifier: BSD-3-Clause
// What is particular to this backend in the groups stream and channel, on the loop-back runtime: memory that is given
// back while a stream waits for a word, for which the vendor's runtime would wait; words that cannot be registered; and
// a kernel that cannot be made.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "loopback.h"
#include "sluice/backend.h"

namespace {

constexpr size_t kPageBytes = 4096;
constexpr size_t kBytes = 5000;

bool g_takes_streams = true;
// By what the streams of this process trigger and wait.
const char *knob(const char *name) {
  if (std::string(name) != "SLUICE_HIP_STREAMS") return nullptr;
  if (!g_takes_streams) return "off";
  const char *operations = std::getenv("WAITS_TEST_OPERATIONS");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  return operations != nullptr ? operations : "auto";
}
constexpr sluice_host_services_t kServices = {sizeof(sluice_host_services_t), [](int, const char *) {}, knob};

const sluice_backend_t *load_module() {
  void *library = dlopen(SLUICE_MODULE_PATH, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  return reinterpret_cast<sluice_backend_table_fn>(dlsym(library, SLUICE_BACKEND_TABLE_SYMBOL))();
}

std::vector<unsigned char> pattern(unsigned seed) {
  std::vector<unsigned char> bytes(kBytes);
  for (size_t i = 0; i < kBytes; ++i) bytes[i] = static_cast<unsigned char>(i * 7 + i / 251 + seed);
  return bytes;
}

size_t n_blocks() {
  const std::scoped_lock lock(loopback::state().mutex);
  return loopback::state().blocks.size();
}

// What the process has mapped, in pages.
size_t n_mapped_pages() {
  size_t n_pages = 0;
  FILE *file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%zu", &n_pages) != 1) n_pages = 0;
  if (file != nullptr) std::fclose(file);
  return n_pages;
}

// Takes the place of the other process: memory of its device, and the handle.
struct Exported {
  sluice_ipc_handle_t handle;
  uint64_t offset;
};
bool export_memory(int out) {
  const sluice_backend_t *table = load_module();
  if (table == nullptr || table->init(&kServices) != SLUICE_SUCCESS) return false;
  const std::vector<unsigned char> bytes = pattern(9);
  void *memory = nullptr;
  Exported exported = {};
  uint64_t size_bytes = 0;
  return table->device_alloc(0, kBytes, &memory) == SLUICE_SUCCESS &&
         table->program_copy(memory, bytes.data(), kBytes) == SLUICE_SUCCESS &&
         table->ipc_export(memory, &exported.handle, &exported.offset, &size_bytes) == SLUICE_SUCCESS &&
         write(out, &exported, sizeof exported) == sizeof exported;
}

class Waits : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    table = load_module();
    ASSERT_NE(table, nullptr) << dlerror();
    ASSERT_EQ(table->init(&kServices), SLUICE_SUCCESS) << table->last_error();
    void *memory = nullptr;
    ASSERT_EQ(table->host_alloc(0, sizeof(uint64_t), 0, &memory), SLUICE_SUCCESS) << table->last_error();
    word = static_cast<uint64_t *>(memory);
  }

  void SetUp() override {
    page_ = new_page();
    ASSERT_NE(page_, nullptr);
    int32_t device = -1;
    ASSERT_EQ(table->program_stream_create(&native_), SLUICE_SUCCESS) << table->last_error();
    ASSERT_EQ(table->stream_open(native_, &stream_, &device), SLUICE_SUCCESS) << table->last_error();
  }
  void TearDown() override {
    release();
    EXPECT_EQ(table->stream_close(stream_), SLUICE_SUCCESS) << table->last_error();
    EXPECT_EQ(table->program_stream_destroy(native_), SLUICE_SUCCESS) << table->last_error();
    EXPECT_EQ(munmap(page_, 2 * kPageBytes), 0);
    EXPECT_EQ(loopback_held_up(), 0);
  }

  static uint64_t *new_page() {
    void *made = mmap(nullptr, 2 * kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return made == MAP_FAILED ? nullptr : static_cast<uint64_t *>(made);
  }
  // The stream waits until release().
  void wait() {
    __atomic_store_n(word, 0, __ATOMIC_RELEASE);
    ASSERT_EQ(table->stream_wait(stream_, word, 1), SLUICE_SUCCESS) << table->last_error();
  }
  void release(uint64_t *awaited = word) {
    __atomic_store_n(awaited, 1, __ATOMIC_RELEASE);
    EXPECT_EQ(table->program_stream_synchronize(native_), SLUICE_SUCCESS);
  }
  // Runs `call` in a thread of its own, until it is done or held up: whether it was held up. Then the stream goes on,
  // which waits for `awaited`.
  bool is_held_up(const std::function<void()> &call, uint64_t *awaited = word) {
    std::atomic<bool> has_returned = false;
    std::thread thread([&] {
      call();
      has_returned = true;
    });
    while (loopback_held_up() == 0 && !has_returned) std::this_thread::yield();
    const bool is_held = !has_returned;
    if (is_held) release(awaited);
    thread.join();
    return is_held;
  }
  // What is due is given back within a call that makes something.
  static void make_something() {
    sluice_queue_t *queue = nullptr;
    ASSERT_EQ(table->queue_create(0, &queue), SLUICE_SUCCESS) << table->last_error();
    EXPECT_EQ(table->queue_destroy(queue), SLUICE_SUCCESS) << table->last_error();
  }

  static const sluice_backend_t *table;
  static uint64_t *word;
  uint64_t *page_ = nullptr;  // to be registered, and one behind it, which is not
  void *native_ = nullptr;
  sluice_stream_t *stream_ = nullptr;
};

const sluice_backend_t *Waits::table = nullptr;
uint64_t *Waits::word = nullptr;

using Words = Waits;
using WithoutKernels = Waits;

// HIP_LOOPBACK_REFUSES, for a scope; no other thread asks meanwhile.
class Refusal {
 public:
  explicit Refusal(const char *what) { setenv("HIP_LOOPBACK_REFUSES", what, 1); }  // NOLINT(concurrency-mt-unsafe)
  ~Refusal() { unsetenv("HIP_LOOPBACK_REFUSES"); }                                 // NOLINT(concurrency-mt-unsafe)
  Refusal(const Refusal &) = delete;
  Refusal &operator=(const Refusal &) = delete;
};

}  // namespace

TEST_F(Waits, TheRuntimeHoldsUp_WhoeverFreesMemory) {
  void *memory = nullptr;
  ASSERT_EQ(hipMalloc(&memory, kBytes), hipSuccess);
  wait();
  EXPECT_TRUE(is_held_up([memory] { EXPECT_EQ(hipFree(memory), hipSuccess); }));
}

TEST_F(Waits, MemoryAndWords_GoLater) {
  const size_t n_before = n_blocks();
  void *host = nullptr;
  void *device = nullptr;
  ASSERT_EQ(table->host_alloc(0, kBytes, 0, &host), SLUICE_SUCCESS) << table->last_error();
  ASSERT_EQ(table->device_alloc(0, kBytes, &device), SLUICE_SUCCESS) << table->last_error();
  ASSERT_EQ(table->host_register(0, page_, kPageBytes), SLUICE_SUCCESS) << table->last_error();
  const size_t n_made = n_blocks();
  EXPECT_GT(n_made, n_before);
  wait();
  EXPECT_FALSE(is_held_up([&] {
    EXPECT_EQ(table->host_free(0, host), SLUICE_SUCCESS) << table->last_error();
    EXPECT_EQ(table->host_free(0, host), SLUICE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(table->device_free(0, device), SLUICE_SUCCESS) << table->last_error();
    EXPECT_EQ(table->host_unregister(0, page_), SLUICE_SUCCESS) << table->last_error();
    EXPECT_EQ(table->host_unregister(0, page_), SLUICE_ERROR_INVALID_ARGUMENT);
    make_something();
  }));
  EXPECT_EQ(n_blocks(), n_made);
  // The program is done with its mapping; the same place may be registered again at once.
  EXPECT_EQ(table->stream_write(stream_, page_, 5), SLUICE_ERROR_INVALID_ARGUMENT);
  ASSERT_EQ(table->host_register(0, page_, kPageBytes), SLUICE_SUCCESS) << table->last_error();
  ASSERT_EQ(table->stream_write(stream_, page_ + 3, 6), SLUICE_SUCCESS) << table->last_error();
  release();
  EXPECT_EQ(page_[3], 6U);
  EXPECT_EQ(table->host_unregister(0, page_), SLUICE_SUCCESS) << table->last_error();
  make_something();
  EXPECT_EQ(n_blocks(), n_before);
}

// A wait for a word that goes with its memory holds up nothing any more.
TEST_F(Waits, AWaitGoesWithItsWord) {
  ASSERT_EQ(table->host_register(0, page_, kPageBytes), SLUICE_SUCCESS) << table->last_error();
  ASSERT_EQ(table->stream_wait(stream_, page_, 1), SLUICE_SUCCESS) << table->last_error();
  const size_t n_made = n_blocks();
  void *device = nullptr;
  ASSERT_EQ(table->device_alloc(0, kBytes, &device), SLUICE_SUCCESS) << table->last_error();
  EXPECT_FALSE(
      is_held_up([&] { EXPECT_EQ(table->device_free(0, device), SLUICE_SUCCESS) << table->last_error(); }, page_));
  EXPECT_EQ(n_blocks(), n_made + 1);
  release(page_);
  // As if it were to be used anew: a word below the value that was waited for.
  __atomic_store_n(page_, 0, __ATOMIC_RELEASE);
  EXPECT_EQ(table->host_unregister(0, page_), SLUICE_SUCCESS) << table->last_error();
  make_something();
  EXPECT_LT(n_blocks(), n_made);
}

TEST_F(Waits, AMapping_GoesLater_UnlessItIsOpenedAgain) {
  int ends[2] = {-1, -1};  // NOLINT(modernize-avoid-c-arrays): pipe's
  int keep[2] = {-1, -1};  // NOLINT(modernize-avoid-c-arrays): the same
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(pipe(keep), 0);
  // A process of its own, not a copy of this one, whose threads it would not have.
  const pid_t exporter = fork();
  ASSERT_GE(exporter, 0);
  if (exporter == 0) {
    close(keep[1]);
    dup2(ends[1], STDOUT_FILENO);
    dup2(keep[0], STDIN_FILENO);
    setenv("WAITS_TEST_EXPORTS", "1", 1);  // NOLINT(concurrency-mt-unsafe): one thread
    execl("/proc/self/exe", "hip_waits_test", nullptr);
    _exit(2);
  }
  close(ends[1]);
  close(keep[0]);
  Exported exported = {};
  ASSERT_EQ(read(ends[0], &exported, sizeof exported), static_cast<ssize_t>(sizeof exported));
  const size_t n_before = n_blocks();
  void *base = nullptr;
  uint64_t mapped_bytes = 0;
  ASSERT_EQ(table->ipc_open(0, &exported.handle, &base, &mapped_bytes), SLUICE_SUCCESS) << table->last_error();
  wait();
  EXPECT_FALSE(is_held_up([&] { EXPECT_EQ(table->ipc_close(0, base), SLUICE_SUCCESS) << table->last_error(); }));
  EXPECT_EQ(table->ipc_close(0, base), SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(n_blocks(), n_before + 1);
  void *again = nullptr;
  ASSERT_EQ(table->ipc_open(0, &exported.handle, &again, &mapped_bytes), SLUICE_SUCCESS) << table->last_error();
  release();
  make_something();
  std::vector<unsigned char> bytes(kBytes);
  EXPECT_EQ(table->program_copy(bytes.data(), static_cast<char *>(again) + exported.offset, kBytes), SLUICE_SUCCESS);
  EXPECT_EQ(bytes, pattern(9));
  EXPECT_EQ(n_blocks(), n_before + 1);
  EXPECT_EQ(table->ipc_close(0, again), SLUICE_SUCCESS) << table->last_error();
  EXPECT_EQ(n_blocks(), n_before);
  close(keep[1]);
  close(ends[0]);
  int status = -1;
  EXPECT_EQ(waitpid(exporter, &status, 0), exporter);
  EXPECT_EQ(status, 0);
}

// Nothing is left pinned or mapped, and the text names the call that failed.
TEST_F(Words, ThatARuntimeRefuses_LeaveNothing) {
  ASSERT_EQ(table->host_register(0, page_, kPageBytes), SLUICE_SUCCESS) << table->last_error();  // makes the kernel
  ASSERT_EQ(table->host_unregister(0, page_), SLUICE_SUCCESS) << table->last_error();
  for (const char *what : {"registering", "mapping"}) {
    const size_t n_before = n_blocks();
    const size_t n_pages = n_mapped_pages();
    const Refusal refusal(what);
    EXPECT_NE(table->host_register(0, page_, kPageBytes), SLUICE_SUCCESS);
    EXPECT_EQ(std::string(table->last_error()).rfind("hipHost", 0), 0U) << table->last_error();
    EXPECT_EQ(n_blocks(), n_before);
    EXPECT_EQ(n_mapped_pages(), n_pages);
    EXPECT_EQ(table->stream_write(stream_, page_, 1), SLUICE_ERROR_INVALID_ARGUMENT);
  }
  ASSERT_EQ(table->host_register(0, page_, kPageBytes), SLUICE_SUCCESS) << table->last_error();
  EXPECT_EQ(table->host_unregister(0, page_), SLUICE_SUCCESS) << table->last_error();
}

TEST_F(Words, RegisteredTwice_AreRefused_AndStay) {
  ASSERT_EQ(table->host_register(0, page_, kPageBytes), SLUICE_SUCCESS) << table->last_error();
  const size_t n_before = n_blocks();
  EXPECT_EQ(table->host_register(0, page_, kPageBytes), SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(table->last_error(), "host_register: this memory is registered already");
  EXPECT_EQ(n_blocks(), n_before);
  EXPECT_EQ(table->stream_write(stream_, page_ + kPageBytes / sizeof(uint64_t) - 1, 3), SLUICE_SUCCESS);
  EXPECT_EQ(table->stream_write(stream_, page_ + kPageBytes / sizeof(uint64_t), 3), SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(table->program_stream_synchronize(native_), SLUICE_SUCCESS);
  EXPECT_EQ(page_[kPageBytes / sizeof(uint64_t) - 1], 3U);
  EXPECT_EQ(table->host_unregister(0, page_), SLUICE_SUCCESS) << table->last_error();
}

TEST_F(Words, InMemoryThatNobodyCanShare_AreRefused) {
  void *page = mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  EXPECT_EQ(table->host_register(0, page, kPageBytes), SLUICE_ERROR_UNSUPPORTED);
  EXPECT_EQ(munmap(page, kPageBytes), 0);
}

TEST_F(Words, WhereStreamsAreOff_AreRefused) {
  g_takes_streams = false;
  ASSERT_EQ(table->init(&kServices), SLUICE_SUCCESS) << table->last_error();
  EXPECT_EQ(table->host_register(0, page_, kPageBytes), SLUICE_ERROR_UNSUPPORTED);
  g_takes_streams = true;
  ASSERT_EQ(table->init(&kServices), SLUICE_SUCCESS) << table->last_error();
}

// No kernel reads or writes memory that is not the device's, in either of its ends: nothing is enqueued.
TEST_F(Words, DoNotLeadBeyondMemory) {
  ASSERT_EQ(table->host_register(0, page_, kPageBytes), SLUICE_SUCCESS) << table->last_error();
  void *from = nullptr;
  void *to = nullptr;
  ASSERT_EQ(table->device_alloc(0, kBytes, &from), SLUICE_SUCCESS) << table->last_error();
  ASSERT_EQ(table->device_alloc(0, kBytes, &to), SLUICE_SUCCESS) << table->last_error();
  constexpr size_t kBeyond = 64 * kPageBytes;
  std::vector<unsigned char> unknown(kBytes);
  const sluice_units_t all = {from, kBytes, kBytes};
  const sluice_units_t longer = {from, kBytes + kBeyond, kBytes};
  const sluice_units_t elsewhere = {unknown.data(), kBytes, kBytes};
  page_[0] = uint64_t{1} << 32U | kBytes;
  EXPECT_NE(table->stream_take(stream_, to, &longer, kBytes, page_), SLUICE_SUCCESS);
  EXPECT_NE(table->stream_take(stream_, to, &elsewhere, kBytes, page_), SLUICE_SUCCESS);
  EXPECT_NE(table->stream_take(stream_, unknown.data(), &all, kBytes, page_), SLUICE_SUCCESS);
  EXPECT_NE(table->stream_copy(stream_, to, unknown.data(), kBytes), SLUICE_SUCCESS);
  EXPECT_NE(table->stream_copy(stream_, unknown.data(), from, kBytes), SLUICE_SUCCESS);
  EXPECT_EQ(table->stream_copy(nullptr, to, from, kBytes), SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(table->stream_take(nullptr, to, &all, kBytes, page_), SLUICE_ERROR_INVALID_ARGUMENT);
  const std::vector<unsigned char> bytes = pattern(4);
  ASSERT_EQ(table->program_copy(from, bytes.data(), kBytes), SLUICE_SUCCESS);
  ASSERT_EQ(table->stream_take(stream_, to, &all, kBytes, page_), SLUICE_SUCCESS) << table->last_error();
  EXPECT_EQ(table->program_stream_synchronize(native_), SLUICE_SUCCESS);
  ASSERT_EQ(table->program_copy(unknown.data(), to, kBytes), SLUICE_SUCCESS);
  EXPECT_EQ(unknown, bytes);
  EXPECT_EQ(table->device_free(0, from), SLUICE_SUCCESS);
  EXPECT_EQ(table->device_free(0, to), SLUICE_SUCCESS);
  EXPECT_EQ(table->host_unregister(0, page_), SLUICE_SUCCESS) << table->last_error();
}

// In a process of its own, whose compiler refuses: queues work, and streams carry no messages.
TEST_F(WithoutKernels, NothingIsRegistered) {
  const size_t n_before = n_blocks();
  EXPECT_EQ(table->host_register(0, page_, kPageBytes), SLUICE_ERROR_UNSUPPORTED);
  EXPECT_NE(std::string(table->last_error()).find("message_share"), std::string::npos) << table->last_error();
  EXPECT_NE(std::string(table->last_error()).find("hiprtcCompileProgram"), std::string::npos) << table->last_error();
  EXPECT_EQ(n_blocks(), n_before);
  void *memory = nullptr;
  ASSERT_EQ(table->device_alloc(0, kBytes, &memory), SLUICE_SUCCESS) << table->last_error();
  const sluice_units_t units = {memory, 8, 8};
  EXPECT_EQ(table->stream_take(stream_, static_cast<char *>(memory) + 8, &units, 8, word), SLUICE_ERROR_UNSUPPORTED);
  ASSERT_EQ(table->stream_write(stream_, word, 7), SLUICE_SUCCESS) << table->last_error();
  EXPECT_EQ(table->program_stream_synchronize(native_), SLUICE_SUCCESS);
  EXPECT_EQ(*word, 7U);
  EXPECT_EQ(table->device_free(0, memory), SLUICE_SUCCESS);
}

int main(int argc, char **argv) {
  if (std::getenv("WAITS_TEST_EXPORTS") != nullptr) {  // NOLINT(concurrency-mt-unsafe): one thread
    char last = 0;
    // The memory stays until the other process closes its end.
    return export_memory(STDOUT_FILENO) && read(STDIN_FILENO, &last, 1) == 0 ? 0 : 1;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

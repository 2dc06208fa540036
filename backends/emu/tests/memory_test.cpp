// SPDX-License-Identifier: BSD-3-Clause
// The emulated memory: what the CPU may not touch, what is freed, what is limited.
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "native.h"

using emu_test::DeviceMemory;
using emu_test::HostMemory;
using emu_test::kind_of;

namespace {

sigjmp_buf g_before_touch;
volatile sig_atomic_t g_signal_code = 0;

void on_fault(int /*signal*/, siginfo_t *info, void * /*context*/) {
  g_signal_code = info->si_code;
  siglongjmp(g_before_touch, 1);
}

enum class Access { kRead, kWrite };

// The si_code of the SIGSEGV that touching the byte raises; 0 when there is none.
int fault_code(std::byte *address, Access access) {
  struct sigaction action{};
  struct sigaction before{};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGSEGV, &action, &before);
  g_signal_code = 0;
  if (sigsetjmp(g_before_touch, 1) == 0) {
    auto *byte = reinterpret_cast<volatile unsigned char *>(address);
    if (access == Access::kRead) {
      const unsigned char value = *byte;
      static_cast<void>(value);
    } else {
      *byte = 1;
    }
  }
  sigaction(SIGSEGV, &before, nullptr);
  return g_signal_code;
}

size_t n_entries(const char *folder) {
  size_t n = 0;
  DIR *open_folder = opendir(folder);
  if (open_folder == nullptr) return 0;
  while (readdir(open_folder) != nullptr) ++n;
  closedir(open_folder);
  return n;
}

size_t n_mappings() {
  std::ifstream maps("/proc/self/maps");
  size_t n = 0;
  for (std::string line; std::getline(maps, line);) ++n;
  return n;
}

}  // namespace

TEST(Memory, DevicePointer_Faults_WhenTheCpuTouchesIt) {
  const DeviceMemory memory(100000);
  for (const size_t offset : {size_t{0}, size_t{1}, size_t{4095}, size_t{99999}}) {
    // ACCERR: the address is mapped and closed, not merely unmapped.
    EXPECT_EQ(fault_code(memory.data() + offset, Access::kRead), SEGV_ACCERR) << offset;
    EXPECT_EQ(fault_code(memory.data() + offset, Access::kWrite), SEGV_ACCERR) << offset;
  }
}

TEST(Memory, DevicePointer_IsRefusedByTheKernel) {
  const DeviceMemory memory(4096);
  const int file = open("/dev/zero", O_RDWR | O_CLOEXEC);
  ASSERT_GE(file, 0);
  EXPECT_EQ(read(file, memory.data(), 16), -1);
  EXPECT_EQ(errno, EFAULT);
  close(file);
  char byte = 0;
  iovec local{&byte, 1};
  iovec remote{memory.data(), 1};
  EXPECT_EQ(process_vm_readv(getpid(), &local, 1, &remote, 1, 0), -1);
}

TEST(Memory, PinnedAndSharedPointers_AreTheCpusToo) {
  void *shared = nullptr;
  ASSERT_EMU(emu_malloc_shared(5000, &shared));
  const HostMemory pinned(5000);
  const std::vector<std::byte> bytes = emu_test::bytes_of(5000, 3);
  std::memcpy(pinned.data(), bytes.data(), bytes.size());
  ASSERT_EMU(emu_memcpy(shared, pinned.data(), 5000));
  EXPECT_EQ(std::memcmp(shared, bytes.data(), bytes.size()), 0);
  EXPECT_EMU(emu_free(shared));
}

TEST(Memory, IsZeroedAtFirst) {
  for (int i = 0; i < 3; ++i) {
    const DeviceMemory memory(70000);
    std::vector<std::byte> bytes(70000, std::byte{7});
    ASSERT_EMU(emu_memcpy(bytes.data(), memory.data(), bytes.size()));
    EXPECT_EQ(bytes, std::vector<std::byte>(70000));
    ASSERT_EMU(emu_memcpy(memory.data(), emu_test::bytes_of(70000, 1).data(), 70000));
  }
}

class FreedOfKind : public testing::TestWithParam<emu_memory_kind_t> {};
INSTANTIATE_TEST_SUITE_P(Memory, FreedOfKind, testing::Values(EMU_MEMORY_PINNED, EMU_MEMORY_DEVICE, EMU_MEMORY_SHARED));

TEST_P(FreedOfKind, Pointer_IsAnsweredFreedAndFaultsAndIsNoCopysEnd) {
  void *memory = nullptr;
  switch (GetParam()) {
    case EMU_MEMORY_PINNED:
      ASSERT_EMU(emu_malloc_host(8000, 0, &memory));
      break;
    case EMU_MEMORY_DEVICE:
      ASSERT_EMU(emu_malloc_device(8000, &memory));
      break;
    default:
      ASSERT_EMU(emu_malloc_shared(8000, &memory));
      break;
  }
  auto *bytes = static_cast<std::byte *>(memory);
  ASSERT_EQ(kind_of(bytes + 7999), GetParam());
  ASSERT_EMU(emu_free(memory));
  EXPECT_EQ(kind_of(bytes), EMU_MEMORY_FREED);
  EXPECT_EQ(kind_of(bytes + 7999), EMU_MEMORY_FREED);
  EXPECT_EQ(kind_of(bytes + 8000), EMU_MEMORY_HOST);
  EXPECT_EQ(fault_code(bytes + 5, Access::kWrite), SEGV_ACCERR);
  char host[16] = {};
  EXPECT_EQ(emu_memcpy(host, bytes + 5, 8), EMU_ERROR_INVALID_POINTER);
  EXPECT_NE(std::string(emu_last_error_text()).find("freed"), std::string::npos) << emu_last_error_text();
  EXPECT_EQ(emu_free(memory), EMU_ERROR_INVALID_POINTER);
  EXPECT_NE(std::string(emu_last_error_text()).find("freed already"), std::string::npos) << emu_last_error_text();
}

TEST(Memory, Quarantine_ForgetsTheOldest) {
  void *first = nullptr;
  ASSERT_EMU(emu_malloc_device(4096, &first));
  ASSERT_EMU(emu_free(first));
  // The default keeps 64 ranges: the 64th free after it pushes the first out.
  std::vector<void *> others(64);
  for (void *&other : others) ASSERT_EMU(emu_malloc_device(4096, &other));
  for (size_t i = 0; i + 1 < others.size(); ++i) ASSERT_EMU(emu_free(others[i]));
  EXPECT_EQ(kind_of(first), EMU_MEMORY_FREED);
  ASSERT_EMU(emu_free(others.back()));
  EXPECT_EQ(kind_of(first), EMU_MEMORY_HOST);
  EXPECT_EQ(kind_of(others.front()), EMU_MEMORY_FREED);
}

TEST(Memory, Quarantine_IsBoundedInBytes) {
  void *first = nullptr;
  ASSERT_EMU(emu_malloc_device(4096, &first));
  ASSERT_EMU(emu_free(first));
  void *large = nullptr;
  ASSERT_EMU(emu_malloc_device(size_t{256} << 20U, &large));
  ASSERT_EMU(emu_free(large));
  EXPECT_EQ(kind_of(first), EMU_MEMORY_HOST);
  EXPECT_EQ(kind_of(large), EMU_MEMORY_FREED);
}

TEST(Memory, WrongRangesAndPointers_AreRefused) {
  const DeviceMemory memory(1000);
  std::vector<std::byte> host(2000);
  EXPECT_EQ(emu_memcpy(host.data(), memory.data() + 1, 1000), EMU_ERROR_INVALID_POINTER);
  EXPECT_EQ(emu_memcpy(memory.data(), host.data(), 1001), EMU_ERROR_INVALID_POINTER);
  EXPECT_EQ(emu_memcpy(memory.data(), nullptr, 1), EMU_ERROR_INVALID_VALUE);
  EXPECT_EQ(emu_free(memory.data() + 1), EMU_ERROR_INVALID_POINTER);
  EXPECT_EQ(emu_free(host.data()), EMU_ERROR_INVALID_POINTER);
  EXPECT_EMU(emu_free(nullptr));
  void *none = nullptr;
  EXPECT_EQ(emu_malloc_device(0, &none), EMU_ERROR_INVALID_VALUE);
  EXPECT_EQ(emu_malloc_host(10, 48, &none), EMU_ERROR_INVALID_VALUE);
  EXPECT_EQ(emu_malloc_device(10, nullptr), EMU_ERROR_INVALID_VALUE);
}

TEST(Memory, DeviceMemory_IsLimitedAndGivenBack) {
  emu_device_info_t info{};
  ASSERT_EMU(emu_device_query(0, &info));
  uint64_t before = 0;
  ASSERT_EMU(emu_device_memory_in_use(0, &before));
  void *most = nullptr;
  ASSERT_EMU(emu_malloc_device(info.memory_bytes - before, &most));
  void *more = nullptr;
  EXPECT_EQ(emu_malloc_device(1, &more), EMU_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(emu_malloc_shared(1, &more), EMU_ERROR_OUT_OF_MEMORY);
  ASSERT_EMU(emu_set_device(1));
  EXPECT_EMU(emu_malloc_device(1, &more));
  EXPECT_EMU(emu_free(more));
  ASSERT_EMU(emu_set_device(0));
  ASSERT_EMU(emu_free(most));
  uint64_t after = 0;
  ASSERT_EMU(emu_device_memory_in_use(0, &after));
  EXPECT_EQ(after, before);
}

TEST(Memory, LongRuns_HoldDescriptorsAndMappingsConstant) {
  // First of all, fill the quarantine: what is kept at most is kept from here on.
  const auto round = [] {
    void *device = nullptr;
    void *pinned = nullptr;
    ASSERT_EMU(emu_malloc_device(12345, &device));
    ASSERT_EMU(emu_malloc_host(12345, 0, &pinned));
    ASSERT_EMU(emu_memcpy(device, pinned, 12345));
    ASSERT_EMU(emu_free(device));
    ASSERT_EMU(emu_free(pinned));
  };
  for (int i = 0; i < 200; ++i) round();
  const size_t n_files = n_entries("/proc/self/fd");
  const size_t n_maps = n_mappings();
  for (int i = 0; i < 1000; ++i) round();
  EXPECT_EQ(n_entries("/proc/self/fd"), n_files);
  // Ranges side by side are shown as one mapping or as several.
  EXPECT_LE(n_mappings(), n_maps + 70);
}

TEST(Memory, Devices_BecomeActiveWhenUsed) {
  // Of its own thread's choice: the last device, which no other test uses in this process.
  int32_t count = 0;
  ASSERT_EMU(emu_device_count(&count));
  ASSERT_GE(count, 2);
  emu_pointer_info_t info{};
  emu_device_info_t device_info{};
  std::thread([&] {
    ASSERT_EMU(emu_device_query(count - 1, &device_info));
    ASSERT_EMU(emu_pointer_query(&info, &info));
    ASSERT_EMU(emu_set_device(count - 1));
    void *memory = nullptr;
    ASSERT_EMU(emu_malloc_device(1, &memory));
    int is_active = 0;
    ASSERT_EMU(emu_device_is_active(count - 1, &is_active));
    EXPECT_EQ(is_active, 1);
    ASSERT_EMU(emu_free(memory));
  }).join();
}

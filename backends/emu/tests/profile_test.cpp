// SPDX-License-Identifier: BSD-3-Clause
// Machine profiles: copies take at least the time that the profile gives.
#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "native.h"

using emu_test::DeviceMemory;
using emu_test::HostMemory;
using emu_test::Queue;
using emu_test::Settings;

namespace {

using Microseconds = std::chrono::duration<double, std::micro>;

constexpr size_t kLarge = size_t{4} << 20U;

double time_us(const std::function<void()> &work) {
  const auto before = std::chrono::steady_clock::now();
  work();
  return Microseconds(std::chrono::steady_clock::now() - before).count();
}

double copy_us(void *dst, const void *src, size_t size_bytes) {
  return time_us([&] { EXPECT_EMU(emu_memcpy(dst, src, size_bytes)); });
}

// A file with the given text, gone at the end.
class ProfileFile {
 public:
  explicit ProfileFile(const std::string &text) {
    const int file = mkstemp(path_.data());
    EXPECT_GE(file, 0);
    close(file);
    std::ofstream(path_) << text;
  }
  ~ProfileFile() { unlink(path_.c_str()); }
  ProfileFile(const ProfileFile &) = delete;
  ProfileFile &operator=(const ProfileFile &) = delete;
  const char *path() const { return path_.c_str(); }

 private:
  std::string path_ = "/tmp/emu-profile-XXXXXX";
};

std::string profile_text(const std::string &more, const std::string &link_more = "") {
  const std::string link = R"({"latency_us": 1, "bandwidth_gb_s": 1)" + link_more + "}";
  const std::string both = R"({"pinned": )" + link + R"(, "pageable": )" + link + "}";
  return R"({"schema": 1, "name": "t", )" + more + R"("links": {"host_to_device": )" + both +
         R"(, "device_to_host": )" + both + R"(, "device_to_device": )" + link + R"(, "peer_to_peer": )" + link + "}}";
}

}  // namespace

// The figures that the paper prints (section V.B), as lower bounds.
TEST(Profile, Dg1_TakesAtLeastThePapersTimes) {
  const Settings settings;
  const DeviceMemory device(kLarge);
  const HostMemory pinned(kLarge);
  std::vector<std::byte> pageable(kLarge);
  ASSERT_EMU(emu_set_profile("dg1"));
  EXPECT_GE(copy_us(device.data(), pinned.data(), 16), 24.8);
  EXPECT_GE(copy_us(pinned.data(), device.data(), 16), 28.4);
  EXPECT_GE(copy_us(device.data(), pageable.data(), 16), 54.1);
  EXPECT_GE(copy_us(pageable.data(), device.data(), 16), 54.8);
  // Rounded bandwidths: a permille less.
  EXPECT_GE(copy_us(device.data(), pinned.data(), kLarge), 1140 * 0.999);
  EXPECT_GE(copy_us(pinned.data(), device.data(), kLarge), 773 * 0.999);
  EXPECT_GE(copy_us(device.data(), pageable.data(), kLarge), 1492 * 0.999);
  EXPECT_GE(copy_us(pageable.data(), device.data(), kLarge), 1249 * 0.999);
}

TEST(Profile, QueuesOfOneDirection_ShareTheLink) {
  const Settings settings;
  const DeviceMemory device(2 * kLarge);
  const HostMemory pinned(2 * kLarge);
  const Queue one;
  const Queue other;
  ASSERT_EMU(emu_set_profile("dg1"));
  const double both_us = time_us([&] {
    EXPECT_EMU(emu_memcpy_async(one.get(), device.data(), pinned.data(), kLarge));
    EXPECT_EMU(emu_memcpy_async(other.get(), device.data() + kLarge, pinned.data() + kLarge, kLarge));
    EXPECT_EMU(emu_queue_synchronize(one.get()));
    EXPECT_EMU(emu_queue_synchronize(other.get()));
  });
  EXPECT_GE(both_us, 2 * 1115.0);
}

TEST(Profile, File_IsFoundByItsPath) {
  const Settings settings;
  const DeviceMemory device(100000);
  const HostMemory pinned(100000);
  const ProfileFile file(profile_text(R"("enqueue_us": 300, "batch_copy_us": 200, "duplex": false, )"));
  ASSERT_EMU(emu_set_profile(file.path()));
  EXPECT_GE(copy_us(device.data(), pinned.data(), 100000), 101.0);
  const Queue queue;
  const emu_copy_t copies[] = {
      {device.data(), pinned.data(), 1}, {device.data() + 1, pinned.data(), 1}, {device.data() + 2, pinned.data(), 1}};
  EXPECT_GE(time_us([&] { EXPECT_EMU(emu_memcpy_batch_async(queue.get(), copies, 3)); }), 300.0);
  EXPECT_GE(time_us([&] {
              EXPECT_EMU(emu_memcpy_batch_async(queue.get(), copies, 3));
              EXPECT_EMU(emu_queue_synchronize(queue.get()));
            }),
            400.0);
}

TEST(Profile, WrongFiles_AreRefusedAndNamed) {
  const Settings settings;
  EXPECT_EQ(emu_set_profile("nosuch"), EMU_ERROR_CONFIGURATION);
  EXPECT_NE(std::string(emu_last_error_text()).find("nosuch"), std::string::npos) << emu_last_error_text();
  for (const std::string &text :
       {std::string("no json"), std::string("{}"), std::string(R"({"schema": 2, "name": "t", "links": {}})"),
        profile_text(R"("latncy": 3, )"), profile_text("", R"(, "unit": 1)"), profile_text(R"("enqueue_us": -1, )"),
        profile_text(R"("enqueue_us": "much", )"), std::string("[]")}) {
    const ProfileFile file(text);
    EXPECT_EQ(emu_set_profile(file.path()), EMU_ERROR_CONFIGURATION) << text;
    EXPECT_NE(std::string(emu_last_error_text()).find(file.path()), std::string::npos) << emu_last_error_text();
  }
  const ProfileFile right(profile_text(""));
  EXPECT_EMU(emu_set_profile(right.path()));
}

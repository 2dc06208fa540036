// SPDX-License-Identifier: BSD-3-Clause
// A HIP runtime that acts on host memory: as much of it as the module uses, with two devices, one address space and
// streams that work in their own threads. It examines the module's logic where there is no GPU.
#pragma once

#include <hip/hip_runtime_api.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

// A worker that runs what it is given, in order.
struct ihipStream_t {
 public:
  explicit ihipStream_t(int device);
  ~ihipStream_t();
  ihipStream_t(const ihipStream_t &) = delete;
  ihipStream_t &operator=(const ihipStream_t &) = delete;

  int device() const { return device_; }
  // Returns the number of the work, which is done when *done() has reached it.
  uint64_t enqueue(std::function<void()> work);
  uint64_t n_enqueued();
  // How much of it is done, for those that may outlive the stream.
  std::shared_ptr<const std::atomic<uint64_t>> done() const { return n_done_; }
  void wait(uint64_t number);

 private:
  void run();

  int device_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  uint64_t n_enqueued_ = 0;
  std::shared_ptr<std::atomic<uint64_t>> n_done_ = std::make_shared<std::atomic<uint64_t>>(0);
  bool is_closing_ = false;
  std::thread worker_;
};

struct ihipEvent_t {
  std::shared_ptr<const std::atomic<uint64_t>> done;  // of the stream that it was recorded in, which may be gone
  uint64_t number = 0;

  bool has_come() const { return done == nullptr || *done >= number; }
};

namespace loopback {

inline constexpr int kDevices = 2;

enum class Kind { kDevice, kManaged, kHost, kRegistered, kOpened };

struct Block {
  size_t size_bytes;
  Kind kind;
  int device;
  uint32_t id;
  int file = -1;  // behind device memory, which other processes may open
  // Of registered memory, which a device has under an address of its own, a block too: how far the device's address
  // lies from this block's, and the program's.
  ptrdiff_t to_device = 0;
  ptrdiff_t to_host = 0;
};

// All that the "runtime" knows. One lock for all of it.
struct State {
  std::mutex mutex;
  bool is_broken = false;  // a kernel touched what is not there: nothing works any more
  std::map<char *, Block> blocks;
  uint32_t last_id = 0;
  std::atomic<int> n_waits{0};       // for words, that streams were given and have not passed
  std::atomic<int> n_held_up{0};     // threads of the host that stand in hold_up()
  std::atomic<int> n_kernels{0};     // that were launched
  std::atomic<int> n_operations{0};  // stream memory operations
  std::atomic<int> n_launches{-1};   // so many more are taken; -1: any number
};

// What HIP_LOOPBACK_REFUSES names in the environment does not work: "registering" memory, "mapping" what is registered
// for a device, "compiling" kernels, or stream memory "operations", which the devices do not have then.
bool refuses(const char *what);

State &state();
// The thread's current device.
int &current();
// The block that holds an address, or null; the lock is held.
const Block *find_block(const void *address, char **begin = nullptr);
hipError_t add_block(size_t size_bytes, Kind kind, void **memory);
// Forgets the block that begins at `address` and is of that kind, which is not kRegistered, and unmaps it.
hipError_t drop_block(void *address, Kind kind);
// Whether `size_bytes` from `address` on are in one block, or in memory that the runtime does not know.
bool is_inside(const void *address, size_t size_bytes);
bool is_broken();
// Where the vendor's runtime waits for all streams of a device: until none of them waits for a word.
void hold_up();

}  // namespace loopback

// For tests that find this library in the process: how many threads of the host it holds up.
extern "C" int loopback_held_up();

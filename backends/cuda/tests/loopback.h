// SPDX-License-Identifier: BSD-3-Clause
// A driver library that acts on host memory: as much of the driver as the module uses, with two devices, contexts,
// unified addresses and streams that work in their own threads. It examines the module's logic where there is no GPU.
#pragma once

#include <cuda.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "captured.hpp"
#include "message.hpp"

struct CUctx_st {
  CUdevice device;
};

namespace loopback {

// What a launch of a kernel does, with its arguments as they were then.
struct Launch {
  std::function<void()> run;
  bool waits = false;  // for a word: counted in n_waits from when it is enqueued until it has run
};

// What a stream is being captured into, and which of its nodes the next command comes behind.
struct Capture {
  cuuint64_t id;
  CUgraph graph;
  std::vector<CUgraphNode> behind;
};
// Adds a command to that graph.
void capture(const Launch &launch, Capture *capture);

}  // namespace loopback

struct CUstream_st {
 public:
  CUstream_st(CUcontext owner, bool has_priority);
  // Waits for the stream's work.
  ~CUstream_st();
  CUstream_st(const CUstream_st &) = delete;
  CUstream_st &operator=(const CUstream_st &) = delete;

  CUcontext context() const { return context_; }
  // The greatest there is.
  bool has_priority() const { return has_priority_; }
  // Returns the number of the work, which is done when n_done() has reached it. With as much waiting in the stream as
  // goes into it the caller waits until there is room.
  // While the stream is captured it becomes a node of the graph, and the number is that of the last work before.
  uint64_t enqueue(std::function<void()> work);
  std::unique_ptr<loopback::Capture> &capture() { return capture_; }
  uint64_t n_enqueued();
  uint64_t n_done();
  // The same, for those that may outlive the stream.
  std::shared_ptr<const std::atomic<uint64_t>> done() const { return n_done_; }
  void wait(uint64_t number);

 private:
  void run();

  CUcontext context_;
  bool has_priority_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  uint64_t n_enqueued_ = 0;
  std::shared_ptr<std::atomic<uint64_t>> n_done_ = std::make_shared<std::atomic<uint64_t>>(0);
  bool is_ending_ = false;
  std::unique_ptr<loopback::Capture> capture_;  // null: it is not captured
  std::thread worker_;                          // last: it uses what is above
};

struct CUevent_st {
  std::shared_ptr<const std::atomic<uint64_t>> done;  // of the stream that it was recorded in, which may be gone
  uint64_t number = 0;

  bool has_come() const { return done == nullptr || *done >= number; }
};

namespace loopback {

inline constexpr int kDevices = 2;
// What goes into a stream before the host has to wait.
inline constexpr size_t kStreamDepth = 1020;
// The driver makes room for so many streams at once.
inline constexpr int kStreamsOfRoom = 32;

// Memory of cuMemCreate, which lives while anybody refers to it. Its address is the driver's handle.
struct Physical {
  int file;
  size_t size_bytes;
  CUdevice device;
  unsigned long long handle_types;
  unsigned long long id;
  int n_references;
};

struct Block {
  size_t size_bytes;
  CUmemorytype type;
  bool is_managed;
  bool is_registered;  // the program's own pages
  CUcontext context;
  unsigned long long id;
  int file = -1;           // behind memory that other processes may open
  bool is_opened = false;  // another process's
  unsigned n_opened = 0;   // how often
  unsigned long long inode = 0;
  Physical *physical = nullptr;  // mapped by cuMemMap: the block has no context then
  bool is_pooled = false;        // of cuMemAllocAsync
};

// Waits for events that are forgotten, so that a test is seen to notice: those of streams of the greatest priority, or
// of the others. Or what messages of a graph come behind, or what comes behind them.
enum class Forgotten : int { kNone, kByPriority, kByOthers, kBeforeCaptured, kBehindCaptured };

// All that the "driver" knows. One lock for all of it.
struct State {
  std::mutex mutex;
  bool is_initialised = false;
  bool is_broken = false;                   // streams do nothing any more and say so when asked
  bool is_held = false;                     // copies wait until this ends
  bool refuses_batches = false;             // of memory operations
  CUstream captured = nullptr;              // as if this stream were being captured into a graph
  uint32_t overwritten = 0;                 // the word that was where the last copy down began
  std::atomic<int> n_word_writes{0};        // commands that write words, enqueued by cuStreamWriteValue64
  std::atomic<int> n_batches{0};            // the same by cuStreamBatchMemOp
  std::atomic<int> n_kernels{0};            // launched
  std::atomic<int> n_graphs{0};             // launched; their kernels count too
  std::atomic<int> n_executables{0};        // of graphs, that were made and not destroyed
  std::atomic<int> n_set_parameters{0};     // of graphs
  bool refuses_graphs = false;              // to make them executable
  bool forgets_ends = false;                // kernels do not tell of their end
  bool has_service = false;                 // as if processes shared the devices through the multi-process service
  std::atomic<int> n_queries{0};            // by cuPointerGetAttributes
  std::atomic<int> n_launches{-1};          // that are taken before one is refused; -1: any number
  std::atomic<int> n_captures{0};           // of streams, under way
  std::atomic<int> n_nodes{-1};             // that graphs take before one is refused; -1: any number
  std::atomic<int> n_waits{0};              // on words, that were enqueued and have not been passed
  std::atomic<bool> holds_priority{false};  // streams of the greatest priority do nothing until this ends
  std::atomic<int> n_priority_streams{0};   // there are
  std::atomic<int> n_at_events{0};          // streams that wait for an event at this moment
  std::atomic<Forgotten> forgotten{Forgotten::kNone};
  std::atomic<int> n_streams{0};            // there are, with those default streams that threads have of their own
  std::atomic<int> n_room{kStreamsOfRoom};  // for streams; never less again
  std::atomic<int> n_held_up{0};            // threads of the host that stand in hold_up(), or wait for room in a stream
  std::condition_variable changed;
  CUctx_st primary[kDevices] = {{0}, {1}};
  int n_retained[kDevices] = {0, 0};
  std::map<CUdeviceptr, Block> blocks;
  std::map<CUdeviceptr, size_t> reservations;  // of cuMemAddressReserve
  bool refuses_fabric = false;                 // as a machine without its daemon does
  int n_default_waits = 0;                     // for the program's default streams
  unsigned context_flags[kDevices] = {0, 0};
  unsigned long long last_id = 0;
};

State &state();
// The thread's stack of contexts; the last one is current.
std::deque<CUcontext> &context_stack();
CUcontext current();

// Waits until no stream waits, or is going to wait, for a word: what the driver does in calls that free or unmap memory
// or load kernels, and where it makes room for streams, and in no others (docs/adr/0032).
void hold_up();
// A stream is made; hold_up() where there is no room for it.
void take_room();

// As for a capture in the strictest mode: whether this thread may not allocate, free or copy now.
bool is_forbidden();

// New memory of the current context, or CUDA_ERROR_OUT_OF_MEMORY.
CUresult make_block(size_t size_bytes, CUmemorytype type, bool is_managed, CUdeviceptr *address);
// Memory that other processes may open, and its file; null when there is none.
void *make_shareable(size_t size_bytes, int *file);
void drop_shareable(void *memory, const Block &block);
CUresult add_registered(void *memory, size_t size_bytes);
// Frees or forgets the block that begins at `address` and is of this type and origin.
CUresult drop_block(CUdeviceptr address, CUmemorytype type, bool is_registered);
// What a copy of a stream does, in its thread: 4 bytes at a time at the destination, as a bus delivers them.
void move(CUdeviceptr dst, CUdeviceptr src, size_t size_bytes);
// One attribute's value for a block, or for none (the driver's "nothing" values).
CUresult store_attribute(void *data, CUpointer_attribute attribute, CUdeviceptr begin, const Block *block);
// The block that holds an address, or null; the lock is held.
const Block *find_block(CUdeviceptr address, CUdeviceptr *begin = nullptr);
// The reservation that a mapped block lies in; the lock is held.
std::pair<CUdeviceptr, size_t> reservation_of(CUdeviceptr address);
// For a handle to another process's file: opens it, -1 when it is gone or another.
int open_foreign(int pid, int file, unsigned long long inode);
unsigned long long inode_of(int file);
Launch launch_of(CUfunction function, void **arguments, uint64_t n_blocks, uint64_t n_threads, CUdevice device);
// Those of messages of queues (loopback_messages.cpp).
Launch launch_of_message(const sluice::kernels::MessageTask &task, uint64_t n_blocks, uint64_t n_threads,
                         CUdevice device);
Launch launch_of_messages(const sluice::kernels::MessageList &list, uint64_t n_blocks, CUdevice device);
Launch launch_of_captured(const sluice::kernels::CapturedList &list, uint64_t n_blocks, CUdevice device);

// What a kernel on `device` may touch: as on a device, anything else is a fault that the context does not survive.
bool is_reachable(const void *address, size_t size_bytes, CUdevice device);
// False when the context is broken, or is now, because the kernel would touch what its device does not reach.
bool may_run(const std::function<bool()> &is_inside);
// As the driver's own wait, a kernel that waits is ended by a context that broke.
bool is_over();
// CUDA_SUCCESS, and it is counted: the driver takes it. `stream` may be the default one.
CUresult enqueue_launch(const Launch &launch, CUstream stream);

}  // namespace loopback

// For tests: from now on all streams behave as after a fault on the device.
extern "C" void loopback_break();
// For tests: how many threads of the host the driver holds up.
extern "C" int loopback_held_up();
// For tests: copies that are enqueued from now on wait until the next call says false.
extern "C" void loopback_hold(bool is_held);

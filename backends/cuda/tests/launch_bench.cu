// SPDX-License-Identifier: BSD-3-Clause
// A stand-alone program that measures what a short kernel costs the host by each way to launch it and to see its end,
// and what the calls alone cost that queues make: the floors under reductions, packing and stream-triggered messages.
//   launch_bench [--repeats N]
// Lines `end`: way, blocks, us from before the call until the host has seen the end (10th percentile, median, 90th), us
// of the call alone. Lines `call`: us of one call in a row of twenty.
#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

namespace {

constexpr unsigned kThreads = 512;
constexpr unsigned kFloats = 16384;  // what a short reduction moves
constexpr int kInARow = 20;

template <typename Result>
void check(Result result, const char *what) {
  if (result == Result{}) return;
  std::fprintf(stderr, "launch_bench: %s: %d\n", what, static_cast<int>(result));
  std::exit(2);
}

struct Task {
  volatile std::uint64_t *flag;  // null: the kernel tells nobody
  std::uint64_t value;
  float *data;
  unsigned n;
};
// As large as a task of a reduction is.
struct LargeTask {
  Task task;
  std::uint64_t rest[64];
};

__device__ void work(const Task &task) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < task.n; i += gridDim.x * blockDim.x) task.data[i] += 1;
  __syncthreads();
  if (threadIdx.x != 0 || blockIdx.x != 0 || task.flag == nullptr) return;
  __threadfence_system();
  *task.flag = task.value;
}
__global__ void small_task(const __grid_constant__ Task task) {
  work(task);
}
__global__ void large_task(const __grid_constant__ LargeTask given) {
  work(given.task);
}
// Its arguments lie in memory of the host, so that nothing of the launch changes from call to call.
__global__ void far_task(const Task *given) {
  __shared__ Task task;
  if (threadIdx.x == 0) task = *given;
  __syncthreads();
  work(task);
}

double now_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double part(std::vector<double> *values, double share) {
  std::sort(values->begin(), values->end());
  return (*values)[static_cast<std::size_t>(share * static_cast<double>(values->size() - 1))];
}

// A kernel node alone in a graph, whose arguments are changed before each launch.
template <typename Argument>
struct Graph {
  Graph(void *kernel, unsigned blocks, cudaStream_t stream) {
    cudaGraph_t graph = nullptr;
    check(cudaGraphCreate(&graph, 0), "cudaGraphCreate");
    arguments[0] = &argument;
    parameters.func = kernel;
    parameters.gridDim = dim3(blocks);
    parameters.blockDim = dim3(kThreads);
    parameters.kernelParams = arguments;
    check(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &parameters), "cudaGraphAddKernelNode");
    check(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
    check(cudaGraphUpload(executable, stream), "cudaGraphUpload");
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }
  void set() {
    check(cudaGraphExecKernelNodeSetParams(executable, node, &parameters), "cudaGraphExecKernelNodeSetParams");
  }
  void launch(cudaStream_t stream) { check(cudaGraphLaunch(executable, stream), "cudaGraphLaunch"); }

  Argument argument{};
  void *arguments[1];
  cudaKernelNodeParams parameters{};
  cudaGraphNode_t node = nullptr;
  cudaGraphExec_t executable = nullptr;
};

class Bench {
 public:
  explicit Bench(int repeats) : repeats_(repeats) {
    check(cudaHostAlloc(&words_, 4096, cudaHostAllocMapped), "cudaHostAlloc");
    std::memset(words_, 0, 4096);
    flag_ = words_;
    far_ = reinterpret_cast<Task *>(words_ + 64);
    check(cudaMalloc(&data_, kFloats * sizeof(float)), "cudaMalloc");
    check(cudaMemset(data_, 0, kFloats * sizeof(float)), "cudaMemset");
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }

  void calls();
  void ends(unsigned blocks);

 private:
  Task task(bool tells) const { return {tells ? flag_ : nullptr, number_, data_, kFloats}; }
  void watch() const {
    while (*flag_ != number_) {
    }
  }
  void synchronize() const { check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }
  void query() const {
    while (cudaStreamQuery(stream_) != cudaSuccess) {
    }
  }
  void end(const char *way, unsigned blocks, const std::function<void()> &begin, const std::function<void()> &wait);
  void call(const char *name, const std::function<void()> &once);

  int repeats_;
  std::uint64_t *words_ = nullptr;
  volatile std::uint64_t *flag_ = nullptr;
  Task *far_ = nullptr;
  float *data_ = nullptr;
  cudaStream_t stream_ = nullptr;
  std::uint64_t number_ = 0;
};

void Bench::end(const char *way, unsigned blocks, const std::function<void()> &begin,
                const std::function<void()> &wait) {
  std::vector<double> whole;
  std::vector<double> alone;
  for (int i = -repeats_ / 10; i < repeats_; ++i) {
    ++number_;
    const double before = now_us();
    begin();
    const double called = now_us();
    wait();
    const double after = now_us();
    if (i < 0) continue;
    whole.push_back(after - before);
    alone.push_back(called - before);
  }
  synchronize();
  std::printf("end   %-50s %3u %7.2f %7.2f %7.2f   %6.2f\n", way, blocks, part(&whole, 0.1), part(&whole, 0.5),
              part(&whole, 0.9), part(&alone, 0.5));
  std::fflush(stdout);
}

void Bench::call(const char *name, const std::function<void()> &once) {
  std::vector<double> all;
  for (int r = 0; r < repeats_ / kInARow + 1; ++r) {
    const double before = now_us();
    for (int i = 0; i < kInARow; ++i) once();
    all.push_back((now_us() - before) / kInARow);
    synchronize();
  }
  std::printf("call  %-50s     %7.3f\n", name, part(&all, 0.5));
  std::fflush(stdout);
}

void Bench::calls() {
  auto *const stream = static_cast<CUstream>(stream_);
  const auto word = reinterpret_cast<CUdeviceptr>(words_);
  cudaEvent_t event = nullptr;
  CUcontext context = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  check(cuCtxGetCurrent(&context), "cuCtxGetCurrent");
  call("cuStreamWriteValue64", [&] { check(cuStreamWriteValue64(stream, word, 1, 0), "cuStreamWriteValue64"); });
  call("cuStreamWaitValue64 of a value that is there",
       [&] { check(cuStreamWaitValue64(stream, word, 0, CU_STREAM_WAIT_VALUE_GEQ), "cuStreamWaitValue64"); });
  call("cudaEventRecord", [&] { check(cudaEventRecord(event, stream_), "cudaEventRecord"); });
  call("cudaStreamWaitEvent", [&] { check(cudaStreamWaitEvent(stream_, event, 0), "cudaStreamWaitEvent"); });
  call("cudaStreamQuery", [&] { static_cast<void>(cudaStreamQuery(stream_)); });
  call("cuCtxPushCurrent and cuCtxPopCurrent", [&] {
    CUcontext popped = nullptr;
    check(cuCtxPushCurrent(context), "cuCtxPushCurrent");
    check(cuCtxPopCurrent(&popped), "cuCtxPopCurrent");
  });
  call("cuCtxGetCurrent", [&] { check(cuCtxGetCurrent(&context), "cuCtxGetCurrent"); });
  call("cuStreamIsCapturing", [&] {
    CUstreamCaptureStatus status;
    check(cuStreamIsCapturing(stream, &status), "cuStreamIsCapturing");
  });
  const auto pointer = [&](const char *name, const void *address) {
    call(name, [&] {
      unsigned type = 0;
      unsigned is_managed = 0;
      int device = 0;
      CUdeviceptr begin = 0;
      CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                      CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR};
      void *values[] = {&type, &is_managed, &device, &begin};
      check(cuPointerGetAttributes(4, wanted, values, reinterpret_cast<CUdeviceptr>(address)),
            "cuPointerGetAttributes");
    });
  };
  const std::vector<char> heap(64);
  pointer("cuPointerGetAttributes, four, device memory", data_);
  pointer("cuPointerGetAttributes, four, pinned memory", words_);
  pointer("cuPointerGetAttributes, four, C memory", heap.data());
  call("launch, 32 bytes of arguments", [&] { small_task<<<1, kThreads, 0, stream_>>>(task(false)); });
  call("launch, 544 bytes of arguments", [&] { large_task<<<1, kThreads, 0, stream_>>>(LargeTask{task(false), {}}); });
}

void Bench::ends(unsigned blocks) {
  const auto watched = [&] { watch(); };
  const auto synchronized = [&] { synchronize(); };
  const auto told = [&] { small_task<<<blocks, kThreads, 0, stream_>>>(task(true)); };
  end("launch; the kernel's flag", blocks, told, watched);
  end(
      "launch, 544 bytes; the kernel's flag", blocks,
      [&] { large_task<<<blocks, kThreads, 0, stream_>>>(LargeTask{task(true), {}}); }, watched);
  end("launch; cudaStreamSynchronize", blocks, told, synchronized);
  end("launch; cudaStreamQuery", blocks, told, [&] { query(); });
  end(
      "launch, cuStreamWriteValue64; its word", blocks,
      [&] {
        small_task<<<blocks, kThreads, 0, stream_>>>(task(false));
        check(cuStreamWriteValue64(static_cast<CUstream>(stream_), reinterpret_cast<CUdeviceptr>(words_), number_, 0),
              "cuStreamWriteValue64");
      },
      watched);
  Graph<Task> small(reinterpret_cast<void *>(small_task), blocks, stream_);
  Graph<LargeTask> large(reinterpret_cast<void *>(large_task), blocks, stream_);
  Graph<const Task *> far(reinterpret_cast<void *>(far_task), blocks, stream_);
  far.argument = far_;
  far.set();
  const auto launch_small = [&] {
    small.argument = task(true);
    small.set();
    small.launch(stream_);
  };
  const auto launch_far = [&] {
    *far_ = task(true);
    far.launch(stream_);
  };
  end("graph, new arguments; the kernel's flag", blocks, launch_small, watched);
  end("graph, new arguments; cudaStreamSynchronize", blocks, launch_small, synchronized);
  end(
      "graph, 544 bytes of new arguments; the flag", blocks,
      [&] {
        large.argument.task = task(true);
        large.set();
        large.launch(stream_);
      },
      watched);
  end("graph, arguments in host memory; the flag", blocks, launch_far, watched);
  end(
      "launch, arguments in host memory; the flag", blocks,
      [&] {
        *far_ = task(true);
        far_task<<<blocks, kThreads, 0, stream_>>>(far_);
      },
      watched);
}

}  // namespace

int main(int argc, char **argv) {
  const int repeats = argc == 3 && std::strcmp(argv[1], "--repeats") == 0 ? std::atoi(argv[2]) : 2000;
  check(cudaFree(nullptr), "cudaFree");
  Bench bench(std::max(repeats, 10));
  bench.calls();
  for (const unsigned blocks : {1U, 16U, 66U}) bench.ends(blocks);
  return 0;
}

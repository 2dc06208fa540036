// SPDX-License-Identifier: BSD-3-Clause
// The floors of the comparison: what the vendor's own copies take without any MPI. One process, two devices.
//
//   raw_copies peer|pinned|stream --sizes 8,4096 -i 100 -x 10 --json FILE
//
// peer: one copy between the devices and a wait for it, us; three ways, of which the best is the floor: the runtime's
// peer copy, and the driver's plain copy over a peer mapping, started by the receiver (pull) and by the sender (push).
// pinned: one copy between pinned host memory and device 0 and a wait, us. stream: 16 copies behind each other and one
// wait, MB/s. The last byte of every copy's target is checked once.
#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace {

constexpr int kStreamCopies = 16;
constexpr int kPattern = 0x5a;

[[noreturn]] void fail(const std::string &text) {
  std::fprintf(stderr, "raw_copies: %s\n", text.c_str());
  std::exit(1);
}

void check(cudaError_t result, const char *what) {
  if (result != cudaSuccess) fail(std::string(what) + ": " + cudaGetErrorString(result));
}

void check(CUresult result, const char *what) {
  if (result != CUDA_SUCCESS) fail(std::string(what) + ": driver error " + std::to_string(static_cast<int>(result)));
}

struct Arguments {
  std::string mode;
  std::vector<std::size_t> sizes;
  int iterations = 100;
  int warmup = 10;
  std::string json;
};

Arguments parse(int argc, char **argv) {
  Arguments arguments;
  if (argc < 2) fail("a mode is needed: peer, pinned or stream");
  arguments.mode = argv[1];
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--sizes") {
      for (const char *word = argv[i + 1]; word != nullptr && *word != '\0';) {
        arguments.sizes.push_back(std::strtoull(word, nullptr, 10));
        word = std::strchr(word, ',');
        if (word != nullptr) ++word;
      }
    } else if (option == "-i") {
      arguments.iterations = std::atoi(argv[i + 1]);
    } else if (option == "-x") {
      arguments.warmup = std::atoi(argv[i + 1]);
    } else if (option == "--json") {
      arguments.json = argv[i + 1];
    } else {
      fail("unknown option " + option);
    }
  }
  if (arguments.sizes.empty() || arguments.iterations < 1) fail("--sizes and -i are needed");
  return arguments;
}

// Memory and a stream on both devices; device 1 pulls, device 0 pushes.
struct Machine {
  void *memory[2] = {};
  void *host = nullptr;
  cudaStream_t stream[2] = {};
  decltype(&cuMemcpyAsync) copy_async = nullptr;

  Machine(std::size_t largest, bool needs_peer) {
    for (int device = 0; device < (needs_peer ? 2 : 1); ++device) {
      check(cudaSetDevice(device), "choice of device");
      if (needs_peer) check(cudaDeviceEnablePeerAccess(1 - device, 0), "peer access");
      check(cudaMalloc(&memory[device], largest), "device memory");
      check(cudaStreamCreateWithFlags(&stream[device], cudaStreamNonBlocking), "stream");
    }
    if (!needs_peer) check(cudaHostAlloc(&host, largest, cudaHostAllocDefault), "pinned memory");
    void *found = nullptr;
    cudaDriverEntryPointQueryResult status{};
    check(cudaGetDriverEntryPointByVersion("cuMemcpyAsync", &found, 4000, cudaEnableDefault, &status), "entry point");
    if (status != cudaDriverEntryPointSuccess) fail("the driver has no cuMemcpyAsync");
    copy_async = reinterpret_cast<decltype(copy_async)>(found);
  }
};

struct Way {
  std::string name;
  int device;                                   // whose stream carries the copy
  std::function<void(std::size_t size)> start;  // enqueues one copy
  void *target;
};

void plain(const Machine &machine, void *to, const void *from, std::size_t size, int device) {
  check(machine.copy_async(reinterpret_cast<CUdeviceptr>(to), reinterpret_cast<CUdeviceptr>(from), size,
                           machine.stream[device]),
        "cuMemcpyAsync");
}

std::vector<Way> ways_of(const Machine &m, bool is_pinned) {
  if (is_pinned) {
    return {{"h2d", 0, [&m](std::size_t n) { plain(m, m.memory[0], m.host, n, 0); }, m.memory[0]},
            {"d2h", 0, [&m](std::size_t n) { plain(m, m.host, m.memory[0], n, 0); }, m.host}};
  }
  return {{"peer", 1,
           [&m](std::size_t n) {
             check(cudaMemcpyPeerAsync(m.memory[1], 1, m.memory[0], 0, n, m.stream[1]), "cudaMemcpyPeerAsync");
           },
           m.memory[1]},
          {"pull", 1, [&m](std::size_t n) { plain(m, m.memory[1], m.memory[0], n, 1); }, m.memory[1]},
          {"push", 0, [&m](std::size_t n) { plain(m, m.memory[1], m.memory[0], n, 0); }, m.memory[1]}};
}

void fill(const Machine &machine, void *memory, int value, std::size_t size) {
  if (memory == machine.host) {
    std::memset(memory, value, size);
  } else {
    check(cudaMemset(memory, value, size), "filling");
  }
}

// The whole source holds the pattern and the target nothing of it; one copy must bring the last byte over.
void verify(const Machine &machine, const Way &way, std::size_t size, bool is_pinned) {
  void *source = way.target == machine.host || !is_pinned ? machine.memory[0] : machine.host;
  fill(machine, way.target, 0, size);
  fill(machine, source, kPattern, size);
  check(cudaDeviceSynchronize(), "synchronisation");
  check(cudaSetDevice(way.device), "choice of device");
  way.start(size);
  check(cudaStreamSynchronize(machine.stream[way.device]), "synchronisation");
  unsigned char last = 0;
  check(cudaMemcpy(&last, static_cast<char *>(way.target) + size - 1, 1, cudaMemcpyDefault), "reading back");
  if (last != kPattern) fail(way.name + ": the last byte did not arrive");
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// Median time in us of `copies` copies and one wait.
double time_us(const Machine &machine, const Way &way, std::size_t size, int copies, const Arguments &arguments) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> samples;
  for (int i = -arguments.warmup; i < arguments.iterations; ++i) {
    const auto begin = Clock::now();
    for (int copy = 0; copy < copies; ++copy) way.start(size);
    check(cudaStreamSynchronize(machine.stream[way.device]), "synchronisation");
    const std::chrono::duration<double, std::micro> taken = Clock::now() - begin;
    if (i >= 0) samples.push_back(taken.count());
  }
  return median(std::move(samples));
}

}  // namespace

int main(int argc, char **argv) {
  const Arguments arguments = parse(argc, argv);
  const bool is_pinned = arguments.mode == "pinned";
  const bool is_stream = arguments.mode == "stream";
  if (!is_pinned && !is_stream && arguments.mode != "peer") fail("unknown mode " + arguments.mode);
  const Machine machine(*std::max_element(arguments.sizes.begin(), arguments.sizes.end()), !is_pinned);
  std::string rows;
  for (const std::size_t size : arguments.sizes) {
    std::string series;
    for (const Way &way : ways_of(machine, is_pinned)) {
      verify(machine, way, size, is_pinned);
      const double us = time_us(machine, way, size, is_stream ? kStreamCopies : 1, arguments);
      const double figure = is_stream ? static_cast<double>(size) * kStreamCopies / us : us;
      char text[160];
      std::snprintf(text, sizeof text, R"(%s{"name": "%s", "medians": {"median": %.4f}})", series.empty() ? "" : ", ",
                    way.name.c_str(), figure);
      series += text;
      std::printf("%-12zu %-6s %12.3f %s\n", size, way.name.c_str(), figure, is_stream ? "MB/s" : "us");
    }
    rows +=
        (rows.empty() ? "" : ", ") + ("{\"size_bytes\": " + std::to_string(size)) + ", \"series\": [" + series + "]}";
  }
  if (!arguments.json.empty()) {
    std::FILE *file = std::fopen(arguments.json.c_str(), "w");
    if (file == nullptr) fail(arguments.json + " cannot be written");
    std::fprintf(file, R"({"metric": {"unit": "%s", "better": "%s"}, "rows": [%s]})", is_stream ? "MB/s" : "us",
                 is_stream ? "higher" : "lower", rows.c_str());
    if (std::fclose(file) != 0) fail(arguments.json + " cannot be written");
  }
  return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
// A stand-alone program that measures the module's pack kernel beside kernels that a program would write by hand for
// exactly that data, in device memory: a face of a 3-D grid, a subarray that is nearly all edge, and blocks in random
// order, of one length and of many.
//   pack_bench [--bytes N] [--repeats N] [--module libsluice_backend_cuda.so]
// Each line: case, GB/s of payload by hand and by the module, packing and unpacking, and their ratios; what was packed
// is compared byte by byte first. Exit status 1 when a byte was wrong.
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "bench_module.h"

namespace {

using sluice::backends::cuda::bench::Module;

constexpr unsigned kThreads = 256;
constexpr std::size_t kFarBytes = std::size_t{3} << 30;  // the memory that the data lie in

void check(cudaError_t result, const char *what) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(result));
  std::exit(2);
}

// ---- by hand ----

// Rows of n words each, row after row in planes.
__global__ void hand_rows(double *memory, double *packed, unsigned n, unsigned rows, std::size_t column_stride,
                          std::size_t row_stride, std::size_t plane_stride, bool unpacks) {
  const unsigned column = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned row = blockIdx.y * blockDim.y + threadIdx.y;
  if (column >= n || row >= rows) return;
  double *inside = memory + blockIdx.z * plane_stride + row * row_stride + column * column_stride;
  double *beside = packed + (std::size_t{blockIdx.z} * rows + row) * n + column;
  if (unpacks) {
    *inside = *beside;
  } else {
    *beside = *inside;
  }
}

// One thread for each word of blocks of `words` words.
__global__ void hand_blocks(double *memory, double *packed, const int *places, unsigned words, std::size_t n_words,
                            bool unpacks) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n_words) return;
  const unsigned block = static_cast<unsigned>(i / words);
  double *inside = memory + places[block] + i % words;
  if (unpacks) {
    *inside = packed[i];
  } else {
    packed[i] = *inside;
  }
}

// One warp for each block of any length.
__global__ void hand_uneven(double *memory, double *packed, const int *places, const unsigned *begins,
                            unsigned n_blocks, bool unpacks) {
  const unsigned block = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  if (block >= n_blocks) return;
  double *inside = memory + places[block];
  double *beside = packed + begins[block];
  const unsigned n = begins[block + 1] - begins[block];
  for (unsigned i = threadIdx.x % 32; i < n; i += 32) {
    if (unpacks) {
      inside[i] = beside[i];
    } else {
      beside[i] = inside[i];
    }
  }
}

// ---- cases ----

struct Case {
  std::string name;
  sluice_pack_t pack{};
  std::vector<std::uint32_t> words;  // the module's list
  std::vector<std::uint32_t> begins;
  // By hand: rows, or blocks of one length, or of many.
  unsigned n = 0;
  unsigned rows = 0;
  unsigned planes = 0;
  std::size_t strides[3] = {1, 1, 1};  // in words: column, row, plane
  unsigned block_words = 0;
};

Case rows_case(const char *name, unsigned n, unsigned rows, unsigned planes, std::size_t column, std::size_t row,
               std::size_t plane) {
  Case made;
  made.name = name;
  made.n = n;
  made.rows = rows;
  made.planes = planes;
  made.strides[0] = column;
  made.strides[1] = row;
  made.strides[2] = plane;
  sluice_layout_t &layout = made.pack.layout;
  const auto add = [&](unsigned count, std::size_t stride) {
    if (count > 1) layout.dimensions[layout.n_dimensions++] = {count, static_cast<std::int64_t>(stride * 8)};
  };
  add(planes, plane);
  add(rows, row);
  if (column == 1) {
    layout.core_bytes = std::uint64_t{n} * 8;
  } else {
    add(n, column);
    layout.core_bytes = 8;
  }
  made.pack.size_bytes = std::uint64_t{n} * rows * planes * 8;
  made.pack.span_bytes = ((planes - 1) * plane + (rows - 1) * row + (n - 1) * column + 1) * 8;
  return made;
}

// Blocks of min_words to max_words words each, in random order, with as much room between them as they have.
Case blocks_case(std::string name, std::uint64_t bytes, unsigned min_words, unsigned max_words) {
  Case made;
  made.name = std::move(name);
  std::mt19937 random(1);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> blocks;  // place and length
  std::uint64_t words = 0;
  std::uint64_t place = 0;
  while (words < bytes / 8) {
    const unsigned length = min_words + random() % (max_words - min_words + 1);
    blocks.emplace_back(static_cast<std::uint32_t>(place), length);
    place += length + 1 + random() % length;
    words += length;
  }
  std::shuffle(blocks.begin(), blocks.end(), random);
  made.block_words = min_words == max_words ? min_words : 0;
  made.begins.push_back(0);
  for (const auto &block : blocks) {
    made.words.push_back(block.first);
    made.begins.push_back(made.begins.back() + block.second);
  }
  sluice_layout_t &layout = made.pack.layout;
  layout.n_blocks = static_cast<std::uint32_t>(blocks.size());
  layout.core_bytes = words * 8;
  layout.list_unit_bytes = 8;
  layout.block_units = made.block_words;
  if (layout.block_units == 0) {
    while ((words / blocks.size()) >> layout.tile_shift != 0) ++layout.tile_shift;
    made.words.insert(made.words.end(), made.begins.begin(), made.begins.end());
    std::uint32_t block = 0;
    for (std::uint64_t first = 0; first < words; first += std::uint64_t{1} << layout.tile_shift) {
      while (made.begins[block + 1] <= first) ++block;
      made.words.push_back(block);
    }
    made.words.push_back(layout.n_blocks - 1);
  }
  layout.list_bytes = made.words.size() * sizeof(std::uint32_t);
  made.pack.size_bytes = words * 8;
  made.pack.span_bytes = place * 8;
  return made;
}

// ---- measuring ----

struct Memory {
  double *far = nullptr;  // filled with numbers of its place
  double *packed[2] = {nullptr, nullptr};
  std::uint32_t *list = nullptr;
  std::uint32_t *begins = nullptr;
};

void launch_by_hand(const Case &given, const Memory &memory, double *packed, bool unpacks) {
  const auto *places = reinterpret_cast<const int *>(memory.list);
  const std::size_t n_words = given.pack.size_bytes / 8;
  if (given.n != 0) {
    const unsigned across = given.n >= 32 ? 32 : given.n;
    const dim3 threads(across, kThreads / across);
    const dim3 blocks((given.n + threads.x - 1) / threads.x, (given.rows + threads.y - 1) / threads.y, given.planes);
    hand_rows<<<blocks, threads>>>(memory.far, packed, given.n, given.rows, given.strides[0], given.strides[1],
                                   given.strides[2], unpacks);
  } else if (given.block_words != 0) {
    hand_blocks<<<static_cast<unsigned>((n_words + kThreads - 1) / kThreads), kThreads>>>(
        memory.far, packed, places, given.block_words, n_words, unpacks);
  } else {
    const unsigned n = given.pack.layout.n_blocks;
    hand_uneven<<<(n * 32 + kThreads - 1) / kThreads, kThreads>>>(memory.far, packed, places, memory.begins, n,
                                                                  unpacks);
  }
}

// GB/s of payload: the best of the repeats of ten in a row.
template <typename Launch, typename Wait>
double rate(std::uint64_t bytes, int repeats, Launch launch, Wait wait) {
  constexpr int kInARow = 10;
  double best = 0;
  for (int r = -2; r < repeats; ++r) {
    const auto begin = std::chrono::steady_clock::now();
    for (int k = 0; k < kInARow; ++k) launch();
    wait();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    if (r >= 0) best = std::max(best, static_cast<double>(bytes) * kInARow / took.count() / 1e9);
  }
  return best;
}

__global__ void fill(double *memory, std::size_t n_words) {
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n_words;
       i += std::size_t{gridDim.x} * blockDim.x) {
    memory[i] = static_cast<double>(i);
  }
}

bool is_same(const Memory &memory, std::uint64_t bytes) {
  std::vector<char> got[2];
  for (int k = 0; k < 2; ++k) {
    got[k].resize(bytes);
    check(cudaMemcpy(got[k].data(), memory.packed[k], bytes, cudaMemcpyDefault), "cudaMemcpy");
  }
  return got[0] == got[1];
}

bool run(const Module &module, sluice_queue_t *queue, Case given, const Memory &memory, int repeats) {
  const sluice_backend_t &table = *module.table();
  sluice_pack_t &pack = given.pack;
  if (pack.span_bytes > kFarBytes) {
    std::printf("%-28s skipped: reaches over %.1f GiB\n", given.name.c_str(),
                static_cast<double>(pack.span_bytes) / (1 << 30));
    return true;
  }
  if (!given.words.empty()) {
    check(cudaMemcpy(memory.list, given.words.data(), pack.layout.list_bytes, cudaMemcpyDefault), "cudaMemcpy");
    check(
        cudaMemcpy(memory.begins, given.begins.data(), given.begins.size() * sizeof(std::uint32_t), cudaMemcpyDefault),
        "cudaMemcpy");
    pack.layout.list = memory.list;
  }
  pack.origin = memory.far;
  pack.beside = memory.packed[1];
  bool is_good = true;
  const auto enqueue = [&](sluice_pack_direction_t direction) {
    pack.direction = direction;
    if (table.enqueue_pack(queue, &pack) == SLUICE_SUCCESS) return;
    std::fprintf(stderr, "enqueue_pack: %s\n", table.last_error());
    std::exit(2);
  };
  const auto wait = [&] {
    std::uint64_t ticket = 0;
    if (table.enqueue_ticket(queue, &ticket) == SLUICE_SUCCESS && table.wait_ticket(queue, ticket) == SLUICE_SUCCESS)
      return;
    std::fprintf(stderr, "wait_ticket: %s\n", table.last_error());
    std::exit(2);
  };
  const auto synchronise = [] { check(cudaDeviceSynchronize(), "cudaDeviceSynchronize"); };
  fill<<<1024, kThreads>>>(memory.far, kFarBytes / 8);
  launch_by_hand(given, memory, memory.packed[0], false);
  synchronise();
  enqueue(SLUICE_PACK);
  wait();
  is_good = is_same(memory, pack.size_bytes);
  // Back into memory that was cleared, and out again by hand.
  check(cudaMemset(memory.far, 0, pack.span_bytes), "cudaMemset");
  synchronise();
  enqueue(SLUICE_UNPACK);
  wait();
  launch_by_hand(given, memory, memory.packed[0], false);
  synchronise();
  is_good = is_good && is_same(memory, pack.size_bytes);
  const double rates[4] = {
      rate(
          pack.size_bytes, repeats, [&] { launch_by_hand(given, memory, memory.packed[0], false); }, synchronise),
      rate(
          pack.size_bytes, repeats, [&] { enqueue(SLUICE_PACK); }, wait),
      rate(
          pack.size_bytes, repeats, [&] { launch_by_hand(given, memory, memory.packed[0], true); }, synchronise),
      rate(pack.size_bytes, repeats, [&] { enqueue(SLUICE_UNPACK); }, wait)};
  std::printf("%-28s %9.1f %9.1f %6.2f   %9.1f %9.1f %6.2f   %s\n", given.name.c_str(), rates[0], rates[1],
              rates[1] / rates[0], rates[2], rates[3], rates[3] / rates[2], is_good ? "same bytes" : "WRONG BYTES");
  return is_good;
}

}  // namespace

int main(int argc, char **argv) {
  std::uint64_t bytes = std::uint64_t{64} << 20;
  int repeats = 10;
  const char *path = "libsluice_backend_cuda.so";
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--bytes") == 0) bytes = std::strtoull(argv[i + 1], nullptr, 10);
    if (std::strcmp(argv[i], "--repeats") == 0) repeats = std::atoi(argv[i + 1]);
    if (std::strcmp(argv[i], "--module") == 0) path = argv[i + 1];
  }
  Memory memory;
  check(cudaMalloc(&memory.far, kFarBytes), "cudaMalloc");
  for (double *&packed : memory.packed) check(cudaMalloc(&packed, bytes + (bytes >> 1)), "cudaMalloc");
  check(cudaMalloc(&memory.list, bytes * 2), "cudaMalloc");
  check(cudaMalloc(&memory.begins, bytes), "cudaMalloc");
  Module module;
  const std::string why = module.open(path);
  sluice_queue_t *queue = nullptr;
  if (!why.empty() || module.table()->can_pack == nullptr || module.table()->can_pack(0) == 0 ||
      module.table()->queue_create(0, &queue) != SLUICE_SUCCESS) {
    std::fprintf(stderr, "pack_bench: %s\n", why.empty() ? "this module does not pack on device 0" : why.c_str());
    return 2;
  }
  std::printf("GB/s of payload, %.1f MiB            pack: hand  module  ratio      unpack: hand  module  ratio\n",
              static_cast<double>(bytes) / (1 << 20));
  const auto side = static_cast<unsigned>(bytes / 8 / 4096);  // 64 MiB: 2048 rows of 4096
  std::vector<Case> cases = {
      rows_case("face of a grid, z", 4096, side, 1, 1, 4096, 0),
      rows_case("face of a grid, y", 512, 512, static_cast<unsigned>(bytes / 8 / 512 / 512), 1, 1024, 1024 * 512),
      rows_case("face of a grid, x", 512, 512, 1, 512, 512 * 512, 0),
      rows_case("edge: 2 of 64 words", 2, side * 2048, 1, 1, 64, 0),
      rows_case("edge: every 4th word", 4096, side, 1, 4, 4096 * 4, 0),
      rows_case("edge: 1 of 16 words, planes", 1, 4096, side, 1, 16, 4096 * 16),
  };
  for (const unsigned words : {1U, 2U, 8U, 64U, 512U}) {
    cases.push_back(blocks_case("blocks of " + std::to_string(words * 8) + " bytes", bytes, words, words));
  }
  cases.push_back(blocks_case("blocks of 8 to 4096 bytes", bytes, 1, 512));
  cases.push_back(blocks_case("blocks of 8 to 64 bytes", bytes, 1, 8));
  bool is_good = true;
  for (const Case &given : cases) is_good = run(module, queue, given, memory, repeats) && is_good;
  return is_good ? 0 : 1;
}

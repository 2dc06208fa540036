// SPDX-License-Identifier: BSD-3-Clause
// A stand-alone program that shows, on a real device, that a copy up is visible to the whole device when copy()
// returns: a kernel that runs all the time looks at every byte as soon as the CPU tells it to. Since that kernel never
// ends before the copies do, it shows as well that no copy waits for one.
//   cuda_visibility_check <libsluice_backend_cuda.so> <rounds>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "bench_module.h"

namespace {

constexpr std::uint32_t kBufferBytes = 65536;
constexpr std::uint32_t kMostBytes = 8192;
constexpr std::uint64_t kSpins = 2'000'000'000;

// In mapped host memory.
struct Board {
  volatile std::uint32_t go, stop, answer, offset, size_bytes, seed;
  unsigned long long n_wrong;
};

__host__ __device__ unsigned char pattern(std::uint32_t seed, std::uint32_t at) {
  return static_cast<unsigned char>((at * 2654435761u + seed * 40503u) >> 13);
}

__global__ void look(Board *board, const volatile unsigned char *memory) {
  __shared__ std::uint32_t round;
  for (std::uint32_t last = 0;; last = round) {
    if (threadIdx.x == 0) {
      std::uint32_t go = board->go;
      while (go == last && board->stop == 0) go = board->go;
      round = board->stop != 0 ? 0 : go;
    }
    __syncthreads();
    if (round == 0) return;
    unsigned long long n_wrong = 0;
    for (std::uint32_t i = threadIdx.x; i < board->size_bytes; i += blockDim.x)
      n_wrong += memory[board->offset + i] != pattern(board->seed, i) ? 1 : 0;
    if (n_wrong != 0) atomicAdd_system(&board->n_wrong, n_wrong);
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence_system();
      board->answer = round;
    }
    __syncthreads();
  }
}

void check(cudaError_t result, const char *call) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(result));
  std::exit(2);
}

void check(const std::string &why) {
  if (why.empty()) return;
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(2);
}

struct Piece {
  std::uint32_t offset;
  std::uint32_t size_bytes;
};

// A few words, about the largest, or anything; at words mostly.
Piece next_piece(std::uint64_t *random) {
  *random ^= *random << 13;
  *random ^= *random >> 7;
  *random ^= *random << 17;
  const auto draw = static_cast<std::uint32_t>(*random >> 20);
  Piece piece = {(draw >> 24) % 3 != 0 ? draw / 8 % 1024 * 8 : draw / 8 % 8192, 1 + draw % kMostBytes};
  if (*random % 4 == 0) piece.size_bytes = 1 + draw % 16;
  if (*random % 4 == 1) piece.size_bytes = kMostBytes - draw % 64;
  if (*random % 4 == 2) piece.size_bytes = 4 + draw % 4 * 4;
  return piece;
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: cuda_visibility_check <libsluice_backend_cuda.so> <rounds>\n");
    return 2;
  }
  Board *board = nullptr;
  unsigned char *memory = nullptr;
  check(cudaHostAlloc(&board, sizeof *board, cudaHostAllocMapped), "cudaHostAlloc");
  std::memset(static_cast<void *>(board), 0, sizeof *board);
  check(cudaMalloc(&memory, kBufferBytes), "cudaMalloc");
  sluice::backends::cuda::bench::Module module;
  check(module.open(argv[1]));
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  look<<<1, 256, 0, stream>>>(board, memory);
  check(cudaGetLastError(), "look");
  static unsigned char up[kMostBytes], down[kMostBytes];
  std::uint64_t random = 88172645463325252ull;
  unsigned long long n_wrong_down = 0;
  const auto n_rounds = static_cast<std::uint32_t>(std::atoi(argv[2]));
  for (std::uint32_t round = 1; round <= n_rounds; ++round) {
    const Piece piece = next_piece(&random);
    for (std::uint32_t i = 0; i < piece.size_bytes; ++i) up[i] = pattern(round, i);
    board->offset = piece.offset;
    board->size_bytes = piece.size_bytes;
    board->seed = round;
    check(module.copy(memory + piece.offset, up, piece.size_bytes));
    board->go = round;
    std::uint64_t n_spins = 0;
    while (board->answer != round && ++n_spins < kSpins) __builtin_ia32_pause();
    if (n_spins == kSpins) check(std::string("the kernel does not answer"));
    check(module.copy(down, memory + piece.offset, piece.size_bytes));
    n_wrong_down += std::memcmp(down, up, piece.size_bytes) != 0 ? 1 : 0;
  }
  board->stop = 1;
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  std::printf("%u rounds: %llu bytes wrong on the device, %llu copies wrong on the host\n", n_rounds, board->n_wrong,
              n_wrong_down);
  return board->n_wrong == 0 && n_wrong_down == 0 ? 0 : 1;
}

// SPDX-License-Identifier: BSD-3-Clause
// Owns the kernels that carry small copies between device memory and mapped host memory. Each runs as one block and
// announces its own end, so that the host needs neither a copy engine nor a second command.
#include "copy_kernels.h"

using sluice::backends::cuda::CopyOrder;
using sluice::backends::cuda::InlineData;
using sluice::backends::cuda::kPacketDataBytes;
using sluice::backends::cuda::Packet;

namespace {

// The 8 bytes at src + offset, never reading past size_bytes.
__device__ std::uint64_t load_word(const char *src, std::uint64_t offset, std::uint64_t size_bytes) {
  const char *at = src + offset;
  if (offset + 8 <= size_bytes && (reinterpret_cast<std::uintptr_t>(at) & 7) == 0)
    return *reinterpret_cast<const volatile std::uint64_t *>(at);
  std::uint64_t word = 0;
  for (unsigned i = 0; i < 8 && offset + i < size_bytes; ++i)
    word |= static_cast<std::uint64_t>(static_cast<unsigned char>(at[i])) << (8 * i);
  return word;
}

__device__ void store_word(char *dst, std::uint64_t offset, std::uint64_t size_bytes, std::uint64_t word) {
  char *at = dst + offset;
  if (offset + 8 <= size_bytes && (reinterpret_cast<std::uintptr_t>(at) & 7) == 0) {
    *reinterpret_cast<volatile std::uint64_t *>(at) = word;
    return;
  }
  for (unsigned i = 0; i < 8 && offset + i < size_bytes; ++i) at[i] = static_cast<char>(word >> (8 * i));
}

__device__ void store_packet(Packet *packet, std::uint64_t data, std::uint64_t sequence) {
  asm volatile("st.volatile.global.v2.u64 [%0], {%1, %2};" ::"l"(packet), "l"(data), "l"(sequence) : "memory");
}

__device__ void send_packets(Packet *packets, const char *src, std::uint64_t size_bytes, std::uint64_t sequence) {
  for (std::uint64_t at = threadIdx.x * kPacketDataBytes; at < size_bytes; at += blockDim.x * kPacketDataBytes)
    store_packet(packets + at / kPacketDataBytes, load_word(src, at, size_bytes), sequence);
}

// All threads' stores are visible to the whole system before the flag is.
__device__ void announce(volatile std::uint64_t *flag, std::uint64_t sequence) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence_system();
    *flag = sequence;
  }
}

}  // namespace

extern "C" {

// Device memory to host packets.
__global__ void sluice_send_packets(Packet *packets, const char *src, std::uint64_t size_bytes,
                                    std::uint64_t sequence) {
  send_packets(packets, src, size_bytes, sequence);
}

// The same, told what to do by mapped host memory, so that the launch itself never changes.
__global__ void sluice_send_ordered_packets(Packet *packets, const volatile CopyOrder *order) {
  const char *src = static_cast<const char *>(const_cast<const void *>(order->src));
  send_packets(packets, src, order->size_bytes, order->sequence);
}

// Any memory to any memory, then the flag.
__global__ void sluice_copy_and_flag(char *dst, const char *src, std::uint64_t size_bytes, volatile std::uint64_t *flag,
                                     std::uint64_t sequence) {
  const auto lowest = (reinterpret_cast<std::uintptr_t>(dst) | reinterpret_cast<std::uintptr_t>(src) | size_bytes) & 15;
  if (lowest == 0) {
    for (std::uint64_t i = threadIdx.x; i < size_bytes / 16; i += blockDim.x)
      reinterpret_cast<ulonglong2 *>(dst)[i] = reinterpret_cast<const ulonglong2 *>(src)[i];
  } else {
    for (std::uint64_t at = threadIdx.x * 8; at < size_bytes; at += blockDim.x * 8)
      store_word(dst, at, size_bytes, load_word(src, at, size_bytes));
  }
  announce(flag, sequence);
}

// Data that travels in the launch parameters, to device memory.
__global__ void sluice_write_inline(char *dst, std::uint64_t size_bytes, volatile std::uint64_t *flag,
                                    std::uint64_t sequence, const __grid_constant__ InlineData data) {
  for (std::uint64_t at = threadIdx.x * 8; at < size_bytes; at += blockDim.x * 8)
    store_word(dst, at, size_bytes, data.words[at / 8]);
  announce(flag, sequence);
}

// Many blocks, no flag: the copy kernel for large sizes, whose end the stream announces.
__global__ void sluice_copy_wide(char *dst, const char *src, std::uint64_t size_bytes) {
  const std::uint64_t step = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
  for (std::uint64_t i = blockIdx.x * static_cast<std::uint64_t>(blockDim.x) + threadIdx.x; i < size_bytes / 16;
       i += step)
    reinterpret_cast<ulonglong2 *>(dst)[i] = reinterpret_cast<const ulonglong2 *>(src)[i];
}
}

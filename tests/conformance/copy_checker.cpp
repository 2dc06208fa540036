// SPDX-License-Identifier: BSD-3-Clause
#include "copy_checker.h"

#include <algorithm>
#include <span>
#include <vector>

#include "module_under_test.h"
#include "pattern.h"

namespace conformance {
namespace {

std::string run_copy(const sluice_backend_t &backend, sluice_queue_t *queue, std::byte *dst, const std::byte *src,
                     size_t size_bytes, CopyWay way) {
  sluice_result_t result = SLUICE_SUCCESS;
  if (way == CopyWay::kCopy) {
    result = backend.copy(queue, dst, src, size_bytes);
  } else {
    const sluice_copy_t copy{dst, src, size_bytes};
    result = await(backend, queue, backend.enqueue_copies(queue, &copy, 1));
  }
  return result == SLUICE_SUCCESS ? "" : describe(result);
}

}  // namespace

std::string poison(const Memory &memory) {
  return memory.write(std::vector<std::byte>(memory.size_bytes(), kPoison));
}

std::string check_memory(const Memory &memory, size_t offset, size_t size_bytes, uint64_t iteration) {
  std::vector<std::byte> bytes;
  const std::string problem = memory.read(&bytes);
  if (!problem.empty()) return "read back: " + problem;
  // What it should be, compared at once: byte by byte only when something is wrong.
  std::vector<std::byte> expected(memory.size_bytes(), kPoison);
  std::ranges::copy(pattern(size_bytes, iteration), expected.begin() + static_cast<std::ptrdiff_t>(offset));
  if (bytes == expected) return "";
  std::string mismatch = pattern_mismatch(std::span(bytes).subspan(offset, size_bytes), iteration);
  if (!mismatch.empty()) return mismatch;
  const auto [wrong, right] = std::ranges::mismatch(bytes, expected);
  return "a byte outside was changed, " + std::to_string(wrong - bytes.begin()) + " where the copy covers " +
         std::to_string(offset) + " to " + std::to_string(offset + size_bytes);
}

std::string check_copy(const sluice_backend_t &backend, sluice_queue_t *queue, const Memory &src, const Memory &dst,
                       const CopyCase &copy_case, CopyWay way) {
  const auto [size_bytes, src_offset, dst_offset, iteration] = copy_case;
  std::string problem = poison(src);
  if (problem.empty()) problem = poison(dst);
  if (problem.empty()) problem = src.write(pattern(size_bytes, iteration), src_offset);
  if (!problem.empty()) return "fill: " + problem;
  problem = run_copy(backend, queue, dst.data() + dst_offset, src.data() + src_offset, size_bytes, way);
  if (!problem.empty()) return "copy: " + problem;
  problem = check_memory(dst, dst_offset, size_bytes, iteration);
  if (!problem.empty()) return "destination: " + problem;
  problem = check_memory(src, src_offset, size_bytes, iteration);
  return problem.empty() ? "" : "source: " + problem;
}

}  // namespace conformance

// SPDX-License-Identifier: BSD-3-Clause
#include "device/numa.hpp"

#include <fmt/format.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <string_view>

#include "base/log.hpp"

namespace sluice::device {
namespace {

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kLeastBytes = 128U << 10;
constexpr std::size_t kMaskWords = 16;
constexpr std::size_t kWordBits = 8 * sizeof(unsigned long);

using NodeMask = std::array<unsigned long, kMaskWords>;

bool is_in_mask(int node) {
  return node >= 0 && static_cast<std::size_t>(node) < kMaskWords * kWordBits;
}

NodeMask mask_of(int node) {
  NodeMask mask{};
  mask[static_cast<std::size_t>(node) / kWordBits] = 1UL << (static_cast<std::size_t>(node) % kWordBits);
  return mask;
}

// The kernel counts one bit more than it reads.
constexpr unsigned long kMaskBits = kMaskWords * kWordBits + 1;

// No warning: many containers refuse these calls to everybody, and the kernel's own rule is good for a rank that runs
// near its device; of one that does not, warn_if_far speaks.
void say_refused(const char *call) noexcept {
  static std::atomic<bool> is_said{false};
  if (is_said.exchange(true)) return;
  try {
    log::info("device",
              fmt::format("staging memory stays where the kernel puts it: {}: {}", call, std::strerror(errno)));
  } catch (...) {  // no memory for a line of text
    return;
  }
}

// The ranges that prefer_node has told the kernel about.
struct Ranges {
  std::mutex mutex;
  std::map<std::byte *, std::pair<std::byte *, std::size_t>> of_blocks;  // first page, bytes
};

Ranges &ranges() {
  static auto *all = new Ranges();
  return *all;
}

// The kernel's list "0-3,8" of processors. Empty when it is none.
std::set<int> parse_list(std::string_view text) {
  std::set<int> numbers;
  const char *at = text.data();
  const char *end = at + text.size();
  while (at != end) {
    int first = 0;
    auto read = std::from_chars(at, end, first);
    int last = first;
    if (read.ec == std::errc{} && read.ptr != end && *read.ptr == '-') read = std::from_chars(read.ptr + 1, end, last);
    if (read.ec != std::errc{}) break;
    for (int number = first; number <= last && number < CPU_SETSIZE; ++number) numbers.insert(number);
    if (read.ptr == end || *read.ptr != ',') break;
    at = read.ptr + 1;
  }
  return numbers;
}

}  // namespace

int numa_node_of(const Backend &backend, std::int32_t device) noexcept {
  sluice_device_info_t info{};
  return backend.table().device_info(device, &info) == SLUICE_SUCCESS && is_in_mask(info.numa_node) ? info.numa_node
                                                                                                    : -1;
}

PreferredNode::PreferredNode(int node) noexcept {
  if (!is_in_mask(node)) return;
  if (::syscall(SYS_get_mempolicy, &old_mode_, old_nodes_.data(), kMaskBits - 1, nullptr, 0UL) != 0) return;
  const NodeMask mask = mask_of(node);
  is_set_ = ::syscall(SYS_set_mempolicy, MPOL_PREFERRED, mask.data(), kMaskBits) == 0;
  if (!is_set_) say_refused("set_mempolicy");
}

PreferredNode::~PreferredNode() {
  if (!is_set_) return;
  const bool has_nodes = old_mode_ != MPOL_DEFAULT;
  if (::syscall(SYS_set_mempolicy, old_mode_, has_nodes ? old_nodes_.data() : nullptr, has_nodes ? kMaskBits : 0UL) !=
      0) {
    say_refused("set_mempolicy, to set back what it was");
  }
}

void prefer_node(std::byte *memory, std::size_t size_bytes, int node) noexcept {
  if (!is_in_mask(node) || size_bytes < kLeastBytes) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const std::size_t skipped = (kPageBytes - begin % kPageBytes) % kPageBytes;
  std::byte *first = memory + skipped;
  const std::size_t length = (size_bytes - skipped) / kPageBytes * kPageBytes;
  const NodeMask mask = mask_of(node);
  try {
    const std::scoped_lock lock(ranges().mutex);
    ranges().of_blocks[memory] = {first, length};
  } catch (...) {  // without a note of it the block would keep its node when it is freed
    return;
  }
  if (::syscall(SYS_mbind, first, length, MPOL_PREFERRED, mask.data(), kMaskBits, 0U) != 0) say_refused("mbind");
}

void forget_node(std::byte *memory) noexcept {
  const std::scoped_lock lock(ranges().mutex);
  const auto found = ranges().of_blocks.find(memory);
  if (found == ranges().of_blocks.end()) return;
  const auto [first, length] = found->second;
  // Refused now where it was refused before: then there is nothing to undo.
  static_cast<void>(::syscall(SYS_mbind, first, length, MPOL_DEFAULT, nullptr, 0UL, 0U));
  ranges().of_blocks.erase(found);
}

std::string describe_distance(int node, const std::string &folder) {
  if (node < 0) return "";
  std::ifstream file(fmt::format("{}/node{}/cpulist", folder, node));
  std::string list;
  cpu_set_t mine;
  CPU_ZERO(&mine);
  // Machines of more processors than the set holds answer with an error: then nothing is said.
  if (!std::getline(file, list) || ::sched_getaffinity(0, sizeof mine, &mine) != 0) return "";
  const std::set<int> near = parse_list(list);
  for (const int processor : near) {
    if (CPU_ISSET(static_cast<std::size_t>(processor), &mine)) return "";
  }
  return near.empty()
             ? ""
             : fmt::format("this rank may not run on any core of NUMA node {} ({}), where its device is", node, list);
}

void warn_if_far(const Backend &backend, std::int32_t device) noexcept {
  try {
    const std::string distance = describe_distance(numa_node_of(backend, device));
    if (distance.empty()) return;
    log::warn_once(
        fmt::format("far_device_{}_{}", backend.name(), device), "device",
        fmt::format("device {}: {}: its copies are slower; start with `sluice run --bind closest`, or let the "
                    "launcher bind it there (docs/placement.md)",
                    device, distance));
  } catch (...) {  // a warning that cannot be made is none
    return;
  }
}

}  // namespace sluice::device

// SPDX-License-Identifier: BSD-3-Clause
// Which memory node of the host lies at a device, and staging memory on it. By the kernel's calls, so that libsluice
// needs no library for it. Where a node is not known, or the kernel refuses (some containers do), nothing is done: the
// kernel's own rule stays, which is memory near the thread that touches it first. All of it: any thread; a
// PreferredNode is for the one that made it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "device/backend.hpp"

namespace sluice::device {

// The node that the backend names; -1 unknown. Microseconds to milliseconds.
[[nodiscard]] int numa_node_of(const Backend &backend, std::int32_t device) noexcept;

// While it lives, memory that this thread touches first comes from `node` if there is some left. node -1: no change.
class PreferredNode {
 public:
  explicit PreferredNode(int node) noexcept;
  PreferredNode(const PreferredNode &) = delete;
  PreferredNode &operator=(const PreferredNode &) = delete;
  ~PreferredNode();

 private:
  static constexpr std::size_t kMaskWords = 16;  // of the kernel's 1024 nodes
  int old_mode_ = 0;
  std::array<unsigned long, kMaskWords> old_nodes_ = {};
  bool is_set_ = false;
};

// Pages of [memory, memory + size_bytes) that nobody has touched come from `node`, whoever touches them. Blocks shorter
// than 128 KiB are left as they are: they share pages with others, and each costs the kernel an entry.
void prefer_node(std::byte *memory, std::size_t size_bytes, int node) noexcept;
// Before `memory` is freed: what the allocator puts there next is not bound any more. For any block.
void forget_node(std::byte *memory) noexcept;

// A line if none of the cores that this thread may run on belongs to `node`; empty if one does, and where the node or
// its cores are not known. `folder` holds the kernel's node0, node1, ...
inline constexpr const char *kNodeFolder = "/sys/devices/system/node";
[[nodiscard]] std::string describe_distance(int node, const std::string &folder = kNodeFolder);

// Says so once for each device in the life of the process.
void warn_if_far(const Backend &backend, std::int32_t device) noexcept;

}  // namespace sluice::device

// SPDX-License-Identifier: BSD-3-Clause
// The small vocabulary that every room shares: operations, memory kinds, routes and staging memories, with their names.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sluice {

enum class Operation : std::uint8_t {
#define SLUICE_OPERATION(enumerator, name) enumerator,
#include "base/operations.def"
#undef SLUICE_OPERATION
};

inline constexpr std::array kOperationNames = {
#define SLUICE_OPERATION(enumerator, name) std::string_view(name),
#include "base/operations.def"
#undef SLUICE_OPERATION
};

// What a buffer lies in. The values are those of sluice_memory_kind_t in sluice/backend.h.
enum class MemoryKind : std::uint8_t { kHost, kPinned, kDevice, kShared, kFreed };
inline constexpr std::array<std::string_view, 5> kMemoryKindNames = {"host", "pinned", "device", "shared", "freed"};

// How the bytes of one side of an operation travel.
enum class Route : std::uint8_t {
  kHost,         // handed to the host MPI as they are
  kStaged,       // copied through staging memory, which the host MPI sends or receives (CCGrid'23, algorithm 1)
  kPipelined,    // in blocks: copied down, sent and copied up at the same time (CCGrid'23, section IV)
  kIpc,          // pulled by the receiver out of the sender's device memory (docs/protocol.md)
  kRelayed,      // the same by way of device memory of Sluice's own, in blocks (docs/adr/0072)
  kDirect,       // between nodes, by a network library that reaches device memory (docs/adr/0087)
  kKernel,       // computed by the device, where the data is (docs/adr/0018)
  kThread,       // of a queue: started by the progress thread when its stream said so (docs/adr/0027)
  kQueueDevice,  // of a queue: moved by the stream itself, inside a node
  kDwq,          // of a queue: a deferred work queue of libfabric's (docs/adr/0034)
  kUndecided     // planned, never taken: of a receive, whose message says whether it is pulled or comes staged
};
inline constexpr std::array<std::string_view, 11> kRouteNames = {
    "host", "staged", "pipelined", "ipc", "relayed", "direct", "kernel", "thread", "device", "dwq", "undecided"};

// What staging buffers are made of (CCGrid'23, section IV.A). The values are those of sluice_staging_memory_t.
enum class StagingMemory : std::uint8_t { kMalloc, kAligned, kRuntime, kRuntimeAligned };
inline constexpr std::array<std::string_view, 4> kStagingMemoryNames = {"malloc", "aligned", "runtime",
                                                                        "runtime_aligned"};

// Where staged data are to lie (docs/adr/0059).
enum class StagingRoom : std::uint8_t {
  kPool,      // in staging memory
  kSpare,     // in what the pool of staging memory has to spare; else in address space
  kUntouched  // in address space, which takes memory as data come there
};
inline constexpr std::array<std::string_view, 3> kStagingRoomNames = {"staging memory", "spare staging memory",
                                                                      "address space"};

// How a message is cut into blocks (transfer/blocks.hpp).
enum class Pipeline : std::uint8_t { kNone, kEven, kAdvanced, kAuto };
inline constexpr std::array<std::string_view, 4> kPipelineNames = {"none", "even", "advanced", "auto"};

// What brings a payload with gaps together or apart (plan/packing.hpp).
enum class PackMeans : std::uint8_t {
  kOneCopy,  // all of the span, gaps and all, in one copy
  kCopies,   // a copy for each run
  kKernel,   // one kernel between the program's memory and where the payload is to be
  kScratch,  // one kernel between the program's memory and device memory of Sluice's own, and a copy to or from there
  kGather    // one kernel of the receiver's, which reads the sender's layout over IPC
};
inline constexpr std::array<std::string_view, 5> kPackMeansNames = {"one copy", "copies", "kernel", "scratch",
                                                                    "gather"};

// The alignment of the two aligned staging memories, in bytes.
inline constexpr std::size_t kStagingAlignment = 4096;

// The word for it in output, documents and knobs.
[[nodiscard]] constexpr std::string_view name(Operation operation) noexcept {
  return kOperationNames[static_cast<std::size_t>(operation)];
}
[[nodiscard]] constexpr std::string_view name(MemoryKind kind) noexcept {
  return kMemoryKindNames[static_cast<std::size_t>(kind)];
}
[[nodiscard]] constexpr std::string_view name(Route route) noexcept {
  return kRouteNames[static_cast<std::size_t>(route)];
}
[[nodiscard]] constexpr std::string_view name(Pipeline pipeline) noexcept {
  return kPipelineNames[static_cast<std::size_t>(pipeline)];
}
[[nodiscard]] constexpr std::string_view name(PackMeans means) noexcept {
  return kPackMeansNames[static_cast<std::size_t>(means)];
}
[[nodiscard]] constexpr std::string_view name(StagingRoom room) noexcept {
  return kStagingRoomNames[static_cast<std::size_t>(room)];
}
[[nodiscard]] constexpr std::string_view name(StagingMemory memory) noexcept {
  return kStagingMemoryNames[static_cast<std::size_t>(memory)];
}

}  // namespace sluice

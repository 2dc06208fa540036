// SPDX-License-Identifier: BSD-3-Clause
// Descriptor: what travels on the user's communicator and tag in place of a large device message, and the private
// messages about it (docs/protocol.md, "Messages").
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/types.hpp"
#include "sluice/backend.h"
#include "transfer/blocks.hpp"
#include "transfer/layout_code.hpp"
#include "wire/channel.hpp"

namespace sluice::ops {

// Plain bytes between processes of one job; never trusted before is_sound().
struct Descriptor {
  static constexpr std::uint64_t kMagic = 0x3265636975'6c53ULL;  // "Sluice2", and a number that is no text

  std::uint64_t magic = kMagic;
  std::uint64_t nonce = 0;             // of the job
  std::uint64_t operation = 0;         // counts up at the sender
  std::int32_t sender = 0;             // rank in MPI_COMM_WORLD
  std::int32_t number = 0;             // in the tags of its private messages
  transfer::BlockPlan blocks;          // true size, and the cut for a payload that is sent
  std::uint64_t address = 0;           // of the payload's lowest byte in the sender
  std::uint64_t offset_bytes = 0;      // of that byte in its allocation
  std::uint64_t allocation_bytes = 0;  // of that allocation
  Route route = Route::kPipelined;     // kIpc: `handle` is good
  char backend[15] = {};               // whose handle it is
  sluice_ipc_handle_t handle{};
  transfer::LayoutCode layout{};  // of route kIpc: where the payload lies from `address` on

  [[nodiscard]] std::uint64_t size_bytes() const noexcept { return blocks.size_bytes; }

  // What comes from a peer makes sense as far as can be seen here.
  [[nodiscard]] bool is_sound(std::uint64_t job_nonce, int world_size) const noexcept {
    return magic == kMagic && nonce == job_nonce && sender >= 0 && sender < world_size && number > 0 &&
           blocks.is_sound() && (route == Route::kIpc || route == Route::kPipelined) &&
           (route != Route::kIpc || lies_in_its_allocation()) && std::memchr(backend, 0, sizeof backend) != nullptr;
  }

 private:
  [[nodiscard]] bool lies_in_its_allocation() const noexcept {
    std::uint64_t span_bytes = size_bytes();
    if (!transfer::is_one_run(layout)) {
      sluice_layout_t decoded;
      transfer::Reach reach;
      if (!transfer::decode(layout, &decoded) || !transfer::reach_of(decoded, &reach) ||
          reach.payload_bytes != size_bytes()) {
        return false;
      }
      span_bytes = reach.span_bytes;
    }
    return offset_bytes <= allocation_bytes && span_bytes <= allocation_bytes - offset_bytes;
  }
};

// D of docs/protocol.md: a message of exactly this length may be a descriptor, and every receive that a descriptor may
// meet has room for one.
inline constexpr std::size_t kDescriptorBytes = 256;

// The bytes as they are sent.
struct DescriptorMessage {
  DescriptorMessage() noexcept {}  // NOLINT(modernize-use-equals-default): most are overwritten, or never used
  std::byte bytes[kDescriptorBytes];
};

static_assert(std::is_trivially_copyable_v<Descriptor> && sizeof(Descriptor) <= kDescriptorBytes);

// Whether these kDescriptorBytes are a descriptor of this job that can be believed.
[[nodiscard]] inline bool read_descriptor(const std::byte *bytes, Descriptor *descriptor) noexcept {
  std::memcpy(descriptor, bytes, sizeof *descriptor);
  const wire::Channel &channel = wire::Channel::process();
  return channel.is_open() && descriptor->is_sound(channel.nonce(), channel.size());
}

inline void write(const Descriptor &descriptor, DescriptorMessage *message) noexcept {
  std::memcpy(message->bytes, &descriptor, sizeof descriptor);
  std::memset(message->bytes + sizeof descriptor, 0, sizeof message->bytes - sizeof descriptor);
}

// The end of an operation, from the receiver to the sender.
struct Acknowledgement {
  std::uint64_t operation = 0;
};

// What a receiver asks of a sender, or tells it.
struct Control {
  enum class Kind : std::uint32_t {
    kGo,           // send the first `n_blocks` blocks
    kMayDescribe,  // `sender` takes descriptors (permissions.hpp)
  };
  Kind kind = Kind::kGo;
  std::int32_t number = 0;
  std::uint64_t operation = 0;
  std::uint32_t n_blocks = 0;
  std::int32_t sender = 0;  // rank in MPI_COMM_WORLD of who says this
};
static_assert(std::is_trivially_copyable_v<Control>);

}  // namespace sluice::ops

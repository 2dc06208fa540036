// SPDX-License-Identifier: BSD-3-Clause
// Descriptor: what travels on the user's communicator and tag in place of a large device message, the private messages
// about it (docs/protocol.md, "Messages"), and what a receiver of each believes ("What a peer says"). Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/types.hpp"
#include "sluice/backend.h"
#include "transfer/blocks.hpp"
#include "transfer/layout_code.hpp"
#include "transfer/relay.hpp"

namespace sluice::transfer {

// Plain bytes between processes of one job; never used before flaw_of().
struct Descriptor {
  static constexpr std::uint64_t kMagic = 0x3265636975'6c53ULL;  // "Sluice2", and a number that is no text

  std::uint64_t magic = kMagic;
  std::uint64_t nonce = 0;             // of the job
  std::uint64_t operation = 0;         // counts up at the sender
  std::int32_t sender = 0;             // rank in MPI_COMM_WORLD
  std::int32_t number = 0;             // in the tags of its private messages
  BlockPlan blocks;                    // true size, and the cut for a payload that is sent
  std::uint64_t address = 0;           // of the payload's lowest byte in the sender
  std::uint64_t offset_bytes = 0;      // of that byte in its allocation
  std::uint64_t allocation_bytes = 0;  // of that allocation
  Route route = Route::kPipelined;     // kIpc, kRelayed: `handle` is good
  char backend[15] = {};               // whose handle it is; of route kDirect the name of the network library
  sluice_ipc_handle_t handle{};
  LayoutCode layout{};  // of route kIpc: where the payload lies from `address` on
                        // of route kRelayed `address` is that of the slots that its blocks come into

  // Of the payload.
  [[nodiscard]] std::uint64_t size_bytes() const noexcept { return blocks.size_bytes; }
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

// As it travels; what is behind the descriptor is 0.
inline void write(const Descriptor &descriptor, DescriptorMessage *message) noexcept {
  std::memcpy(message->bytes, &descriptor, sizeof descriptor);
  std::memset(message->bytes + sizeof descriptor, 0, sizeof message->bytes - sizeof descriptor);
}

// What the receiver knows by itself of a message that came.
struct DescriptorFacts {
  std::uint64_t nonce = 0;  // of the job
  int sender = -1;          // who sent it, as a rank in MPI_COMM_WORLD; -1: nobody there
  bool is_local = false;    // and it runs on this node
  int most_number = 0;      // the highest number that has tags
};

// What these kDescriptorBytes are: a message of the program's, or, with the job's own number in it, one of Sluice's.
[[nodiscard]] inline bool is_descriptor(const std::byte *bytes, std::uint64_t nonce, Descriptor *descriptor) noexcept {
  std::memcpy(descriptor, bytes, sizeof *descriptor);
  return descriptor->magic == Descriptor::kMagic && descriptor->nonce == nonce;
}

// Whether the payload lies in the allocation as the descriptor tells of both; how long that really is, only who maps it
// knows (device/ipc_imports.hpp).
[[nodiscard]] inline bool lies_in_its_allocation(const Descriptor &descriptor) noexcept {
  const bool is_relayed = descriptor.route == Route::kRelayed;
  std::uint64_t span_bytes = is_relayed ? kRelayBytes : descriptor.size_bytes();
  if (is_relayed && !is_one_run(descriptor.layout)) return false;
  if (!is_one_run(descriptor.layout)) {
    sluice_layout_t decoded;
    Reach reach;
    if (!decode(descriptor.layout, &decoded) || !reach_of(decoded, &reach) ||
        reach.payload_bytes != descriptor.size_bytes()) {
      return false;
    }
    span_bytes = reach.span_bytes;
  }
  return descriptor.offset_bytes <= descriptor.allocation_bytes &&
         span_bytes <= descriptor.allocation_bytes - descriptor.offset_bytes;
}

// Why a descriptor is not to be used; null: as far as can be seen here it makes sense. Hot.
[[nodiscard]] inline const char *flaw_of(const Descriptor &descriptor, const DescriptorFacts &facts) noexcept {
  if (descriptor.sender < 0 || descriptor.sender != facts.sender) return "it names another rank as its sender";
  if (descriptor.number <= 0 || descriptor.number > facts.most_number) return "its number has no tags";
  if (!descriptor.blocks.is_sound()) return "its blocks do not add up";
  if (descriptor.route == Route::kPipelined) return nullptr;
  if (std::memchr(descriptor.backend, 0, sizeof descriptor.backend) == nullptr) return "its backend has no name";
  if (descriptor.route == Route::kDirect) return nullptr;
  if (descriptor.route != Route::kIpc && descriptor.route != Route::kRelayed) return "its route is none";
  if (!facts.is_local) return "it offers memory of another node";
  if (!lies_in_its_allocation(descriptor)) return "its payload does not lie in its allocation";
  return nullptr;
}

// The end of an operation, from the receiver to the sender.
struct Acknowledgement {
  std::uint64_t operation = 0;
};

// What a receiver asks of a sender, or tells it.
struct Control {
  enum class Kind : std::uint32_t {
    kGo,           // send the first `n_blocks` blocks
    kMayDescribe,  // who sends this takes descriptors (ops/p2p/permissions.hpp)
    kRelay,        // put the first `n_blocks` blocks (transfer/relay.hpp) into the memory that the descriptor names
    kTaken,        // the first `n_blocks` of them have been copied from there
    kDirect,       // send it by the network library, whose address of the receiver stands behind this
    kNotDirect,    // from the sender: it cannot be sent so
    kDirectSent,   // from the sender: it has sent it so
    kDirectCame    // the receive that was begun for it has ended
  };
  Kind kind = Kind::kGo;
  std::int32_t number = 0;
  std::uint64_t operation = 0;
  std::uint64_t n_blocks = 0;
};
// Whether `from` speaks of the message `own`, which went to `peer`; both are ranks in MPI_COMM_WORLD.
[[nodiscard]] inline bool is_about(const Control &control, int from, const Descriptor &own, int peer) noexcept {
  return from == peer && control.number == own.number && control.operation == own.operation;
}
// Whether `from` asks for the message `own`, whole by the network, or for its beginning in either sort of blocks. Who
// asks for more than there is would wait for it.
[[nodiscard]] inline bool asks_for(const Control &control, int from, const Descriptor &own, int peer) noexcept {
  if (!is_about(control, from, own, peer)) return false;
  if (control.kind == Control::Kind::kGo) return control.n_blocks <= own.blocks.n_blocks;
  if (control.kind == Control::Kind::kDirect) return own.route == Route::kDirect;
  return control.kind == Control::Kind::kRelay && own.route == Route::kRelayed &&
         control.n_blocks <= relay_blocks(own.size_bytes());
}
// Whether `from` tells how many blocks of `own` it has taken.
[[nodiscard]] inline bool tells_taken(const Control &control, int from, const Descriptor &own, int peer) noexcept {
  return control.kind == Control::Kind::kTaken && is_about(control, from, own, peer);
}
// Whether it is the end of `own`, and not of another message that had its number.
[[nodiscard]] inline bool ends(const Acknowledgement &acknowledgement, const Descriptor &own) noexcept {
  return acknowledgement.operation == own.operation;
}

static_assert(std::is_trivially_copyable_v<Control> && std::has_unique_object_representations_v<Control>);

}  // namespace sluice::transfer

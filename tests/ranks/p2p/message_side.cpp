// SPDX-License-Identifier: BSD-3-Clause
#include "tests/ranks/p2p/message_side.hpp"

#include <cstddef>
#include <cstdint>

#include "tests/support/host_mpi.hpp"

namespace sluice::tests {
namespace {

constexpr std::size_t kIntBytes = sizeof(int);

// A stride above 1 spreads the ints, with gaps between them.
Side make_side(Trial &run, const Message &message, std::size_t size_bytes, Kind kind, int stride) {
  Side side;
  if (!message.is_ints) {
    side.memory = &run.buffer(kind, size_bytes);
    side.data = side.memory->data();
    side.count = static_cast<int>(size_bytes);
    return side;
  }
  const auto n_ints = size_bytes / kIntBytes;
  side.memory = &run.buffer(kind, n_ints * static_cast<std::size_t>(stride) * kIntBytes);
  side.data = side.memory->data();
  side.type = MPI_INT;
  side.count = static_cast<int>(n_ints);
  if (stride > 1) {
    MPI_Type_create_resized(MPI_INT, 0, stride * static_cast<MPI_Aint>(kIntBytes), &side.type);
    MPI_Type_commit(&side.type);
    side.has_own_type = true;
  }
  return side;
}

Side make_nested_side(Trial &run, const Message &message, bool is_sender) {
  const Signature signature = random_signature(message.type_seed);
  const auto n_sent = message.size_bytes / signature.size_bytes / static_cast<std::size_t>(message.send_repeats);
  const auto n_wanted =
      n_sent * static_cast<std::size_t>(message.send_repeats) + message.spare_bytes / signature.size_bytes;
  const auto in_one = static_cast<std::size_t>(message.recv_repeats);
  Side side;
  side.layout = std::make_unique<RandomLayout>(message.type_seed + (is_sender ? 1 : 2), signature,
                                               is_sender ? message.send_repeats : message.recv_repeats, is_sender);
  side.type = side.layout->type();
  side.count = static_cast<int>(is_sender ? n_sent : (n_wanted + in_one - 1) / in_one);
  const MPI_Aint low = side.layout->low_bytes();
  const MPI_Aint span = side.layout->high_bytes() - low + (side.count - 1) * side.layout->extent_bytes();
  side.memory = &run.buffer(is_sender ? message.send_kind : message.recv_kind,
                            side.count == 0 ? 0 : static_cast<std::size_t>(span));
  side.data = reinterpret_cast<void *>(reinterpret_cast<std::intptr_t>(side.memory->data()) - low);
  return side;
}

}  // namespace

void Side::free_type() {
  layout.reset();
  if (has_own_type) MPI_Type_free(&type);
  has_own_type = false;
}

Side sending_side(Trial &run, const Message &message) {
  return message.is_nested && !lacks_nested_types_in_programs()
             ? make_nested_side(run, message, true)
             : make_side(run, message, message.size_bytes, message.send_kind, message.send_stride);
}

Side receiving_side(Trial &run, const Message &message) {
  return message.is_nested && !lacks_nested_types_in_programs()
             ? make_nested_side(run, message, false)
             : make_side(run, message, message.size_bytes + message.spare_bytes, message.recv_kind,
                         message.recv_stride);
}

}  // namespace sluice::tests

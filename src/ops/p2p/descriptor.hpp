// SPDX-License-Identifier: BSD-3-Clause
// The descriptors of messages (transfer/descriptor.hpp) as this process reads them: what it knows of the job and of who
// sent one.
#pragma once

#include "transfer/descriptor.hpp"
#include "wire/channel.hpp"

namespace sluice::ops {

using transfer::Acknowledgement;
using transfer::Control;
using transfer::Descriptor;
using transfer::DescriptorMessage;
using transfer::kDescriptorBytes;

// What came to a receive.
enum class Arrival : std::uint8_t {
  kPlain,
  kDescriptor,
  kFlawed  // it has the job's own number in it, so it is nobody's data; and it is not to be used
};

// Reads kDescriptorBytes that `sender` of MPI_COMM_WORLD (-1: somebody else) has sent. Of a flawed one *flaw says why.
// Any thread.
[[nodiscard]] inline Arrival read_descriptor(const std::byte *bytes, int sender, Descriptor *descriptor,
                                             const char **flaw) noexcept {
  const wire::Channel &channel = wire::Channel::process();
  if (!channel.is_open() || !transfer::is_descriptor(bytes, channel.nonce(), descriptor)) return Arrival::kPlain;
  const bool is_local = sender >= 0 && sender < channel.size() && channel.is_local(sender);
  *flaw = transfer::flaw_of(*descriptor, {channel.nonce(), sender, is_local, channel.most_number()});
  return *flaw == nullptr ? Arrival::kDescriptor : Arrival::kFlawed;
}

}  // namespace sluice::ops

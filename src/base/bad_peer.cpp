// SPDX-License-Identifier: BSD-3-Clause
#include "base/bad_peer.hpp"

namespace sluice {

Status bad_peer(const std::string &what) {
  return Status::error(
      ErrorKind::kBadPeer,
      what + "; see that all ranks run the same build of Sluice, and that nothing in the job writes beside its memory");
}

}  // namespace sluice

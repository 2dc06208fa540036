// SPDX-License-Identifier: BSD-3-Clause
// In place of ucp.cpp where Sluice was built without UCX's headers.
#include "network/provider.hpp"

namespace sluice::network {

Status open_ucp(std::unique_ptr<Provider> * /*provider*/) {
  return Status::error(ErrorKind::kUnsupported,
                       "this Sluice was built without UCX's headers (Debian: libucx-dev); build it with them");
}

}  // namespace sluice::network

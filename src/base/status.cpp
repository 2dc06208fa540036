// SPDX-License-Identifier: BSD-3-Clause
#include "base/status.hpp"

#include <new>

namespace sluice {

Status Status::of_exception(const std::exception &exception) {
  if (dynamic_cast<const std::bad_alloc *>(&exception) != nullptr) {
    return error(ErrorKind::kOutOfMemory, std::string("out of host memory inside Sluice (") + exception.what() +
                                              "); lower the program's own use of memory");
  }
  return error(ErrorKind::kInternal, std::string("Sluice met what it does not expect: ") + exception.what() +
                                         "; please report this with the versions of Sluice and of the MPI");
}

}  // namespace sluice

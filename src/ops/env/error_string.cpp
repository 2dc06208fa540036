// SPDX-License-Identifier: BSD-3-Clause
// MPI_Error_string: Sluice answers for the codes that it added itself. MPICH 4.0 gives them the text of another error.
#include <algorithm>
#include <string>

#include "generated/operations.hpp"
#include "ops/env/errors.hpp"
#include "wire/host.hpp"

namespace sluice::ops {

int error_string(int errorcode, char *string, int *resultlen) {
  return guarded(MPI_COMM_SELF, [&]() -> int {
    std::string text;
    if (string == nullptr || resultlen == nullptr || !find_error_text(errorcode, &text)) {
      return wire::host().MPI_Error_string(errorcode, string, resultlen);
    }
    std::copy_n(text.c_str(), text.size() + 1, string);  // at most MPI_MAX_ERROR_STRING with its zero
    *resultlen = static_cast<int>(text.size());
    return MPI_SUCCESS;
  });
}

}  // namespace sluice::ops

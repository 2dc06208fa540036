// SPDX-License-Identifier: BSD-3-Clause
// Refusals: calls that Sluice does not carry out (data/refused_buffers.txt) take no device memory. The host MPI would
// touch it by the CPU, and crash, or report a success that is none. All of it: any thread.
#pragma once

#include <initializer_list>

#include "base/status.hpp"
#include "device/place.hpp"
#include "wire/mpi.hpp"

namespace sluice::ops {

// A buffer as a call names it.
struct BufferArgument {
  const char *name;
  const void *address;
  MPI_Count count;    // of elements, or of bytes
  MPI_Datatype type;  // only of a typed one
  bool is_typed;
};

inline BufferArgument typed_buffer(const char *name, const void *address, MPI_Count count, MPI_Datatype type) noexcept {
  return {name, address, count, type, true};
}
inline BufferArgument byte_buffer(const char *name, const void *address, MPI_Count n_bytes) noexcept {
  return {name, address, n_bytes, MPI_Datatype(), false};
}

// As below where a backend is loaded. Errors: the same.
[[nodiscard]] Status refusal_by(device::Backends backends, const char *function,
                                std::initializer_list<BufferArgument> buffers) noexcept;

// Why `function` cannot be handed on to the host MPI: a buffer is device memory, or was and has been freed. Fine for
// all memory that the CPU may touch, for buffers of nothing, and for types that the host MPI will refuse. Hot: without
// a backend, two loads. Errors: kBadBuffer with the remedy; those of a backend's query.
[[nodiscard]] inline Status refusal(const char *function, std::initializer_list<BufferArgument> buffers) noexcept {
  const device::Backends backends = device::loaded_backends();
  return backends.empty() ? Status() : refusal_by(backends, function, buffers);
}

// The answer of a call that may raise nothing: `code`, and the text in the log, once for each function.
[[nodiscard]] int answer(const char *function, int code, const Status &refused);

}  // namespace sluice::ops

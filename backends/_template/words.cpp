// SPDX-License-Identifier: BSD-3-Clause
// Under which names programs ask for this runtime's memory, and name its streams. The first two are an optional group:
// both functions stand in the table or none; without it a program that asks MPI first is told "no" and copies by
// itself.
#include "module.h"

namespace sluice::backends::template_backend {

// The W of MPIX_Query_<W>_support. Say yes only for memory that query_pointer recognises and the copies reach, however
// the program made it. Where that depends on the devices that are there, look at them here.
const char *const *support_words() {
  static const char *const words[] = {nullptr};
  return words;
}

// "kind", then "kind:restrictor" for each sort of memory, as MPI's side document on memory allocation kinds names them.
const char *const *memory_kind_words() {
  static const char *const words[] = {nullptr};
  return words;
}

// Of the group `stream`: the type of a stream as a program's source has it ("runtimeStream_t").
const char *const *stream_words() {
  static const char *const words[] = {nullptr};
  return words;
}

}  // namespace sluice::backends::template_backend

// SPDX-License-Identifier: BSD-3-Clause
// The table of this backend, its life, and its errors.
#include "module.h"

#include <cstddef>
#include <iterator>

#include "../knob_range.h"

namespace sluice::backends::template_backend {
namespace {

constexpr sluice_backend_knob_t kKnobs[] = {
#define TEMPLATE_KNOB(name, default_value, range, doc) {"SLUICE_TEMPLATE_" #name, default_value, doc},
#include "knobs.def"
#undef TEMPLATE_KNOB
};

constexpr Knob kRanges[] = {
#define TEMPLATE_KNOB(name, default_value, range, doc) {"SLUICE_TEMPLATE_" #name, default_value, range},
#include "knobs.def"
#undef TEMPLATE_KNOB
};

// Find the runtime's entry points: dlopen its library (it is in the process already when Sluice loads this module by
// itself) and dlsym each function. Compare its version with what this backend was written for. Create no context and
// allocate nothing on a device. No runtime, or a runtime without a device: SLUICE_ERROR_NO_DEVICE.
sluice_result_t init(const sluice_host_services_t *services) {
  g_services = services;
  report_wrong_knobs(services, kRanges);
  return fail(SLUICE_ERROR_NO_DEVICE, "the template has no device");
}

// Give back what this module itself holds (cached contexts, events kept for reuse). Call nothing of a runtime that has
// been shut down: a program may exit without MPI_Finalize.
void fini() {
  g_services = nullptr;
}

}  // namespace

}  // namespace sluice::backends::template_backend

// What is not written yet. A group is complete when all of its members are (../members.def): take its two lines away
// then.
//   ipc            once the runtime exports memory to other processes
//   words          once programs have a name for this memory
//   traits         if something is particular about a device
//   stream, program_stream   once streams can write and await words
//   reduce, kernel_copies, pack   once the device's compiler takes kernels/
//   channel        once `stream`, `ipc` and `pack` are there: streams that send and receive by themselves
//   wait           if a queue can wait for another
#undef SLUICE_GROUP_ipc
#define SLUICE_GROUP_ipc(name) nullptr
#undef SLUICE_GROUP_words
#define SLUICE_GROUP_words(name) nullptr
#undef SLUICE_GROUP_traits
#define SLUICE_GROUP_traits(name) nullptr
#undef SLUICE_GROUP_reduce
#define SLUICE_GROUP_reduce(name) nullptr
#undef SLUICE_GROUP_stream
#define SLUICE_GROUP_stream(name) nullptr
#undef SLUICE_GROUP_program_stream
#define SLUICE_GROUP_program_stream(name) nullptr
#undef SLUICE_GROUP_kernel_copies
#define SLUICE_GROUP_kernel_copies(name) nullptr
#undef SLUICE_GROUP_pack
#define SLUICE_GROUP_pack(name) nullptr
#undef SLUICE_GROUP_channel
#define SLUICE_GROUP_channel(name) nullptr
#undef SLUICE_GROUP_wait
#define SLUICE_GROUP_wait(name) nullptr

#define SLUICE_MODULE_NAMESPACE template_backend
#define SLUICE_MODULE_NAME "template"
#include "../exported_table.inc"

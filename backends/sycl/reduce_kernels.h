// SPDX-License-Identifier: BSD-3-Clause
// The kernels of reductions and the one that copies, compiled by the runtime at first use and kept.
#pragma once

#include <optional>
#include <string_view>

#include "../kernel_copies.h"
#include "../packing.h"
#include "../reduction.h"
#include "message.hpp"
#include "module.h"

namespace sluice::backends::sycl {

// A file that the runtime's compiler includes.
struct SourceText {
  const char *name;
  const char *content;
};

// What the source of each kernel begins with. The compiler takes seven times as long for all of SYCL, and makes the
// same code; a release that lacks the first of these headers gives it all of SYCL.
constexpr std::string_view kKernelIncludes = R"(
#include <cstdint>
#if __has_include(<sycl/ext/oneapi/free_function_kernel_properties.hpp>)
#include <sycl/ext/oneapi/free_function_kernel_properties.hpp>
#include <sycl/ext/oneapi/free_function_queries.hpp>
#else
#include <sycl/sycl.hpp>
#endif
)";

// Whether the runtime can compile kernels for the device. The first question for a device may take a millisecond.
bool can_compile(const ::sycl::device &device);

// Finds the kernel of a legal pair for a device and a context, or compiles it, which takes half a second or more and
// blocks (only others that compile). There are two: one for tasks of few addresses, and one for all. Its arguments are
// set by set_task, from a task for which it was found; it runs in a one-dimensional nd-range of any size.
// SLUICE_ERROR_UNSUPPORTED with the compiler's words when it cannot be compiled, each time; it is tried once.
// Throws what the runtime throws.
sluice_result_t find_kernel(const ::sycl::context &context, const ::sycl::device &device, sluice_element_t element,
                            sluice_operation_t operation, const kernels::Task &task,
                            std::optional<::sycl::kernel> *kernel);

// The same for the kernel that copies.
sluice_result_t find_copies_kernel(const ::sycl::context &context, const ::sycl::device &device,
                                   const kernels::CopyTask &task, std::optional<::sycl::kernel> *kernel);

// And for those that pack, and that move data from one layout to another.
sluice_result_t find_pack_kernel(const ::sycl::context &context, const ::sycl::device &device,
                                 std::optional<::sycl::kernel> *kernel);
sluice_result_t find_rearrange_kernel(const ::sycl::context &context, const ::sycl::device &device,
                                      std::optional<::sycl::kernel> *kernel);

// And for the one that takes a queue's message out of its slot.
sluice_result_t find_message_kernel(const ::sycl::context &context, const ::sycl::device &device,
                                    std::optional<::sycl::kernel> *kernel);

// Sets the arguments of a kernel of those five, in a command group that launches it.
void set_task(::sycl::handler *handler, const kernels::Task &task);
void set_task(::sycl::handler *handler, const kernels::CopyTask &task);
void set_task(::sycl::handler *handler, const kernels::PackTask &task);
void set_task(::sycl::handler *handler, const kernels::RearrangeTask &task);
void set_task(::sycl::handler *handler, const kernels::MessageTask &task);

}  // namespace sluice::backends::sycl

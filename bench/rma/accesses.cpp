// SPDX-License-Identifier: BSD-3-Clause
// The one-sided tests: rank 0 accesses memory of rank 1.
#include "bench/rma/one_sided.hpp"

namespace sluice::bench {
namespace {

int put(const Access &a) {
  return MPI_Put(a.origin, a.count, a.type, kTarget, a.offset, a.count, a.type, a.window);
}
int get(const Access &a) {
  return MPI_Get(a.origin, a.count, a.type, kTarget, a.offset, a.count, a.type, a.window);
}
int accumulate(const Access &a) {
  return MPI_Accumulate(a.origin, a.count, a.type, kTarget, a.offset, a.count, a.type, a.op, a.window);
}
int get_accumulate(const Access &a) {
  return MPI_Get_accumulate(a.origin, a.count, a.type, a.result, a.count, a.type, kTarget, a.offset, a.count, a.type,
                            a.op, a.window);
}
int requested_put(const Access &a, MPI_Request *request) {
  return MPI_Rput(a.origin, a.count, a.type, kTarget, a.offset, a.count, a.type, a.window, request);
}
int requested_get(const Access &a, MPI_Request *request) {
  return MPI_Rget(a.origin, a.count, a.type, kTarget, a.offset, a.count, a.type, a.window, request);
}
int requested_accumulate(const Access &a, MPI_Request *request) {
  return MPI_Raccumulate(a.origin, a.count, a.type, kTarget, a.offset, a.count, a.type, a.op, a.window, request);
}
int requested_get_accumulate(const Access &a, MPI_Request *request) {
  return MPI_Rget_accumulate(a.origin, a.count, a.type, a.result, a.count, a.type, kTarget, a.offset, a.count, a.type,
                             a.op, a.window, request);
}
int fetch_and_op(const Access &a) {
  return MPI_Fetch_and_op(a.origin, a.result, a.type, kTarget, a.offset, a.op, a.window);
}
int compare_and_swap(const Access &a) {
  return MPI_Compare_and_swap(a.origin, a.compare, a.result, a.type, kTarget, a.offset, a.window);
}

const OneSidedRegistration put_latency({.name = "put_latency",
                                        .title = "one put",
                                        .target_after = Holds::origins,
                                        .access = put,
                                        .requested_access = requested_put});
const OneSidedRegistration get_latency({.name = "get_latency",
                                        .title = "one get",
                                        .origin_after = Holds::targets,
                                        .access = get,
                                        .requested_access = requested_get});
const OneSidedRegistration put_bw({.name = "put_bw",
                                   .title = "a window of puts",
                                   .is_bandwidth = true,
                                   .target_after = Holds::origins,
                                   .access = put,
                                   .requested_access = requested_put});
const OneSidedRegistration get_bw({.name = "get_bw",
                                   .title = "a window of gets",
                                   .is_bandwidth = true,
                                   .origin_after = Holds::targets,
                                   .access = get,
                                   .requested_access = requested_get});
const OneSidedRegistration acc_latency({.name = "acc_latency",
                                        .title = "one accumulate",
                                        .has_numbers = true,
                                        .target_after = Holds::reduced,
                                        .access = accumulate,
                                        .requested_access = requested_accumulate});
const OneSidedRegistration get_acc_latency({.name = "get_acc_latency",
                                            .title = "one accumulate that brings back what was there",
                                            .has_numbers = true,
                                            .has_result = true,
                                            .target_after = Holds::reduced,
                                            .access = get_accumulate,
                                            .requested_access = requested_get_accumulate});
const OneSidedRegistration fop_latency({.name = "fop_latency",
                                        .title = "one fetch-and-op of eight bytes",
                                        .has_numbers = true,
                                        .is_one_element = true,
                                        .has_result = true,
                                        .target_after = Holds::reduced,
                                        .access = fetch_and_op});
const OneSidedRegistration cas_latency({.name = "cas_latency",
                                        .title = "one compare-and-swap of eight bytes",
                                        .has_numbers = true,
                                        .is_one_element = true,
                                        .is_comparing = true,
                                        .has_result = true,
                                        .target_after = Holds::origins,
                                        .access = compare_and_swap});

}  // namespace
}  // namespace sluice::bench

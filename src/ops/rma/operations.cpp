// SPDX-License-Identifier: BSD-3-Clause
#include "ops/rma/operations.hpp"

#include <utility>

#include "ops/rma/access.hpp"
#include "ops/rma/device_fetch.hpp"
#include "ops/rma/numbers.hpp"
#include "ops/rma/side.hpp"
#include "transfer/window_message.hpp"

namespace sluice::ops::rma {
namespace {

using transfer::WindowAction;
using transfer::WindowHeader;

// The operation in messages. `operand`: what goes with them, or null; `result`: where answers' data go, or null.
Status go_by_messages(Access *access, WindowHeader header, std::uint64_t size_bytes, std::uint64_t element_bytes,
                      const transfer::Region *operand, const transfer::Region *result) {
  Messages &messages = *access->window->messages;
  const AskedPtr asked = make_asked(*access, size_bytes, result);
  asked->request = access->request;
  Status status;
  OperandReader reader(operand != nullptr ? *operand : access->target);
  std::vector<std::byte> bytes;
  transfer::for_each_message(access->target, size_bytes, element_bytes,
                             [&](std::span<const transfer::Block> runs, std::uint64_t position, std::uint64_t length) {
                               header.payload_bytes = length;
                               bytes.resize(operand != nullptr ? length : 0);
                               if (operand != nullptr) status = reader.read(position, bytes);
                               if (status.is_ok()) {
                                 status = messages.ask(access->target_rank, header, runs, bytes, asked, position);
                               }
                               return status.is_ok();
                             });
  messages.close(asked, access->request != nullptr ? status : Status());
  return access->request != nullptr ? Status() : status;
}

// The end of what this rank has done itself. A request is complete when the copies are.
Status finish_direct(Access *access, Status status) {
  if (status.is_ok() && access->request != nullptr) status = access->window->direct->flush();
  return close_access(access, std::move(status));
}

// A put or a get.
Status move(Access *access, bool is_get) {
  // classify
  std::uint64_t size_bytes = 0;
  Status status = classify_move(access, is_get, &size_bytes);
  if (!status.is_ok()) return status;
  // plan
  status = plan_route(access, access->origin.place);
  if (status.is_ok()) status = open_request(access);
  if (!status.is_ok()) return status;
  // execute
  if (size_bytes == 0) return close_access(access, {});
  if (access->route == Route::kIpc) {
    DirectAccess &direct = *access->window->direct;
    const transfer::Region &from = is_get ? access->target : access->origin;
    const transfer::Region &to = is_get ? access->origin : access->target;
    status = direct.copy(from, to, size_bytes, message_of(*access));
    status = finish_direct(access, std::move(status));
  } else {
    WindowHeader header;
    header.action = is_get ? WindowAction::kGet : WindowAction::kPut;
    status = go_by_messages(access, header, size_bytes, 1, is_get ? nullptr : &access->origin,
                            is_get ? &access->origin : nullptr);
  }
  // complete
  count(*access, access->route);
  return status;
}

// Classifies an argument whose elements have to be those of the target, and as many bytes.
Status classify_like_target(const Access &access, const Argument &argument, MPI_Datatype basic,
                            transfer::Region *region) {
  if (Status status = classify(argument, region); !status.is_ok()) return status;
  if (region->size_bytes() != access.size_bytes()) return differ(*access.call);
  MPI_Datatype own = MPI_DATATYPE_NULL;
  if (Status status = find_basic_type(argument.type, &own); !status.is_ok()) return status;
  if (own == basic) return {};
  return Status::error(
      ErrorKind::kBadType,
      std::string(name(access.call->operation)) +
          ": the elements of the two sides are not of one predefined type; use the same predefined type on both");
}

// A short operation with a result, by the device of the target. `compare`: as DeviceFetch has it. *is_done: else
// nothing was written. *route: the kernel's, if one has computed or compared.
Status fetch_by_device(Access *access, const Arithmetic &arithmetic, const transfer::Region *compare, Route *route,
                       bool *is_done) {
  *is_done = false;
  const bool is_suited =
      compare != nullptr ? DeviceFetch::suits_swap(access->target) : DeviceFetch::suits(access->target, arithmetic);
  if (!is_suited) return {};
  DeviceFetch fetch;
  Status status = fetch.prepare(access->target, arithmetic, access->origin, compare, access->result);
  if (!status.is_ok()) return status;
  {
    UpdateHold hold;
    LockWords *words = access->window->locks.of(access->target_rank);
    progress::turn_until([&] { return hold.try_take(words); });
    trace::Span span;
    span.begin();
    status = fetch.run(is_done);
    if (*is_done) span.end(trace::Lane::kKernel, message_of(*access), {access->size_bytes()});
  }
  if (!status.is_ok() || !*is_done) return status;
  const bool is_computed = !arithmetic.is_nothing() && !arithmetic.is_replace();
  if (is_computed || compare != nullptr) *route = Route::kKernel;
  return fetch.finish();
}

// Under the update lock, by this rank itself. *route: who computed it.
Status update_directly(Access *access, const Arithmetic &arithmetic, bool has_result, const std::byte *compare,
                       Route *route) {
  const std::uint64_t size_bytes = access->size_bytes();
  const bool has_operand = !arithmetic.is_nothing();
  const bool is_computed = has_operand && !arithmetic.is_replace() && !has_result;
  if (has_result && compare == nullptr) {
    bool is_done = false;
    Status status = fetch_by_device(access, arithmetic, nullptr, route, &is_done);
    if (!status.is_ok() || is_done) return status;
  }
  std::vector<std::byte> operand;
  const auto read_operand = [&]() -> Status {
    operand.resize(size_bytes);
    return read_payload(access->origin, size_bytes, operand.data());
  };
  Status status;
  const bool has_kernel = is_computed && DirectAccess::can_update(access->target, arithmetic, access->origin);
  if (has_operand && !has_kernel) status = read_operand();
  if (!status.is_ok()) return status;
  std::vector<std::byte> before;
  {
    UpdateHold hold;
    LockWords *words = access->window->locks.of(access->target_rank);
    progress::turn_until([&] { return hold.try_take(words); });
    bool is_done = false;
    trace::Span span;
    span.begin();
    if (has_kernel) status = DirectAccess::update_by_kernel(access->target, arithmetic, access->origin, &is_done);
    if (is_done) span.end(trace::Lane::kKernel, message_of(*access), {size_bytes});
    if (is_done) *route = Route::kKernel;
    if (is_done || !status.is_ok()) return status;
    if (has_kernel) status = read_operand();  // it was refused
    if (status.is_ok()) status = update(access->target, arithmetic, operand, compare, &before);
  }
  if (status.is_ok() && has_result) status = write_payload(access->result, size_bytes, before.data());
  return status;
}

// What an accumulate computes, on which elements, and its origin and result as far as it has them.
Status classify_accumulate(Access *access, bool has_result, Arithmetic *arithmetic, transfer::LayoutPtr *element) {
  const Call &call = *access->call;
  MPI_Datatype basic = MPI_DATATYPE_NULL;
  Status status = find_basic_type(call.target.type, &basic);
  if (status.is_ok()) status = find_layout({nullptr, 1, basic}, element);
  if (status.is_ok()) status = find_arithmetic(basic, call.op, arithmetic);
  if (status.is_ok() && !arithmetic->is_nothing()) {
    status = classify_like_target(*access, call.origin, basic, &access->origin);
  }
  if (status.is_ok() && has_result) status = classify_like_target(*access, call.result, basic, &access->result);
  return status;
}

// An accumulate, with or without a result.
Status accumulate(Access *access) {
  const bool has_result = access->call->result.type != MPI_DATATYPE_NULL;
  // classify
  transfer::LayoutPtr element;
  Arithmetic arithmetic;
  Status status = classify_accumulate(access, has_result, &arithmetic, &element);
  const bool has_operand = !arithmetic.is_nothing();
  // plan
  if (status.is_ok()) status = plan_route(access, (has_operand ? access->origin : access->result).place);
  if (status.is_ok()) status = open_request(access);
  if (!status.is_ok()) return status;
  // execute
  if (access->size_bytes() == 0 || (!has_operand && !has_result)) return close_access(access, {});
  Route route = access->route;
  if (route == Route::kIpc) {
    status = finish_direct(access, update_directly(access, arithmetic, has_result, nullptr, &route));
  } else {
    WindowHeader header;
    header.action = WindowAction::kUpdate;
    header.type = arithmetic.type_number;
    header.operation = arithmetic.op_number;
    header.flag = has_result ? 1 : 0;
    status = go_by_messages(access, header, access->size_bytes(), element->size_bytes,
                            has_operand ? &access->origin : nullptr, has_result ? &access->result : nullptr);
  }
  // complete
  count(*access, route);
  return status;
}

// Asks the target to do it. `operand`: the new element, and behind it the one that has to be there.
Status swap_by_messages(Access *access, const Arithmetic &replace, const std::vector<std::byte> &operand) {
  const std::uint64_t size_bytes = access->size_bytes();
  WindowHeader header;
  header.action = WindowAction::kSwap;
  header.type = replace.type_number;
  header.operation = replace.op_number;
  const AskedPtr asked = make_asked(*access, size_bytes, &access->result);
  Status status;
  transfer::for_each_message(access->target, size_bytes, size_bytes,
                             [&](std::span<const transfer::Block> runs, std::uint64_t position, std::uint64_t length) {
                               header.payload_bytes = length;
                               status = access->window->messages->ask(access->target_rank, header, runs, operand, asked,
                                                                      position);
                               return status.is_ok();
                             });
  access->window->messages->close(asked, {});
  return status;
}

// By this rank's CPU, or by the target's.
Status swap_by_host(Access *access, const Arithmetic &replace, const transfer::Region &compare, Route *route) {
  const std::uint64_t size_bytes = access->size_bytes();
  // The new element, and behind it the one that has to be there.
  std::vector<std::byte> operand(2 * size_bytes);
  Status status = read_payload(access->origin, size_bytes, operand.data());
  if (status.is_ok()) status = read_payload(compare, size_bytes, operand.data() + size_bytes);
  if (!status.is_ok()) return status;
  if (access->route != Route::kIpc) return swap_by_messages(access, replace, operand);
  return update_directly(access, replace, true, operand.data() + size_bytes, route);
}

Status compare_and_swap(Access *access) {
  const Call &call = *access->call;
  // classify
  MPI_Datatype basic = MPI_DATATYPE_NULL;
  Arithmetic replace;
  transfer::Region compare;
  Status status = find_basic_type(call.target.type, &basic);
  if (status.is_ok() && basic != call.target.type) {
    status = Status::error(ErrorKind::kBadType, "MPI_Compare_and_swap was given a derived type; use a predefined one");
  }
  if (status.is_ok()) status = find_arithmetic(basic, MPI_REPLACE, &replace);
  if (status.is_ok()) status = classify(call.origin, &access->origin);
  if (status.is_ok()) status = classify(call.compare, &compare);
  if (status.is_ok()) status = classify(call.result, &access->result);
  // plan
  if (status.is_ok()) status = plan_route(access, access->origin.place);
  if (!status.is_ok()) return status;
  // execute
  Route route = access->route;
  bool is_done = false;
  if (route == Route::kIpc) status = fetch_by_device(access, replace, &compare, &route, &is_done);
  if (status.is_ok() && !is_done) status = swap_by_host(access, replace, compare, &route);
  // complete
  count(*access, route);
  return status;
}

// Any of these, behind what all have in common.
template <typename Operate>
int operate(Window *window, const Call &call, Operate operate_on) {
  return guarded_on(*window, [&]() -> Status {
    Access access;
    bool is_nobody = false;
    Status status = classify_target(window, call, &access, &is_nobody);
    return !status.is_ok() || is_nobody ? status : operate_on(&access);
  });
}

}  // namespace

int put(Window *window, const Call &call) {
  return operate(window, call, [](Access *access) { return move(access, false); });
}

int get(Window *window, const Call &call) {
  return operate(window, call, [](Access *access) { return move(access, true); });
}

int accumulate(Window *window, const Call &call) {
  return operate(window, call, [](Access *access) { return accumulate(access); });
}

int compare_and_swap(Window *window, const Call &call) {
  return operate(window, call, [](Access *access) { return compare_and_swap(access); });
}

}  // namespace sluice::ops::rma

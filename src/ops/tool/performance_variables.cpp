// SPDX-License-Identifier: BSD-3-Clause
// MPI_T_pvar_*: the counters of the statistics as performance variables. Counting is off until a tool asks for a handle
// of one, and stays on from there. The counters run by themselves and nobody sets them: continuous and readonly, as
// MPI_T says, so that a handle has no state.
#include <cstring>

#include "base/statistics.hpp"
#include "generated/operations.hpp"
#include "ops/refusal/refusal.hpp"
#include "ops/tool/counters.hpp"
#include "ops/tool/handles.hpp"
#include "ops/tool/numbers.hpp"
#include "ops/tool/text.hpp"

namespace sluice::ops {

namespace tool {

Numbers &performance_numbers() {
  static Numbers numbers(&wire::Host::MPI_T_pvar_get_num, static_cast<int>(counters().size()));
  return numbers;
}

}  // namespace tool

namespace {

using tool::Counter;
using tool::counters;
using tool::give;
using tool::performance_numbers;

const Counter &counter_at(int own_number) {
  return counters()[static_cast<std::size_t>(own_number)];
}

const Counter *counter_of(MPI_T_pvar_handle handle) {
  return tool::find_own(handle, counters());
}

// What a call on a handle answers that no counter of Sluice's can do; other handles go to the host MPI.
template <typename HostCall>
int not_of_own(MPI_T_pvar_handle handle, int refusal_code, HostCall host_call) {
  if (const int code = performance_numbers().ask(); code != MPI_SUCCESS) return code;
  return counter_of(handle) != nullptr ? refusal_code : host_call();
}

}  // namespace

int t_pvar_get_num(int *num_pvar) {
  if (const int code = performance_numbers().ask(); code != MPI_SUCCESS) return code;
  if (num_pvar == nullptr) return MPI_T_ERR_INVALID;
  *num_pvar = performance_numbers().total();
  return MPI_SUCCESS;
}

int t_pvar_get_info(int pvar_index, char *name, int *name_len, int *verbosity, int *var_class, MPI_Datatype *datatype,
                    MPI_T_enum *enumtype, char *desc, int *desc_len, int *bind, int *readonly, int *continuous,
                    int *atomic) {
  if (const int code = performance_numbers().ask(); code != MPI_SUCCESS) return code;
  const auto &numbers = performance_numbers();
  if (!numbers.is_own(pvar_index)) {
    return wire::host().MPI_T_pvar_get_info(numbers.to_host(pvar_index), name, name_len, verbosity, var_class, datatype,
                                            enumtype, desc, desc_len, bind, readonly, continuous, atomic);
  }
  const Counter &counter = counter_at(numbers.own(pvar_index));
  give(counter.name, name, name_len);
  give<int>(MPI_T_VERBOSITY_USER_BASIC, verbosity);
  give(counter.variable_class, var_class);
  give<MPI_Datatype>(MPI_UNSIGNED_LONG_LONG, datatype);
  give<MPI_T_enum>(MPI_T_ENUM_NULL, enumtype);
  give(counter.doc, desc, desc_len);
  give<int>(MPI_T_BIND_NO_OBJECT, bind);
  give(1, readonly);
  give(1, continuous);
  give(0, atomic);
  return MPI_SUCCESS;
}

int t_pvar_get_index(const char *name, int var_class, int *pvar_index) {
  if (const int code = performance_numbers().ask(); code != MPI_SUCCESS) return code;
  if (name == nullptr || pvar_index == nullptr) return MPI_T_ERR_INVALID;
  for (std::size_t i = 0; i < counters().size(); ++i) {
    if (counters()[i].name != name || counters()[i].variable_class != var_class) continue;
    *pvar_index = performance_numbers().from_own(static_cast<int>(i));
    return MPI_SUCCESS;
  }
  const int code = wire::host().MPI_T_pvar_get_index(name, var_class, pvar_index);
  if (code == MPI_SUCCESS) *pvar_index = performance_numbers().from_host(*pvar_index);
  return code;
}

int t_pvar_handle_alloc(MPI_T_pvar_session session, int pvar_index, void *obj_handle, MPI_T_pvar_handle *handle,
                        int *count) {
  if (const int code = performance_numbers().ask(); code != MPI_SUCCESS) return code;
  const auto &numbers = performance_numbers();
  if (!numbers.is_own(pvar_index)) {
    return wire::host().MPI_T_pvar_handle_alloc(session, numbers.to_host(pvar_index), obj_handle, handle, count);
  }
  if (handle == nullptr || count == nullptr) return MPI_T_ERR_INVALID;
  if (session == MPI_T_PVAR_SESSION_NULL) return MPI_T_ERR_INVALID_SESSION;
  statistics::enable();
  *handle = reinterpret_cast<MPI_T_pvar_handle>(const_cast<Counter *>(&counter_at(numbers.own(pvar_index))));
  *count = 1;
  return MPI_SUCCESS;
}

int t_pvar_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle *handle) {
  if (const int code = performance_numbers().ask(); code != MPI_SUCCESS) return code;
  if (handle == nullptr || counter_of(*handle) == nullptr) return wire::host().MPI_T_pvar_handle_free(session, handle);
  *handle = MPI_T_PVAR_HANDLE_NULL;
  return MPI_SUCCESS;
}

int t_pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf) {
  const Status refused = refusal("MPI_T_pvar_read", {byte_buffer("buf", buf, 1)});
  if (!refused.is_ok()) return answer("MPI_T_pvar_read", MPI_T_ERR_INVALID, refused);
  if (const int code = performance_numbers().ask(); code != MPI_SUCCESS) return code;
  const Counter *const counter = counter_of(handle);
  if (counter == nullptr) return wire::host().MPI_T_pvar_read(session, handle, buf);
  if (buf == nullptr) return MPI_T_ERR_INVALID;
  const unsigned long long value = counter->value(counter->detail);
  std::memcpy(buf, &value, sizeof(value));
  return MPI_SUCCESS;
}

int t_pvar_readreset(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf) {
  const Status refused = refusal("MPI_T_pvar_readreset", {byte_buffer("buf", buf, 1)});
  if (!refused.is_ok()) return answer("MPI_T_pvar_readreset", MPI_T_ERR_INVALID, refused);
  return not_of_own(handle, MPI_T_ERR_PVAR_NO_ATOMIC,
                    [&] { return wire::host().MPI_T_pvar_readreset(session, handle, buf); });
}

int t_pvar_write(MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void *buf) {
  const Status refused = refusal("MPI_T_pvar_write", {byte_buffer("buf", buf, 1)});
  if (!refused.is_ok()) return answer("MPI_T_pvar_write", MPI_T_ERR_INVALID, refused);
  return not_of_own(handle, MPI_T_ERR_PVAR_NO_WRITE,
                    [&] { return wire::host().MPI_T_pvar_write(session, handle, buf); });
}

int t_pvar_reset(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  return not_of_own(handle, MPI_T_ERR_PVAR_NO_WRITE, [&] { return wire::host().MPI_T_pvar_reset(session, handle); });
}

int t_pvar_start(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  return not_of_own(handle, MPI_T_ERR_PVAR_NO_STARTSTOP,
                    [&] { return wire::host().MPI_T_pvar_start(session, handle); });
}

int t_pvar_stop(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  return not_of_own(handle, MPI_T_ERR_PVAR_NO_STARTSTOP, [&] { return wire::host().MPI_T_pvar_stop(session, handle); });
}

}  // namespace sluice::ops

// SPDX-License-Identifier: BSD-3-Clause
// MPI_T_cvar_*: the knobs of Sluice (base/knobs.def) as control variables, which tools read. A knob is read once, from
// the environment, so none can be written.
#include <vector>

#include "base/knobs.hpp"
#include "generated/operations.hpp"
#include "ops/refusal/refusal.hpp"
#include "ops/tool/handles.hpp"
#include "ops/tool/numbers.hpp"
#include "ops/tool/text.hpp"

namespace sluice::ops {

namespace tool {

Numbers &control_numbers() {
  static Numbers numbers(&wire::Host::MPI_T_cvar_get_num, static_cast<int>(knob_lines().size()));
  return numbers;
}

}  // namespace tool

namespace {

using tool::control_numbers;
using tool::give;

const std::vector<KnobValue> &knobs() {
  return Knobs::process().values();
}

const KnobValue *knob_of(MPI_T_cvar_handle handle) {
  return tool::find_own(handle, knobs());
}

bool is_switch(const KnobValue &knob) {
  return knob.line.type == KnobType::kBool;
}

bool is_number(const KnobValue &knob) {
  const KnobType type = knob.line.type;
  return type == KnobType::kBytes || type == KnobType::kNumber || type == KnobType::kDuration;
}

MPI_Datatype type_of(const KnobValue &knob) {
  return is_switch(knob) ? MPI_INT : is_number(knob) ? MPI_UNSIGNED_LONG_LONG : MPI_CHAR;
}

// How many elements of type_of() the value has: a text has its zero, too.
int count_of(const KnobValue &knob) {
  return is_switch(knob) || is_number(knob) ? 1 : static_cast<int>(knob.value.size()) + 1;
}

void read(const KnobValue &knob, void *to) {
  if (is_switch(knob)) {
    const int value = knob.value == "1" ? 1 : 0;
    std::memcpy(to, &value, sizeof(value));
  } else if (is_number(knob)) {
    const unsigned long long value = Knobs::process().number(knob.line.name);
    std::memcpy(to, &value, sizeof(value));
  } else {
    std::memcpy(to, knob.value.c_str(), knob.value.size() + 1);
  }
}

}  // namespace

int t_cvar_get_num(int *num_cvar) {
  if (const int code = control_numbers().ask(); code != MPI_SUCCESS) return code;
  if (num_cvar == nullptr) return MPI_T_ERR_INVALID;
  *num_cvar = control_numbers().total();
  return MPI_SUCCESS;
}

int t_cvar_get_info(int cvar_index, char *name, int *name_len, int *verbosity, MPI_Datatype *datatype,
                    MPI_T_enum *enumtype, char *desc, int *desc_len, int *bind, int *scope) {
  const auto &numbers = control_numbers();
  if (const int code = control_numbers().ask(); code != MPI_SUCCESS) return code;
  if (!numbers.is_own(cvar_index)) {
    return wire::host().MPI_T_cvar_get_info(numbers.to_host(cvar_index), name, name_len, verbosity, datatype, enumtype,
                                            desc, desc_len, bind, scope);
  }
  const KnobValue &knob = knobs()[static_cast<std::size_t>(numbers.own(cvar_index))];
  give(knob.line.name, name, name_len);
  give<int>(
      std::string_view(knob.line.stability) == "stable" ? MPI_T_VERBOSITY_USER_BASIC : MPI_T_VERBOSITY_TUNER_DETAIL,
      verbosity);
  give(type_of(knob), datatype);
  give<MPI_T_enum>(MPI_T_ENUM_NULL, enumtype);
  give(knob.line.doc, desc, desc_len);
  give<int>(MPI_T_BIND_NO_OBJECT, bind);
  give<int>(MPI_T_SCOPE_CONSTANT, scope);
  return MPI_SUCCESS;
}

int t_cvar_get_index(const char *name, int *cvar_index) {
  if (const int code = control_numbers().ask(); code != MPI_SUCCESS) return code;
  if (name == nullptr || cvar_index == nullptr) return MPI_T_ERR_INVALID;
  for (std::size_t i = 0; i < knobs().size(); ++i) {
    if (std::string_view(name) != knobs()[i].line.name) continue;
    *cvar_index = control_numbers().from_own(static_cast<int>(i));
    return MPI_SUCCESS;
  }
  const int code = wire::host().MPI_T_cvar_get_index(name, cvar_index);
  if (code == MPI_SUCCESS) *cvar_index = control_numbers().from_host(*cvar_index);
  return code;
}

int t_cvar_handle_alloc(int cvar_index, void *obj_handle, MPI_T_cvar_handle *handle, int *count) {
  if (const int code = control_numbers().ask(); code != MPI_SUCCESS) return code;
  const auto &numbers = control_numbers();
  if (!numbers.is_own(cvar_index)) {
    return wire::host().MPI_T_cvar_handle_alloc(numbers.to_host(cvar_index), obj_handle, handle, count);
  }
  if (handle == nullptr || count == nullptr) return MPI_T_ERR_INVALID;
  const KnobValue &knob = knobs()[static_cast<std::size_t>(numbers.own(cvar_index))];
  *handle = reinterpret_cast<MPI_T_cvar_handle>(const_cast<KnobValue *>(&knob));
  *count = count_of(knob);
  return MPI_SUCCESS;
}

int t_cvar_handle_free(MPI_T_cvar_handle *handle) {
  if (const int code = control_numbers().ask(); code != MPI_SUCCESS) return code;
  if (handle == nullptr || knob_of(*handle) == nullptr) return wire::host().MPI_T_cvar_handle_free(handle);
  *handle = MPI_T_CVAR_HANDLE_NULL;
  return MPI_SUCCESS;
}

int t_cvar_read(MPI_T_cvar_handle handle, void *buf) {
  const Status refused = refusal("MPI_T_cvar_read", {byte_buffer("buf", buf, 1)});
  if (!refused.is_ok()) return answer("MPI_T_cvar_read", MPI_T_ERR_INVALID, refused);
  if (const int code = control_numbers().ask(); code != MPI_SUCCESS) return code;
  const KnobValue *const knob = knob_of(handle);
  if (knob == nullptr) return wire::host().MPI_T_cvar_read(handle, buf);
  if (buf == nullptr) return MPI_T_ERR_INVALID;
  read(*knob, buf);
  return MPI_SUCCESS;
}

int t_cvar_write(MPI_T_cvar_handle handle, const void *buf) {
  const Status refused = refusal("MPI_T_cvar_write", {byte_buffer("buf", buf, 1)});
  if (!refused.is_ok()) return answer("MPI_T_cvar_write", MPI_T_ERR_INVALID, refused);
  if (const int code = control_numbers().ask(); code != MPI_SUCCESS) return code;
  return knob_of(handle) != nullptr ? MPI_T_ERR_CVAR_SET_NEVER : wire::host().MPI_T_cvar_write(handle, buf);
}

}  // namespace sluice::ops

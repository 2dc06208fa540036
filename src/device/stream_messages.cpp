// SPDX-License-Identifier: BSD-3-Clause
#include "device/stream_messages.hpp"

#include <dlfcn.h>

namespace sluice::device {

// The module is found by its table, which lies in it.
const sluice_stream_message_t *find_stream_messages(const Backend &backend) {
  Dl_info module{};
  if (dladdr(&backend.table(), &module) == 0 || module.dli_fname == nullptr) return nullptr;
  void *library = dlopen(module.dli_fname, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  const auto entry = reinterpret_cast<sluice_stream_message_fn>(dlsym(library, SLUICE_STREAM_MESSAGE_SYMBOL));
  const sluice_stream_message_t *table = entry != nullptr ? entry() : nullptr;
  dlclose(library);  // the registry has it open
  const bool is_usable = table != nullptr && table->api_version == SLUICE_STREAM_MESSAGE_API_VERSION &&
                         table->struct_size >= sizeof(*table) &&
                         (table->can_carry != nullptr || table->is_captured != nullptr) &&
                         (table->can_carry != nullptr) == (table->send != nullptr) &&
                         (table->can_carry != nullptr) == (table->receive != nullptr) &&
                         (table->can_send_aside == nullptr || table->can_carry != nullptr) &&
                         (table->can_send_aside != nullptr) == (table->send_aside != nullptr) &&
                         (table->can_send_aside != nullptr) == (table->join != nullptr) &&
                         (table->can_receive_aside == nullptr || table->can_send_aside != nullptr) &&
                         (table->can_receive_aside != nullptr) == (table->receive_aside != nullptr) &&
                         (table->can_receive_aside != nullptr) == (table->join_all != nullptr) &&
                         (table->is_captured != nullptr) == (table->capture != nullptr) &&
                         (table->is_captured != nullptr) == (table->capture_join != nullptr) &&
                         (table->is_captured != nullptr) == (table->capture_copies != nullptr);
  return is_usable ? table : nullptr;
}

}  // namespace sluice::device

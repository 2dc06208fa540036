// SPDX-License-Identifier: BSD-3-Clause
#include "mappings.h"

#include <algorithm>

namespace sluice::backends::cuda {

// Never destroyed: memory may be given back while the process exits.
std::map<MappingKey, Mapping> &mappings() {
  static auto *const all = new std::map<MappingKey, Mapping>();
  return *all;
}

std::mutex &mappings_mutex() {
  static auto *const mutex = new std::mutex();
  return *mutex;
}

bool is_opened(int32_t device, CUdeviceptr range_begin) {
  const std::scoped_lock lock(mappings_mutex());
  return std::any_of(mappings().begin(), mappings().end(), [&](const auto &entry) {
    return entry.first.first == device && entry.second.range_begin == range_begin;
  });
}

bool is_within_opened(int32_t device, unsigned long long context_number, const void *address) {
  if (context_number == 0) return false;
  const std::scoped_lock lock(mappings_mutex());
  const MappingKey behind = {device, const_cast<void *>(address)};  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  auto found = mappings().upper_bound(behind);
  if (found == mappings().begin()) return false;
  --found;
  const Mapping &mapping = found->second;
  const auto *const first = static_cast<const std::byte *>(found->first.second);
  return found->first.first == device && mapping.context_number == context_number &&
         mapping.n_opened > mapping.n_closing &&
         static_cast<size_t>(static_cast<const std::byte *>(address) - first) < mapping.size_bytes;
}

}  // namespace sluice::backends::cuda

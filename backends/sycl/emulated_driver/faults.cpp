// SPDX-License-Identifier: BSD-3-Clause
#include "faults.h"

#include <charconv>

namespace sluice::emulated_driver {
namespace {

struct Fault {
  const char *call;
  std::atomic<uint64_t> n_calls{0};
  std::atomic<uint64_t> first{0};  // 0: none fails
  std::atomic<uint64_t> last{0};
  std::atomic<uint32_t> code{ZE_RESULT_ERROR_DEVICE_LOST};
};

Fault g_faults[] = {
#define CALL(table, Table, Member) {"ze" #Table #Member},
#include "calls.def"
#undef CALL
    {"zeMemPutIpcHandle"}};
static_assert(std::size(g_faults) == static_cast<std::size_t>(Call::kCount));

Fault *find(std::string_view call) noexcept {
  for (Fault &fault : g_faults) {
    if (call == fault.call) return &fault;
  }
  return nullptr;
}

template <typename Number>
bool read(std::string_view text, int base, Number *number) noexcept {
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), *number, base);
  return error == std::errc() && stop == text.data() + text.size();
}

}  // namespace

bool set_fault(std::string_view word) noexcept {
  const auto take = [&] {
    const std::size_t slash = word.find('/');
    const std::string_view part = word.substr(0, slash);
    word = slash == std::string_view::npos ? std::string_view() : word.substr(slash + 1);
    return part;
  };
  Fault *const fault = find(take());
  std::string_view when = take();
  uint64_t first = 0;
  uint32_t code = ZE_RESULT_ERROR_DEVICE_LOST;
  const bool is_rest = when.ends_with('+');
  if (is_rest) when.remove_suffix(1);
  if (fault == nullptr || !read(when, 10, &first) || first == 0) return false;
  if (!word.empty() && (!read(word, 16, &code) || code == ZE_RESULT_SUCCESS)) return false;
  fault->code = code;
  fault->last = is_rest ? UINT64_MAX : first;
  fault->first = first;
  return true;
}

ze_result_t fault_of(Call call) noexcept {
  Fault &fault = g_faults[static_cast<std::size_t>(call)];
  const uint64_t number = ++fault.n_calls;
  const uint64_t first = fault.first;
  const bool strikes = first != 0 && number >= first && number <= fault.last;
  return strikes ? static_cast<ze_result_t>(fault.code.load()) : ZE_RESULT_SUCCESS;
}

}  // namespace sluice::emulated_driver

// For tests in this process, which find these by name: forgets all faults and counts, then takes one word (as
// set_fault; null: none). 0, or -1 when the word is not understood.
extern "C" __attribute__((visibility("default"))) int emulated_set_fault(const char *word) {
  for (sluice::emulated_driver::Fault &fault : sluice::emulated_driver::g_faults) fault.first = fault.n_calls = 0;
  return word == nullptr || sluice::emulated_driver::set_fault(word) ? 0 : -1;
}
// How often that call was made since then.
extern "C" __attribute__((visibility("default"))) uint64_t emulated_n_calls(const char *call) {
  const sluice::emulated_driver::Fault *const fault = sluice::emulated_driver::find(call);
  return fault != nullptr ? fault->n_calls.load() : 0;
}

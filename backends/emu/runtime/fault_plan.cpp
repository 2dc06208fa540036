// SPDX-License-Identifier: BSD-3-Clause
// Reads fault specifications and counts events.
#include "runtime/fault_plan.h"

#include <charconv>
#include <iterator>
#include <numeric>
#include <utility>

#include "runtime/error.h"

namespace emurt {
namespace {

constexpr uint64_t kMaxDelayUs = 60'000'000;

constexpr std::string_view kPointNames[] = {"alloc",      "host_alloc",  "queue_create", "ticket", "copy",
                                            "queue_copy", "flip",        "queue_flip",   "lose",   "queue_lose",
                                            "kernel",     "kernel_flip", "kernel_reach", "word",   "early",
                                            "ipc_export", "ipc_open"};
static_assert(std::size(kPointNames) == static_cast<size_t>(FaultPoint::kCount));

bool parse_number(std::string_view text, uint64_t *number) {
  const char *begin = text.data();
  const char *end = begin + text.size();
  const auto [stop, error] = std::from_chars(begin, end, *number);
  return error == std::errc() && stop == end;
}

bool parse_pair(std::string_view text, uint64_t *first, uint64_t *last) {
  const size_t dash = text.find('-');
  return dash != std::string_view::npos && parse_number(text.substr(0, dash), first) &&
         parse_number(text.substr(dash + 1), last) && *first <= *last;
}

}  // namespace

std::string_view FaultPlan::name(FaultPoint point) {
  return kPointNames[static_cast<size_t>(point)];
}

bool FaultPlan::parse_window(std::string_view text, Window *window) {
  if (!text.empty() && text.back() == '+') {
    window->last = UINT64_MAX;
    return parse_number(text.substr(0, text.size() - 1), &window->first) && window->first > 0;
  }
  if (parse_pair(text, &window->first, &window->last)) return window->first > 0;
  if (!parse_number(text, &window->first) || window->first == 0) return false;
  window->last = window->first;
  return true;
}

bool FaultPlan::parse_item(std::string_view item, Settings *settings) {
  if (item == "reorder") {
    settings->is_reordering = true;
    return true;
  }
  const size_t colon = item.find(':');
  if (colon == std::string_view::npos) return false;
  const std::string_view what = item.substr(0, colon);
  const std::string_view when = item.substr(colon + 1);
  if (what == "delay_us") {
    return parse_pair(when, &settings->min_delay_us, &settings->max_delay_us) && settings->max_delay_us <= kMaxDelayUs;
  }
  for (size_t i = 0; i < kPoints; ++i) {
    if (what == kPointNames[i]) return parse_window(when, &settings->windows[i]);
  }
  return false;
}

emu_result_t FaultPlan::set(std::string_view origin, std::string_view specification) {
  Settings settings;
  for (std::string_view rest = specification; !rest.empty();) {
    const size_t comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    if (!parse_item(item, &settings)) {
      return fail(EMU_ERROR_CONFIGURATION,
                  "{}: \"{}\" in \"{}\" is not understood; expected <point>:<n>, <n>+ or <n>-<m> with point one of "
                  "alloc, host_alloc, queue_create, ticket, copy, queue_copy, flip, queue_flip, lose, queue_lose, "
                  "kernel, kernel_flip, kernel_reach, word, early, ipc_export, ipc_open, or "
                  "delay_us:<a>-<b> up to {}, or reorder",
                  origin, item, specification, kMaxDelayUs);
    }
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  const std::scoped_lock lock(mutex_);
  settings_ = settings;
  n_events_.fill(0);
  random_.seed(seed_);
  is_active_.store(!specification.empty(), std::memory_order_release);
  return EMU_SUCCESS;
}

bool FaultPlan::strikes(FaultPoint point, uint64_t *event) {
  if (!is_active_.load(std::memory_order_acquire)) return false;
  const std::scoped_lock lock(mutex_);
  const auto i = static_cast<size_t>(point);
  *event = ++n_events_[i];
  const Window &window = settings_.windows[i];
  return window.first != 0 && *event >= window.first && *event <= window.last;
}

std::chrono::nanoseconds FaultPlan::delay() {
  if (!is_active_.load(std::memory_order_acquire)) return {};
  const std::scoped_lock lock(mutex_);
  if (settings_.max_delay_us == 0) return {};
  const uint64_t span_us = settings_.max_delay_us - settings_.min_delay_us;
  return std::chrono::microseconds(settings_.min_delay_us + random_below(span_us + 1));
}

bool FaultPlan::reorder(std::vector<size_t> *positions) {
  if (!is_active_.load(std::memory_order_acquire)) return false;
  const std::scoped_lock lock(mutex_);
  if (!settings_.is_reordering) return false;
  std::iota(positions->begin(), positions->end(), size_t{0});
  // Shuffled by hand: std::shuffle differs between standard libraries, and a seed should mean the same everywhere.
  for (size_t n = positions->size(); n > 1; --n) std::swap((*positions)[n - 1], (*positions)[random_below(n)]);
  // Two copies would often stay in order; a batch is never left as it was.
  const std::vector<size_t> &order = *positions;
  bool is_in_order = true;
  for (size_t i = 0; i < order.size(); ++i) is_in_order = is_in_order && order[i] == i;
  if (is_in_order && order.size() > 1) std::swap(positions->front(), positions->back());
  return true;
}

size_t FaultPlan::position_in(size_t n) {
  const std::scoped_lock lock(mutex_);
  return random_below(n);
}

uint64_t FaultPlan::random_below(uint64_t n) {
  return random_() % n;
}

}  // namespace emurt

// SPDX-License-Identifier: BSD-3-Clause
#include "ops/rma/window.hpp"

#include <algorithm>
#include <utility>

#include "base/short_mutex.hpp"
#include "ops/comm/agreement.hpp"
#include "ops/request/turns.hpp"
#include "wire/host_failure.hpp"

namespace sluice::ops::rma {
namespace {

// Few: a list is as quick as any table.
struct Table {
  ShortMutex mutex;
  std::vector<WindowPtr> windows;
};

Table &table() {
  static auto *one = new Table;  // never destroyed: windows may be freed while the process exits
  return *one;
}

}  // namespace

namespace detail {

std::atomic<int> n_own{0};

WindowPtr look_up(MPI_Win handle) {
  const std::scoped_lock lock(table().mutex);
  const auto &windows = table().windows;
  const auto found =
      std::find_if(windows.begin(), windows.end(), [handle](const WindowPtr &one) { return one->handle == handle; });
  return found == windows.end() ? nullptr : *found;
}

}  // namespace detail

void add_own(WindowPtr window) {
  const std::scoped_lock lock(table().mutex);
  table().windows.push_back(std::move(window));
  detail::n_own.store(static_cast<int>(table().windows.size()), std::memory_order_release);
}

void remove_own(MPI_Win handle) {
  const std::scoped_lock lock(table().mutex);
  std::erase_if(table().windows, [handle](const WindowPtr &one) { return one->handle == handle; });
  detail::n_own.store(static_cast<int>(table().windows.size()), std::memory_order_release);
}

void end_windows() noexcept {
  std::vector<WindowPtr> windows;
  {
    const std::scoped_lock lock(table().mutex);
    windows.swap(table().windows);
    detail::n_own.store(0, std::memory_order_release);
  }
  for (const WindowPtr &window : windows) window->messages->end();
}

Status flush_operations(Window *window, int target) {
  Status status = window->direct->flush();
  if (!window->messages->is_quiet(target)) {
    progress::turn_until([&] { return window->messages->is_quiet(target); });
  }
  Status failure = window->messages->take_failure();
  return status.is_ok() ? failure : status;
}

Status come_together(const Window &window) {
  const int code = come_together_by_host(window.comm.get());
  return wire::host_status(code, "let the ranks of a window wait for each other");
}

}  // namespace sluice::ops::rma

// SPDX-License-Identifier: BSD-3-Clause
// Active target synchronisation: fences, and MPI_Win_post, start, complete, wait and test.
#include <numeric>
#include <utility>

#include "ops/request/turns.hpp"
#include "ops/rma/synchronization.hpp"
#include "wire/host.hpp"
#include "wire/host_failure.hpp"

namespace sluice::ops::rma {
namespace {

// The ranks of the window that are in `group`.
Status find_ranks(const Window &window, MPI_Group group, std::vector<int> *ranks) {
  int size = 0;
  if (group == MPI_GROUP_NULL || wire::host().MPI_Group_size(group, &size) != MPI_SUCCESS) {
    return Status::error(ErrorKind::kBadGroup,
                         "a window was given a group that is none; give a group of ranks of the window");
  }
  std::vector<int> own(static_cast<std::size_t>(size));
  std::iota(own.begin(), own.end(), 0);
  ranks->resize(own.size());
  if (size == 0) return {};
  const int code = wire::host().MPI_Group_translate_ranks(group, size, own.data(), window.group.get(), ranks->data());
  if (code != MPI_SUCCESS) return wire::host_failure(code, "say who is in a group");
  for (const int rank : *ranks) {
    if (rank == MPI_UNDEFINED) {
      return Status::error(
          ErrorKind::kBadGroup,
          "a rank of the group is not in the window; make the group out of the window's (MPI_Win_get_group)");
    }
  }
  return {};
}

// Tells each of `ranks`.
Status tell(Window *window, transfer::WindowAction action, const std::vector<int> &ranks) {
  transfer::WindowHeader header;
  header.action = action;
  const auto asked = std::make_shared<Asked>();
  Status status;
  for (const int rank : ranks) {
    if (status.is_ok()) status = window->messages->ask(rank, header, {}, {}, asked);
  }
  window->messages->close(asked, {});
  return status;
}

}  // namespace

int win_fence(Window *window, int assertion) {
  return guarded_on(*window, [&]() -> Status {
    {
      const std::scoped_lock lock(window->epochs_mutex);
      const bool opens = (assertion & MPI_MODE_NOSUCCEED) == 0;
      if (Status status = window->epochs.fence(opens); !status.is_ok()) return status;
    }
    Status status = flush_operations(window, -1);
    const Status together = come_together(*window);
    return status.is_ok() ? together : status;
  });
}

int win_start(Window *window, MPI_Group group, int /*assertion*/) {
  return guarded_on(*window, [&]() -> Status {
    std::vector<int> ranks;
    if (Status status = find_ranks(*window, group, &ranks); !status.is_ok()) return status;
    {
      const std::scoped_lock lock(window->epochs_mutex);
      if (Status status = window->epochs.start(ranks); !status.is_ok()) return status;
    }
    for (const int rank : ranks) {
      progress::turn_until([&] { return window->messages->take_post(rank); });
    }
    return {};
  });
}

int win_complete(Window *window) {
  return guarded_on(*window, [&]() -> Status {
    std::vector<int> ranks;
    {
      const std::scoped_lock lock(window->epochs_mutex);
      if (Status status = window->epochs.complete(&ranks); !status.is_ok()) return status;
    }
    Status status = flush_operations(window, -1);
    const Status told = tell(window, transfer::WindowAction::kComplete, ranks);
    return status.is_ok() ? told : status;
  });
}

int win_post(Window *window, MPI_Group group, int /*assertion*/) {
  return guarded_on(*window, [&]() -> Status {
    std::vector<int> ranks;
    if (Status status = find_ranks(*window, group, &ranks); !status.is_ok()) return status;
    {
      const std::scoped_lock lock(window->epochs_mutex);
      if (Status status = window->epochs.post(ranks); !status.is_ok()) return status;
    }
    return tell(window, transfer::WindowAction::kPost, ranks);
  });
}

int win_wait(Window *window) {
  return guarded_on(*window, [&]() -> Status {
    std::vector<int> ranks;
    {
      const std::scoped_lock lock(window->epochs_mutex);
      if (Status status = window->epochs.find_posted(&ranks); !status.is_ok()) return status;
    }
    progress::turn_until([&] { return window->messages->take_completes(ranks); });
    const std::scoped_lock lock(window->epochs_mutex);
    window->epochs.end_post();
    return {};
  });
}

int win_test(Window *window, int *flag) {
  return guarded_on(*window, [&]() -> Status {
    *flag = 0;
    std::vector<int> ranks;
    {
      const std::scoped_lock lock(window->epochs_mutex);
      if (Status status = window->epochs.find_posted(&ranks); !status.is_ok()) return status;
    }
    progress::Engine::process().turn();
    if (!window->messages->take_completes(ranks)) return {};
    *flag = 1;
    const std::scoped_lock lock(window->epochs_mutex);
    window->epochs.end_post();
    return {};
  });
}

}  // namespace sluice::ops::rma

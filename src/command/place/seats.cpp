// SPDX-License-Identifier: BSD-3-Clause
#include "command/place/seats.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::command::place {
namespace {

SeatProblem check_list(const BindRule &rule, std::size_t n_devices, int n_ranks) {
  for (int rank = 0; rank < n_ranks; ++rank) {
    const auto place = static_cast<std::size_t>(rank);
    if (place >= rule.devices.size()) {
      return {
          Status::error(ErrorKind::kInvalidArgument,
                        fmt::format("--bind: the list names {} device{}, and {} ranks run on this node: name one for "
                                    "each, the same one twice if that is meant",
                                    rule.devices.size(), rule.devices.size() == 1 ? "" : "s", n_ranks)),
          rank};
    }
    if (static_cast<std::size_t>(rule.devices[place]) >= n_devices) {
      return {Status::error(
                  ErrorKind::kInvalidArgument,
                  fmt::format("--bind: there is no device {}: this node shows {}, numbered from 0; name one of those",
                              rule.devices[place], n_devices)),
              rank};
    }
  }
  return {};
}

}  // namespace

SeatProblem plan_seats(const Machine &machine, const std::vector<Nearness> &devices, const BindRule &rule, int n_ranks,
                       std::vector<Seat> *seats) {
  seats->clear();
  if (rule.kind == BindKind::kList) {
    if (SeatProblem problem = check_list(rule, devices.size(), n_ranks); !problem.status.is_ok()) return problem;
  }
  for (int rank = 0; rank < n_ranks; ++rank) {
    const auto place = static_cast<std::size_t>(rank);
    Seat seat;
    seat.device =
        rule.kind == BindKind::kList ? rule.devices[place] : static_cast<std::int32_t>(place % devices.size());
    seats->push_back(std::move(seat));
  }
  const auto near = [&](const Seat &seat) -> const ThreadSet & {
    return devices[static_cast<std::size_t>(seat.device)].threads;
  };
  for (std::size_t i = 0; i < seats->size(); ++i) {
    Seat &seat = (*seats)[i];
    const auto is_beside = [&](const Seat &other) { return near(other) == near(seat); };
    const auto n_beside = static_cast<int>(std::count_if(seats->begin(), seats->end(), is_beside));
    const auto before = seats->begin() + static_cast<std::ptrdiff_t>(i);
    const auto share = static_cast<int>(std::count_if(seats->begin(), before, is_beside));
    seat.threads = machine.share_of(near(seat), share, n_beside);
    const bool is_whole = !seat.threads.is_empty() && seat.threads == near(seat);
    seat.n_sharing = is_whole ? n_beside : 1;
  }
  return {};
}

}  // namespace sluice::command::place

// SPDX-License-Identifier: BSD-3-Clause
#include "command/place/start.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/environment.hpp"
#include "base/local_rank.hpp"
#include "base/log.hpp"
#include "command/bind_rule.hpp"
#include "command/place/devices.hpp"
#include "command/place/machine.hpp"
#include "command/place/seats.hpp"

namespace sluice::command::place {
namespace {

constexpr int kWrongRequest = 2;
constexpr int kCannotRun = 126;
constexpr int kNotFound = 127;

// A reason that all ranks of a node have is given by the first of them.
void say_unbound(const LocalRank &self, const std::string &why) {
  if (self.rank == 0) fmt::print(stderr, "sluice run --bind: the ranks of this node are not bound: {}\n", why);
}

void bind_to_seat(const Machine &machine, const LocalRank &self, const Seat &seat, const Nearness &near) {
  if (seat.threads.is_empty()) {
    fmt::print(stderr,
               "sluice run --bind: rank {} of this node is not bound: the cores near device {} are not known ({})\n",
               self.rank, seat.device, near.found_by);
    return;
  }
  if (const Status status = machine.bind(seat.threads); !status.is_ok()) {
    fmt::print(stderr, "sluice run --bind: rank {} of this node is not bound: {}\n", self.rank, status.message());
    return;
  }
  if (seat.n_sharing > 1 && self.rank == 0) {
    fmt::print(stderr, "sluice run --bind: {} ranks share cores {}, of which there are fewer than ranks\n",
               seat.n_sharing, seat.threads.text());
  }
  log::info("command",
            fmt::format("local rank {} by {} device {} cores {}", self.rank,
                        self.variable.empty() ? "no launcher" : self.variable, seat.device, seat.threads.text()));
}

// 0: go on, bound or not.
int bind_self(const Installation &installation, const std::string &backends, const BindRule &rule) {
  const LocalRank self = find_local_rank(environment_variable).value_or(LocalRank{0, 1, ""});
  Devices devices;
  Machine machine;
  Status status = open_devices(installation, backends, &devices);
  if (status.is_ok()) status = Machine::load(&machine);
  if (!status.is_ok() && rule.kind == BindKind::kList) {  // it names devices, and there are none
    if (self.rank != 0) return 0;
    fmt::print(stderr, "sluice run: --bind list: {}\n", status.message());
    return kWrongRequest;
  }
  if (!status.is_ok()) {
    say_unbound(self, status.message());
    return 0;
  }
  if (!machine.is_this_one()) {
    say_unbound(self, "hwloc was given the description of another machine (HWLOC_XMLFILE, HWLOC_SYNTHETIC)");
    return 0;
  }
  std::vector<Nearness> nearness;
  nearness.reserve(devices.infos.size());
  for (const sluice_device_info_t &info : devices.infos) nearness.push_back(machine.near(info));
  // Without a count the ranks after this one are not known; all that is lost is that cores may be given twice.
  const int n_ranks = std::max(self.n_ranks, self.rank + 1);
  std::vector<Seat> seats;
  const SeatProblem problem = plan_seats(machine, nearness, rule, n_ranks, &seats);
  if (!problem.status.is_ok()) {
    if (problem.rank != self.rank) return 0;
    fmt::print(stderr, "sluice run: {}\n", problem.status.message());
    return kWrongRequest;
  }
  const Seat &seat = seats[static_cast<std::size_t>(self.rank)];
  bind_to_seat(machine, self, seat, nearness[static_cast<std::size_t>(seat.device)]);
  return 0;
}

}  // namespace

int start_bound(const Installation &installation, const std::string &backends, const std::string &bind,
                std::vector<std::string> command) {
  BindRule rule;
  Status status = parse_bind_rule(bind, &rule);
  if (status.is_ok() && command.empty()) {
    status =
        Status::error(ErrorKind::kInvalidArgument, "no command behind --; write the program and its arguments there");
  }
  if (!status.is_ok()) {
    fmt::print(stderr, "sluice run: {}\n", status.message());
    return kWrongRequest;
  }
  if (rule.kind != BindKind::kNone) {
    if (const int wrong = bind_self(installation, backends, rule); wrong != 0) return wrong;
  }
  std::vector<char *> words;
  words.reserve(command.size() + 1);
  for (std::string &word : command) words.push_back(word.data());
  words.push_back(nullptr);
  execvp(words[0], words.data());
  const int error = errno;
  fmt::print(stderr, "sluice run: cannot start {}: {}; check the command's first word\n", words[0],
             std::strerror(error));
  return error == ENOENT ? kNotFound : kCannotRun;
}

}  // namespace sluice::command::place

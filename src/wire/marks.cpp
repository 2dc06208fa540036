// SPDX-License-Identifier: BSD-3-Clause
#include "wire/marks.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstring>
#include <exception>
#include <functional>
#include <string_view>
#include <system_error>
#include <thread>

#include "base/environment.hpp"
#include "base/local_rank.hpp"
#include "base/log.hpp"
#include "wire/local_socket.hpp"

namespace sluice::wire {
namespace {

std::string variable(const char *name) {
  const char *text = environment_variable(name);
  return text != nullptr ? text : "";
}

// The process of the launcher that has given this one a socket to ask it by, whatever shells stand between; 0: none
// that is seen from here.
int launcher_process() {
  const std::string text = variable("PMI_FD");
  int socket = -1;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), socket);
  if (error != std::errc{} || socket < 0) return 0;
  ucred peer = {};
  socklen_t length = sizeof peer;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 ? peer.pid : 0;
}

// What the ranks of one job on this node have in common, and nobody else; empty when that is not known.
std::string find_job() {
  if (const std::string space = variable("PMIX_NAMESPACE"); !space.empty()) {
    return "pmix " + space + " " + variable("PMIX_SERVER_TMPDIR");
  }
  if (const int process = launcher_process(); process > 0) {
    // Of the name space of processes, too: containers may count them alike.
    std::array<char, 64> space{};
    if (readlink("/proc/self/ns/pid", space.data(), space.size() - 1) < 0) space[0] = '\0';
    return fmt::format("process {} {}", process, space.data());
  }
  if (const std::string port = variable("PMI_PORT"); !port.empty()) return "port " + port;
  if (const std::string job = variable("SLURM_JOB_ID"); !job.empty()) {
    return "slurm " + job + "." + variable("SLURM_STEP_ID");
  }
  return "";
}

std::string mark_of(const std::string &job, int rank) {
  return fmt::format("sluice-rank-{:016x}-{}", std::hash<std::string>()(job), rank);
}

}  // namespace

Marks &Marks::process() {
  static auto *made = new Marks();
  return *made;
}

void Marks::leave() noexcept {
  try {
    const auto local = find_local_rank(environment_variable);
    if (!local || local->n_ranks < 2) return;
    job_ = find_job();
    n_local_ = local->n_ranks;
    rank_ = local->rank;
    if (job_.empty()) return;
    if (const Status status = listen_at(mark_of(job_, rank_), &mark_); !status.is_ok()) {
      mark_ = FileDescriptor();
      log::debug("wire", status.message());
    }
  } catch (const std::exception &error) {
    mark_ = FileDescriptor();
    log::debug("wire", error.what());
  }
}

MarkedRanks Marks::look(int world_size) {
  constexpr std::chrono::milliseconds kBetweenLooks{10};
  constexpr int kMostLooks = 100;
  MarkedRanks found;
  // More than all are those of another program, whose environment this one has.
  if (mark_.get() < 0 || n_local_ > world_size) return found;
  found.n_local = n_local_;
  for (int rank = 0; rank < n_local_; ++rank) found.missing.push_back(rank);
  for (int n_looks = 0; !found.missing.empty() && n_looks < kMostLooks; ++n_looks) {
    if (n_looks > 0) std::this_thread::sleep_for(kBetweenLooks);
    for (auto rank = found.missing.begin(); rank != found.missing.end();) {
      const Presence presence = find_presence(mark_of(job_, *rank));
      if (presence == Presence::kUnknown) return {};
      rank = presence == Presence::kThere ? found.missing.erase(rank) : rank + 1;
    }
  }
  found.is_known = true;
  int first = 0;
  while (std::find(found.missing.begin(), found.missing.end(), first) != found.missing.end()) ++first;
  found.is_first = first == rank_;
  return found;
}

}  // namespace sluice::wire

// SPDX-License-Identifier: BSD-3-Clause
#include "command/job.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>

#include "command/job_processes.hpp"

namespace sluice::command {
namespace {

using nlohmann::ordered_json;
using waiting::Direction;
using Standing = JobProcess::Standing;

constexpr int kCannotLook = 2;
constexpr std::string_view kUnseen = "waits for nothing that Sluice sees";

std::string peer_words(const SeenWait &seen) {
  const std::string_view word = seen.wait.direction == Direction::kSends ? "to" : "from";
  std::string text;
  if (seen.wait.peer == waiting::kAnybody) text = fmt::format(" {} any rank", word);
  if (seen.wait.peer >= 0) text = fmt::format(" {} rank {}", word, seen.wait.peer);
  if (seen.wait.tag == waiting::kAnyTag) text += ", any tag";
  if (seen.wait.tag > waiting::kAnyTag) text += fmt::format(", tag {}", seen.wait.tag);
  return text;
}

std::string words_of(const SeenWait &seen) {
  std::string text = (seen.function.empty() ? "a call of MPI" : seen.function) + peer_words(seen);
  if (!seen.communicator.empty()) text += ", " + seen.communicator;
  return text;
}

// -1: not known.
double seconds_of(const waiting::Wait &wait, std::int64_t now_ns) {
  return wait.begun_ns > 0 && wait.begun_ns <= now_ns ? static_cast<double>(now_ns - wait.begun_ns) * 1e-9 : -1;
}

std::string line_of(const SeenWait &seen, std::int64_t now_ns) {
  std::string text = "waits in " + words_of(seen);
  if (seen.wait.size_bytes != waiting::kUnknownBytes) text += fmt::format(", {} bytes", seen.wait.size_bytes);
  if (seen.wait.route != waiting::kNoRoute) text += fmt::format(", route {}", kRouteNames[seen.wait.route]);
  if (seen.wait.is_in_host != 0) text += ", in the host MPI's own call";
  const double seconds = seconds_of(seen.wait, now_ns);
  return text + (seconds < 0 ? ", since when is not known" : fmt::format(", for {:.1f} s", seconds));
}

std::string standing_line(const JobProcess &process) {
  switch (process.standing) {
    case Standing::kTable:
      return fmt::format("{} (state {}): it is outside of MPI, or inside a call that Sluice does not tell", kUnseen,
                         process.state);
    case Standing::kNoTable:
      return "has Sluice, and no table: MPI is not in use there, or Sluice is off";
    case Standing::kNoSluice:
      return "has an MPI and no Sluice";
    case Standing::kClosed:
      return "cannot be looked into: start the doctor as the user of the job";
  }
  return "";
}

std::string who(const JobProcess &process) {
  return process.standing == Standing::kTable ? fmt::format("rank {} (process {})", process.table.rank, process.pid)
                                              : fmt::format("process {}", process.pid);
}

// The one process with that rank of a world of that size; null: none, or several (two jobs below one process).
const JobProcess *find_rank(const std::vector<JobProcess> &processes, int rank, int size) {
  const JobProcess *found = nullptr;
  for (const JobProcess &process : processes) {
    if (process.standing != Standing::kTable || process.table.rank != rank || process.table.size != size) continue;
    if (found != nullptr) return nullptr;
    found = &process;
  }
  return found;
}

ordered_json json_of(const SeenWait &seen, std::int64_t now_ns) {
  const waiting::Wait &wait = seen.wait;
  ordered_json made = {{"function", seen.function}, {"communicator", seen.communicator}};
  if (wait.peer >= 0) made["peer"] = wait.peer;
  if (wait.world_peer >= 0) made["world_peer"] = wait.world_peer;
  if (wait.tag > waiting::kAnyTag) made["tag"] = wait.tag;
  if (wait.size_bytes != waiting::kUnknownBytes) made["bytes"] = wait.size_bytes;
  if (wait.route != waiting::kNoRoute) made["route"] = kRouteNames[wait.route];
  made["is_in_host"] = wait.is_in_host != 0;
  if (const double seconds = seconds_of(wait, now_ns); seconds >= 0) made["seconds"] = seconds;
  return made;
}

}  // namespace

std::vector<std::string> conclude(const std::vector<JobProcess> &processes) {
  std::vector<std::string> sentences;
  for (const JobProcess &process : processes) {
    const WaitTable &table = process.table;
    // Two threads that wait may wait for each other's peers; one thread tells what holds its rank up.
    if (process.standing != Standing::kTable || table.waits.size() != 1) continue;
    const SeenWait &seen = table.waits.front();
    if (seen.wait.world_peer < 0 || seen.wait.world_peer == table.rank) continue;
    const JobProcess *peer = find_rank(processes, seen.wait.world_peer, table.size);
    if (peer == nullptr || find_rank(processes, table.rank, table.size) == nullptr) continue;
    std::string other(kUnseen);
    if (!peer->table.waits.empty()) other = "waits in " + words_of(peer->table.waits.front());
    sentences.push_back(
        fmt::format("Rank {} waits in {}; rank {} {}.", table.rank, words_of(seen), seen.wait.world_peer, other));
  }
  return sentences;
}

std::string job_text(const std::vector<JobProcess> &processes, std::int64_t now_ns) {
  std::string text;
  for (const JobProcess &process : processes) {
    if (process.standing != Standing::kTable || process.table.waits.empty()) {
      text += fmt::format("{} {}\n", who(process), standing_line(process));
    }
    for (const SeenWait &seen : process.table.waits)
      text += fmt::format("{} {}\n", who(process), line_of(seen, now_ns));
  }
  for (const std::string &sentence : conclude(processes)) text += fmt::format("- {}\n", sentence);
  return text;
}

std::string job_json(const std::vector<JobProcess> &processes, std::int64_t now_ns) {
  constexpr std::string_view kNames[] = {"table", "no_table", "no_sluice", "closed"};
  ordered_json list = ordered_json::array();
  for (const JobProcess &process : processes) {
    ordered_json made = {{"process", process.pid},
                         {"standing", kNames[static_cast<std::size_t>(process.standing)]},
                         {"state", std::string(1, process.state)}};
    if (process.standing == Standing::kTable) {
      made["rank"] = process.table.rank;
      made["size"] = process.table.size;
    }
    made["waits"] = ordered_json::array();
    for (const SeenWait &seen : process.table.waits) made["waits"].push_back(json_of(seen, now_ns));
    list.push_back(std::move(made));
  }
  const ordered_json root = {{"format", 1}, {"processes", list}, {"conclusions", conclude(processes)}};
  return root.dump(2, ' ', true, ordered_json::error_handler_t::replace) + "\n";
}

int examine_job(int pid, bool wants_json) {
  const std::optional<std::vector<JobProcess>> processes = look_at_job(pid);
  if (!processes || processes->empty()) {
    const std::string what = pid == kOwnProcesses ? "this user has no process with MPI on this node"
                             : processes          ? fmt::format("{} has no process with MPI below it", pid)
                                                  : fmt::format("{} is no process of this node", pid);
    fmt::print(stderr, "sluice doctor: {}; name the launcher of a running job, or one of its ranks\n", what);
    return kCannotLook;
  }
  const std::int64_t now_ns = std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
  const std::string text = wants_json ? job_json(*processes, now_ns) : job_text(*processes, now_ns);
  std::fputs(text.c_str(), stdout);
  for (const JobProcess &process : *processes) {
    if (!process.table.waits.empty()) return 1;
  }
  return 0;
}

}  // namespace sluice::command

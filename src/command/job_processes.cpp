// SPDX-License-Identifier: BSD-3-Clause
#include "command/job_processes.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>
#include <utility>

#include "base/file_descriptor.hpp"

namespace sluice::command {
namespace {

namespace fs = std::filesystem;

// A wait that lasts so long is worth a word.
constexpr std::chrono::milliseconds kBetweenLooks{100};

struct Entry {
  int parent = 0;
  char state = '?';
};

std::string contents_of(const fs::path &path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::optional<int> number_of(const std::string &text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

// Parent and state. The name in front of them may have any characters, parentheses too.
std::optional<Entry> entry_of(int pid) {
  const std::string stat = contents_of(fmt::format("/proc/{}/stat", pid));
  const std::size_t end = stat.rfind(')');
  if (end == std::string::npos) return std::nullopt;
  Entry entry;
  std::istringstream words(stat.substr(end + 1));
  if (!(words >> entry.state >> entry.parent)) return std::nullopt;
  return entry;
}

std::map<int, Entry> all_processes() {
  std::map<int, Entry> found;
  std::error_code error;
  for (fs::directory_iterator file("/proc", error); !error && file != fs::directory_iterator(); file.increment(error)) {
    const std::optional<int> pid = number_of(file->path().filename().string());
    if (!pid) continue;
    if (const std::optional<Entry> entry = entry_of(*pid)) found[*pid] = *entry;
  }
  return found;
}

bool is_own(int pid) {
  struct stat facts = {};
  return stat(fmt::format("/proc/{}", pid).c_str(), &facts) == 0 && facts.st_uid == geteuid();
}

// Whether `pid` is `root` or below it.
bool is_below(const std::map<int, Entry> &all, int pid, int root) {
  for (std::size_t n_steps = 0; n_steps <= all.size(); ++n_steps) {
    if (pid == root) return true;
    const auto found = all.find(pid);
    if (found == all.end() || found->second.parent <= 0) return false;
    pid = found->second.parent;
  }
  return false;
}

// The number that the process has for itself: the last one, where it lives in namespaces of its own.
int own_number_of(int pid) {
  std::istringstream lines(contents_of(fmt::format("/proc/{}/status", pid)));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("NSpid:")) continue;
    std::istringstream words(line.substr(6));
    int number = pid;
    for (int next = 0; words >> next;) number = next;
    return number;
  }
  return pid;
}

// The table's file; none: there is no table. *is_closed: the kernel does not let us look.
FileDescriptor open_table(int pid, bool *is_closed) {
  const std::string wanted = fmt::format("/memfd:{} (deleted)", waiting::kFileName);
  std::error_code error;
  fs::directory_iterator file(fmt::format("/proc/{}/fd", pid), error);
  *is_closed = error == std::errc::permission_denied;
  for (; !error && file != fs::directory_iterator(); file.increment(error)) {
    std::error_code gone;
    if (fs::read_symlink(file->path(), gone).string() != wanted) continue;
    return FileDescriptor(open(file->path().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  }
  return FileDescriptor();
}

bool has_library(const std::string &maps, const char *beginning) {
  return maps.find(fmt::format("/{}", beginning)) != std::string::npos;
}

// A look at one process, and the file for the second look.
struct FirstLook {
  JobProcess process;
  FileDescriptor file;
  std::optional<Look> look;
};

// None: the process does not use MPI.
std::optional<FirstLook> look_at(int pid, char state) {
  FirstLook made;
  made.process.pid = pid;
  made.process.state = state;
  bool is_closed = false;
  made.file = open_table(pid, &is_closed);
  if (is_closed) {
    made.process.standing = JobProcess::Standing::kClosed;
    return made;
  }
  if (made.file.get() >= 0) made.look = look_at_table(made.file.get());
  const std::string maps = contents_of(fmt::format("/proc/{}/maps", pid));
  if (!made.look && !has_library(maps, "libmpi")) return std::nullopt;
  made.process.standing =
      has_library(maps, "libsluice_") ? JobProcess::Standing::kNoTable : JobProcess::Standing::kNoSluice;
  return made;
}

}  // namespace

std::optional<std::vector<JobProcess>> look_at_job(int pid) {
  const std::map<int, Entry> all = all_processes();
  if (pid != kOwnProcesses && !all.contains(pid)) return std::nullopt;
  std::vector<FirstLook> looks;
  for (const auto &[number, entry] : all) {
    if (pid == kOwnProcesses ? !is_own(number) : !is_below(all, number, pid)) continue;
    if (std::optional<FirstLook> made = look_at(number, entry.state)) looks.push_back(std::move(*made));
  }
  std::this_thread::sleep_for(kBetweenLooks);
  std::vector<JobProcess> processes;
  for (FirstLook &made : looks) {
    const std::optional<Look> again = made.look ? look_at_table(made.file.get()) : std::nullopt;
    std::optional<WaitTable> table = again ? compare_looks(*made.look, *again) : std::nullopt;
    // A forked child has the file of its parent.
    if (table && table->pid == own_number_of(made.process.pid)) {
      made.process.standing = JobProcess::Standing::kTable;
      made.process.table = std::move(*table);
    }
    processes.push_back(std::move(made.process));
  }
  std::ranges::stable_sort(processes, {}, [](const JobProcess &process) {
    return std::pair(process.standing != JobProcess::Standing::kTable, process.table.rank);
  });
  return processes;
}

}  // namespace sluice::command

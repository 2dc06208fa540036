// SPDX-License-Identifier: BSD-3-Clause
// Which process made a handle for memory: what the ipc.cpp files of the backends write into it and compare. A number of
// a process alone is not enough: numbers are used again, and containers have numbers of their own.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace sluice::backends {

struct ProcessIdentity {
  int32_t pid = 0;             // as the process itself sees it
  uint32_t pid_namespace = 0;  // number of the name space of process numbers; 0 when /proc does not show it
  uint64_t start_time = 0;     // clock ticks since the machine's start; 0 when /proc does not show it

  bool operator==(const ProcessIdentity &) const = default;
};

// When the process began, from /proc/<pid>/stat; 0 when there is no such process or it is hidden.
inline uint64_t process_start_time(int32_t pid) {
  std::FILE *file = std::fopen(("/proc/" + std::to_string(pid) + "/stat").c_str(), "re");
  if (file == nullptr) return 0;
  char text[1024];
  const size_t n = std::fread(text, 1, sizeof text - 1, file);
  std::fclose(file);  // only read from: nothing can be lost
  text[n] = '\0';
  // The second field is the program's name in parentheses, which may hold anything; the 22nd is the start time.
  const char *at = std::strrchr(text, ')');
  for (int field = 2; at != nullptr && field < 22; ++field) at = std::strchr(at + 1, ' ');
  return at != nullptr ? std::strtoull(at + 1, nullptr, 10) : 0;
}

// What a system call's error means to a user: its text, and what to do about those that a process runs into by itself.
inline std::string system_reason(int error_number) {
  std::string text = std::strerror(error_number);
  if (error_number == EMFILE) text += ": raise this process's limit of open files (ulimit -n)";
  if (error_number == ENFILE) text += ": raise the machine's limit of open files (fs.file-max)";
  return text;
}

// Why nothing is seen of the process of that number and start; empty when it runs.
inline std::string why_unseen(int32_t pid, uint64_t start_time) {
  const std::string process = "process " + std::to_string(pid);
  errno = 0;
  const uint64_t seen = process_start_time(pid);
  const int code = errno;
  struct stat ignored = {};
  if (seen != 0) return seen == start_time ? "" : process + " has ended";
  if (stat("/proc/self/stat", &ignored) != 0) return "/proc is not mounted here, so nothing is seen of " + process;
  if (code == ENOENT || code == ESRCH) return process + " has ended";
  return "nothing is seen of " + process + " (" + (code != 0 ? system_reason(code) : "/proc hides it") + ")";
}

inline ProcessIdentity this_process() {
  thread_local ProcessIdentity t_known;
  // A fork's child is another process. One of which /proc showed nothing is looked at again: it may be out of
  // descriptors.
  if (t_known.pid == getpid() && t_known.start_time != 0 && t_known.pid_namespace != 0) return t_known;
  ProcessIdentity identity;
  identity.pid = getpid();
  identity.start_time = process_start_time(identity.pid);
  struct stat name_space = {};
  if (stat("/proc/self/ns/pid", &name_space) == 0) identity.pid_namespace = static_cast<uint32_t>(name_space.st_ino);
  t_known = identity;
  return identity;
}

// FNV-1a: tells bytes that are no handle, or a handle that was cut or changed, from a handle. No secret, no security.
inline uint32_t handle_checksum(const void *bytes, size_t size_bytes) {
  uint32_t sum = 2166136261U;
  for (size_t i = 0; i < size_bytes; ++i) sum = (sum ^ static_cast<const unsigned char *>(bytes)[i]) * 16777619U;
  return sum;
}

}  // namespace sluice::backends

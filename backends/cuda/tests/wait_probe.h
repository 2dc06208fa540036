// SPDX-License-Identifier: BSD-3-Clause
// What the cases of wait_probe.cpp share: one process with a context, a stream that waits for a word, and a clock.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "driver.h"

namespace sluice::backends::cuda::probe {

// How long a call may take before it counts as held up, and how long it may take once the stream goes on.
inline constexpr std::chrono::milliseconds kPatience{1500};

struct Probe {
  Driver driver;
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUstream waiting = nullptr;      // the stream that waits for words[0] >= 1
  CUfunction spin = nullptr;       // the kernel that waits; null: the driver's own operation
  std::uint64_t *words = nullptr;  // host memory that was registered, as the module's words are
  CUdeviceptr words_on_device = 0;
  CUdeviceptr memory = 0;       // 1 MiB of the device
  void *pinned = nullptr;       // 1 MiB
  CUipcMemHandle foreign = {};  // memory of another process, which lives as long as this one
  bool has_foreign = false;
  int answers = -1;  // where the answer goes
};

// Ends this process with an answer when the driver refuses a call that the case needs.
void need(Probe *probe, CUresult result, const char *call);
// Sends the answer and ends this process without cleaning up: a stream may still wait.
[[noreturn]] void answer(Probe *probe, const std::string &text);

// A stream of this priority that waits for nothing.
CUstream make_stream(Probe *probe, int priority);
int greatest_priority(Probe *probe);
// Has probe->waiting wait.
void begin_wait(Probe *probe);
void release(Probe *probe);

// Runs `call` in a thread of its own while the stream waits: "returns, 12 us", "HELD UP until the stream goes on" or
// "HELD UP for ever".
std::string time_call(Probe *probe, const std::function<CUresult()> &call);
// Whether `is_done` comes true within kPatience.
bool comes(const std::function<bool()> &is_done);

struct Case {
  char letter;  // of docs/adr/0032
  const char *name;
  std::string (*run)(Probe *probe);
  int foreign_of = -1;                // the device whose memory another process is to have exported; -1: none
  const char *environment = nullptr;  // NAME=value, set before the driver is loaded
  bool by_kernel = false;             // the stream waits in a kernel that looks at the word again and again
};

// wait_probe_cases.cpp
std::span<const Case> cases();

}  // namespace sluice::backends::cuda::probe

// SPDX-License-Identifier: BSD-3-Clause
// A stand-alone program that tells, on a real device, which calls of the driver are held up while a stream waits for a
// word (cuStreamWaitValue64): docs/adr/0032 has the questions, by letter. Each case runs in a process of its own with a
// limit, so that one that hangs costs some seconds; the whole takes less than a minute.
//   cuda_wait_probe [LETTERS]      for example: cuda_wait_probe bd; words that begin with - are ignored
#include "wait_probe.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

namespace sluice::backends::cuda::probe {

namespace {

constexpr std::size_t kBytes = std::size_t{1} << 20U;
constexpr int kLimitMs = 12'000;

void open(Probe *probe) {
  const std::string why = open_driver(&probe->driver, true);
  if (!why.empty()) answer(probe, "not run: " + why);
  const Driver &d = probe->driver;
  need(probe, d.cuInit(0), "cuInit");
  need(probe, d.cuDeviceGet(&probe->device, 0), "cuDeviceGet");
  need(probe, d.cuDevicePrimaryCtxRetain(&probe->context, probe->device), "cuDevicePrimaryCtxRetain");
  need(probe, d.cuCtxSetCurrent(probe->context), "cuCtxSetCurrent");
  if (d.cuStreamWaitValue64 == nullptr || d.cuStreamCreateWithPriority == nullptr) {
    answer(probe, "not run: this driver has no stream memory operations");
  }
  void *words = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (words == MAP_FAILED) answer(probe, "not run: no memory");
  probe->words = static_cast<std::uint64_t *>(words);
  need(probe, d.cuMemHostRegister(words, 4096, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP),
       "cuMemHostRegister");
  need(probe, d.cuMemHostGetDevicePointer(&probe->words_on_device, words, 0), "cuMemHostGetDevicePointer");
  need(probe, d.cuMemAlloc(&probe->memory, kBytes), "cuMemAlloc");
  need(probe, d.cuMemHostAlloc(&probe->pinned, kBytes, 0), "cuMemHostAlloc");
  probe->waiting = make_stream(probe, 0);
}

// Another process's memory: it exports 1 MiB, says the handle, and sleeps until this end of the pipe is closed.
[[noreturn]] void export_memory(int device, int handle_out, int life_in) {
  Probe own;
  own.answers = handle_out;
  const std::string why = open_driver(&own.driver, true);
  if (!why.empty()) std::_Exit(1);
  const Driver &d = own.driver;
  CUipcMemHandle handle = {};
  const bool is_made = d.cuInit(0) == CUDA_SUCCESS && d.cuDeviceGet(&own.device, device) == CUDA_SUCCESS &&
                       d.cuDevicePrimaryCtxRetain(&own.context, own.device) == CUDA_SUCCESS &&
                       d.cuCtxSetCurrent(own.context) == CUDA_SUCCESS &&
                       d.cuMemAlloc(&own.memory, kBytes) == CUDA_SUCCESS && d.cuIpcGetMemHandle != nullptr &&
                       d.cuIpcGetMemHandle(&handle, own.memory) == CUDA_SUCCESS;
  if (!is_made || write(handle_out, &handle, sizeof handle) != static_cast<ssize_t>(sizeof handle)) std::_Exit(1);
  char byte = 0;
  while (read(life_in, &byte, 1) > 0) continue;
  std::_Exit(0);
}

// Waits for the word at `address` to be 1 or more.
constexpr const char *kSpin =
    ".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry spin(.param .u64 address)\n{\n"
    "  .reg .u64 %a, %v;\n  .reg .pred %p;\n  ld.param.u64 %a, [address];\n"
    "again:\n  ld.volatile.global.u64 %v, [%a];\n  setp.lt.u64 %p, %v, 1;\n  @%p bra again;\n  ret;\n}\n";

[[noreturn]] void run_case(const Case &one, int answers) {
  if (one.environment != nullptr) {
    static std::string text;
    text = one.environment;
    putenv(text.data());
  }
  Probe probe;
  probe.answers = answers;
  if (one.foreign_of >= 0) {
    int handles[2];
    int life[2];
    if (pipe(handles) != 0 || pipe(life) != 0) answer(&probe, "not run: no pipe");
    const pid_t exporter = fork();
    if (exporter == 0) {
      close(life[1]);
      export_memory(one.foreign_of, handles[1], life[0]);
    }
    close(handles[1]);
    probe.has_foreign = exporter > 0 && read(handles[0], &probe.foreign, sizeof probe.foreign) ==
                                            static_cast<ssize_t>(sizeof probe.foreign);
    if (!probe.has_foreign) answer(&probe, "not run: no other process's memory, or no such device");
  }
  open(&probe);
  CUmodule module = nullptr;
  if (one.by_kernel) {
    need(&probe, probe.driver.cuModuleLoadData(&module, kSpin), "cuModuleLoadData");
    need(&probe, probe.driver.cuModuleGetFunction(&probe.spin, module, "spin"), "cuModuleGetFunction");
  }
  answer(&probe, one.run(&probe));
}

std::string result_of(const Case &one) {
  int ends[2];
  if (pipe(ends) != 0) return "not run: no pipe";
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) return "not run: no process";
  if (child == 0) {
    close(ends[0]);
    run_case(one, ends[1]);
  }
  close(ends[1]);
  char text[512] = "";
  pollfd readable = {ends[0], POLLIN, 0};
  const int n_ready = ::poll(&readable, 1, kLimitMs);
  const ssize_t n = n_ready > 0 ? read(ends[0], text, sizeof text - 1) : 0;
  close(ends[0]);
  kill(child, SIGKILL);  // it may hang in the driver
  int status = 0;
  if (waitpid(child, &status, 0) != child) return "no answer, and the process does not end";
  if (n > 0) return {text, static_cast<std::size_t>(n)};
  return n_ready == 0 ? "HELD UP: no answer in " + std::to_string(kLimitMs / 1000) + " s" : "the process ended";
}

}  // namespace

void answer(Probe *probe, const std::string &text) {
  const ssize_t n = write(probe->answers, text.data(), text.size());
  std::_Exit(n == static_cast<ssize_t>(text.size()) ? 0 : 1);
}

void need(Probe *probe, CUresult result, const char *call) {
  if (result != CUDA_SUCCESS) answer(probe, "not run: " + native_text(probe->driver, call, result));
}

CUstream make_stream(Probe *probe, int priority) {
  CUstream stream = nullptr;
  need(probe, probe->driver.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, priority),
       "cuStreamCreateWithPriority");
  return stream;
}

int greatest_priority(Probe *probe) {
  int least = 0;
  int greatest = 0;
  need(probe, probe->driver.cuCtxGetStreamPriorityRange(&least, &greatest), "cuCtxGetStreamPriorityRange");
  return greatest;
}

void begin_wait(Probe *probe) {
  void *arguments[] = {&probe->words_on_device};
  if (probe->spin != nullptr) {
    need(probe, probe->driver.cuLaunchKernel(probe->spin, 1, 1, 1, 1, 1, 1, 0, probe->waiting, arguments, nullptr),
         "cuLaunchKernel");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return;
  }
  need(probe, probe->driver.cuStreamWaitValue64(probe->waiting, probe->words_on_device, 1, CU_STREAM_WAIT_VALUE_GEQ),
       "cuStreamWaitValue64");
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the device has come to it
}

void release(Probe *probe) {
  __atomic_store_n(probe->words, std::uint64_t{1} << 40U, __ATOMIC_RELEASE);
}

bool comes(const std::function<bool()> &is_done) {
  const auto begin = std::chrono::steady_clock::now();
  while (!is_done()) {
    if (std::chrono::steady_clock::now() - begin > kPatience) return is_done();
    std::this_thread::yield();
  }
  return true;
}

std::string time_call(Probe *probe, const std::function<CUresult()> &call) {
  static std::atomic<bool> has_returned{false};
  static CUresult result = CUDA_SUCCESS;
  static double took_us = 0;
  std::thread([probe, call] {
    if (probe->driver.cuCtxSetCurrent(probe->context) != CUDA_SUCCESS) return;
    const auto begin = std::chrono::steady_clock::now();
    result = call();
    took_us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
    has_returned.store(true, std::memory_order_release);
  }).detach();
  const auto is_back = [] { return has_returned.load(std::memory_order_acquire); };
  if (comes(is_back)) {
    const std::string time = std::to_string(static_cast<long>(took_us)) + " us";
    return result == CUDA_SUCCESS ? "returns, " + time
                                  : "returns, " + time + ": " + native_text(probe->driver, "refused", result);
  }
  release(probe);
  return comes(is_back) ? "HELD UP until the stream goes on" : "HELD UP for ever";
}

}  // namespace sluice::backends::cuda::probe

int main(int argc, char **argv) {
  namespace probe = sluice::backends::cuda::probe;
  const std::string_view wanted = argc > 1 && argv[1][0] != '-' ? argv[1] : "";
  std::printf("while a stream waits for a word:\n");
  for (const probe::Case &one : probe::cases()) {
    if (!wanted.empty() && wanted.find(one.letter) == std::string_view::npos) continue;
    std::printf("%c  %-58s %s\n", one.letter, one.name, probe::result_of(one).c_str());
    std::fflush(stdout);
  }
  return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
// Start and end of the runtime.
//
// The runtime object is never destroyed: other libraries' destructors and threads may still call while the process
// exits, and must find a state that says so rather than a dead object. What has to end, the queue threads, is ended by
// the library's destructor.
#include "runtime/runtime.h"

#include <pthread.h>

#include <cstdio>
#include <string>
#include <utility>

#include "runtime/error.h"

namespace emurt {
namespace {

enum class State { kFresh, kReady, kMisconfigured, kShutDown, kForked };

constexpr uint64_t kDefaultMemoryBytes = uint64_t{4} << 30U;

std::atomic<State> g_state{State::kFresh};

// What the start left behind; never destroyed, see above. Written once, before the state leaves kFresh.
struct Started {
  std::mutex mutex;
  Runtime *runtime = nullptr;
  std::string error_text;
};

Started &started() {
  static auto *const what_started = new Started;
  return *what_started;
}

thread_local int32_t t_current_device = 0;

void forget_in_child() {
  // Locks may be held by threads that do not exist here, so only the state is touched. A child of a process that never
  // used the runtime may still use it.
  State ready = State::kReady;
  g_state.compare_exchange_strong(ready, State::kForked);
}

template <size_t n>
void copy_text(char (&to)[n], const std::string &text) {
  std::snprintf(to, n, "%s", text.c_str());
}

}  // namespace

emu_result_t Runtime::enter(Runtime **runtime) {
  switch (g_state.load(std::memory_order_acquire)) {
    case State::kReady:
      *runtime = started().runtime;
      return EMU_SUCCESS;
    case State::kFresh: {
      const emu_result_t result = start();
      if (result == EMU_SUCCESS) *runtime = started().runtime;
      return result;
    }
    case State::kMisconfigured:
      return fail_with_text(EMU_ERROR_CONFIGURATION, started().error_text);
    case State::kShutDown:
      return fail(EMU_ERROR_SHUT_DOWN, "the process is exiting");
    case State::kForked:
      break;
  }
  return fail(EMU_ERROR_FORKED,
              "this process is a fork of one that used the device; use the device only after the fork, or exec");
}

emu_result_t Runtime::start() {
  Started &s = started();
  const std::scoped_lock lock(s.mutex);
  if (g_state.load(std::memory_order_acquire) == State::kFresh) {
    auto runtime = std::make_unique<Runtime>();
    const emu_result_t result = runtime->initialize();
    if (result == EMU_SUCCESS) {
      if (pthread_atfork(nullptr, nullptr, &forget_in_child) != 0) {
        return fail(EMU_ERROR_SYSTEM, "pthread_atfork refused; free memory");
      }
      s.runtime = runtime.release();
      g_state.store(State::kReady, std::memory_order_release);
      return EMU_SUCCESS;
    }
    s.error_text = last_error();
    g_state.store(State::kMisconfigured, std::memory_order_release);
    return result;
  }
  // Another thread was faster.
  if (g_state.load(std::memory_order_acquire) == State::kReady) return EMU_SUCCESS;
  return s.error_text.empty() ? fail(EMU_ERROR_SHUT_DOWN, "the process is exiting")
                              : fail_with_text(EMU_ERROR_CONFIGURATION, s.error_text);
}

emu_result_t Runtime::initialize() {
  emu_result_t result = read_knobs(&knobs_);
  if (result != EMU_SUCCESS) return result;
  Profile profile;
  if (!knobs_.profile.empty()) {
    result = read_profile(knobs_.profile, &profile);
    if (result != EMU_SUCCESS) return result;
  }
  faults_ = std::make_unique<FaultPlan>(kSeed);
  result = faults_->set("SLUICE_EMU_FAULT", knobs_.fault);
  if (result != EMU_SUCCESS) return result;

  MemoryLimits limits;
  for (int32_t i = 0; i < knobs_.n_devices; ++i) {
    make_device(i, profile);
    limits.device_bytes.push_back(devices_.back()->properties.memory_bytes);
  }
  limits.quarantine_ranges = knobs_.quarantine_ranges;
  limits.quarantine_bytes = kQuarantineBytes;
  limits.reuse_addresses = knobs_.reuse_addresses;
  memory_ = std::make_unique<MemoryTable>(std::move(limits));
  machine_ = std::make_unique<Machine>();
  if (!knobs_.link_file.empty()) {
    result = machine_->share_links(knobs_.link_file);
    if (result != EMU_SUCCESS) return result;
  }
  if (!knobs_.profile.empty()) machine_->set_profile(std::make_shared<const Profile>(std::move(profile)));
  copies_ = std::make_unique<CopyEngine>(*memory_, *faults_, *machine_);
  return EMU_SUCCESS;
}

void Runtime::make_device(int32_t index, const Profile &profile) {
  auto device = std::make_unique<Device>();
  emu_device_info_t &properties = device->properties;
  const std::string suffix = profile.device_name.empty() ? "" : " imitating " + profile.device_name;
  copy_text(properties.name, fmt::format("Emulated device {}{}", index, suffix));
  const auto number = static_cast<size_t>(index);
  const bool has_place = number < profile.places.size();
  copy_text(properties.pci_address, has_place ? profile.places[number].pci_address : profile.pci_address);
  properties.numa_node = has_place ? profile.places[number].numa_node : profile.numa_node;
  properties.memory_bytes = knobs_.memory_bytes != 0    ? knobs_.memory_bytes
                            : profile.memory_bytes != 0 ? profile.memory_bytes
                                                        : kDefaultMemoryBytes;
  devices_.push_back(std::move(device));
}

emu_result_t Runtime::check_device(int32_t device) const {
  if (device >= 0 && device < n_devices()) return EMU_SUCCESS;
  return fail(EMU_ERROR_INVALID_DEVICE, "device {} asked for, {} emulated devices are there (SLUICE_EMU_MACHINE)",
              device, n_devices());
}

emu_result_t Runtime::current_device(int32_t *device) const {
  *device = t_current_device;
  return check_device(t_current_device);
}

emu_result_t Runtime::set_current_device(int32_t device) const {
  const emu_result_t result = check_device(device);
  if (result == EMU_SUCCESS) t_current_device = device;
  return result;
}

emu_result_t Runtime::set_profile(const char *name_or_path) {
  if (name_or_path == nullptr || *name_or_path == '\0') {
    machine_->set_profile(nullptr);
    return EMU_SUCCESS;
  }
  auto profile = std::make_shared<Profile>();
  const emu_result_t result = read_profile(name_or_path, profile.get());
  if (result == EMU_SUCCESS) machine_->set_profile(std::move(profile));
  return result;
}

emu_result_t Runtime::create_queue(int32_t device, Queue **queue) {
  std::shared_ptr<Queue> made;
  const emu_result_t result = Queue::create(device, *copies_, &made);
  if (result != EMU_SUCCESS) return result;
  *queue = made.get();
  const std::scoped_lock lock(queues_mutex_);
  queues_.emplace(made.get(), std::move(made));
  return EMU_SUCCESS;
}

emu_result_t Runtime::destroy_queue(Queue *queue) {
  std::shared_ptr<Queue> last;
  {
    const std::scoped_lock lock(queues_mutex_);
    const auto it = queues_.find(queue);
    if (it == queues_.end()) {
      return fail(EMU_ERROR_INVALID_VALUE, "{} is no queue, or was destroyed already",
                  static_cast<const void *>(queue));
    }
    last = std::move(it->second);
    queues_.erase(it);
  }
  last->release();
  last->drain();
  last->stop();
  return EMU_SUCCESS;
}

emu_result_t Runtime::find_queue(const Queue *queue, int32_t *device) {
  std::shared_ptr<Queue> shared;
  const emu_result_t result = share_queue(queue, &shared);
  if (result == EMU_SUCCESS) *device = shared->device();
  return result;
}

emu_result_t Runtime::share_queue(const Queue *queue, std::shared_ptr<Queue> *shared) {
  const std::scoped_lock lock(queues_mutex_);
  const auto it = queues_.find(queue);
  if (it == queues_.end()) {
    return fail(EMU_ERROR_INVALID_VALUE, "{} is no queue, or was destroyed already", static_cast<const void *>(queue));
  }
  *shared = it->second;
  return EMU_SUCCESS;
}

std::vector<std::shared_ptr<Queue>> Runtime::all_queues() {
  const std::scoped_lock lock(queues_mutex_);
  std::vector<std::shared_ptr<Queue>> queues;
  queues.reserve(queues_.size());
  for (const auto &[address, queue] : queues_) queues.push_back(queue);
  return queues;
}

void Runtime::drain_device(int32_t device) {
  for (const std::shared_ptr<Queue> &queue : all_queues()) {
    if (queue->device() == device) queue->drain();
  }
}

// The library's destructor. Runs after those of everything that links it.
__attribute__((destructor)) void stop_runtime_at_exit() {
  const State before = g_state.load(std::memory_order_acquire);
  if (before == State::kForked) return;
  g_state.store(State::kShutDown, std::memory_order_release);
  if (before != State::kReady) return;
  for (const std::shared_ptr<Queue> &queue : started().runtime->all_queues()) queue->stop();
}

}  // namespace emurt

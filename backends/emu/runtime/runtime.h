// SPDX-License-Identifier: BSD-3-Clause
// The one runtime of the process: its parts, its start and its end.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "emurt.h"
#include "runtime/copy_engine.h"
#include "runtime/fault_plan.h"
#include "runtime/knobs.h"
#include "runtime/machine.h"
#include "runtime/memory_table.h"
#include "runtime/profile.h"
#include "runtime/queue.h"

namespace emurt {

class Runtime {
 public:
  // Starts the runtime on the first call. *runtime is valid for ever when EMU_SUCCESS is returned; else the reason is
  // in the last error. Hot: one load once started.
  static emu_result_t enter(Runtime **runtime);

  int32_t n_devices() const { return static_cast<int32_t>(devices_.size()); }
  emu_result_t check_device(int32_t device) const;
  // The calling thread's current device, as an index that exists; EMU_ERROR_INVALID_DEVICE when there is none.
  emu_result_t current_device(int32_t *device) const;
  emu_result_t set_current_device(int32_t device) const;

  const emu_device_info_t &properties(int32_t device) const {
    return devices_[static_cast<size_t>(device)]->properties;
  }
  std::atomic<bool> &is_active(int32_t device) { return devices_[static_cast<size_t>(device)]->is_active; }

  MemoryTable &memory() { return *memory_; }
  FaultPlan &faults() { return *faults_; }
  CopyEngine &copies() { return *copies_; }
  emu_result_t set_profile(const char *name_or_path);

  emu_result_t create_queue(int32_t device, Queue **queue);
  emu_result_t destroy_queue(Queue *queue);
  // Any address: EMU_ERROR_INVALID_VALUE for one that is no queue.
  emu_result_t find_queue(const Queue *queue, int32_t *device);
  // The same, as an owner.
  emu_result_t share_queue(const Queue *queue, std::shared_ptr<Queue> *shared);
  // Waits for the queues of a device.
  void drain_device(int32_t device);

 private:
  friend void stop_runtime_at_exit();
  struct Device {
    emu_device_info_t properties{};
    std::atomic<bool> is_active{false};
  };

  static emu_result_t start();
  emu_result_t initialize();
  void make_device(int32_t index, const Profile &profile);
  std::vector<std::shared_ptr<Queue>> all_queues();

  Knobs knobs_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::unique_ptr<MemoryTable> memory_;
  std::unique_ptr<FaultPlan> faults_;
  std::unique_ptr<Machine> machine_;
  std::unique_ptr<CopyEngine> copies_;
  std::mutex queues_mutex_;
  std::unordered_map<const Queue *, std::shared_ptr<Queue>> queues_;
};

}  // namespace emurt

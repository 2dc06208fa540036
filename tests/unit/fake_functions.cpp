// SPDX-License-Identifier: BSD-3-Clause
// The functions of a fake backend's table, one set for each slot.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "fake_state.hpp"

namespace sluice::tests {
namespace {

constexpr sluice_backend_knob_t kKnob = {"SLUICE_FAKE_DEPTH", "7", "A knob for tests, 0 to 9."};

// One thread at a time on a queue, and only while it lives.
class QueueUse {
 public:
  QueueUse(FakeBackend::State &owner, sluice_queue_t *queue) : queue_(queue) {
    bool is_known = false;
    {
      const std::scoped_lock lock(owner.mutex);
      is_known = owner.queues.contains(queue);
    }
    if (!is_known) {
      owner.note("a queue that is not alive was used");
      queue_ = nullptr;
    } else if (queue_->is_in_use.exchange(true)) {
      owner.note("two threads used one queue");
      queue_ = nullptr;
    }
  }
  ~QueueUse() {
    if (queue_ != nullptr) queue_->is_in_use.store(false);
  }
  QueueUse(const QueueUse &) = delete;
  QueueUse &operator=(const QueueUse &) = delete;
  [[nodiscard]] bool is_fine() const { return queue_ != nullptr; }

 private:
  sluice_queue_t *queue_;
};

sluice_result_t refuse(const char *text) {
  fake_last_error() = text;
  return SLUICE_ERROR_INVALID_ARGUMENT;
}

template <int Slot>
struct Functions {
  static sluice_result_t init(const sluice_host_services_t *services) {
    fake_state(Slot).services = services;
    return fake_state(Slot).enter(Call::kInit);
  }
  static void fini() { ++fake_state(Slot).finis; }
  static const char *last_error() { return fake_last_error().c_str(); }
  static int32_t device_count() { return FakeBackend::kDevices; }
  static sluice_result_t device_info(int32_t device, sluice_device_info_t *info) {
    *info = {};
    info->numa_node = -1;
    std::snprintf(info->name, sizeof(info->name), "fake device %d", device);
    return fake_state(Slot).enter(Call::kDeviceInfo);
  }
  static sluice_result_t query_pointer(const void *address, sluice_pointer_info_t *info) {
    FakeBackend::State &self = fake_state(Slot);
    if (const sluice_result_t result = self.enter(Call::kQueryPointer); result != SLUICE_SUCCESS) return result;
    const std::scoped_lock lock(self.mutex);
    *info = {self.claims_all ? self.claimed_kind : SLUICE_MEMORY_HOST, -1, 0};
    if (const Allocation *found = self.find(address); found != nullptr) {
      *info = {found->kind, found->device, found->id};
    }
    return SLUICE_SUCCESS;
  }
  static sluice_result_t register_context(void * /*context*/) { return fake_state(Slot).enter(Call::kRegisterContext); }
  static sluice_result_t host_alloc(int32_t /*device*/, size_t size_bytes, size_t alignment, void **memory) {
    FakeBackend::State &self = fake_state(Slot);
    if (const sluice_result_t result = self.enter(Call::kHostAlloc); result != SLUICE_SUCCESS) return result;
    const std::size_t step = alignment == 0 ? 64 : alignment;
    *memory = std::aligned_alloc(step, (size_bytes + step - 1) / step * step);
    const std::scoped_lock lock(self.mutex);
    self.last_alignment = alignment;
    self.host_blocks.insert(*memory);
    return SLUICE_SUCCESS;
  }
  static sluice_result_t host_free(int32_t /*device*/, void *memory) {
    FakeBackend::State &self = fake_state(Slot);
    bool is_known = false;
    {
      const std::scoped_lock lock(self.mutex);
      is_known = self.host_blocks.erase(memory) == 1;
    }
    if (!is_known) self.note("host memory was freed that is not held");
    if (is_known) std::free(memory);
    return self.enter(Call::kHostFree);
  }
  static std::uint32_t device_traits(int32_t /*device*/) { return fake_state(Slot).traits; }
  static sluice_staging_memory_t preferred_staging(int32_t /*device*/) { return fake_state(Slot).preferred; }

  static sluice_result_t queue_create(int32_t device, sluice_queue_t **queue) {
    FakeBackend::State &self = fake_state(Slot);
    if (const sluice_result_t result = self.enter(Call::kQueueCreate); result != SLUICE_SUCCESS) return result;
    if (device < 0 || device >= FakeBackend::kDevices) return refuse("no such device");
    *queue = new sluice_queue();
    const std::scoped_lock lock(self.mutex);
    self.queues.insert(*queue);
    return SLUICE_SUCCESS;
  }
  static sluice_result_t queue_destroy(sluice_queue_t *queue) {
    FakeBackend::State &self = fake_state(Slot);
    {
      const std::scoped_lock lock(self.mutex);
      if (self.queues.erase(queue) == 0) return refuse("no such queue");
    }
    delete queue;
    return self.enter(Call::kQueueDestroy);
  }
  static sluice_result_t enqueue_copies(sluice_queue_t *queue, const sluice_copy_t *copies, size_t n_copies) {
    FakeBackend::State &self = fake_state(Slot);
    if (const sluice_result_t result = self.enter(Call::kEnqueueCopies); result != SLUICE_SUCCESS) return result;
    const QueueUse use(self, queue);
    if (!use.is_fine()) return refuse("bad queue");
    queue->pending.insert(queue->pending.end(), copies, copies + n_copies);
    const std::scoped_lock lock(self.mutex);
    self.longest_batch = std::max(self.longest_batch, n_copies);
    return SLUICE_SUCCESS;
  }
  static sluice_result_t enqueue_ticket(sluice_queue_t *queue, uint64_t *ticket) {
    if (const sluice_result_t result = fake_state(Slot).enter(Call::kEnqueueTicket); result != SLUICE_SUCCESS)
      return result;
    *ticket = ++queue->tickets;
    return SLUICE_SUCCESS;
  }
  static sluice_result_t test_ticket(sluice_queue_t *queue, uint64_t /*ticket*/) {
    FakeBackend::State &self = fake_state(Slot);
    const sluice_result_t result = self.enter(Call::kTestTicket);
    if (result != SLUICE_SUCCESS || queue->pending.empty()) return result;
    // Done when it is asked after the next time.
    for (const sluice_copy_t &copy : queue->pending) self.run(copy);
    queue->pending.clear();
    return SLUICE_NOT_READY;
  }
  static sluice_result_t wait_ticket(sluice_queue_t *queue, uint64_t ticket) {
    FakeBackend::State &self = fake_state(Slot);
    if (const sluice_result_t result = self.enter(Call::kWaitTicket); result != SLUICE_SUCCESS) return result;
    const QueueUse use(self, queue);
    if (!use.is_fine() || ticket == 0 || ticket > queue->tickets) return refuse("bad ticket");
    for (const sluice_copy_t &copy : queue->pending) self.run(copy);
    queue->pending.clear();
    return SLUICE_SUCCESS;
  }
  static sluice_result_t copy(sluice_queue_t *queue, void *dst, const void *src, size_t size_bytes) {
    FakeBackend::State &self = fake_state(Slot);
    if (const sluice_result_t result = self.enter(Call::kCopy); result != SLUICE_SUCCESS) return result;
    const QueueUse use(self, queue);
    if (!use.is_fine()) return refuse("bad queue");
    self.run({dst, src, size_bytes});
    return SLUICE_SUCCESS;
  }

  static void fill(FakeBackend::State *self) {
    sluice_backend_t &table = self->table;
    table.api_version = SLUICE_BACKEND_API_VERSION;
    table.struct_size = sizeof(sluice_backend_t);
    table.name = self->name.c_str();
    table.knobs = &kKnob;
    table.n_knobs = 1;
    table.init = init;
    table.fini = fini;
    table.last_error = last_error;
    table.device_count = device_count;
    table.device_info = device_info;
    table.query_pointer = query_pointer;
    table.register_context = register_context;
    table.host_alloc = host_alloc;
    table.host_free = host_free;
    table.preferred_staging = preferred_staging;
    table.device_traits = device_traits;
    table.queue_create = queue_create;
    table.queue_destroy = queue_destroy;
    table.enqueue_copies = enqueue_copies;
    table.enqueue_ticket = enqueue_ticket;
    table.test_ticket = test_ticket;
    table.wait_ticket = wait_ticket;
    table.copy = copy;
  }
};

}  // namespace

void fill_fake_table(int slot) {
  static_assert(FakeBackend::kSlots == 3);
  FakeBackend::State *self = &fake_state(slot);
  slot == 0 ? Functions<0>::fill(self) : slot == 1 ? Functions<1>::fill(self) : Functions<2>::fill(self);
}

}  // namespace sluice::tests

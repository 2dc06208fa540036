// SPDX-License-Identifier: BSD-3-Clause
// Owns the drivers' handles of this process's memory, each for as long as it is handed over, and what is opened here.
#include "level_zero_ipc.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <vector>

#include "../descriptor_socket.h"

namespace sluice::backends::sycl::level_zero {

namespace {

constexpr uint64_t kMagic = 0x31305A454D454DULL;  // "MEMEZ01"

struct Question {
  uint64_t magic;
  MemoryName name;
};

struct Answer {
  uint64_t magic;
  uint32_t result;  // a sluice_result_t; the text says more
  uint32_t zero;
  char text[240];
  IpcHandle handle;
};

// Where a handle has the number of its descriptor and, in the form that newer drivers use, of the process that made it.
constexpr size_t kDescriptorAt = 0;
constexpr size_t kProcessAt = 16;

int32_t number_at(size_t place, const IpcHandle &handle) {
  int32_t number = 0;
  std::memcpy(&number, handle.data + place, sizeof number);
  return number;
}

int number_in(const IpcHandle &handle) {
  return number_at(kDescriptorAt, handle);
}

// Makes a handle of process `maker` one of this process, which has the same file as `descriptor`. A newer driver would
// else take the descriptor of that number out of the other process.
Outcome make_own(int32_t maker, int descriptor, IpcHandle *handle) {
  // The older form has the kind of the memory at that place, a small number.
  constexpr int32_t kLargestKind = 15;
  std::memcpy(handle->data + kDescriptorAt, &descriptor, sizeof descriptor);
  if (number_at(kProcessAt, *handle) != maker) return {};
  if (maker <= kLargestKind) {
    return {SLUICE_ERROR_UNSUPPORTED, "the driver's handle of process " + std::to_string(maker) +
                                          " cannot be told from one of another form; processes with numbers above " +
                                          std::to_string(kLargestKind) + " have no such handles"};
  }
  const auto self = static_cast<int32_t>(getpid());
  std::memcpy(handle->data + kProcessAt, &self, sizeof self);
  return {};
}

// ---- the process that has the memory ----

// A handle of the driver's, given back when it goes.
class OwnHandle {
 public:
  OwnHandle(const Calls &calls, Context context, std::uintptr_t begin)
      : calls_(calls), context_(context), memory_(reinterpret_cast<const void *>(begin)) {}
  OwnHandle(const OwnHandle &) = delete;
  OwnHandle &operator=(const OwnHandle &) = delete;
  ~OwnHandle() {
    const bool is_taken_back =
        calls_.put_ipc_handle != nullptr && is_got_ && calls_.put_ipc_handle(context_, handle_) == 0;
    if (is_got_ && !is_taken_back) close_if_ours();
  }

  Outcome get() {
    Outcome outcome = outcome_of("zeMemGetIpcHandle", calls_.get_ipc_handle(context_, memory_, &handle_));
    is_got_ = outcome.is_success();
    return outcome;
  }
  const IpcHandle &handle() const { return handle_; }

 private:
  // Loaders and drivers without zeMemPutIpcHandle are of two sorts. Some keep one descriptor for each allocation and
  // close it with the memory. Others open a new one each time, which is then the caller's to close.
  void close_if_ours() {
    IpcHandle again{};
    if (calls_.get_ipc_handle(context_, memory_, &again) != 0) return;  // cannot be told apart: one descriptor is lost
    if (number_in(again) == number_in(handle_)) return;
    close(number_in(again));  // only passed on: nothing can be lost
    close(number_in(handle_));
  }

  const Calls &calls_;
  Context context_;
  const void *memory_;
  IpcHandle handle_{};
  bool is_got_ = false;
};

struct Source {
  const Calls *calls;
  Context context;
};

// The contexts that memory was exported from. Names hold a number, since whoever asks could send any pointer.
std::mutex g_sources_mutex;

std::vector<Source> &sources() {
  static auto *all = new std::vector<Source>();  // never destroyed: the process may exit while it is asked
  return *all;
}

uint32_t number_of_source(const Calls &calls, Context context) {
  const std::scoped_lock lock(g_sources_mutex);
  const auto found = std::ranges::find(sources(), context, &Source::context);
  const auto number = static_cast<uint32_t>(found - sources().begin());
  if (found == sources().end()) sources().push_back({&calls, context});
  return number;
}

Outcome find_source(uint32_t number, Source *source) {
  const std::scoped_lock lock(g_sources_mutex);
  if (number >= sources().size()) return {SLUICE_ERROR_INVALID_ARGUMENT, "no memory of that context was exported"};
  *source = sources()[number];
  return {};
}

Outcome check_unchanged(const Source &source, const MemoryName &name) {
  NativeRange now;
  const Outcome outcome = find_range(*source.calls, source.context, reinterpret_cast<const void *>(name.begin), &now);
  if (!outcome.is_success()) return {SLUICE_ERROR_NATIVE, "it seems to have freed this memory: " + outcome.text};
  const bool is_same = now.begin == name.begin && now.size_bytes == name.size_bytes && now.id == name.id;
  return is_same ? Outcome{} : Outcome{SLUICE_ERROR_NATIVE, "it has freed this memory"};
}

Outcome share(const MemoryName &name, IpcHandle *shared, std::vector<Descriptor> *descriptors) {
  Source source{};
  Outcome outcome = find_source(name.context, &source);
  if (outcome.is_success()) outcome = check_unchanged(source, name);
  if (!outcome.is_success()) return outcome;
  OwnHandle own(*source.calls, source.context, name.begin);
  outcome = own.get();
  if (!outcome.is_success()) return outcome;
  Descriptor copy(fcntl(number_in(own.handle()), F_DUPFD_CLOEXEC, 0));
  if (copy.get() < 0) {
    return {SLUICE_ERROR_UNSUPPORTED,
            std::string("the driver's handle begins with no descriptor that can be handed over: ") + strerror(errno)};
  }
  descriptors->push_back(std::move(copy));
  *shared = own.handle();
  // What was handed out is what was asked for, whatever the program has freed meanwhile.
  return check_unchanged(source, name);
}

bool answer_question(const void *asked, void *answered, std::vector<Descriptor> *descriptors) {
  const auto &question = *static_cast<const Question *>(asked);
  auto *answer = static_cast<Answer *>(answered);
  if (question.magic != kMagic) return false;
  const Outcome outcome = share(question.name, &answer->handle, descriptors);
  answer->magic = kMagic;
  answer->result = outcome.result;
  if (!outcome.is_success()) descriptors->clear();
  answer->text[outcome.text.copy(answer->text, sizeof answer->text - 1)] = '\0';
  return true;
}

DescriptorServer &server() {
  static auto *only = new DescriptorServer({sizeof(Question), sizeof(Answer), answer_question});
  return *only;
}

// ---- the process that wants it ----

Outcome fetch(const MemoryName &name, IpcHandle *handle, std::vector<Descriptor> *descriptors) {
  DescriptorClient client;
  Outcome outcome = client.connect(name.socket_name, {name.pid, name.pid_namespace, name.start_time});
  if (!outcome.is_success()) return outcome;
  const Question question = {kMagic, name};
  Answer answer{};
  outcome = client.ask(&question, sizeof question, &answer, sizeof answer, descriptors);
  if (!outcome.is_success()) return outcome;
  answer.text[sizeof answer.text - 1] = '\0';
  if (answer.magic != kMagic || (answer.result == SLUICE_SUCCESS && descriptors->size() != 1)) {
    return {SLUICE_ERROR_NATIVE, "the process that has the memory answers in the way of another version"};
  }
  if (answer.result != SLUICE_SUCCESS) {
    return {answer.result == SLUICE_ERROR_UNSUPPORTED ? SLUICE_ERROR_UNSUPPORTED : SLUICE_ERROR_NATIVE,
            std::string("the process that has the memory: ") + answer.text};
  }
  *handle = answer.handle;
  return make_own(name.pid, descriptors->front().get(), handle);
}

// A device of several tiles may have cut the memory into pieces with a descriptor each, of which the handle holds one.
Outcome check_whole(const Calls &calls, Context context, const void *base, uint64_t size_bytes) {
  NativeRange opened;
  Outcome outcome = find_range(calls, context, base, &opened);
  if (!outcome.is_success()) return outcome;
  const uint64_t before = reinterpret_cast<std::uintptr_t>(base) - opened.begin;
  if (before <= opened.size_bytes && opened.size_bytes - before >= size_bytes) return {};
  return {SLUICE_ERROR_UNSUPPORTED, "zeMemOpenIpcHandle mapped " + std::to_string(opened.size_bytes) + " of " +
                                        std::to_string(size_bytes) +
                                        " bytes; where devices have several tiles, set ZE_FLAT_DEVICE_HIERARCHY=FLAT"};
}

}  // namespace

Outcome export_memory(const Calls &calls, Context context, const NativeRange &range, MemoryName *name) {
  Outcome outcome = check_ipc_calls(calls);
  if (!outcome.is_success()) return outcome;
  {
    // Tried once here, so that memory without a handle is known to have none before its name travels.
    OwnHandle tried(calls, context, range.begin);
    outcome = tried.get();
    if (!outcome.is_success()) return {SLUICE_ERROR_UNSUPPORTED, outcome.text};
  }
  const ProcessIdentity self = this_process();
  *name = {};
  outcome = server().start(name->socket_name);
  if (!outcome.is_success()) return outcome;
  name->begin = range.begin;
  name->size_bytes = range.size_bytes;
  name->id = range.id;
  name->start_time = self.start_time;
  name->pid = self.pid;
  name->pid_namespace = self.pid_namespace;
  name->context = number_of_source(calls, context);
  return {};
}

Outcome open_memory(const Calls &calls, Context context, Device device, const MemoryName &name, void **base) {
  Outcome outcome = check_ipc_calls(calls);
  if (!outcome.is_success()) return outcome;
  IpcHandle handle{};
  std::vector<Descriptor> descriptors;  // closed on return: what is mapped needs none
  outcome = fetch(name, &handle, &descriptors);
  if (!outcome.is_success()) return outcome;
  void *opened = nullptr;
  outcome = outcome_of("zeMemOpenIpcHandle", calls.open_ipc_handle(context, device, handle, 0, &opened));
  if (!outcome.is_success()) return outcome;
  if (opened == nullptr) return {SLUICE_ERROR_NATIVE, "zeMemOpenIpcHandle gave no address"};
  outcome = check_whole(calls, context, opened, name.size_bytes);
  if (!outcome.is_success()) {
    const Outcome closed = close_memory(calls, context, opened);
    if (!closed.is_success()) outcome.text += "; then " + closed.text;
    return outcome;
  }
  *base = opened;
  return {};
}

Outcome close_memory(const Calls &calls, Context context, void *base) {
  if (calls.close_ipc_handle == nullptr) return check_ipc_calls(calls);
  return outcome_of("zeMemCloseIpcHandle", calls.close_ipc_handle(context, base));
}

void stop_serving() {
  server().stop();
}

}  // namespace sluice::backends::sycl::level_zero

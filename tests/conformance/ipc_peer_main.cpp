// SPDX-License-Identifier: BSD-3-Clause
// The other process: memory of its own, exported, and memory of others, opened.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <memory>
#include <sstream>
#include <vector>

#include "ipc_peer.h"
#include "memory.h"
#include "module_under_test.h"
#include "pattern.h"
#include "shared_page.h"
#include "stream_case.h"

namespace conformance {
namespace {

constexpr size_t kCycleBytes = 4096;

struct Mapping {
  int32_t device;
  std::byte *base;
};

std::string refused(const std::string &text) {
  return std::to_string(static_cast<int>(SLUICE_ERROR_NATIVE)) + " " + text;
}

std::string answer_of(sluice_result_t result, const std::string &words = "") {
  if (result == SLUICE_SUCCESS) return "ok " + words;
  return std::to_string(static_cast<int>(result)) + " " + describe(result);
}

std::string answer_of(const std::string &problem) {
  return problem.empty() ? "ok" : refused(problem);
}

std::string words_of(const Holdings &held) {
  return std::to_string(held.n_descriptors) + " " + std::to_string(held.n_mappings);
}

class PeerProcess {
 public:
  std::string answer(const std::string &question) {
    std::istringstream words(question);
    std::string verb;
    words >> verb;
    const auto found = verbs().find(verb);
    if (found == verbs().end()) return refused("what is \"" + question + "\"?");
    std::string reply = (this->*found->second)(words);
    std::ranges::replace(reply, '\n', ' ');
    return reply + "\n";
  }

 private:
  using Verb = std::string (PeerProcess::*)(std::istringstream &);

  // <memory or mapping> <offset> <bytes> <iteration>
  struct Run {
    size_t index = 0;
    size_t offset = 0;
    size_t size = 0;
    uint64_t iteration = 0;
  };
  static Run read_run(std::istringstream &words) {
    Run run;
    words >> run.index >> run.offset >> run.size >> run.iteration;
    return run;
  }

  std::string hello(std::istringstream & /*words*/) { return "ok"; }

  // alloc <device> <bytes>: all of it zero
  std::string alloc(std::istringstream &words) {
    int32_t device = 0;
    size_t size = 0;
    words >> device >> size;
    auto memory = std::make_unique<Memory>();
    std::string problem = Memory::make(SLUICE_MEMORY_DEVICE, device, size, memory.get());
    if (problem.empty()) problem = memory->write(std::vector<std::byte>(size));
    if (problem.empty()) memories_.push_back(std::move(memory));
    return answer_of(problem);
  }

  // fill <memory> <offset> <bytes> <iteration>
  std::string fill(std::istringstream &words) {
    const auto [index, offset, size, iteration] = read_run(words);
    return answer_of(memories_.at(index)->write(pattern(size, iteration), offset));
  }

  // holds <memory> <offset> <bytes> <iteration>: as a program would see it; zero around
  std::string holds(std::istringstream &words) {
    const auto [index, offset, size, iteration] = read_run(words);
    std::vector<std::byte> bytes;
    const std::string problem = memories_.at(index)->read(&bytes);
    if (!problem.empty()) return refused(problem);
    for (size_t i = 0; i < bytes.size(); ++i) {
      const bool is_inside = i >= offset && i - offset < size;
      const std::byte expected = is_inside ? pattern_byte(i - offset, iteration) : std::byte{0};
      if (bytes[i] != expected) return refused("byte " + std::to_string(i) + " is wrong");
    }
    return "ok";
  }

  std::string free_memory(std::istringstream &words) {
    size_t index = 0;
    words >> index;
    return answer_of(memories_.at(index)->reset());
  }

  // export <memory> <offset>
  std::string export_memory(std::istringstream &words) {
    size_t index = 0;
    size_t offset = 0;
    words >> index >> offset;
    Export made;
    const sluice_result_t result =
        table().ipc_export(memories_.at(index)->data() + offset, &made.handle, &made.base_offset, &made.size_bytes);
    return answer_of(
        result, to_hex(made.handle) + " " + std::to_string(made.base_offset) + " " + std::to_string(made.size_bytes));
  }

  // open <device> <handle>
  std::string open(std::istringstream &words) {
    int32_t device = 0;
    std::string hex;
    words >> device >> hex;
    sluice_ipc_handle_t handle{};
    if (!from_hex(hex, &handle)) return refused("no handle");
    void *base = nullptr;
    uint64_t mapped_bytes = 0;
    const sluice_result_t result = table().ipc_open(device, &handle, &base, &mapped_bytes);
    if (result == SLUICE_SUCCESS) mappings_.push_back({device, static_cast<std::byte *>(base)});
    return answer_of(result);
  }

  // check <mapping> <offset> <bytes> <iteration>: read by a queue, in both ways
  std::string check(std::istringstream &words) {
    const auto [index, offset, size, iteration] = read_run(words);
    const Mapping &mapping = mappings_.at(index);
    const Queue queue(mapping.device);
    if (!queue.problem().empty()) return refused(queue.problem());
    std::vector<std::byte> bytes(size);
    sluice_result_t result = table().copy(queue.get(), bytes.data(), mapping.base + offset, size);
    if (result != SLUICE_SUCCESS) return answer_of(result);
    std::string mismatch = pattern_mismatch(bytes, iteration);
    if (!mismatch.empty()) return refused("copy to the host: " + mismatch);
    // Device to device, as a receiver pulls a message.
    Memory own;
    const std::string problem = Memory::make(SLUICE_MEMORY_DEVICE, mapping.device, size, &own);
    if (!problem.empty()) return refused(problem);
    const sluice_copy_t pull{own.data(), mapping.base + offset, size};
    uint64_t ticket = 0;
    result = table().enqueue_copies(queue.get(), &pull, 1);
    if (result == SLUICE_SUCCESS) result = table().enqueue_ticket(queue.get(), &ticket);
    if (result == SLUICE_SUCCESS) result = table().wait_ticket(queue.get(), ticket);
    if (result != SLUICE_SUCCESS) return answer_of(result);
    const std::string unread = own.read(&bytes);
    if (!unread.empty()) return refused(unread);
    mismatch = pattern_mismatch(bytes, iteration);
    return mismatch.empty() ? "ok" : refused("copy to the device: " + mismatch);
  }

  // write <mapping> <offset> <bytes> <iteration>
  std::string write(std::istringstream &words) {
    const auto [index, offset, size, iteration] = read_run(words);
    const Mapping &mapping = mappings_.at(index);
    const Queue queue(mapping.device);
    if (!queue.problem().empty()) return refused(queue.problem());
    const std::vector<std::byte> bytes = pattern(size, iteration);
    return answer_of(table().copy(queue.get(), mapping.base + offset, bytes.data(), size));
  }

  // kind <mapping> <offset>: what query_pointer says of mapped memory
  std::string kind(std::istringstream &words) {
    size_t index = 0;
    size_t offset = 0;
    words >> index >> offset;
    sluice_pointer_info_t info{};
    const sluice_result_t result = table().query_pointer(mappings_.at(index).base + offset, &info);
    return answer_of(result, kind_name(info.kind));
  }

  std::string close(std::istringstream &words) {
    size_t index = 0;
    words >> index;
    return answer_of(table().ipc_close(mappings_.at(index).device, mappings_.at(index).base));
  }

  // cycle <device> <handle> <offset> <times>: opens, reads, closes; says what the process holds at the end
  std::string cycle(std::istringstream &words) {
    int32_t device = 0;
    std::string hex;
    size_t offset = 0;
    int times = 0;
    words >> device >> hex >> offset >> times;
    sluice_ipc_handle_t handle{};
    if (!from_hex(hex, &handle)) return refused("no handle");
    const Queue queue(device);
    std::vector<std::byte> bytes(kCycleBytes);
    for (int i = 0; i < times; ++i) {
      void *base = nullptr;
      uint64_t mapped_bytes = 0;
      sluice_result_t result = table().ipc_open(device, &handle, &base, &mapped_bytes);
      if (result != SLUICE_SUCCESS) return answer_of(result);
      result = table().copy(queue.get(), bytes.data(), static_cast<std::byte *>(base) + offset, bytes.size());
      if (result == SLUICE_SUCCESS) result = table().ipc_close(device, base);
      if (result != SLUICE_SUCCESS) return answer_of(result);
    }
    return "ok " + words_of(holdings());
  }

  // churn <device> <times>: allocates, exports, frees; says what the process holds at the end
  std::string churn(std::istringstream &words) {
    int32_t device = 0;
    int times = 0;
    words >> device >> times;
    for (int i = 0; i < times; ++i) {
      Memory memory;
      Export made;
      const std::string problem = Memory::make(SLUICE_MEMORY_DEVICE, device, kCycleBytes, &memory);
      if (!problem.empty()) return refused(problem);
      const sluice_result_t result =
          table().ipc_export(memory.data(), &made.handle, &made.base_offset, &made.size_bytes);
      if (result != SLUICE_SUCCESS) return answer_of(result);
    }
    return "ok " + words_of(holdings());
  }

  // send <device> <file of the words> <handle> <offset> <slot bytes> <messages>: as the sender's stream of a channel
  // with one slot, word 0 saying what was taken and word 1 what was filled; message k has (97 * k) % (slot bytes + 1)
  // bytes. With - for the handle the slot lies behind the words' page, in the same file.
  std::string send(std::istringstream &words) {
    int32_t device = 0;
    std::string path;
    std::string hex;
    size_t offset = 0;
    size_t slot_bytes = 0;
    uint64_t n_messages = 0;
    words >> device >> path >> hex >> offset >> slot_bytes >> n_messages;
    const bool is_beside = hex == "-";
    sluice_ipc_handle_t handle{};
    if (!is_beside && !from_hex(hex, &handle)) return refused("no handle");
    const SharedPage page(path, is_beside ? slot_bytes / SharedPage::kBytes + 2 : 1);
    if (page.data() == nullptr) return refused("the words cannot be mapped");
    sluice_result_t result = table().host_register(device, page.data(), page.size_bytes());
    if (result != SLUICE_SUCCESS) return answer_of(result);
    void *base = page.behind();
    uint64_t mapped_bytes = 0;
    if (!is_beside) result = table().ipc_open(device, &handle, &base, &mapped_bytes);
    if (result != SLUICE_SUCCESS) return answer_of(result);
    {
      std::vector<Memory> messages(n_messages);
      const Stream stream(device);
      auto *const filled = page.data() + 1;
      for (uint64_t k = 1; k <= n_messages; ++k) {
        const size_t size = 97 * k % (slot_bytes + 1);
        const std::string problem = Memory::make(SLUICE_MEMORY_DEVICE, device, slot_bytes, &messages[k - 1]);
        if (!problem.empty()) return refused(problem);
        const std::string unwritten = messages[k - 1].write(pattern(size, k));
        if (!unwritten.empty()) return refused(unwritten);
        result = table().stream_wait(stream.get(), page.data(), k - 1);
        if (result == SLUICE_SUCCESS) {
          result =
              table().stream_copy(stream.get(), static_cast<std::byte *>(base) + offset, messages[k - 1].data(), size);
        }
        if (result == SLUICE_SUCCESS) result = table().stream_write(stream.get(), filled, k << 32U | size);
        if (result != SLUICE_SUCCESS) return answer_of(result);
      }
      stream.synchronize();
    }
    if (!is_beside) result = table().ipc_close(device, base);
    if (result == SLUICE_SUCCESS) result = table().host_unregister(device, page.data());
    return answer_of(result);
  }

  static const std::map<std::string, Verb> &verbs();
  std::vector<std::unique_ptr<Memory>> memories_;
  std::vector<Mapping> mappings_;
};

const std::map<std::string, PeerProcess::Verb> &PeerProcess::verbs() {
  static const std::map<std::string, Verb> all = {
      {"hello", &PeerProcess::hello}, {"alloc", &PeerProcess::alloc},      {"fill", &PeerProcess::fill},
      {"holds", &PeerProcess::holds}, {"free", &PeerProcess::free_memory}, {"export", &PeerProcess::export_memory},
      {"open", &PeerProcess::open},   {"check", &PeerProcess::check},      {"write", &PeerProcess::write},
      {"kind", &PeerProcess::kind},   {"close", &PeerProcess::close},      {"cycle", &PeerProcess::cycle},
      {"churn", &PeerProcess::churn}, {"send", &PeerProcess::send}};
  return all;
}

bool send_all(int socket, const std::string &text) {
  for (size_t sent = 0; sent < text.size();) {
    const ssize_t n = send(socket, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    sent += static_cast<size_t>(n);
  }
  return true;
}

}  // namespace

int run_peer(int socket) {
  PeerProcess process;
  std::string waiting;
  std::array<char, 4096> bytes{};
  while (true) {
    const ssize_t n = read(socket, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n == 0 ? 0 : 1;
    waiting.append(bytes.data(), static_cast<size_t>(n));
    for (size_t end = waiting.find('\n'); end != std::string::npos; end = waiting.find('\n')) {
      const std::string question = waiting.substr(0, end);
      waiting.erase(0, end + 1);
      if (!send_all(socket, process.answer(question))) return 1;
    }
  }
}

}  // namespace conformance

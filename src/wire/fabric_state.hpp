// SPDX-License-Identifier: BSD-3-Clause
// What fabric.cpp and fabric_message.cpp share: libfabric's objects, each held by an owner.
#pragma once

#include <fmt/format.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>
#include <rdma/fi_trigger.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "wire/fabric.hpp"

namespace sluice::wire {

// What is found by name; all else is in the tables of the objects.
struct FabricLibrary {
  decltype(&fi_getinfo) getinfo = nullptr;
  decltype(&fi_freeinfo) freeinfo = nullptr;
  decltype(&fi_dupinfo) dupinfo = nullptr;
  decltype(&fi_fabric) fabric = nullptr;
  decltype(&fi_strerror) strerror = nullptr;
};

struct CloseFid {
  template <typename Object>
  void operator()(Object *object) const noexcept {
    if (object == nullptr) return;
    if (const int code = fi_close(&object->fid); code != 0) {
      log::debug("wire", fmt::format("an object of libfabric's could not be closed ({})", code));
    }
  }
};
template <typename Object>
using Owned = std::unique_ptr<Object, CloseFid>;

// A counter that nothing is counted by yet. Errors: the provider refuses. Any thread.
[[nodiscard]] Status open_counter(fid_domain *domain, Owned<fid_cntr> *counter);

// Memory for the rest of a message that is longer than its receive. The provider `sockets` must have it: without it,
// `sockets` discards what has come of the rest, and takes what comes later for the next message
// (prov/sockets/src/sock_progress.c of libfabric, sock_pe_discard_field). Nobody reads this memory. forget() gives back
// what was written. Opened by one thread, before others know of it.
class Overflow {
 public:
  Overflow() noexcept = default;
  ~Overflow() {
    if (memory_.iov_base != nullptr) munmap(memory_.iov_base, memory_.iov_len);
  }
  Overflow(const Overflow &) = delete;
  Overflow &operator=(const Overflow &) = delete;
  Overflow(Overflow &&) = delete;
  Overflow &operator=(Overflow &&) = delete;

  [[nodiscard]] Status open() {
    void *mapped = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) {
      return Status::error(
          ErrorKind::kOutOfMemory,
          "no addresses for what truncated messages overflow into; raise the limit that `ulimit -v` shows");
    }
    memory_ = {mapped, kBytes};
    return {};
  }
  [[nodiscard]] bool is_open() const noexcept { return memory_.iov_base != nullptr; }
  [[nodiscard]] const iovec &memory() const noexcept { return memory_; }
  void forget() const noexcept { madvise(memory_.iov_base, memory_.iov_len, MADV_DONTNEED); }

 private:
  static constexpr std::size_t kBytes = std::size_t{4} << 30;  // addresses alone
  iovec memory_{};
};

// In the order in which they have to be closed, from the last to the first. open() and ask(): one thread, before others
// know of it.
struct Fabric::State {
  FabricLibrary library;
  fi_info *info = nullptr;
  Overflow overflow;  // open where the provider needs it
  Owned<fid_fabric> fabric;
  Owned<fid_domain> domain;
  Owned<fid_av> addresses;
  Owned<fid_cq> completions;
  std::mutex mutex;                                            // of what follows but `ranks`
  std::vector<Owned<fid_cntr>> idle_counters;                  // for the next sends
  std::vector<std::unique_ptr<FabricMessage::State>> orphans;  // under way when they were destroyed
  Owned<fid_ep> endpoint;
  std::vector<fi_addr_t> ranks;  // FI_ADDR_NOTAVAIL: not reached

  ~State();
  [[nodiscard]] Status check(long code, const char *what) const {
    if (code >= 0) return {};
    return Status::error(ErrorKind::kBackend,
                         fmt::format("libfabric: {}: {} (provider {}); set SLUICE_QUEUE_ENGINE=thread", what,
                                     library.strerror(static_cast<int>(-code)), name()));
  }
  [[nodiscard]] std::string name() const { return info != nullptr ? info->fabric_attr->prov_name : "none"; }
  // Opens the library's objects, with the provider of that name. Once. Errors: those of ask(); kOutOfMemory: no
  // addresses for what overflows; kUnsupported: its tags are too short; kBackend: libfabric refuses.
  [[nodiscard]] Status open(const char *provider);
  // Finds that provider: `info`. Errors: kOutOfMemory; kUnsupported: there is none that starts tagged messages by
  // counters.
  [[nodiscard]] Status ask(const char *provider);
  // An idle counter, or a new one. Locks `mutex`. Errors: those of open_counter().
  [[nodiscard]] Status take_counter(Owned<fid_cntr> *counter);
  // Takes one out of the completion queue; its message gets it. Within a turn. False: there was none.
  [[nodiscard]] bool read_error();
};

struct FabricTrigger::State {
  Owned<fid_cntr> counter;
};

// Whoever makes the message names its memory; from then on it is for one thread at a time, that of a turn.
struct FabricMessage::State {
  // The provider knows a message by the address of its context, the first member of the first member of this.
  struct Known {
    fi_deferred_work work{};
    State *message = nullptr;
  };
  static State *of(void *context) noexcept {
    return context != nullptr ? static_cast<Known *>(context)->message : nullptr;
  }

  Known known;
  fi_op_tagged operation{};
  iovec memory[2]{};
  Owned<fid_cntr> counter;  // of a deferred send: counts it when it is complete
  std::uint64_t counted = 0;
  std::uint64_t failed = 0;
  bool is_under_way = false;
  bool is_done = false;  // of the turn, as the outcome
  Outcome outcome;

  void name(const void *data, std::size_t size_bytes, fid_ep *endpoint, fi_addr_t peer, std::uint64_t tag) {
    memory[0] = {const_cast<void *>(data), size_bytes};  // NOLINT(cppcoreguidelines-pro-type-const-cast): both ways
    operation.ep = endpoint;
    operation.msg.msg_iov = memory;
    operation.msg.iov_count = 1;
    operation.msg.addr = peer;
    operation.msg.tag = tag;
    operation.msg.context = &known.work.context;
    known.message = this;
  }
  // Of a receive.
  void overflow_into(const Overflow &overflow) {
    if (!overflow.is_open()) return;
    memory[1] = overflow.memory();
    operation.msg.iov_count = 2;
  }
  void end(std::size_t size_bytes, const Overflow &overflow) {
    is_done = true;
    outcome.bytes = size_bytes;
    if (operation.msg.iov_count < 2 || size_bytes <= memory[0].iov_len) return;
    overflow.forget();
    end_truncated();
  }
  void end_truncated() {
    is_done = true;
    outcome.bytes = memory[0].iov_len;
    outcome.error =
        Status::error(ErrorKind::kTruncated,
                      fmt::format("the message is longer than the receive, which has room for {} bytes; make it longer",
                                  memory[0].iov_len));
  }
};

}  // namespace sluice::wire

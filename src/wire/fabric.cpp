// SPDX-License-Identifier: BSD-3-Clause
#include "wire/fabric.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <rdma/fi_cm.h>

#include <bit>
#include <cstring>
#include <exception>
#include <iterator>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "base/library_function.hpp"
#include "base/log.hpp"
#include "wire/fabric_state.hpp"

namespace sluice::wire {
namespace {

// Both major versions in use: 1.x for sockets, 2.x has cxi alone.
constexpr const char *kLibraries[] = {"libfabric.so.1", "libfabric.so.2"};
constexpr std::string_view kSoftware = "sockets";
constexpr const char *kProviders[] = {"cxi", kSoftware.data()};
// The least version that the code below is written for; a library newer than that gives what this one promises.
constexpr std::uint32_t kVersion = FI_VERSION(1, 15);
constexpr std::size_t kCompletions = 4096;

// Stays loaded: its threads and handlers do not bear being unloaded.
Status load(FabricLibrary *library) {
  std::string reasons;
  for (const char *name : kLibraries) {
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      const char *reason = dlerror();
      reasons += fmt::format("{}{}", reasons.empty() ? "" : "; ", reason != nullptr ? reason : name);
      continue;
    }
    if (find_function(handle, "fi_getinfo", &library->getinfo) &&
        find_function(handle, "fi_freeinfo", &library->freeinfo) &&
        find_function(handle, "fi_dupinfo", &library->dupinfo) &&
        find_function(handle, "fi_fabric", &library->fabric) &&
        find_function(handle, "fi_strerror", &library->strerror)) {
      return {};
    }
    return Status::error(
        ErrorKind::kUnsupported,
        fmt::format("{} is no libfabric, for it lacks fi_getinfo; install one (Debian: libfabric1)", name));
  }
  return Status::error(ErrorKind::kUnsupported,
                       fmt::format("libfabric cannot be loaded ({}); install it (Debian: libfabric1)", reasons));
}

}  // namespace

Fabric::State::~State() {
  // The endpoint first: then nobody writes to the memory of messages any more.
  endpoint.reset();
  orphans.clear();
  idle_counters.clear();
  completions.reset();
  addresses.reset();
  domain.reset();
  fabric.reset();
  if (info != nullptr) library.freeinfo(info);
}

Status Fabric::State::ask(const char *provider) {
  fi_info *hints = library.dupinfo(nullptr);
  if (hints == nullptr) {
    return Status::error(ErrorKind::kOutOfMemory,
                         "libfabric: no memory for hints; lower the program's own use of memory");
  }
  hints->caps = FI_TAGGED | FI_TRIGGER | FI_DIRECTED_RECV;
  hints->ep_attr->type = FI_EP_RDM;
  // No memory has to be registered for tagged messages with these.
  hints->domain_attr->mr_mode = FI_MR_ENDPOINT | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_VIRT_ADDR;
  hints->domain_attr->threading = FI_THREAD_SAFE;
  // `sockets` moves data in turn() then. Its own thread would watch for 10 ms after each message without a pause, on a
  // core that the ranks may need.
  if (provider == kSoftware) hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
  hints->tx_attr->msg_order = FI_ORDER_SAS;
  hints->rx_attr->msg_order = FI_ORDER_SAS;
  hints->fabric_attr->prov_name = strdup(provider);  // freed with the hints
  const int code = library.getinfo(kVersion, nullptr, nullptr, 0, hints, &info);
  library.freeinfo(hints);
  if (code == 0) return {};
  info = nullptr;
  return Status::error(ErrorKind::kUnsupported,
                       fmt::format("libfabric has no provider {} that can start tagged messages by counters: {}; name "
                                   "another, or set SLUICE_QUEUE_ENGINE=thread",
                                   provider, library.strerror(-code)));
}

Status Fabric::State::open(const char *provider) {
  if (Status status = ask(provider); !status.is_ok()) return status;
  if (info->fabric_attr->prov_name == kSoftware && info->rx_attr->iov_limit > 1) {
    if (Status status = overflow.open(); !status.is_ok()) return status;
  }
  // MPI's 31, and enough to tell communicators apart.
  constexpr int kFewestTagBits = 40;
  if (std::bit_width(info->ep_attr->mem_tag_format) < kFewestTagBits) {
    return Status::error(
        ErrorKind::kUnsupported,
        fmt::format(
            "libfabric's provider {} has tags of fewer than {} bits; name another, or set SLUICE_QUEUE_ENGINE=thread",
            name(), kFewestTagBits));
  }
  fid_fabric *new_fabric = nullptr;
  Status status = check(library.fabric(info->fabric_attr, &new_fabric, nullptr), "fi_fabric");
  if (!status.is_ok()) return status;
  fabric.reset(new_fabric);
  fid_domain *new_domain = nullptr;
  status = check(fi_domain(new_fabric, info, &new_domain, nullptr), "fi_domain");
  if (!status.is_ok()) return status;
  domain.reset(new_domain);
  fi_av_attr of_addresses{};
  of_addresses.type = FI_AV_MAP;
  fid_av *new_addresses = nullptr;
  status = check(fi_av_open(new_domain, &of_addresses, &new_addresses, nullptr), "fi_av_open");
  if (!status.is_ok()) return status;
  addresses.reset(new_addresses);
  fi_cq_attr of_completions{};
  of_completions.size = kCompletions;
  of_completions.format = FI_CQ_FORMAT_TAGGED;
  of_completions.wait_obj = FI_WAIT_NONE;
  fid_cq *new_completions = nullptr;
  status = check(fi_cq_open(new_domain, &of_completions, &new_completions, nullptr), "fi_cq_open");
  if (!status.is_ok()) return status;
  completions.reset(new_completions);
  fid_ep *new_endpoint = nullptr;
  status = check(fi_endpoint(new_domain, info, &new_endpoint, nullptr), "fi_endpoint");
  if (!status.is_ok()) return status;
  endpoint.reset(new_endpoint);
  status = check(fi_ep_bind(new_endpoint, &new_addresses->fid, 0), "fi_ep_bind");
  // A deferred send is counted, not listed.
  constexpr std::uint64_t kWhenAsked = FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION;
  if (status.is_ok()) status = check(fi_ep_bind(new_endpoint, &new_completions->fid, kWhenAsked), "fi_ep_bind");
  if (status.is_ok()) status = check(fi_enable(new_endpoint), "fi_enable");
  return status;
}

Status Fabric::State::take_counter(Owned<fid_cntr> *counter) {
  const std::scoped_lock lock(mutex);
  if (idle_counters.empty()) return open_counter(domain.get(), counter);
  *counter = std::move(idle_counters.back());
  idle_counters.pop_back();
  return {};
}

bool Fabric::State::read_error() {
  fi_cq_err_entry entry{};
  if (fi_cq_readerr(completions.get(), &entry, 0) <= 0) return false;
  FabricMessage::State *message = FabricMessage::State::of(entry.op_context);
  if (message == nullptr) return true;
  if (entry.err == FI_ETRUNC) {
    message->end_truncated();
  } else {
    message->is_done = true;
    message->outcome.error = Status::error(
        ErrorKind::kBackend, fmt::format("libfabric: a message ended with: {}; set SLUICE_QUEUE_ENGINE=thread",
                                         library.strerror(entry.err)));
  }
  return true;
}

Fabric::Fabric() noexcept = default;

Fabric &Fabric::process() {
  static auto *fabric = new Fabric();
  return *fabric;
}

Status Fabric::open(const std::string &provider) {
  auto made = std::make_unique<State>();
  if (Status status = load(&made->library); !status.is_ok()) return status;
  Status status;
  if (provider != "auto") {
    status = made->open(provider.c_str());
  } else {
    std::string reasons;
    for (const char *name : kProviders) {
      const FabricLibrary library = made->library;
      made = std::make_unique<State>();
      made->library = library;
      status = made->open(name);
      if (status.is_ok()) break;
      reasons += (reasons.empty() ? "" : "; ") + status.message();
    }
    if (!status.is_ok()) status = Status::error(ErrorKind::kUnsupported, reasons);
  }
  if (status.is_ok()) state_ = std::move(made);
  return status;
}

std::string Fabric::address() const {
  std::string address(kAddressBytes, '\0');
  std::size_t size = address.size();
  if (fi_getname(&state_->endpoint->fid, address.data(), &size) != 0) return "";
  address.resize(size);
  return address;
}

Status Fabric::connect(std::span<const std::string> addresses) {
  state_->ranks.assign(addresses.size(), FI_ADDR_NOTAVAIL);
  for (std::size_t rank = 0; rank < addresses.size(); ++rank) {
    if (addresses[rank].empty()) continue;
    const int inserted =
        fi_av_insert(state_->addresses.get(), addresses[rank].data(), 1, &state_->ranks[rank], 0, nullptr);
    if (inserted != 1) {
      return Status::error(
          ErrorKind::kBackend,
          fmt::format("libfabric: fi_av_insert refuses the address of rank {}: {}; set SLUICE_QUEUE_ENGINE=thread",
                      rank, state_->library.strerror(-inserted)));
    }
  }
  return {};
}

bool Fabric::reaches(int world_rank) const noexcept {
  return state_ != nullptr && world_rank >= 0 && static_cast<std::size_t>(world_rank) < state_->ranks.size() &&
         state_->ranks[static_cast<std::size_t>(world_rank)] != FI_ADDR_NOTAVAIL;
}

unsigned Fabric::tag_bits() const noexcept {
  return static_cast<unsigned>(std::bit_width(state_->info->ep_attr->mem_tag_format));
}

std::string Fabric::provider() const {
  return state_ != nullptr ? state_->name() : "none";
}

void Fabric::turn() noexcept {
  if (state_ == nullptr) return;
  try {
    fi_cq_tagged_entry entries[16];
    for (;;) {
      const ssize_t n_read = fi_cq_read(state_->completions.get(), entries, std::size(entries));
      if (n_read == -FI_EAVAIL) {
        if (state_->read_error()) continue;
        return;  // it is asked for in the next turn
      }
      if (n_read <= 0) {
        if (n_read != -FI_EAGAIN && n_read != 0) {
          log::warn_once("fabric_cq", "wire", state_->check(n_read, "fi_cq_read").message());
        }
        return;
      }
      for (ssize_t i = 0; i < n_read; ++i) {
        FabricMessage::State *message = FabricMessage::State::of(entries[i].op_context);
        if (message != nullptr) message->end(entries[i].len, state_->overflow);
      }
    }
  } catch (const std::exception &) {
    log::error("wire", "out of memory: an error of libfabric's is lost; lower the program's use of memory");
  }
}

void Fabric::close() noexcept {
  state_.reset();
}

}  // namespace sluice::wire

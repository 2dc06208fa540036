// SPDX-License-Identifier: BSD-3-Clause
// What the module knows of the runtime: its devices in Sluice's order, and the contexts that are asked about pointers.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "module.h"

namespace sluice::backends::sycl {

struct KnownContext {
  ::sycl::context context;
  ::sycl::backend backend;
  // The devices of the context and what they are called here (-1: not listed).
  std::vector<std::pair<::sycl::device, int32_t>> devices;
};

class Runtime {
 public:
  // Platforms with more contexts than this are refused by register_context().
  static constexpr size_t kMaxContexts = 64;

  // Finds devices and contexts, which starts the runtime if the program has not; once. Throws what the runtime throws.
  static Runtime &start();
  // The runtime as it is, or null as long as nobody in the process has used it; starts nothing. Hot.
  static Runtime *if_in_use();

  const std::vector<::sycl::device> &devices() const { return devices_; }
  // Sum of sluice_device_trait_t; index as in devices().
  uint32_t traits(int32_t device) const { return traits_[static_cast<size_t>(device)]; }
  // The default context of a device's platform; index as in devices().
  const KnownContext &default_context(int32_t device) const;
  // The index of a device or of the root of a sub-device; -1 when it is not listed.
  int32_t index_of(const ::sycl::device &device) const;

  // Contexts in the order of being known; any thread, no lock.
  size_t n_contexts() const { return n_contexts_.load(std::memory_order_acquire); }
  const KnownContext &context(size_t i) const { return *contexts_[i]; }
  bool has_registered_contexts() const { return n_contexts() > n_default_contexts_; }

  // False when there are too many. One that is known already stays as it is.
  bool add_context(const ::sycl::context &context);

 private:
  Runtime();
  void list_devices();

  std::vector<::sycl::device> devices_;
  std::vector<uint32_t> traits_;
  std::vector<size_t> context_of_device_;
  std::array<std::unique_ptr<KnownContext>, kMaxContexts> contexts_;
  std::atomic<size_t> n_contexts_{0};
  size_t n_default_contexts_ = 0;
};

// Which context knows an address, and as what.
struct Found {
  const KnownContext *context = nullptr;
  ::sycl::usm::alloc kind = ::sycl::usm::alloc::unknown;
};
// pointers.cpp. Asks the context that answered this thread's last question first, then the others.
Found find_allocation(const Runtime &runtime, const void *address);

}  // namespace sluice::backends::sycl

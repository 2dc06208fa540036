// SPDX-License-Identifier: BSD-3-Clause
// This rank's device, memory of it, and streams in which kernels run: what an application would take from one vendor's
// runtime, behind one interface, so that the application reads the same on all. The messages go through MPI.
#pragma once

#include <sluice/testing/program_kernels.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "apps/support/kernel.hpp"
#include "bench/memory/stream_graph.hpp"
#include "bench/mpi/world.hpp"

namespace sluice::apps {

using bench::AgreedError;
using bench::check_mpi;
using bench::DeviceError;
using bench::World;

struct DeviceOptions {
  std::string module;      // the backend's name
  std::string module_dir;  // where the modules lie; "": beside the program
  bool is_oversubscribed = false;
  bool is_forced = false;  // an MPI that does not say that it takes device memory is tried all the same
};

// One device of a backend. One thread; errors are thrown as DeviceError with the runtime's own text.
class Device {
 public:
  // Collective. Takes the device whose number is this rank's number on its host, modulo the number of devices. Refuses
  // that ranks share a device unless that is asked for or it is made of cores, a backend that has no kernels, and an
  // MPI that does not say that it takes this device's memory: throws AgreedError.
  Device(const World &world, const DeviceOptions &options);

  const std::string &module_name() const { return module_->name(); }
  std::int32_t index() const { return module_->device(); }
  sluice_device_info_t query() const { return module_->query_device(index()); }
  // Who said that this MPI takes the device's memory.
  const std::string &awareness() const { return awareness_; }

  bench::DeviceModule &module() { return *module_; }
  const sluice_program_kernels_t &kernels() const { return *kernels_; }
  // Whether the backend has graphs of what a stream was given (Stream::begin_graph).
  bool has_graphs() const { return kernels_->graph_begin != nullptr; }
  // Local. One more table of the module's, by the name of the function that hands it out; null when it has none.
  const void *find_table(const char *symbol) const { return module_->find_table(symbol); }

 private:
  void choose(const World &world, bool is_oversubscribed);

  std::unique_ptr<bench::DeviceModule> module_;
  const sluice_program_kernels_t *kernels_ = nullptr;
  std::string awareness_;
};

// Elements of device memory, or none. Freed at the end; the device outlives it.
template <class T>
class DeviceArray {
 public:
  DeviceArray(Device &device, std::size_t n_elements)
      : device_(device),
        n_elements_(n_elements),
        data_(static_cast<T *>(
            device.module().allocate(SLUICE_MEMORY_DEVICE, n_elements == 0 ? sizeof(T) : size_bytes()))) {}
  ~DeviceArray() {
    const std::string error = device_.module().release(data_);
    if (!error.empty()) std::fprintf(stderr, "device memory could not be freed: %s\n", error.c_str());
  }
  DeviceArray(const DeviceArray &) = delete;
  DeviceArray &operator=(const DeviceArray &) = delete;

  T *data() const { return data_; }
  std::size_t size() const { return n_elements_; }
  std::size_t size_bytes() const { return n_elements_ * sizeof(T); }

  // Blocking copies of all elements; ordered with no stream.
  // Done when it returns, for streams too: a runtime's blocking copy may still be under way then, and they do not wait
  // for it.
  void write(std::span<const T> values) {
    if (n_elements_ == 0) return;
    device_.module().copy(data_, values.data(), size_bytes());
    device_.module().synchronize();
  }
  std::vector<T> read() const {
    std::vector<T> values(n_elements_);
    if (n_elements_ > 0) device_.module().copy(values.data(), data_, size_bytes());
    return values;
  }

 private:
  Device &device_;
  std::size_t n_elements_;
  T *data_;
};

// Throws AgreedError that `variant` of a program wants graphs, where there are none.
void check_graphs(const Device &device, const std::string &variant);

// Commands of a stream, to be launched again and again as one. Destroyed when no launch of it is running.
using Graph = bench::StreamGraph;

// Kernels in their order. Destroyed when what is enqueued has run. The device outlives it.
class Stream {
 public:
  explicit Stream(Device &device);
  ~Stream();
  Stream(const Stream &) = delete;
  Stream &operator=(const Stream &) = delete;

  // Enqueues items 0 to n_items - 1 of a kernel and returns before they have run. size_bytes: how far it may reach
  // behind each address of its task, in the order of the addresses. Nothing for no items.
  template <class Task>
  void launch(const Kernel<Task> &kernel, std::uint64_t n_items, const Task &task,
              const std::array<std::uint64_t, Task::kMemory> &size_bytes) {
    std::array<std::uint64_t, sizeof(Task) / sizeof(std::uint64_t)> words;
    std::memcpy(words.data(), &task, sizeof(task));
    if (n_items > 0) launch_words(kernel.of, is_loading_ ? 0 : n_items, words.data(), size_bytes.data());
  }
  // While one lives, a launch of the stream has the device take the kernel in and runs no item of it. A runtime that
  // does so at a kernel's first launch may wait for the whole device then, and so for a stream that waits for a message
  // (docs/queue/guide.md): programs with queues load their kernels first.
  class Loading {
   public:
    explicit Loading(Stream &stream) : stream_(stream) { stream_.is_loading_ = true; }
    ~Loading() { stream_.is_loading_ = false; }
    Loading(const Loading &) = delete;
    Loading &operator=(const Loading &) = delete;

   private:
    Stream &stream_;
  };
  // Blocks until all of it has run.
  void synchronize();
  // What enqueue() gives the stream does not run, but becomes a graph, which the stream outlives. Device::has_graphs().
  template <class Enqueue>
  std::unique_ptr<Graph> capture(const Enqueue &enqueue) {
    return std::make_unique<Graph>(device_.kernels(), device_.module(), native_, enqueue);
  }
  // The runtime's own handle, as MPIX_Create_queue takes it, and what programs call its type.
  void *native() const { return native_; }
  const char *type() const { return device_.module().table().stream_words()[0]; }

 private:
  void launch_words(const sluice_program_kernel_t &kernel, std::uint64_t n_items, const std::uint64_t *words,
                    const std::uint64_t *size_bytes);

  Device &device_;
  void *native_ = nullptr;
  bool is_loading_ = false;
};

}  // namespace sluice::apps

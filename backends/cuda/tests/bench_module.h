// SPDX-License-Identifier: BSD-3-Clause
// Owns the backend module as a benchmark uses it: opened by path, knobs from the environment.
#pragma once

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "sluice/backend.h"

namespace sluice::backends::cuda::bench {

class Module {
 public:
  // Opens the module and a queue on device 0, whose context must be active. "" or why not.
  std::string open(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return dlerror();
    const auto get = reinterpret_cast<sluice_backend_table_fn>(dlsym(library, SLUICE_BACKEND_TABLE_SYMBOL));
    if (get == nullptr) return "no " SLUICE_BACKEND_TABLE_SYMBOL;
    table_ = get();
    shared_table = table_;
    static const sluice_host_services_t services = {sizeof services, log, knob};
    std::string why = text(table_->init(&services));
    return why.empty() ? text(table_->queue_create(0, &queue_)) : why;
  }

  std::string copy(void *dst, const void *src, std::size_t size_bytes) {
    return text(table_->copy(queue_, dst, src, size_bytes));
  }

  std::string copy_by_ticket(void *dst, const void *src, std::size_t size_bytes) {
    const sluice_copy_t one = {dst, src, size_bytes};
    std::uint64_t ticket = 0;
    sluice_result_t result = table_->enqueue_copies(queue_, &one, 1);
    if (result == SLUICE_SUCCESS) result = table_->enqueue_ticket(queue_, &ticket);
    if (result == SLUICE_SUCCESS) result = table_->wait_ticket(queue_, ticket);
    return text(result);
  }

  const sluice_backend_t *table() const { return table_; }

 private:
  std::string text(sluice_result_t result) const {
    return result == SLUICE_SUCCESS ? std::string() : std::string("error: ") + table_->last_error();
  }

  static void log(int level, const char *line) {
    if (level <= 2) std::printf("module: %s\n", line);
  }

  static const char *knob(const char *name) {
    for (std::size_t i = 0; i < shared_table->n_knobs; ++i) {
      if (std::strcmp(shared_table->knobs[i].name, name) != 0) continue;
      const char *set = std::getenv(name);
      return set != nullptr ? set : shared_table->knobs[i].default_value;
    }
    return nullptr;
  }

  inline static const sluice_backend_t *shared_table = nullptr;
  const sluice_backend_t *table_ = nullptr;
  sluice_queue_t *queue_ = nullptr;
};

}  // namespace sluice::backends::cuda::bench

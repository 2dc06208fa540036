// SPDX-License-Identifier: BSD-3-Clause
// Opens one backend module for a test program, which uses nothing of it but the `program` group: what any program
// would do with the vendor's runtime. Owns the module for the life of the process.
#pragma once

#include <sluice/backend.h>

#include <string>

namespace sluice::tests {

class BackendModule {
 public:
  // Opens <program's folder>/../lib/sluice/libsluice_backend_<name>.so and starts it. The result is null when that is
  // not possible; `reason` then says why. Not thread-safe; call it once.
  static BackendModule *open(const std::string &name, std::string &reason);

  // The members of the table's `program` group. They throw std::runtime_error with the native text; allocate() returns
  // null when the runtime does not know that kind of memory. Any thread.
  void set_device(int device) const;
  void *allocate(sluice_memory_kind_t kind, size_t size_bytes) const;
  void release(void *memory) const;
  void copy(void *dst, const void *src, size_t size_bytes) const;
  void synchronize() const;

  int device_count() const;
  // For what the group does not have.
  const sluice_backend_t &table() const { return *table_; }
  const std::string &name() const { return name_; }

 private:
  BackendModule(std::string name, const sluice_backend_t *table) : name_(std::move(name)), table_(table) {}
  void require(sluice_result_t result, const char *what) const;

  std::string name_;
  const sluice_backend_t *table_;
};

// The folder that the running program lies in.
std::string program_folder();

}  // namespace sluice::tests

// SPDX-License-Identifier: BSD-3-Clause
// Kernels of an application: each is written once, in apps/<name>/kernels.hpp, as a function of its task and an item's
// number, and compiled for every device (include/sluice/testing/program_kernels.h). That file includes nothing but
// <cstdint> and, for the host, this one:
//
//   struct AddTask {
//     double *sum;                              // addresses first: those that are written, then those that are read
//     const double *part;
//     std::uint64_t n;                          // all members are words of 8 bytes
//     static constexpr unsigned kMemory = 2;    // how many addresses
//     static constexpr unsigned kWritten = 1;   // how many of those are written
//   };
//   SLUICE_PROGRAM_KERNEL(add, AddTask) { task.sum[item] += task.part[item]; }
//
// Functions that kernels call begin with SLUICE_PROGRAM_FUNCTION, which is `inline` where nobody has defined it.
// sluice_add_app() of apps/CMakeLists.txt makes of it the constant add_kernel, of type Kernel<AddTask>.
#pragma once

#include <sluice/testing/program_kernels.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

// The device's compilers have definitions of their own.
#define SLUICE_PROGRAM_KERNEL(name, Task) inline void name(const Task &task, std::uint64_t item)

namespace sluice::apps {

// A kernel as Stream::launch takes it.
template <class Task>
struct Kernel {
  sluice_program_kernel_t of;
};

// What a device's compiler made of a kernel when the application was built.
struct CompiledText {
  const char *name;
  const char *compiled_for;
  const char *text;
};

// Has sluice_program_kernel_of() find it. Called while the process starts.
void announce_kernel(const sluice_program_kernel_t &kernel);

template <class Task, void (*kFunction)(const Task &, std::uint64_t)>
void run_items(const void *words, std::uint64_t n_items) {
  Task task;
  std::memcpy(&task, words, sizeof(task));
  for (std::uint64_t item = 0; item < n_items; ++item) kFunction(task, item);
}

// texts: ends with an entry without a name.
template <class Task, void (*kFunction)(const Task &, std::uint64_t)>
Kernel<Task> make_kernel(const char *name, const char *function, const char *task_type, const char *source,
                         const CompiledText *texts) {
  static_assert(std::is_trivially_copyable_v<Task> && sizeof(Task) % sizeof(std::uint64_t) == 0);
  static_assert(sizeof(Task) / sizeof(std::uint64_t) <= SLUICE_PROGRAM_KERNEL_MOST_WORDS);
  while (texts->name != nullptr && std::strcmp(texts->name, name) != 0) ++texts;
  const Kernel<Task> made{{name, function, task_type, source, texts->text, texts->compiled_for,
                           run_items<Task, kFunction>, sizeof(Task) / sizeof(std::uint64_t), Task::kMemory,
                           Task::kWritten}};
  announce_kernel(made.of);
  return made;
}

}  // namespace sluice::apps

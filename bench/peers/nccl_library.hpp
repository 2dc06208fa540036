// SPDX-License-Identifier: BSD-3-Clause
// What the programs around NCCL share: its library, loaded by name so that the one of a Python package serves, and
// checks that end the program with one line. A program sets `program` first.
#pragma once

#include <cuda_runtime.h>
#include <dlfcn.h>
#include <nccl.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <type_traits>

namespace peers {

inline const char *program = "nccl";
inline int my_rank = 0;

[[noreturn]] inline void fail(const std::string &text) {
  std::fprintf(stderr, "%s: rank %d: %s\n", program, my_rank, text.c_str());
  std::exit(1);
}

struct Library {
  decltype(&ncclGetUniqueId) get_unique_id;
  decltype(&ncclCommInitRank) comm_init_rank;
  decltype(&ncclCommDestroy) comm_destroy;
  decltype(&ncclSend) send;
  decltype(&ncclRecv) recv;
  decltype(&ncclBroadcast) broadcast;
  decltype(&ncclAllGather) all_gather;
  decltype(&ncclAllReduce) all_reduce;
  decltype(&ncclReduce) reduce;
  decltype(&ncclReduceScatter) reduce_scatter;
  decltype(&ncclGroupStart) group_start;
  decltype(&ncclGroupEnd) group_end;
  decltype(&ncclGetErrorString) error_string;
  decltype(&ncclGetVersion) version;
};
inline Library nccl{};

inline void check(cudaError_t result, const char *what) {
  if (result != cudaSuccess) fail(std::string(what) + ": " + cudaGetErrorString(result));
}

inline void check(ncclResult_t result, const char *what) {
  if (result != ncclSuccess) fail(std::string(what) + ": " + nccl.error_string(result));
}

inline void load(const std::string &path) {
  void *handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) fail(::dlerror());
  const auto find = [&](const char *name, auto &function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, name));
    if (function == nullptr) fail(std::string("the library has no ") + name);
  };
  find("ncclGetUniqueId", nccl.get_unique_id);
  find("ncclCommInitRank", nccl.comm_init_rank);
  find("ncclCommDestroy", nccl.comm_destroy);
  find("ncclSend", nccl.send);
  find("ncclRecv", nccl.recv);
  find("ncclBroadcast", nccl.broadcast);
  find("ncclAllGather", nccl.all_gather);
  find("ncclAllReduce", nccl.all_reduce);
  find("ncclReduce", nccl.reduce);
  find("ncclReduceScatter", nccl.reduce_scatter);
  find("ncclGroupStart", nccl.group_start);
  find("ncclGroupEnd", nccl.group_end);
  find("ncclGetErrorString", nccl.error_string);
  find("ncclGetVersion", nccl.version);
}

}  // namespace peers

// SPDX-License-Identifier: BSD-3-Clause
// Messages between devices by the library of the device's vendor (sluice/testing/program_exchange.h), in place of
// MPI's: MPI carries only what makes a group.
#pragma once

#include <sluice/testing/program_exchange.h>

#include <cstdio>
#include <exception>
#include <string>

#include "apps/support/device.hpp"

namespace sluice::apps {

// The device's library. Throws DeviceError when there is none, with what to do.
class MessageLibrary {
 public:
  explicit MessageLibrary(Device &device)
      : device_(device),
        table_(static_cast<const sluice_program_exchange_t *>(device.find_table(SLUICE_PROGRAM_EXCHANGE_SYMBOL))) {
    if (table_ == nullptr || table_->api_version != SLUICE_PROGRAM_EXCHANGE_API_VERSION) {
      throw DeviceError("the backend '" + device.module_name() +
                        "' has no message library of its vendor's: take another");
    }
    const char *name = table_->library();
    if (name == nullptr) throw DeviceError(device.module().table().last_error());
    name_ = name;
  }

  // With its version.
  const std::string &name() const { return name_; }
  Device &device() const { return device_; }
  const sluice_program_exchange_t &table() const { return *table_; }

 private:
  Device &device_;
  const sluice_program_exchange_t *table_;
  std::string name_;
};

// The ranks of a communicator, as the library knows them. The library and the stream outlive it, and what was enqueued
// has run when it is destroyed, or an exception is under way: then it waits for no other rank. Throws DeviceError and
// MpiError.
class MessageGroup {
 public:
  // Collective. A rank that throws leaves the others waiting: the program is to end them.
  MessageGroup(MessageLibrary &library, Stream &stream, MPI_Comm communicator) : library_(library) {
    int n_ranks = 0;
    int rank = 0;
    check_mpi(MPI_Comm_size(communicator, &n_ranks), "MPI_Comm_size");
    check_mpi(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
    sluice_program_exchange_id_t id = {};
    if (rank == 0) require(library.table().id_create(&id), "naming of a group");
    check_mpi(MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, communicator), "MPI_Bcast");
    require(library.table().group_create(stream.native(), &id, static_cast<std::uint32_t>(n_ranks),
                                         static_cast<std::uint32_t>(rank), &group_),
            "making of a group");
  }
  // Collective, but for exceptions.
  ~MessageGroup() {
    const bool is_abandoned = std::uncaught_exceptions() > n_exceptions_;
    const auto end = is_abandoned ? library_.table().group_abandon : library_.table().group_destroy;
    if (end(group_) == SLUICE_SUCCESS) return;
    std::fprintf(stderr, "a group could not be ended: %s\n", library_.device().module().table().last_error());
  }
  MessageGroup(const MessageGroup &) = delete;
  MessageGroup &operator=(const MessageGroup &) = delete;

  // Collective. Returns before the parts have moved (sluice_program_exchange_t::enqueue).
  void enqueue(const sluice_program_exchange_parts_t &parts) {
    require(library_.table().enqueue(group_, &parts), "exchange");
  }

 private:
  void require(sluice_result_t result, const char *what) const { library_.device().module().require(result, what); }

  MessageLibrary &library_;
  int n_exceptions_ = std::uncaught_exceptions();
  sluice_program_exchange_group_t *group_ = nullptr;
};

}  // namespace sluice::apps

// SPDX-License-Identifier: BSD-3-Clause
// MPI_File_open and MPI_File_close, between which a file has its state.
#include "ops/io/file_state.hpp"

#include <exception>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "base/log.hpp"
#include "base/short_mutex.hpp"
#include "device/registry.hpp"
#include "generated/operations.hpp"
#include "ops/coll/node/in_turns.hpp"
#include "ops/comm/agreement.hpp"
#include "ops/comm/comm_state.hpp"
#include "ops/io/split_call.hpp"
#include "ops/request/turns.hpp"
#include "wire/channel.hpp"
#include "wire/host.hpp"
#include "wire/owned_handle.hpp"

namespace sluice::ops {
namespace io {
namespace {

class FileTable {
 public:
  // Never destroyed: a program may close a file at exit.
  static FileTable &process() {
    static auto *one = new FileTable;
    return *one;
  }

  [[nodiscard]] FileStatePtr find(MPI_File file) const {
    const std::scoped_lock lock(mutex_);
    const auto found = files_.find(file);
    return found == files_.end() ? nullptr : found->second;
  }
  // What stands there already wins, for two threads may come at once; `is_new` replaces it: the handle is another
  // file's now.
  FileStatePtr put(MPI_File file, FileStatePtr state, bool is_new) {
    const std::scoped_lock lock(mutex_);
    FileStatePtr &entry = files_[file];
    if (entry == nullptr || is_new) entry = std::move(state);
    return entry;
  }
  FileStatePtr take(MPI_File file) noexcept {
    const std::scoped_lock lock(mutex_);
    const auto found = files_.find(file);
    if (found == files_.end()) return nullptr;
    FileStatePtr state = std::move(found->second);
    files_.erase(found);
    return state;
  }

 private:
  mutable ShortMutex mutex_;
  std::unordered_map<MPI_File, FileStatePtr> files_;
};

bool is_of_one_rank(MPI_File file) {
  const wire::Host &host = wire::host();
  wire::OwnedGroup ranks;
  int size = 0;
  return host.MPI_File_get_group(file, ranks.slot()) == MPI_SUCCESS &&
         host.MPI_Group_size(ranks.get(), &size) == MPI_SUCCESS && size == 1;
}

// Collective over `comm`, of several ranks, which have opened a file, or not; blocks, in turns. What they can do
// together.
Status agree_on_means(MPI_Comm comm, bool is_open, FileState *state) {
  const CommState *const members = state_for_call(comm);
  const SharedPointerPtr last = members == nullptr ? nullptr : last_shared_pointer(members->world_ranks);
  const long long number = last == nullptr ? 0 : last->number;
  Agreement<5> all;
  all.say({is_open ? 1 : 0, device::Registry::process().backends().empty() ? 0 : -1,
           wire::Channel::process().has_threads() ? 0 : 1, number, -number});
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = all.start(comm, &request);
  Status status = await_in_turns(code, &request, "have the ranks of a file agree on how they share it");
  if (!status.is_ok() || all.least(0) != 1) return status;
  bool is_made = false;
  status = state->comm.make(comm, &is_made);
  if (!is_made) return status;
  state->is_of_one_thread = all.least(2) == 1;
  if (last != nullptr && are_alike(all.least(3), all.least(4))) {
    state->shared = last;
    return status;
  }
  const bool has_devices = all.least(1) != 0;
  if (!has_devices || members == nullptr || !members->is_on_one_node) return status;
  return share_pointer(state->comm.get(), members->world_ranks, &state->shared);
}

void make_state(MPI_Comm comm, bool is_open, MPI_File file) {
  auto state = std::make_shared<FileState>();
  int size = 0;
  if (wire::host().MPI_Comm_size(comm, &size) != MPI_SUCCESS) return;
  state->is_of_one_rank = size == 1;
  if (size == 1) {
    state->shared = std::make_shared<SharedPointer>();
  } else {
    const Status status = agree_on_means(comm, is_open, state.get());
    if (!status.is_ok()) log::warn_once("file_comm", "io", status.message() + "; calls on it may be staged whole");
  }
  if (is_open) FileTable::process().put(file, std::move(state), true);
}

}  // namespace

FileState::FileState() = default;
FileState::~FileState() = default;

FileStatePtr known_state_of(MPI_File file) {
  return FileTable::process().find(file);
}

FileStatePtr state_of(MPI_File file) {
  if (FileStatePtr found = known_state_of(file)) return found;
  auto made = std::make_shared<FileState>();
  made->is_of_one_rank = is_of_one_rank(file);
  if (made->is_of_one_rank) made->shared = std::make_shared<SharedPointer>();
  return FileTable::process().put(file, std::move(made), false);
}

}  // namespace io

int file_open(MPI_Comm comm, const char *filename, int amode, MPI_Info info, MPI_File *fh) {
  const int result = after_barrier(comm, [&] { return wire::host().MPI_File_open(comm, filename, amode, info, fh); });
  // Without the channel no rank has device memory, or not all have Sluice: a rank stages for itself then.
  if (!is_within_channel(comm)) return result;
  try {
    io::make_state(comm, result == MPI_SUCCESS, result == MPI_SUCCESS ? *fh : MPI_FILE_NULL);
  } catch (const std::exception &error) {
    log::warn_once("file_state", "io", std::string("no memory for what is known of a file: ") + error.what());
  }
  return result;
}

int file_close(MPI_File *fh) {
  io::FileStatePtr state = fh == nullptr ? nullptr : io::FileTable::process().take(*fh);
  if (state != nullptr && state->comm.get() != MPI_COMM_NULL) {
    // The host MPI waits for all ranks, of which one may need something of this process before it comes.
    const int result = come_together_by_host(state->comm.get());
    if (result != MPI_SUCCESS) log::warn_once("file_close", "io", "the ranks of a file could not come together");
  }
  state.reset();
  return reap(wire::host().MPI_File_close(fh));
}

}  // namespace sluice::ops

// SPDX-License-Identifier: BSD-3-Clause
// OwnedHandle: a datatype, group, communicator or info of Sluice's own, which the host MPI frees at its end. Nothing
// else in the library frees one.
#pragma once

#include <string_view>
#include <utility>

#include "base/log.hpp"
#include "wire/host.hpp"

namespace sluice::wire {

// One for each kind of handle, for an MPI may have one C type for all. What stands for none is looked up in the host
// MPI, so an owner is made once that is there, as in any call of the program's.
struct DatatypeKind {
  using Handle = MPI_Datatype;
  static constexpr std::string_view kNotFreed = "a datatype could not be freed";
  static Handle none() noexcept { return MPI_DATATYPE_NULL; }
  static int free(Handle *handle) noexcept { return host().MPI_Type_free(handle); }
};
struct GroupKind {
  using Handle = MPI_Group;
  static constexpr std::string_view kNotFreed = "a group could not be freed";
  static Handle none() noexcept { return MPI_GROUP_NULL; }
  static int free(Handle *handle) noexcept { return host().MPI_Group_free(handle); }
};
// Collective over the communicator, though host MPIs do not wait for the others.
struct CommKind {
  using Handle = MPI_Comm;
  static constexpr std::string_view kNotFreed = "a communicator could not be freed";
  static Handle none() noexcept { return MPI_COMM_NULL; }
  static int free(Handle *handle) noexcept { return host().MPI_Comm_free(handle); }
};
struct InfoKind {
  using Handle = MPI_Info;
  static constexpr std::string_view kNotFreed = "an info could not be freed";
  static Handle none() noexcept { return MPI_INFO_NULL; }
  static int free(Handle *handle) noexcept { return host().MPI_Info_free(handle); }
};

// Move only. One thread at a time. To be ended before the host MPI is: who may live longer calls release(). A handle
// that the host MPI cannot free is lost, which the log says at its debug level: nothing that the program asked for has
// failed then.
template <typename Kind>
class OwnedHandle {
 public:
  using Handle = typename Kind::Handle;

  OwnedHandle() noexcept = default;
  // Takes over `handle`, which may be the kind's null handle.
  explicit OwnedHandle(Handle handle) noexcept : handle_(handle) {}
  OwnedHandle(OwnedHandle &&other) noexcept : handle_(other.release()) {}
  OwnedHandle &operator=(OwnedHandle &&other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  OwnedHandle(const OwnedHandle &) = delete;
  OwnedHandle &operator=(const OwnedHandle &) = delete;
  ~OwnedHandle() { reset(); }

  // The kind's null handle when there is none.
  [[nodiscard]] Handle get() const noexcept { return handle_; }
  // For a function of the host MPI that makes a handle, while there is none, or that changes one (MPI_Type_commit).
  [[nodiscard]] Handle *slot() noexcept { return &handle_; }
  // Gives it to the caller.
  [[nodiscard]] Handle release() noexcept { return std::exchange(handle_, Kind::none()); }
  // Frees what there is.
  void reset() noexcept {
    Handle freed = release();
    if (freed != Kind::none() && Kind::free(&freed) != MPI_SUCCESS) log::debug("wire", Kind::kNotFreed);
  }

 private:
  Handle handle_ = Kind::none();
};

using OwnedDatatype = OwnedHandle<DatatypeKind>;
using OwnedGroup = OwnedHandle<GroupKind>;
using OwnedComm = OwnedHandle<CommKind>;
using OwnedInfo = OwnedHandle<InfoKind>;

}  // namespace sluice::wire

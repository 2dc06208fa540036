// SPDX-License-Identifier: BSD-3-Clause
// Streams and communicators with streams: MPIX_Stream_create, MPIX_Stream_comm_create and what belongs to them. A host
// MPI that has these functions sees MPIX_STREAM_NULL in the place of each stream of Sluice's.
#include "ops/stream/streams.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/knobs.hpp"
#include "base/switch.hpp"
#include "device/stream.hpp"
#include "ops/coll/host_calls.hpp"
#include "ops/env/errors.hpp"
#include "ops/env/memory_kinds.hpp"
#include "ops/env/world.hpp"
#include "ops/queue/carriers.hpp"
#include "wire/owned_handle.hpp"

namespace sluice::ops::stream {
namespace {

// The host MPI's function of that name, looked up once; null when it has none.
#define SLUICE_HOST_FUNCTION(name, ...)                                                 \
  [] {                                                                                  \
    using Function = int (*)(__VA_ARGS__);                                              \
    static const auto function = reinterpret_cast<Function>(wire::extension("P" name)); \
    return function;                                                                    \
  }()

Status no_stream(int number) {
  return Status::error(ErrorKind::kInvalidArgument,
                       fmt::format("{:#x} is no stream, or was freed; give what MPIX_Stream_create wrote", number));
}

// Runs `body`, which returns a Status, for a function that belongs to no communicator.
template <typename Body>
int on_self(Body body) noexcept {
  int code = MPI_SUCCESS;
  if (!is_usable("streams", &code)) return code;
  return guarded(MPI_COMM_SELF, [&]() -> int {
    const Status status = body();
    return status.is_ok() ? MPI_SUCCESS : raise(MPI_COMM_SELF, status);
  });
}

// Whether the new communicator has a stream of the host MPI's own on any rank; collective over `comm`, whose members
// agree on it. The streams of MPICH's threads have no place for calls that Sluice would make beside the program's: a
// non-blocking collective call on such a communicator never ends there (MPICH 5.0.2), without Sluice either. Errors:
// the host MPI's.
Status find_is_left(MPI_Comm comm, const std::vector<int> &shown, bool has_host_streams, bool *is_left) {
  *is_left = is_left_to_host(comm);
  if (*is_left || !has_host_streams || !is_within_channel(comm)) return {};
  const bool has_none = std::ranges::all_of(shown, [](int number) { return number == NamedStreams::kNull; });
  bool have_none = true;
  Status status = agree_on_all(comm, has_none, &have_none);
  *is_left = !have_none;
  return status;
}

Status name_stream(MPI_Info info, const std::string &type, int *stream) {
  NamedStream named;
  if (Status status = device::find_stream_owner(type, &named.owner); !status.is_ok()) return status;
  const auto value = value_of(info, "value");
  if (!value) {
    return Status::error(ErrorKind::kInvalidArgument,
                         fmt::format("the info has the type {} and no `value`; set it with MPIX_Info_set_hex(info, "
                                     "\"value\", &stream, sizeof stream)",
                                     type));
  }
  Status status = decode_hex(*value, std::as_writable_bytes(std::span(&named.native, 1)));
  if (status.is_ok()) status = queue::check_threads();
  std::unique_ptr<device::Stream> looked_at;
  if (status.is_ok()) status = device::Stream::open_without_words(*named.owner, named.native, &looked_at);
  if (status.is_ok()) *stream = NamedStreams::process().add(named);
  return status;
}

}  // namespace

bool are_left_to_host() noexcept {
  static const bool are_left = [] {
    try {
      return Knobs::process().text("SLUICE_MPIX_STREAMS") == "host";
    } catch (const std::exception &) {
      return false;  // no memory for the knobs: MPI_Init says so
    }
  }();
  return are_left || !is_enabled();
}

int no_host_function(const char *name) noexcept {
  return guarded(MPI_COMM_SELF, [&]() -> int {
    const Status status = Status::error(
        ErrorKind::kUnsupported,
        fmt::format("{} is left to the host MPI (SLUICE_MPIX_STREAMS=host or SLUICE_ENABLE=0), which has no such "
                    "function; unset the variable",
                    name));
    set_last_error(status);
    return is_world_alive() ? raise(MPI_COMM_SELF, status) : MPI_ERR_OTHER;
  });
}

int info_set_hex(MPI_Info info, const char *key, const void *value, int size_bytes) noexcept {
  return on_self([&]() -> Status {
    if (value == nullptr || size_bytes < 0) {
      return Status::error(
          ErrorKind::kInvalidArgument,
          "MPIX_Info_set_hex: the value is null or its size negative; give the address and the size of "
          "an object");
    }
    const auto *bytes = static_cast<const std::byte *>(value);
    const std::string text = encode_hex({bytes, static_cast<std::size_t>(size_bytes)});
    // The host MPI raises its own errors.
    return wire::host().MPI_Info_set(info, key, text.c_str()) == MPI_SUCCESS
               ? Status()
               : Status::error(ErrorKind::kInvalidArgument,
                               "MPIX_Info_set_hex: the host MPI refuses MPI_Info_set; give an info that was "
                               "made, and a key of at most MPI_MAX_INFO_KEY letters");
  });
}

int stream_create(MPI_Info info, int *stream) noexcept {
  const auto create = SLUICE_HOST_FUNCTION("MPIX_Stream_create", MPI_Info, int *);
  int host_code = MPI_SUCCESS;
  const int code = on_self([&]() -> Status {
    if (stream == nullptr) {
      return Status::error(ErrorKind::kInvalidArgument,
                           "the pointer to the stream is null; give the address of an MPIX_Stream");
    }
    if (const auto type = value_of(info, "type")) return name_stream(info, *type, stream);
    if (create != nullptr) {
      host_code = create(info, stream);
    } else {
      *stream = NamedStreams::process().add({});
    }
    return {};
  });
  return code != MPI_SUCCESS ? code : host_code;
}

int stream_free(int *stream) noexcept {
  const auto free = SLUICE_HOST_FUNCTION("MPIX_Stream_free", int *);
  int host_code = MPI_SUCCESS;
  const int code = on_self([&]() -> Status {
    if (stream == nullptr || *stream == NamedStreams::kNull) {
      return Status::error(ErrorKind::kInvalidArgument,
                           "there is no stream to free; give the address of what MPIX_Stream_create wrote");
    }
    if (NamedStreams::process().remove(*stream)) {
      *stream = NamedStreams::kNull;
      return {};
    }
    if (free == nullptr) return no_stream(*stream);
    host_code = free(stream);
    return {};
  });
  return code != MPI_SUCCESS ? code : host_code;
}

int comm_create(MPI_Comm comm, int count, const int *streams, bool is_multiplex, MPI_Comm *created) noexcept {
  int code = MPI_SUCCESS;
  if (!is_usable("streams", &code)) return code;
  const auto create = SLUICE_HOST_FUNCTION("MPIX_Stream_comm_create", MPI_Comm, int, MPI_Comm *);
  const auto create_multiplex =
      SLUICE_HOST_FUNCTION("MPIX_Stream_comm_create_multiplex", MPI_Comm, int, int *, MPI_Comm *);
  const MPI_Comm raised_on = comm != MPI_COMM_NULL ? comm : MPI_COMM_SELF;
  return guarded(raised_on, [&]() -> int {
    if (count < 0 || created == nullptr || (count > 0 && streams == nullptr)) {
      return raise(raised_on, Status::error(ErrorKind::kInvalidArgument,
                                            "the number of streams is negative, or a pointer is null; give the "
                                            "addresses of streams and of an MPI_Comm"));
    }
    std::vector<int> numbers(streams, streams + count);
    if (numbers.empty()) numbers.push_back(NamedStreams::kNull);
    std::vector<int> shown = numbers;  // to the host MPI
    for (int &number : shown) {
      if (NamedStreams::process().find(number) != nullptr) number = NamedStreams::kNull;
      if (number != NamedStreams::kNull && create == nullptr) return raise(raised_on, no_stream(number));
    }
    const auto attached = std::make_shared<CommStreams>(numbers);
    bool is_left = false;
    if (Status status = find_is_left(comm, shown, create != nullptr, &is_left); !status.is_ok()) {
      return raise(raised_on, status);
    }
    const auto make = [&] {
      if (is_multiplex && create_multiplex != nullptr) {
        return create_multiplex(comm, static_cast<int>(shown.size()), shown.data(), created);
      }
      if (!is_multiplex && create != nullptr) return create(comm, shown.front(), created);
      return wire::host().MPI_Comm_dup(comm, created);
    };
    code = is_left ? after_barrier(comm, make) : make_after_barrier(comm, created, make);
    if (code != MPI_SUCCESS) return code;
    Status status = attach(*created, attached);
    if (status.is_ok() && is_left && !leave_to_host(*created)) {
      status = Status::error(ErrorKind::kUnsupported,
                             "the host MPI refused an attribute of the new communicator; free some communicators");
    }
    if (status.is_ok()) return MPI_SUCCESS;
    wire::OwnedComm freed;
    std::swap(*freed.slot(), *created);
    return raise(raised_on, status);
  });
}

int comm_get_stream(MPI_Comm comm, int index, int *stream) noexcept {
  const auto get = SLUICE_HOST_FUNCTION("MPIX_Comm_get_stream", MPI_Comm, int, int *);
  int host_code = MPI_SUCCESS;
  const int code = on_self([&]() -> Status {
    if (stream == nullptr) {
      return Status::error(ErrorKind::kInvalidArgument,
                           "the pointer to the stream is null; give the address of an MPIX_Stream");
    }
    *stream = NamedStreams::kNull;
    if (const auto attached = streams_of(comm); attached != nullptr) {
      const std::vector<int> &numbers = attached->numbers();
      if (index >= 0 && static_cast<std::size_t>(index) < numbers.size()) {
        *stream = numbers[static_cast<std::size_t>(index)];
      }
    } else if (get != nullptr) {
      host_code = get(comm, index, stream);
    }
    return {};
  });
  return code != MPI_SUCCESS ? code : host_code;
}

int progress_of(Progress what, int stream) noexcept {
  const auto turn = SLUICE_HOST_FUNCTION("MPIX_Stream_progress", int);
  const auto start = SLUICE_HOST_FUNCTION("MPIX_Start_progress_thread", int);
  const auto stop = SLUICE_HOST_FUNCTION("MPIX_Stop_progress_thread", int);
  int host_code = MPI_SUCCESS;
  const int code = on_self([&]() -> Status {
    const NamedStreamPtr named = NamedStreams::process().find(stream);
    if (what == Progress::kTurn) progress::Engine::process().turn();
    if (named != nullptr && named->owner != nullptr) return {};
    const auto host_function = what == Progress::kTurn ? turn : what == Progress::kStart ? start : stop;
    const bool is_hosts = named == nullptr && host_function != nullptr;
    if (is_hosts) host_code = host_function(stream);
    if (is_hosts || what == Progress::kTurn) return {};
    return Status::error(ErrorKind::kInvalidArgument,
                         "the stream is the order of a thread, for which the host MPI has no progress thread; set "
                         "SLUICE_PROGRESS_THREAD=1");
  });
  return code != MPI_SUCCESS ? code : host_code;
}

}  // namespace sluice::ops::stream

// SPDX-License-Identifier: BSD-3-Clause
// A library to preload below sluice-bench that spoils what is received, so that the checks can be seen to fail: of the
// tests, and of whoever wants to see it (docs/comparing.md).
// Point to point and the ends of requests are here, collectives in spoiling_collectives.cpp, one-sided
// accesses in spoiling_one_sided.cpp. Host memory only.
// SPOIL_MODE   flip     one bit of the last byte
//              tail     the last three quarters are overwritten
//              lost     nothing arrives
//              stale    what the operation before brought arrives again
//              swap     the blocks of two ranks change places
//              element  one element in the middle is wrong by one bit
//              outside  a byte behind the message
//              skip     barriers do not wait
//              half     every element of floating point is a half too large
//              others   of the blocks of several ranks only the first is right
//              reuse    one bit of what arrives where the message before arrived
//              leak     nothing is wrong, but memory of each message's size is lost
//              sent     what was sent is changed behind the sender's back
//              status   the status of a receive has another tag
//              at       the byte SPOIL_OFFSET behind the first address, of the message or of a gap
//              none
//              Several with commas between them: the next one from where the list of tests begins again.
// SPOIL_MIN_BYTES: what is smaller is left alone, among it all that the benchmark says to itself.
#include <dlfcn.h>
#include <mpi.h>

#include <algorithm>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>
#include <string>
#include <utility>

#include "bench/spoiling/spoiling.hpp"

namespace spoiling {
namespace {

struct Pending {
  Region region;
  bool is_persistent = false;
};

// MPI_Request is an integer or a pointer; both are unique while the request is there.
std::map<MPI_Request, Pending> pending;
// For `reuse`: where a message of that size arrived last.
std::map<std::size_t, unsigned char *> last_place;
// For `leak`.
std::vector<std::vector<unsigned char>> lost;
// For `stale`: what arrived last, by size.
std::map<std::size_t, std::vector<unsigned char>> last;

// Which mode it is: how often the list of tests began again.
std::string first_test;
std::size_t n_rounds = 0;

std::vector<std::string> modes_of(const char *text) {
  std::vector<std::string> modes;
  std::istringstream words(text != nullptr ? text : "none");
  for (std::string word; std::getline(words, word, ',');) {
    modes.push_back(word);
  }
  return modes;
}

std::size_t smallest() {
  const char *text = std::getenv("SPOIL_MIN_BYTES");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 1;
}

void deliver_stale(const Region &region) {
  const std::vector<unsigned char> fresh(region.bytes, region.bytes + region.n_bytes);
  if (const auto found = last.find(region.n_bytes); found != last.end()) {
    std::copy(found->second.begin(), found->second.end(), region.bytes);
  }
  last[region.n_bytes] = fresh;
}

template <class Float>
void add_half(unsigned char *bytes, std::size_t n_bytes) {
  for (std::size_t offset = 0; offset + sizeof(Float) <= n_bytes; offset += sizeof(Float)) {
    Float value = 0;
    std::memcpy(&value, bytes + offset, sizeof value);
    value += Float{0.5};
    std::memcpy(bytes + offset, &value, sizeof value);
  }
}

// Modes that concern blocks or elements; false for others.
bool spoil_elements(const Region &region) {
  unsigned char *const bytes = region.bytes;
  const std::size_t n = region.n_bytes;
  if (mode() == "half") {
    if (region.float_bytes == sizeof(float)) add_half<float>(bytes, n);
    if (region.float_bytes == sizeof(double)) add_half<double>(bytes, n);
  } else if (mode() == "others") {
    std::for_each(bytes + n / region.n_blocks, bytes + n, [](unsigned char &byte) { byte ^= 0xa5U; });
  } else if (mode() == "swap" && region.n_blocks > 1) {
    const std::size_t block = n / region.n_blocks;
    std::swap_ranges(bytes, bytes + block, bytes + block);
  } else if (mode() == "element") {
    bytes[n / 2] ^= 1U;
  } else {
    return false;
  }
  return true;
}

// Modes that depend on what was before.
void spoil_by_history(const Region &region) {
  if (mode() == "lost") {
    std::copy(region.before.begin(), region.before.end(), region.bytes);
  } else if (mode() == "stale") {
    deliver_stale(region);
  } else if (mode() == "reuse") {
    unsigned char *&place = last_place[region.n_bytes];
    if (place == region.bytes) region.bytes[0] ^= 1U;
    place = region.bytes;
  } else if (mode() == "leak") {
    // Touched, so that it is resident; known, so that the compiler makes it.
    lost.push_back(std::vector<unsigned char>(region.n_bytes, 1));
  }
}

}  // namespace

std::size_t float_bytes_of(MPI_Datatype type) {
  if (type == MPI_FLOAT) return sizeof(float);
  return type == MPI_DOUBLE ? sizeof(double) : 0;
}

const std::string &mode() {
  static const std::vector<std::string> modes = modes_of(std::getenv("SPOIL_MODE"));
  return modes[std::min(n_rounds, modes.size() - 1)];
}

void begin_test(const char *name) {
  if (first_test.empty()) {
    first_test = name;
  } else if (first_test == name) {
    ++n_rounds;
  }
}

Region nothing() {
  return {};
}

Region region_of(const void *buffer, long long count, MPI_Datatype type, std::size_t n_blocks) {
  int type_bytes = 0;
  if (buffer == nullptr || PMPI_Type_size(type, &type_bytes) != MPI_SUCCESS || count <= 0) {
    return nothing();
  }
  const auto n_bytes = static_cast<std::size_t>(count) * static_cast<std::size_t>(type_bytes);
  if (n_bytes < smallest()) {
    return nothing();
  }
  auto *const bytes = static_cast<unsigned char *>(const_cast<void *>(buffer));
  return {bytes, n_bytes, n_blocks, {bytes, bytes + n_bytes}, float_bytes_of(type)};
}

void spoil(const Region &region) {
  if (region.n_bytes == 0) {
    return;
  }
  if (spoil_elements(region)) {
    return;
  }
  unsigned char *const bytes = region.bytes;
  const std::size_t n = region.n_bytes;
  if (mode() == "flip") {
    bytes[n - 1] ^= 0x40U;
  } else if (mode() == "tail") {
    // Not with zeroes: small whole numbers end in them.
    std::for_each(bytes + n / 4, bytes + n, [](unsigned char &byte) { byte ^= 0xa5U; });
  } else if (mode() == "at") {
    const char *const offset = std::getenv("SPOIL_OFFSET");
    bytes[offset != nullptr ? std::strtoull(offset, nullptr, 10) : 0] ^= 1U;
  } else if (mode() == "outside") {
    bytes[n] ^= 1U;
  } else {
    spoil_by_history(region);
  }
}

void spoil_later(MPI_Request request, Region region, bool is_persistent) {
  pending[request] = {std::move(region), is_persistent};
}

void restart(MPI_Request request) {
  if (const auto found = pending.find(request); found != pending.end()) {
    Region &region = found->second.region;
    region.before.assign(region.bytes, region.bytes + region.n_bytes);
  }
}

void finish(MPI_Request request) {
  if (const auto found = pending.find(request); found != pending.end()) {
    const Pending done = found->second;
    if (!done.is_persistent) pending.erase(found);
    spoil(done.region);
  }
}

void forget(MPI_Request request) {
  pending.erase(request);
}

bool skips_barriers() {
  return mode() == "skip";
}

}  // namespace spoiling

using namespace spoiling;

// sluice-bench says here which test begins.
SPOILING_EXPORT int MPI_Pcontrol(const int level, ...) {
  va_list arguments;
  va_start(arguments, level);
  if (level == 1) begin_test(va_arg(arguments, const char *));
  va_end(arguments);
  return MPI_SUCCESS;
}

SPOILING_EXPORT int MPI_Recv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                             MPI_Status *status) {
  const Region region = region_of(buf, count, datatype);
  const int rc = PMPI_Recv(buf, count, datatype, source, tag, comm, status);
  spoil(region);
  if (mode() == "status" && region.n_bytes > 0 && status != MPI_STATUS_IGNORE) {
    ++status->MPI_TAG;
  }
  return rc;
}

SPOILING_EXPORT int MPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  const Region region = region_of(buf, count, datatype);
  const int rc = PMPI_Send(buf, count, datatype, dest, tag, comm);
  if (mode() == "sent" && region.n_bytes > 0) {
    region.bytes[0] ^= 1U;
  }
  return rc;
}

SPOILING_EXPORT int MPI_Irecv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                              MPI_Request *request) {
  Region region = region_of(buf, count, datatype);
  const int rc = PMPI_Irecv(buf, count, datatype, source, tag, comm, request);
  spoil_later(*request, std::move(region), false);
  return rc;
}

SPOILING_EXPORT int MPI_Recv_init(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                                  MPI_Request *request) {
  Region region = region_of(buf, count, datatype);
  const int rc = PMPI_Recv_init(buf, count, datatype, source, tag, comm, request);
  spoil_later(*request, std::move(region), true);
  return rc;
}

SPOILING_EXPORT int MPI_Precv_init(void *buf, int partitions, MPI_Count count, MPI_Datatype datatype, int source,
                                   int tag, MPI_Comm comm, MPI_Info info, MPI_Request *request) {
  using Function = int (*)(void *, int, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Info, MPI_Request *);
  const auto next = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, "MPI_Precv_init"));
  if (next == nullptr) {
    return MPI_ERR_OTHER;
  }
  Region region = region_of(buf, partitions * static_cast<long long>(count), datatype);
  const int rc = next(buf, partitions, count, datatype, source, tag, comm, info, request);
  spoil_later(*request, std::move(region), true);
  return rc;
}

SPOILING_EXPORT int MPI_Request_free(MPI_Request *request) {
  forget(*request);
  return PMPI_Request_free(request);
}

SPOILING_EXPORT int MPI_Start(MPI_Request *request) {
  restart(*request);
  return PMPI_Start(request);
}

SPOILING_EXPORT int MPI_Wait(MPI_Request *request, MPI_Status *status) {
  const MPI_Request before = *request;
  const int rc = PMPI_Wait(request, status);
  finish(before);
  return rc;
}

SPOILING_EXPORT int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status) {
  const MPI_Request before = *request;
  const int rc = PMPI_Test(request, flag, status);
  if (*flag != 0) {
    finish(before);
  }
  return rc;
}

SPOILING_EXPORT int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  const std::vector<MPI_Request> before(requests, requests + count);
  const int rc = PMPI_Waitall(count, requests, statuses);
  std::for_each(before.begin(), before.end(), finish);
  return rc;
}

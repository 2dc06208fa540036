// SPDX-License-Identifier: BSD-3-Clause
// A library to preload below sluice-bench that spoils what is received, so that the checks can be seen to fail.
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
//              at       the byte SPOIL_OFFSET behind the first address, of the message or of a gap
//              none
// SPOIL_MIN_BYTES: what is smaller is left alone, among it all that the benchmark says to itself.
#include <dlfcn.h>
#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>

#include "bench/tests/spoiling.hpp"

namespace spoiling {
namespace {

struct Pending {
  Region region;
  bool is_persistent = false;
};

// MPI_Request is an integer or a pointer; both are unique while the request is there.
std::map<MPI_Request, Pending> pending;
// For `stale`: what arrived last, by size.
std::map<std::size_t, std::vector<unsigned char>> last;

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

}  // namespace

std::string mode() {
  const char *text = std::getenv("SPOIL_MODE");
  return text != nullptr ? text : "none";
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
  return {bytes, n_bytes, n_blocks, {bytes, bytes + n_bytes}};
}

void spoil(const Region &region) {
  if (region.n_bytes == 0) {
    return;
  }
  unsigned char *const bytes = region.bytes;
  const std::size_t n = region.n_bytes;
  if (mode() == "flip") {
    bytes[n - 1] ^= 0x40U;
  } else if (mode() == "tail") {
    // Not with zeroes: small whole numbers end in them.
    std::for_each(bytes + n / 4, bytes + n, [](unsigned char &byte) { byte ^= 0xa5U; });
  } else if (mode() == "lost") {
    std::copy(region.before.begin(), region.before.end(), bytes);
  } else if (mode() == "stale") {
    deliver_stale(region);
  } else if (mode() == "swap" && region.n_blocks > 1) {
    const std::size_t block = n / region.n_blocks;
    std::swap_ranges(bytes, bytes + block, bytes + block);
  } else if (mode() == "element") {
    bytes[n / 2] ^= 1U;
  } else if (mode() == "at") {
    const char *const offset = std::getenv("SPOIL_OFFSET");
    bytes[offset != nullptr ? std::strtoull(offset, nullptr, 10) : 0] ^= 1U;
  } else if (mode() == "outside") {
    bytes[n] ^= 1U;
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

SPOILING_EXPORT int MPI_Recv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                             MPI_Status *status) {
  const Region region = region_of(buf, count, datatype);
  const int rc = PMPI_Recv(buf, count, datatype, source, tag, comm, status);
  spoil(region);
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

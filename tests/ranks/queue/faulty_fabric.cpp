// SPDX-License-Identifier: BSD-3-Clause
// Stands in for libfabric.so.1: the real one, but that deferred work is refused as TEST_FABRIC says: `full` (every
// second time there is no room) or `refuse` (always, with an error that means it). TEST_FABRIC_LIBRARY is the real one.
#include <dlfcn.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

namespace {

// NOLINTBEGIN(concurrency-mt-unsafe): nobody sets the environment
void *real(const char *name) {
  static void *const library = dlopen(std::getenv("TEST_FABRIC_LIBRARY"), RTLD_NOW | RTLD_LOCAL);
  return library != nullptr ? dlsym(library, name) : nullptr;
}

bool is_to(const char *what) {
  const char *wanted = std::getenv("TEST_FABRIC");
  return wanted != nullptr && std::strcmp(wanted, what) == 0;
}
// NOLINTEND(concurrency-mt-unsafe)

decltype(fi_ops_fabric::domain) real_domain = nullptr;
decltype(fi_ops::control) real_control = nullptr;
fi_ops_fabric fabric_ops;
fi_ops domain_ops;

int control(fid *object, int command, void *argument) {
  static std::atomic<int> n_works{0};
  if (command == FI_QUEUE_WORK) {
    if (is_to("refuse")) return -FI_EOPNOTSUPP;
    if (is_to("full") && n_works.fetch_add(1) % 2 == 0) return -FI_EAGAIN;
  }
  return real_control(object, command, argument);
}

int open_domain(fid_fabric *fabric, fi_info *info, fid_domain **domain, void *context) {
  const int code = real_domain(fabric, info, domain, context);
  if (code != 0) return code;
  domain_ops = *(*domain)->fid.ops;
  real_control = domain_ops.control;
  domain_ops.control = control;
  (*domain)->fid.ops = &domain_ops;
  return 0;
}

}  // namespace

#define SHOWN extern "C" __attribute__((visibility("default")))

SHOWN int fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags, const fi_info *hints,
                     fi_info **info) {
  const auto function = reinterpret_cast<decltype(&fi_getinfo)>(real("fi_getinfo"));
  return function != nullptr ? function(version, node, service, flags, hints, info) : -FI_ENOSYS;
}

SHOWN void fi_freeinfo(fi_info *info) {
  const auto function = reinterpret_cast<decltype(&fi_freeinfo)>(real("fi_freeinfo"));
  if (function != nullptr) function(info);
}

SHOWN fi_info *fi_dupinfo(const fi_info *info) {
  const auto function = reinterpret_cast<decltype(&fi_dupinfo)>(real("fi_dupinfo"));
  return function != nullptr ? function(info) : nullptr;
}

SHOWN const char *fi_strerror(int number) {
  const auto function = reinterpret_cast<decltype(&fi_strerror)>(real("fi_strerror"));
  return function != nullptr ? function(number) : "no libfabric";
}

SHOWN int fi_fabric(fi_fabric_attr *attributes, fid_fabric **fabric, void *context) {
  const auto function = reinterpret_cast<decltype(&fi_fabric)>(real("fi_fabric"));
  if (function == nullptr) return -FI_ENOSYS;
  const int code = function(attributes, fabric, context);
  if (code != 0) return code;
  fabric_ops = *(*fabric)->ops;
  real_domain = fabric_ops.domain;
  fabric_ops.domain = open_domain;
  (*fabric)->ops = &fabric_ops;
  return 0;
}

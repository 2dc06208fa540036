// SPDX-License-Identifier: BSD-3-Clause
#include "looks.h"

#include <array>
#include <cstddef>
#include <iterator>

namespace sluice::backends::cuda {

namespace {

struct Look {
  CUdeviceptr address = 0;
  unsigned long long buffer_id = 0;  // 0: none, or an allocation whose range the driver does not give
  int32_t device = -1;
};

// An allocation's number is never another's, and its range stays what it is, so this is never wrong.
struct Range {
  unsigned long long buffer_id = 0;
  CUdeviceptr begin = 0;
  size_t size_bytes = 0;
};

// An operation has two buffers, or a few; a program has more, and comes back to them.
constexpr size_t kLooks = 4;
constexpr size_t kRanges = 32;

struct Looks {
  std::array<Look, kLooks> last;  // in turns
  size_t newest = 0;
  std::array<Range, kRanges> ranges;  // by number
};
constinit thread_local Looks t_looks;

// The range of what was looked at; null, and the look is forgotten, where there is another allocation by now.
const Range *range_of(Looks *looks, Look *look) {
  Range &known = looks->ranges[look->buffer_id % kRanges];
  if (known.buffer_id == look->buffer_id) return &known;
  unsigned long long buffer_id = 0;
  CUdeviceptr begin = 0;
  size_t size_bytes = 0;
  CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_BUFFER_ID, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                      CU_POINTER_ATTRIBUTE_RANGE_SIZE};
  void *values[] = {&buffer_id, &begin, &size_bytes};
  const CUresult native = g_driver.cuPointerGetAttributes(std::size(attributes), attributes, values, look->address);
  if (native != CUDA_SUCCESS || buffer_id != look->buffer_id) {
    look->buffer_id = 0;
    return nullptr;
  }
  known = {buffer_id, begin, size_bytes};
  return &known;
}

}  // namespace

void note_look(const void *address, int32_t device, unsigned long long buffer_id) {
  Looks &looks = t_looks;
  looks.newest = (looks.newest + 1) % kLooks;
  looks.last[looks.newest] = {reinterpret_cast<CUdeviceptr>(address), buffer_id, device};
}

// The newest first: an older one may be of memory that was there before.
bool was_seen_on(int32_t device, const void *address) {
  Looks &looks = t_looks;
  const auto wanted = reinterpret_cast<CUdeviceptr>(address);
  for (size_t k = 0; k < kLooks; ++k) {
    Look &look = looks.last[(looks.newest + kLooks - k) % kLooks];
    if (look.buffer_id == 0) continue;
    const Range *range = range_of(&looks, &look);
    if (range != nullptr && wanted >= range->begin && wanted - range->begin < range->size_bytes) {
      return look.device == device;
    }
  }
  return false;
}

}  // namespace sluice::backends::cuda

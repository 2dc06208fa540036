// SPDX-License-Identifier: BSD-3-Clause
// The text that stands for <cstdint> where a device's compiler takes kernels/ and has no such header. Each integer has
// the width that it has on 64-bit Linux.
#pragma once

namespace sluice::backends {

inline constexpr const char *kKernelIntegers = R"(
namespace std {
using int8_t = signed char;     using uint8_t = unsigned char;
using int16_t = short;          using uint16_t = unsigned short;
using int32_t = int;            using uint32_t = unsigned int;
using int64_t = long;           using uint64_t = unsigned long;
using uintptr_t = unsigned long;
}
)";

}  // namespace sluice::backends

// SPDX-License-Identifier: BSD-3-Clause
// What the generated shells are made of. A shell reads: off? the next MPI : the operation. Any thread may call one, as
// far as MPI allows it.
#pragma once

#include "base/switch.hpp"
#include "generated/operations.hpp"
#include "interpose/recent.hpp"
#include "wire/host.hpp"

#define SLUICE_SHELL extern "C" __attribute__((visibility("default")))

// The same within this library.
#define SLUICE_HIDDEN extern "C" __attribute__((visibility("hidden")))

using sluice::is_enabled;
using sluice::wire::bound;
using sluice::wire::host;
using sluice::wire::is_inside_host;
using sluice::wire::profiling_host;
namespace ops = sluice::ops;

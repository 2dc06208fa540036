// SPDX-License-Identifier: BSD-3-Clause
// Questions to the facts of ranks. Pure.
#pragma once

#include <string>
#include <vector>

#include "bench/doctor/findings.hpp"

namespace sluice::bench::doctor {

// What the rank says of that backend; null: nothing.
const Json *find_backend(const Json &rank, const std::string &name);

// Whether the rank can use devices of that backend.
bool has_devices(const Json &rank, const std::string &backend);

// Whether Sluice is in the rank and switched on.
bool runs_sluice(const Json &rank);

// The backend whose devices are to be used: `only`, or on any rank the first whose devices are not on the host, else
// the first with devices. Empty: there is none.
std::string choose_backend(const std::vector<Json> &ranks, const std::string &only);

// Whether no rank has a device of the backend that seems to be a GPU: they are cores of the host, or have no PCI
// address, as emulated ones.
bool is_on_host(const std::vector<Json> &ranks, const std::string &backend);

}  // namespace sluice::bench::doctor

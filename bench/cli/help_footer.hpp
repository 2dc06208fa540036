// SPDX-License-Identifier: BSD-3-Clause
// What --help says behind the options.
#pragma once

namespace sluice::bench {

const char *help_footer();

}  // namespace sluice::bench

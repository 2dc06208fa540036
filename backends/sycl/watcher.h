// SPDX-License-Identifier: BSD-3-Clause
// The thread that looks at the words that queues wait for, and completes their events when a word has come. It blocks
// nobody, and sleeps as long as no queue waits.
#pragma once

#include <cstdint>
#include <memory>

#include "host_event.h"

namespace sluice::backends::sycl {

// Completes `event` once *word >= least, or at the end of the module. Any thread. Errors, after which nobody watches:
// SLUICE_ERROR_UNSUPPORTED where the system has no thread left; what an earlier event said that could not be completed.
Outcome watch(const uint64_t *word, uint64_t least, std::shared_ptr<HostEvent> event);
// The words between these addresses are about to be given back: nobody looks at them any more when this returns, not
// for
// ../stream_waits.h either, and events that waited for them are completed, so that no queue hangs.
void words_gone(const void *begin, size_t size_bytes);
// Ends the thread; queues that still wait are let go, as their words may be freed now. While the process exits nothing
// of the runtime is called.
void stop_watching();

}  // namespace sluice::backends::sycl

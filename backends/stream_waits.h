// SPDX-License-Identifier: BSD-3-Clause
// The waits that a module has put into streams of the program's. While a stream waits, or is going to wait, for a word
// that the host will write, a runtime may hold up whoever gives memory back until the device is idle, and the message
// that would make it so never comes (docs/adr/0032): that is done later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "sluice/stream_message.h"

namespace sluice::backends {

// A stream is being given a wait. `word` can be read until words_gone() names it. Told before the runtime is: from its
// call on others may be held up.
void note_wait(const uint64_t *word, uint64_t least);
// The same for several messages, each until its `taken` says its number.
void note_waits(std::span<const sluice_stream_receive_t> receives);
// Whether a stream waits, or may be going to: a word that a wait was enqueued for is not there yet. Any thread.
bool is_waiting();
// As long as one of these lives, no stream is given a wait by another thread: what is done meanwhile, and waits for the
// device, comes to an end. Never held for longer than such a call takes. A thread may nest them.
class Quiet {
 public:
  Quiet();
  ~Quiet();
  Quiet(const Quiet &) = delete;
  Quiet &operator=(const Quiet &) = delete;

  // False: a stream was given a wait before, so nothing that waits for the device is to be done.
  bool is_kept() const { return is_kept_; }

 private:
  bool is_kept_;
};

// The words between these addresses are given back: nothing waits for them any more.
void words_gone(const void *begin, size_t size_bytes);
// Another number whenever words were given back: what was found out about a word holds as long as this stays.
uint64_t words_generation();

// Runs `release`, which gives something back to the runtime: when no stream waits, that is at once or within a later
// call of run_releases(). It reports its own failures. Any thread.
void release_later(std::function<void()> release);
// Any thread, holding nothing that a release may want.
void run_releases();
// Runs `release`, which gives something back to the runtime, and answers as it does; or success, where a stream waits:
// then it runs when none does any more, and `log_failure` tells if it fails. The caller holds nothing that it wants.
sluice_result_t give_back(std::function<sluice_result_t()> release, void (*log_failure)());

}  // namespace sluice::backends

// SPDX-License-Identifier: BSD-3-Clause
#include "ops/queue/engine.hpp"

#include <fmt/format.h>

#include <chrono>
#include <string>
#include <utility>

#include "base/knobs.hpp"
#include "progress/engine.hpp"

namespace sluice::ops::queue {

Status await_room(const device::Stream &stream, std::uint64_t n_triggers, std::uint64_t least) {
  std::uint64_t seen = stream.triggered();
  if (seen >= least) return {};
  const std::chrono::milliseconds most(Knobs::process().bytes("SLUICE_QUEUE_PATIENCE"));
  auto since = std::chrono::steady_clock::now();
  progress::Patience patience;
  for (;;) {
    patience.pause();
    const std::uint64_t now_at = stream.triggered();
    if (now_at >= least) return {};
    const auto time = std::chrono::steady_clock::now();
    if (now_at != seen) {
      seen = now_at;
      since = time;
    } else if (time - since > most) {
      return Status::error(
          ErrorKind::kUnsupported,
          fmt::format(
              "{} batches of the queue are enqueued that the stream has not come to, and it has not moved for {} "
              "ms; nothing was enqueued: let the stream go on and call again, or raise SLUICE_QUEUE_DEPTH or "
              "SLUICE_QUEUE_PATIENCE",
              n_triggers - now_at, most.count()));
    }
  }
}

// auto is thread: the others do not match plain messages (docs/adr/0033, 0034). The knob's table refuses every other
// word.
Status make_engine(std::unique_ptr<device::Stream> stream, std::shared_ptr<Engine> *engine) {
  const std::string &wanted = Knobs::process().text("SLUICE_QUEUE_ENGINE");
  std::unique_ptr<Carriers> carriers;
  if (wanted == "dwq") {
    if (Status status = make_deferred_work(&carriers); !status.is_ok()) return status;
  }
  if (wanted == "device") {
    if (Status status = make_device_channels(*stream, &carriers); !status.is_ok()) return status;
  }
  return make_thread_engine(std::move(stream), std::move(carriers), engine);
}

}  // namespace sluice::ops::queue

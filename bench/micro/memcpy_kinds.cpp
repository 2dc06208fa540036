// SPDX-License-Identifier: BSD-3-Clause
// memcpy_kinds: the time of the vendor's plain blocking copy where memcpy does not look: within the host, within a
// device, to and from managed memory, and between two devices. Rank 0 measures.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "bench/catalogue.hpp"
#include "bench/measure/chosen_loop.hpp"
#include "bench/memory/message_buffer.hpp"
#include "bench/micro/sizes_on_root.hpp"
#include "bench/report/failure_text.hpp"
#include "bench/session.hpp"

namespace sluice::bench {
namespace {

constexpr Loop kUsual{.warmup = 200, .iterations = 1000};

struct End {
  const char *name;
  sluice_memory_kind_t kind;
  bool is_peer = false;  // of the device behind the one selected
};
constexpr End kHost{"host", SLUICE_MEMORY_HOST};
constexpr End kDevice{"device", SLUICE_MEMORY_DEVICE};
constexpr End kManaged{"managed", SLUICE_MEMORY_SHARED};
constexpr End kPeer{"peer", SLUICE_MEMORY_DEVICE, true};

struct Direction {
  End from;
  End to;
  std::string name() const { return fmt::format("{}-{}", from.name, to.name); }
};
constexpr std::array kDirections{
    Direction{kHost, kHost},       Direction{kDevice, kDevice},  Direction{kHost, kManaged},
    Direction{kManaged, kHost},    Direction{kDevice, kManaged}, Direction{kManaged, kDevice},
    Direction{kManaged, kManaged}, Direction{kDevice, kPeer},    Direction{kPeer, kDevice}};

// Another device is the selected one while this is there.
class OnDevice {
 public:
  OnDevice(DeviceModule &module, std::int32_t device) : module_(module), own_(module.device()) {
    module_.select(device);
  }
  OnDevice(const OnDevice &) = delete;
  OnDevice &operator=(const OnDevice &) = delete;
  ~OnDevice() {
    const std::string error = error_of([&] { module_.select(own_); });
    if (!error.empty()) fmt::print(stderr, "sluice-bench: {}\n", error);
  }

 private:
  DeviceModule &module_;
  std::int32_t own_;
};

template <class Action>
auto on_device(DeviceModule &module, std::int32_t device, Action action) {
  const OnDevice scope(module, device);
  return action();
}

// Memory of one end of a copy, filled and looked at by its own device.
class EndBuffer {
 public:
  EndBuffer(DeviceModule &module, const End &end, std::uint64_t size_bytes)
      : module_(module),
        device_(end.is_peer ? (module.device() + 1) % module.n_devices() : module.device()),
        buffer_(on_device(module_, device_, [&] { return MessageBuffer(&module, end.kind, size_bytes); })) {}

  std::byte *data() const { return buffer_.data(); }
  void fill(const Pattern &pattern, std::vector<std::byte> &scratch) {
    on_device(module_, device_, [&] { buffer_.fill(pattern, scratch); });
  }
  void poison(const Pattern &pattern, std::vector<std::byte> &scratch) {
    on_device(module_, device_, [&] { buffer_.poison(pattern, scratch); });
  }
  std::string find_error(const Pattern &pattern, std::vector<std::byte> &scratch) {
    return on_device(module_, device_, [&] { return buffer_.find_error(pattern, scratch); });
  }

 private:
  DeviceModule &module_;
  std::int32_t device_;
  MessageBuffer buffer_;
};

// Sends a pattern that way; the first wrong byte as text.
std::string check_copy(DeviceModule &module, const Direction &direction, std::uint64_t size, std::uint64_t iteration) {
  EndBuffer from(module, direction.from, size);
  EndBuffer to(module, direction.to, size);
  std::vector<std::byte> scratch;
  const Pattern pattern(0, iteration, 0);
  from.fill(pattern, scratch);
  to.poison(pattern, scratch);
  module.copy(to.data(), from.data(), size);
  std::string wrong = to.find_error(pattern, scratch);
  if (wrong.empty()) {
    wrong = from.find_error(pattern, scratch);
  }
  return wrong.empty() ? "" : text_with_iteration(size, iteration, fmt::format("{}: {}", direction.name(), wrong));
}

class KindsRun {
 public:
  KindsRun(Session &session, const std::vector<Direction> &directions)
      : options_(session.options()), module_(*session.module()), directions_(directions) {}

  Row measure(std::uint64_t size) {
    Row row;
    row.size_bytes = size;
    const Loop loop = chosen_loop(options_, kUsual);
    row.check.n_iterations = checked_iterations(options_.check, loop.iterations);
    std::vector<Series> all;
    for (const Direction &direction : directions_) {
      for (std::uint64_t i = 0; i < row.check.n_iterations && row.check.failure.empty(); ++i) {
        row.check.failure = check_copy(module_, direction, size, i);
      }
      if (!row.check.failure.empty()) {
        return row;
      }
      all.push_back(time(direction, size, loop, row));
    }
    row.series = std::move(all);
    return row;
  }

 private:
  Series time(const Direction &direction, std::uint64_t size, const Loop &loop, Row &row) {
    EndBuffer from(module_, direction.from, size);
    EndBuffer to(module_, direction.to, size);
    std::vector<std::byte> scratch;
    from.fill({0, 0, 0}, scratch);
    to.poison({0, 0, 0}, scratch);
    Series series{direction.name(), {}};
    Stop stopped = Stop::none;
    const BlockBudget budget(options_.time_cap_s, options_.precision_percent);  // of each direction
    // A runtime's blocking copy does not wait for the end of a copy within devices.
    const bool returns_early = direction.from.kind != SLUICE_MEMORY_HOST && direction.to.kind != SLUICE_MEMORY_HOST;
    for (std::uint64_t block = 0; block < options_.repeat && stopped == Stop::none; ++block) {
      module_.synchronize();
      series.blocks.push_back(summarise(sample_us(loop,
                                                  [&] {
                                                    module_.copy(to.data(), from.data(), size);
                                                    if (returns_early) module_.synchronize();
                                                  }),
                                        options_.percentiles));
      stopped = budget.stop_after(std::array{series});
    }
    row.stopped = std::max(row.stopped, stopped);
    return series;
  }

  const Options &options_;
  DeviceModule &module_;
  const std::vector<Direction> &directions_;
};

// What this module can copy; of the rest a note says why not.
std::vector<Direction> possible_directions(Session &session) {
  if (!session.world().is_root()) {
    return {};  // the others measure nothing
  }
  DeviceModule &module = *session.module();
  std::vector<Direction> possible;
  for (const Direction &direction : kDirections) {
    const bool has_peer = direction.from.is_peer || direction.to.is_peer;
    const std::string reason = has_peer && module.n_devices() < 2 ? "there is one device" : error_of([&] {
      constexpr std::uint64_t kFewBytes = 8;
      const EndBuffer from(module, direction.from, kFewBytes);
      const EndBuffer to(module, direction.to, kFewBytes);
      module.copy(to.data(), from.data(), kFewBytes);
    });
    if (reason.empty()) {
      possible.push_back(direction);
    } else {
      session.add_note(fmt::format("no copies {}: {}", direction.name(), reason));
    }
  }
  return possible;
}

void run_memcpy_kinds(Session &session) {
  const std::vector<Direction> directions = possible_directions(session);
  std::vector<std::string> names;
  names.reserve(directions.size());
  for (const Direction &direction : directions) {
    names.push_back(direction.name());
  }
  session.begin({names, {}});
  measure_sizes_on_root(session, [&](std::uint64_t size) { return KindsRun(session, directions).measure(size); });
}

const Registration memcpy_kinds({.name = "memcpy_kinds",
                                 .title = "copies within host and device, to managed memory and to a peer, on rank 0",
                                 .family = Family::micro,
                                 .metric = Metric::copy_us,
                                 .min_ranks = 1,
                                 .max_ranks = 0,
                                 .min_size = 1,
                                 .has_placement = false,
                                 .needs_device = true,
                                 .run = run_memcpy_kinds});

}  // namespace
}  // namespace sluice::bench

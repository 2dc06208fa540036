// SPDX-License-Identifier: BSD-3-Clause
// A message's memory with guard bytes on both sides and in its gaps.
#include "bench/memory/message_buffer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

namespace sluice::bench {
namespace {

// Data that no message carries: its rank is none. A guard byte depends on its place in the buffer.
Pattern guard_pattern() {
  return {0x7fU, 0, ~std::uint64_t{0}};
}

std::byte guard_at(std::uint64_t place) {
  static const std::array<std::byte, MessageBuffer::kGuardBytes> bytes = [] {
    std::array<std::byte, MessageBuffer::kGuardBytes> guard{};
    guard_pattern().fill(guard);
    return guard;
  }();
  return bytes[place % bytes.size()];
}

// Positions in it are places in the buffer.
sluice_check_source_t guard_source() {
  sluice_check_source_t source = guard_pattern().source();
  source.repeat_words = MessageBuffer::kGuardBytes / sizeof(std::uint64_t);
  return source;
}

}  // namespace

MessageBuffer::MessageBuffer(DeviceModule *module, sluice_memory_kind_t kind, const MessageLayout &layout)
    : module_(module),
      kind_(kind),
      size_bytes_(layout.size_bytes),
      stretches_(stretches_of(layout)),
      buffer_(Buffer::program_memory(module, kind, layout.extent_bytes + 2 * kGuardBytes)) {}

std::vector<MessageBuffer::Stretch> MessageBuffer::stretches_of(const MessageLayout &layout) {
  std::vector<Place> places;
  places.reserve(layout.pieces.size());
  std::uint64_t position = 0;
  for (const Piece &piece : layout.pieces) {
    places.push_back({kGuardBytes + piece.offset, position, piece.size_bytes});
    position += piece.size_bytes;
  }
  std::sort(places.begin(), places.end(), [](const Place &a, const Place &b) { return a.begin < b.begin; });
  std::vector<Stretch> stretches;
  for (const Place &place : places) {
    if (stretches.empty() || place.begin - kGuardBytes > stretches.back().end) {
      stretches.push_back({place.begin - kGuardBytes, 0, {}});
    }
    stretches.back().places.push_back(place);
    stretches.back().end = place.end() + kGuardBytes;
  }
  if (stretches.empty()) {
    stretches.push_back({0, 2 * kGuardBytes, {}});
  }
  return stretches;
}

std::span<std::byte> MessageBuffer::image_in(std::vector<std::byte> &scratch, const Stretch &stretch) const {
  const std::uint64_t image_bytes = stretch.end - stretch.begin;
  if (scratch.size() < size_bytes_ + image_bytes) {
    scratch.resize(size_bytes_ + image_bytes);
  }
  return std::span(scratch).subspan(size_bytes_, image_bytes);
}

void MessageBuffer::write(std::vector<std::byte> &scratch) {
  for (const Stretch &stretch : stretches_) {
    const std::span<std::byte> image = image_in(scratch, stretch);
    std::uint64_t done = stretch.begin;
    const auto guard_until = [&](std::uint64_t end) {
      for (; done < end; ++done) {
        image[done - stretch.begin] = guard_at(done);
      }
    };
    for (const Place &place : stretch.places) {
      guard_until(place.begin);
      std::memcpy(&image[place.begin - stretch.begin], &scratch[place.position], place.size_bytes);
      done = place.end();
    }
    guard_until(stretch.end);
    if (kind_ == SLUICE_MEMORY_HOST) {
      std::memcpy(buffer_.data() + stretch.begin, image.data(), image.size());
    } else {
      module_->copy(buffer_.data() + stretch.begin, image.data(), image.size());
    }
  }
}

std::optional<Mismatch> MessageBuffer::read(std::vector<std::byte> &scratch) const {
  std::optional<Mismatch> wrong;
  for (const Stretch &stretch : stretches_) {
    const std::span<std::byte> image = image_in(scratch, stretch);
    if (kind_ == SLUICE_MEMORY_HOST) {
      std::memcpy(image.data(), buffer_.data() + stretch.begin, image.size());
    } else {
      module_->copy(image.data(), buffer_.data() + stretch.begin, image.size());
    }
    std::uint64_t done = stretch.begin;
    const auto look_until = [&](std::uint64_t end) {
      for (; done < end; ++done) {
        const std::byte got = image[done - stretch.begin];
        if (got != guard_at(done) && !wrong) {
          wrong = {static_cast<std::int64_t>(done) - static_cast<std::int64_t>(kGuardBytes), guard_at(done), got, true};
        }
      }
    };
    for (const Place &place : stretch.places) {
      look_until(place.begin);
      std::memcpy(&scratch[place.position], &image[place.begin - stretch.begin], place.size_bytes);
      done = place.end();
    }
    look_until(stretch.end);
  }
  return wrong;
}

void MessageBuffer::store(const std::function<void(std::span<std::byte>)> &writer, std::vector<std::byte> &scratch) {
  if (scratch.size() < size_bytes_) {
    scratch.resize(size_bytes_);
  }
  writer(std::span(scratch).first(size_bytes_));
  write(scratch);
}

void MessageBuffer::fill(const Pattern &pattern, std::vector<std::byte> &scratch) {
  store([&](std::span<std::byte> message) { pattern.fill(message); }, scratch);
}

void MessageBuffer::poison(const Pattern &expected, std::vector<std::byte> &scratch) {
  store([&](std::span<std::byte> message) { expected.poison(message); }, scratch);
}

std::optional<Mismatch> MessageBuffer::verify(const Pattern &pattern, std::vector<std::byte> &scratch) const {
  const auto bad_guard = read(scratch);
  const std::span<const std::byte> message = std::span(scratch).first(size_bytes_);
  if (const auto position = pattern.find_mismatch(message)) {
    return Mismatch{static_cast<std::int64_t>(*position), pattern.at(*position), message[*position]};
  }
  return bad_guard;
}

std::string MessageBuffer::find_error(const Pattern &pattern, std::vector<std::byte> &scratch) const {
  return examine(
      {{0, size_bytes_, pattern.source(), 0}},
      [&](std::span<const std::byte> message) { return pattern.find_error(message); }, scratch);
}

bool MessageBuffer::is_checked_by_device() const {
  return (kind_ == SLUICE_MEMORY_DEVICE || kind_ == SLUICE_MEMORY_SHARED) && module_->is_checking_on_device();
}

// Guards and message from the first byte of each stretch to its last.
CheckPlan MessageBuffer::plan_for(const Expectations &expected) const {
  CheckPlan plan;
  const std::uint32_t guard = plan.add_source(guard_source());
  const std::uint32_t first = guard + 1;
  for (const Expectation &part : expected) {
    plan.add_source(part.source);
  }
  for (const Stretch &stretch : stretches_) {
    std::uint64_t done = stretch.begin;
    for (const Place &place : stretch.places) {
      plan.add(done, place.begin - done, guard, done);
      for (std::uint32_t i = 0; i < expected.size(); ++i) {
        const Expectation &part = expected[i];
        const std::uint64_t begin = std::max(part.begin, place.position);
        const std::uint64_t end = std::min(part.begin + part.size_bytes, place.position + place.size_bytes);
        if (begin < end) {
          plan.add(place.begin + (begin - place.position), end - begin, first + i,
                   part.position + (begin - part.begin));
        }
      }
      done = place.end();
    }
    plan.add(done, stretch.end - done, guard, done);
  }
  return plan;
}

std::string MessageBuffer::examine(const Expectations &expected,
                                   const std::function<std::string(std::span<const std::byte>)> &reader,
                                   std::vector<std::byte> &scratch) const {
  std::optional<std::uint64_t> wrong_place;
  if (is_checked_by_device()) {
    const CheckPlan plan = plan_for(expected);
    const std::uint64_t n_bytes =
        std::accumulate(stretches_.begin(), stretches_.end(), std::uint64_t{0},
                        [](std::uint64_t sum, const Stretch &stretch) { return sum + (stretch.end - stretch.begin); });
    if (plan.n_bytes() != n_bytes) {
      throw DeviceError(fmt::format("a check on the device would see {} of {} bytes", plan.n_bytes(), n_bytes));
    }
    wrong_place = find_wrong_byte(*module_, buffer_.data(), buffer_.size_bytes(), plan);
    if (!wrong_place) {
      return "";
    }
  }
  std::string wrong = examine_on_host(reader, scratch);
  if (wrong.empty() && wrong_place) {
    wrong = fmt::format("offset {}: the device reads a wrong byte, and a copy of it to the host is right",
                        static_cast<std::int64_t>(*wrong_place) - static_cast<std::int64_t>(kGuardBytes));
  }
  return wrong;
}

std::string MessageBuffer::examine_on_host(const std::function<std::string(std::span<const std::byte>)> &reader,
                                           std::vector<std::byte> &scratch) const {
  const auto bad_guard = read(scratch);
  std::string wrong = reader(std::span(scratch).first(size_bytes_));
  if (wrong.empty() && bad_guard) {
    wrong = describe(*bad_guard, extent_bytes());
  }
  return wrong;
}

std::string describe(const Mismatch &mismatch, std::uint64_t extent_bytes) {
  const char *where = mismatch.is_guard ? " (between the blocks)" : "";
  if (mismatch.offset < 0) {
    where = " (before the message)";
  } else if (static_cast<std::uint64_t>(mismatch.offset) >= extent_bytes) {
    where = " (behind the message)";
  }
  return describe(mismatch, where);
}

}  // namespace sluice::bench

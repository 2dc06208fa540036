// SPDX-License-Identifier: BSD-3-Clause
#include "base/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <limits>
#include <mutex>
#include <vector>

#include "base/output_file.hpp"
#include "base/rank_in_path.hpp"

namespace sluice::trace {
namespace {

struct Record {
  std::int64_t begin_ns;  // of the steady clock, as end_ns
  std::int64_t end_ns;
  Message message;
  Piece piece;
  Lane lane;
};
static_assert(sizeof(Record) == 64, "trace.hpp names this size");

struct Store {
  std::mutex mutex;
  std::vector<Record> records;  // the room for all is taken by enable()
  std::uint64_t n_dropped = 0;
  std::int64_t epoch_ns = 0;       // of the steady clock, when tracing was switched on
  std::int64_t epoch_unix_ns = 0;  // of the wall clock, at the same moment
};

Store &store() {
  static auto *made = new Store();
  return *made;
}

template <typename Clock>
std::int64_t nanoseconds_of() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

// Reads the wall clock between two readings of the steady clock, which are close together unless this thread had to
// wait for its core: the closest of a few pairs counts.
void read_both_clocks(Store *kept) noexcept {
  constexpr int kPairs = 16;
  std::int64_t closest_ns = std::numeric_limits<std::int64_t>::max();
  for (int i = 0; i < kPairs; ++i) {
    const std::int64_t before_ns = nanoseconds_of<std::chrono::steady_clock>();
    const std::int64_t unix_ns = nanoseconds_of<std::chrono::system_clock>();
    const std::int64_t gap_ns = nanoseconds_of<std::chrono::steady_clock>() - before_ns;
    if (gap_ns >= closest_ns) continue;
    closest_ns = gap_ns;
    kept->epoch_ns = before_ns + gap_ns / 2;
    kept->epoch_unix_ns = unix_ns;
  }
}

double microseconds(std::int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) * 1e-3;
}

int tid(Lane lane) {
  return static_cast<int>(lane) + 1;
}

std::string_view name(Lane lane) {
  return kLaneNames[static_cast<std::size_t>(lane)];
}

// Names of the process and of its lanes, in the order in which they are shown.
void append_names(int rank, std::string *text) {
  auto out = std::back_inserter(*text);
  fmt::format_to(out, R"({{"ph":"M","name":"process_name","pid":{0},"args":{{"name":"rank {0}"}}}})", rank);
  fmt::format_to(out,
                 ",\n"
                 R"({{"ph":"M","name":"process_sort_index","pid":{0},"args":{{"sort_index":{0}}}}})",
                 rank);
  for (std::size_t i = 0; i < kLaneNames.size(); ++i) {
    const int thread = tid(static_cast<Lane>(i));
    fmt::format_to(out,
                   ",\n"
                   R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":"{}"}}}})",
                   rank, thread, kLaneNames[i]);
    fmt::format_to(out,
                   ",\n"
                   R"({{"ph":"M","name":"thread_sort_index","pid":{},"tid":{},"args":{{"sort_index":{}}}}})",
                   rank, thread, thread);
  }
}

// `from_ns`: where the span is drawn from.
void append_span(const Record &record, std::int64_t from_ns, std::int64_t epoch_ns, int rank, std::string *text) {
  const Message &message = record.message;
  const Piece &piece = record.piece;
  auto out = std::back_inserter(*text);
  fmt::format_to(out,
                 ",\n"
                 R"({{"ph":"X","name":"{} {}","cat":"sluice","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},)",
                 name(record.lane), piece.block, rank, tid(record.lane), microseconds(from_ns - epoch_ns),
                 microseconds(record.end_ns - from_ns));
  fmt::format_to(out, R"("args":{{"operation":"{}","peer":{},"tag":{},"block":{},"blocks":{},"bytes":{},)",
                 name(message.operation), message.peer, message.tag, piece.block, piece.n_blocks, piece.size_bytes);
  if (message.sender >= 0) fmt::format_to(out, R"("message":"{}:{}",)", message.sender, message.number);
  fmt::format_to(out, R"("submitted":{:.3f}}}}})", microseconds(record.begin_ns - epoch_ns));
}

}  // namespace

void enable() {
  Store &kept = store();
  const std::scoped_lock lock(kept.mutex);
  if (is_enabled()) return;
  kept.records.reserve(kMostSpans);
  read_both_clocks(&kept);
  detail::enabled.store(true, std::memory_order_release);
}

std::int64_t Span::now_ns() noexcept {
  return nanoseconds_of<std::chrono::steady_clock>();
}

void Span::record(Lane lane, const Message &message, const Piece &piece) noexcept {
  const Record made{begin_ns_, now_ns(), message, piece, lane};
  begin_ns_ = 0;
  Store &kept = store();
  const std::scoped_lock lock(kept.mutex);
  if (kept.records.size() == kMostSpans) {
    ++kept.n_dropped;
  } else {
    kept.records.push_back(made);  // there is room
  }
}

std::string to_json(int rank) {
  std::vector<Record> records;
  std::uint64_t n_dropped = 0;
  Store &kept = store();
  {
    const std::scoped_lock lock(kept.mutex);
    records = kept.records;
    n_dropped = kept.n_dropped;
  }
  std::stable_sort(records.begin(), records.end(),
                   [](const Record &a, const Record &b) { return a.end_ns < b.end_ns; });
  std::string text = fmt::format(
      R"({{"displayTimeUnit":"ns","otherData":{{"format":{},"rank":{},"spans":{},"dropped":{},"epoch_unix_ns":"{}"}},)",
      kFormat, rank, records.size(), n_dropped, kept.epoch_unix_ns);
  text += "\n\"traceEvents\":[\n";
  append_names(rank, &text);
  // Viewers want the spans of a lane one after the other: what was submitted while another was under way is drawn from
  // that one's end.
  std::array<std::int64_t, kLaneNames.size()> free_ns{};
  for (const Record &record : records) {
    std::int64_t &lane_free_ns = free_ns[static_cast<std::size_t>(record.lane)];
    append_span(record, std::max(record.begin_ns, lane_free_ns), kept.epoch_ns, rank, &text);
    lane_free_ns = record.end_ns;
  }
  text += "\n]}\n";
  return text;
}

std::string file_of(std::string_view name, int rank) {
  std::string path(name);
  if (put_rank(&path, rank)) return path;
  constexpr std::string_view kEnding = ".json";
  if (path.ends_with(kEnding)) path.resize(path.size() - kEnding.size());
  return path.append(".").append(std::to_string(rank)).append(kEnding);
}

Status write(const std::string &path, int rank) {
  return write_file(path, to_json(rank), "the trace", "SLUICE_TRACE");
}

void reset() noexcept {
  Store &kept = store();
  const std::scoped_lock lock(kept.mutex);
  kept.records.clear();
  kept.n_dropped = 0;
}

}  // namespace sluice::trace

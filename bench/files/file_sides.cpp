// SPDX-License-Identifier: BSD-3-Clause
// file_write_sides, file_read_sides: one rank writes or reads one long part of a file out of its memory, beside what
// the parts of that take by themselves. bench/file_figures judges the figures.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/catalogue.hpp"
#include "bench/files/shared_file.hpp"
#include "bench/measure/chosen_loop.hpp"
#include "bench/memory/buffer.hpp"
#include "bench/memory/process_memory.hpp"
#include "bench/mpi/agreed_stop.hpp"
#include "bench/report/failure_text.hpp"
#include "bench/session.hpp"

namespace sluice::bench {
namespace {

constexpr Loop kOnce{.warmup = 0, .iterations = 1};
constexpr std::uint64_t kPieceBytes = std::uint64_t{1} << 20;
// Bytes of a run of the grid, and runs in a plane of it.
constexpr std::uint64_t kRowBytes = 4096;
constexpr std::uint64_t kRows = 512;

// A datatype that is freed at the end.
class OwnType {
 public:
  // So many bytes in a row.
  explicit OwnType(std::uint64_t size_bytes) {
    check_mpi(MPI_Type_contiguous(static_cast<int>(size_bytes), MPI_BYTE, &type_), "MPI_Type_contiguous");
    commit();
  }
  // The first half of each row of a grid whose halves have `size_bytes` together, in the order of the file.
  static OwnType half_grid(std::uint64_t size_bytes) {
    const int rows = static_cast<int>(std::min(kRows, size_bytes / kRowBytes));
    const int planes = static_cast<int>(size_bytes / (kRowBytes * static_cast<std::uint64_t>(rows)));
    const std::array<int, 3> all = {planes, rows, 2 * static_cast<int>(kRowBytes)};
    const std::array<int, 3> own = {planes, rows, static_cast<int>(kRowBytes)};
    const std::array<int, 3> begin = {0, 0, 0};
    OwnType made;
    check_mpi(MPI_Type_create_subarray(3, all.data(), own.data(), begin.data(), MPI_ORDER_C, MPI_BYTE, &made.type_),
              "MPI_Type_create_subarray");
    made.commit();
    return made;
  }
  OwnType(const OwnType &) = delete;
  OwnType &operator=(const OwnType &) = delete;
  OwnType(OwnType &&other) noexcept : type_(std::exchange(other.type_, MPI_DATATYPE_NULL)) {}
  OwnType &operator=(OwnType &&) = delete;
  ~OwnType() {
    if (type_ != MPI_DATATYPE_NULL && MPI_Type_free(&type_) != MPI_SUCCESS) {
      std::fputs("a datatype could not be freed\n", stderr);
    }
  }
  MPI_Datatype get() const { return type_; }

 private:
  OwnType() = default;
  void commit() { check_mpi(MPI_Type_commit(&type_), "MPI_Type_commit"); }

  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

// The most memory that this process has held since begin(), beyond what it held then.
class HeldMemory {
 public:
  void begin() {
    // Forgets the largest value so far; where that is not allowed the figure may be too large, and never too small.
    std::ofstream("/proc/self/clear_refs") << 5;
    before_ = query_resident_bytes();
  }
  double mebibytes() const {
    std::ifstream file("/proc/self/status");
    std::string word;
    std::uint64_t most_kib = 0;
    while (file >> word) {
      if (word == "VmHWM:") file >> most_kib;
    }
    const std::uint64_t most = most_kib << 10U;
    return static_cast<double>(most - std::min(most, before_)) / (1 << 20);
  }

 private:
  std::uint64_t before_ = 0;
};

// What is at a place of the file or of the memory, in whole words.
void fill_piece(std::uint64_t first, std::vector<std::uint64_t> *piece) {
  for (std::uint64_t &word : *piece) word = (first++ + 1) * 0x9e3779b97f4a7c15U;
}

class Sides {
 public:
  Sides(Session &session, bool is_read, std::uint64_t size_bytes)
      : session_(session),
        is_read_(is_read),
        size_bytes_(size_bytes),
        piece_(piece_bytes()),
        grid_(OwnType::half_grid(size_bytes)),
        file_(session.world()),
        device_(Buffer::program_memory(session.module(), session.memory(), size_bytes)) {}

  // One checked access, and what it held of the host's memory: before there is any that has the size of the data.
  std::string check(double *held_mebibytes) {
    const std::vector<std::uint64_t> before(kPieceBytes / sizeof(std::uint64_t), 0);
    for (std::uint64_t at = 0; at < size_bytes_; at += kPieceBytes) {
      const std::uint64_t bytes = std::min(kPieceBytes, size_bytes_ - at);
      std::vector<std::uint64_t> words(bytes / sizeof(std::uint64_t));
      fill_piece(at / sizeof(std::uint64_t), &words);
      const auto *data = reinterpret_cast<const std::byte *>(words.data());
      const auto *zeros = reinterpret_cast<const std::byte *>(before.data());
      file_.write(at, is_read_ ? data : zeros, bytes);
      session_.module()->copy(device_.data() + at, is_read_ ? zeros : data, bytes);
      // The view reaches over twice the data: a part that was never written would be quicker to read.
      if (is_read_) file_.write(size_bytes_ + at, data, bytes);
    }
    access(device_.data(), 0, kRowBytes);  // the first use of a device takes memory of its own
    HeldMemory held;
    held.begin();
    access(device_.data(), 0, size_bytes_);
    *held_mebibytes = held.mebibytes();
    return find_error();
  }

  // Takes the memory of the size of the data that the other sides need. All later accesses are of that.
  void take_host_memory() {
    host_ = std::make_unique<Buffer>(Buffer::program_memory(nullptr, SLUICE_MEMORY_HOST, size_bytes_));
    std::memset(host_->data(), 1, size_bytes_);
    pinned_ = std::make_unique<Buffer>(Buffer::staging_memory(session_.module(), SLUICE_STAGING_RUNTIME_ALIGNED,
                                                              std::min(size_bytes_, 64 * kPieceBytes)));
  }

  void direct() { access(device_.data(), 0, size_bytes_); }
  void host() { access(host_->data(), 0, size_bytes_); }
  void by_hand() {
    if (!is_read_) session_.module()->copy(host_->data(), device_.data(), size_bytes_);
    host();
    if (is_read_) session_.module()->copy(device_.data(), host_->data(), size_bytes_);
  }
  // The bare copy by the vendor's runtime, to or from pinned memory.
  void copy() {
    for (std::uint64_t at = 0; at < size_bytes_; at += pinned_->size_bytes()) {
      const std::uint64_t bytes = std::min(pinned_->size_bytes(), size_bytes_ - at);
      if (is_read_) {
        session_.module()->copy(device_.data() + at, pinned_->data(), bytes);
      } else {
        session_.module()->copy(pinned_->data(), device_.data() + at, bytes);
      }
    }
  }
  void view_direct() { through_view(device_.data()); }
  void view_host() { through_view(host_->data()); }
  // The same work at all times: shows whether the machine had other things to do.
  void loop() {
    std::uint64_t word = loop_result_;
    for (std::uint64_t i = 0; i < 100'000'000; ++i) word = word * 6364136223846793005U + 1442695040888963407U;
    loop_result_ = word;
  }

 private:
  void access(std::byte *buffer, std::uint64_t offset, std::uint64_t size_bytes) const {
    const bool is_short = size_bytes % piece_bytes() != 0;
    const int count = static_cast<int>(is_short ? size_bytes : size_bytes / piece_bytes());
    const MPI_Datatype type = is_short ? MPI_BYTE : piece_.get();
    const auto function = is_read_ ? MPI_File_read_at : call_write;
    check_mpi(function(file_.get(), static_cast<MPI_Offset>(offset), buffer, count, type, MPI_STATUS_IGNORE),
              is_read_ ? "MPI_File_read_at" : "MPI_File_write_at");
  }
  static int call_write(MPI_File file, MPI_Offset offset, void *buffer, int count, MPI_Datatype type,
                        MPI_Status *status) {
    return MPI_File_write_at(file, offset, buffer, count, type, status);
  }
  std::uint64_t piece_bytes() const { return size_bytes_ % kPieceBytes == 0 ? kPieceBytes : kRowBytes; }

  void through_view(std::byte *buffer) const {
    check_mpi(MPI_File_set_view(file_.get(), 0, MPI_BYTE, grid_.get(), "native", MPI_INFO_NULL), "MPI_File_set_view");
    access(buffer, 0, size_bytes_);
    check_mpi(MPI_File_set_view(file_.get(), 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL), "MPI_File_set_view");
  }

  std::string find_error() const {
    for (std::uint64_t at = 0; at < size_bytes_; at += kPieceBytes) {
      const std::uint64_t bytes = std::min(kPieceBytes, size_bytes_ - at);
      std::vector<std::uint64_t> expected(bytes / sizeof(std::uint64_t));
      std::vector<std::uint64_t> actual(expected.size());
      fill_piece(at / sizeof(std::uint64_t), &expected);
      if (is_read_) {
        session_.module()->copy(actual.data(), device_.data() + at, bytes);
      } else {
        file_.read(at, reinterpret_cast<std::byte *>(actual.data()), bytes);
      }
      if (actual != expected) return fmt::format("the data differ between bytes {} and {}", at, at + bytes);
    }
    return "";
  }

  Session &session_;
  bool is_read_;
  std::uint64_t size_bytes_;
  OwnType piece_;
  OwnType grid_;
  SharedFile file_;
  Buffer device_;
  std::unique_ptr<Buffer> host_;
  std::unique_ptr<Buffer> pinned_;
  std::uint64_t loop_result_ = 1;
};

struct Side {
  const char *name;
  void (Sides::*run)();
};
constexpr std::array<Side, 7> kSides = {{{"direct", &Sides::direct},
                                         {"copy", &Sides::copy},
                                         {"host", &Sides::host},
                                         {"by hand", &Sides::by_hand},
                                         {"view", &Sides::view_direct},
                                         {"host view", &Sides::view_host},
                                         {"cpu loop", &Sides::loop}}};

Row measure(Session &session, bool is_read, std::uint64_t size_bytes) {
  const Options &options = session.options();
  Row row;
  row.size_bytes = size_bytes;
  row.check.n_iterations = 1;
  std::optional<Sides> sides;
  double held_mebibytes = 0;
  const std::string error = error_of([&] {
    sides.emplace(session, is_read, size_bytes);
    row.check.failure = sides->check(&held_mebibytes);
    sides->take_host_memory();
  });
  if (!error.empty()) row.check.failure = text_with_size(size_bytes, error);
  if (!row.check.failure.empty()) return row;
  row.extras = {held_mebibytes};
  for (const Side &side : kSides) row.series.push_back({side.name, {}});
  row.stopped = repeat_blocks_together(options, row.series, [&](std::uint64_t) {
    for (std::size_t i = 0; i < kSides.size(); ++i) {
      const auto run = [&] { (*sides.*kSides[i].run)(); };
      row.series[i].blocks.push_back(summarise(sample_us(chosen_loop(options, kOnce), run), options.percentiles));
    }
  });
  return row;
}

void run_sides(Session &session, bool is_read) {
  if (session.module() == nullptr) throw std::runtime_error("the sides of file accesses need a device: -d NAME, and D");
  Columns columns;
  for (const Side &side : kSides) columns.series.emplace_back(side.name);
  columns.extras = {{"held_mib", "Held(MiB)"}};
  session.begin(std::move(columns));
  for (const std::uint64_t size : session.options().sizes) session.add(measure(session, is_read, size));
}

Registration registration_of(const char *name, const char *title, bool is_read) {
  return Registration({.name = name,
                       .title = title,
                       .family = Family::coll,
                       .metric = Metric::latency_us,
                       .min_ranks = 1,
                       .max_ranks = 1,
                       .min_size = kRowBytes,
                       .max_size = std::uint64_t{1} << 34,
                       .has_rotation = false,
                       .run = [is_read](Session &session) { run_sides(session, is_read); }});
}

const Registration write_sides =
    registration_of("file_write_sides", "MPI_File_write_at of one rank, beside its parts", false);
const Registration read_sides =
    registration_of("file_read_sides", "MPI_File_read_at of one rank, beside its parts", true);

}  // namespace
}  // namespace sluice::bench

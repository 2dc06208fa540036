// SPDX-License-Identifier: BSD-3-Clause
// file_write, file_read and their collective forms: each rank has its own part of one file.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/catalogue.hpp"
#include "bench/files/shared_file.hpp"
#include "bench/measure/chosen_loop.hpp"
#include "bench/memory/message_buffer.hpp"
#include "bench/memory/staging_place.hpp"
#include "bench/mpi/agreed_stop.hpp"
#include "bench/mpi/rank_samples.hpp"
#include "bench/report/failure_text.hpp"
#include "bench/session.hpp"

namespace sluice::bench {
namespace {

constexpr Loop kFewFiles{.warmup = 1, .iterations = 5};
constexpr Loop kManyFiles{.warmup = 5, .iterations = 50};
constexpr std::uint64_t kLongBytes = std::uint64_t{1} << 20;

struct FileBenchmark {
  std::string name;
  std::string call;
  bool is_read = false;
  int (*move)(MPI_File file, MPI_Offset offset, void *buffer, int count) = nullptr;
};

// The accesses of one size.
class FileRun {
 public:
  FileRun(Session &session, const FileBenchmark &test, std::uint64_t size_bytes)
      : session_(session),
        test_(test),
        size_bytes_(size_bytes),
        offset_(size_bytes * static_cast<std::uint64_t>(session.world().rank())),
        place_{session.module(), session.memory(), session.options().naive_staging, nullptr},
        file_(session.world()),
        message_(session.module(), session.memory(), size_bytes),
        plain_(nullptr, SLUICE_MEMORY_HOST, size_bytes),
        staged_(place_.allocate(size_bytes, 1)) {}

  // By MPI on the memory itself, or on host memory that the program copies from or to.
  void access(bool is_by_hand) {
    void *const staged = staging_pointers(staged_, size_bytes_, 1).front();
    const bool is_staged = is_by_hand && place_.is_staged();
    if (is_staged && !test_.is_read) place_.stage_down(staged, message_.data(), size_bytes_);
    check_mpi(test_.move(file_.get(), static_cast<MPI_Offset>(offset_), is_staged ? staged : message_.data(),
                         static_cast<int>(size_bytes_)),
              test_.call.c_str());
    if (is_staged && test_.is_read) place_.stage_up(message_.data(), staged, size_bytes_);
  }

  // What the first wrong byte is, or "".
  std::string check(bool is_by_hand, std::uint64_t iteration) {
    const Pattern pattern(static_cast<std::uint32_t>(session_.world().rank()), iteration, 0);
    if (test_.is_read) {
      plain_.fill(pattern, scratch_);
      file_.write(offset_, plain_.data(), size_bytes_);
      message_.poison(pattern, scratch_);
    } else {
      message_.fill(pattern, scratch_);
      plain_.poison(pattern, scratch_);
    }
    session_.world().barrier();
    access(is_by_hand);
    session_.world().barrier();
    if (!test_.is_read) file_.read(offset_, plain_.data(), size_bytes_);
    return (test_.is_read ? message_ : plain_).find_error(pattern, scratch_);
  }

 private:
  Session &session_;
  const FileBenchmark &test_;
  std::uint64_t size_bytes_;
  std::uint64_t offset_;
  StagingPlace place_;
  SharedFile file_;
  MessageBuffer message_;
  MessageBuffer plain_;
  Buffer staged_;
  std::vector<std::byte> scratch_;
};

class FileSweep {
 public:
  FileSweep(Session &session, const FileBenchmark &test)
      : session_(session), options_(session.options()), test_(test) {}

  void run() {
    Columns columns;
    if (options_.route != Route::naive) columns.series.emplace_back("direct");
    if (options_.route != Route::direct) columns.series.emplace_back("naive");
    const std::vector<std::string> series = columns.series;
    session_.begin(std::move(columns));
    for (const std::uint64_t size : options_.sizes) session_.add(measure(size, series));
  }

 private:
  Row measure(std::uint64_t size, const std::vector<std::string> &series) {
    std::optional<FileRun> run;
    session_.world().agree(text_with_size(size, error_of([&] { run.emplace(session_, test_, size); })));
    const Loop loop = chosen_loop(options_, size < kLongBytes ? kManyFiles : kFewFiles);
    Row row;
    row.size_bytes = size;
    row.check.n_iterations = checked_iterations(options_.check, loop.iterations);
    session_.begin_routes();
    std::string failure;
    for (const std::string &one : series) {
      for (std::uint64_t i = 0; i < row.check.n_iterations && failure.empty(); ++i) {
        std::string wrong;
        const std::string error = error_of([&] { wrong = run->check(one == "naive", i); });
        failure = session_.world().first_error(text_with_iteration(size, i, error.empty() ? wrong : error));
      }
    }
    row.routes = session_.end_routes();
    row.check.failure = failure;
    if (!failure.empty()) return row;
    for (const std::string &one : series) row.series.push_back({one, {}});
    row.stopped = repeat_blocks_together(options_, row.series, [&](std::uint64_t) {
      for (Series &one : row.series) one.blocks.push_back(time(*run, loop, size, one.name == "naive"));
    });
    return row;
  }

  Summary time(FileRun &run, const Loop &loop, std::uint64_t size, bool is_by_hand) {
    session_.world().barrier();
    std::vector<double> samples = sample_us(loop, [&] {
      run.access(is_by_hand);
      session_.world().barrier();
    });
    samples = largest_of_ranks(std::move(samples), true);
    return rate_of(summarise(std::move(samples), options_.percentiles),
                   static_cast<double>(size) * session_.world().n_ranks());
  }

  Session &session_;
  const Options &options_;
  const FileBenchmark &test_;
};

struct FileRegistration {
  explicit FileRegistration(FileBenchmark test) {
    const auto shared = std::make_shared<const FileBenchmark>(std::move(test));
    Registration({.name = shared->name,
                  .title = fmt::format("{}, each rank at its own offset of one file", shared->call),
                  .family = Family::coll,
                  .metric = Metric::bandwidth_mbps,
                  .min_ranks = 1,
                  .max_ranks = 0,
                  .min_size = 1,
                  .max_size = std::uint64_t{1} << 30,
                  .has_rotation = false,
                  .run = [shared](Session &session) { FileSweep(session, *shared).run(); }});
  }
};

const FileRegistration file_write({"file_write", "MPI_File_write_at", false,
                                   [](MPI_File file, MPI_Offset offset, void *buffer, int count) {
                                     return MPI_File_write_at(file, offset, buffer, count, MPI_BYTE, MPI_STATUS_IGNORE);
                                   }});
const FileRegistration file_read({"file_read", "MPI_File_read_at", true,
                                  [](MPI_File file, MPI_Offset offset, void *buffer, int count) {
                                    return MPI_File_read_at(file, offset, buffer, count, MPI_BYTE, MPI_STATUS_IGNORE);
                                  }});
const FileRegistration file_write_all({"file_write_all", "MPI_File_write_at_all", false,
                                       [](MPI_File file, MPI_Offset offset, void *buffer, int count) {
                                         return MPI_File_write_at_all(file, offset, buffer, count, MPI_BYTE,
                                                                      MPI_STATUS_IGNORE);
                                       }});
const FileRegistration file_read_all({"file_read_all", "MPI_File_read_at_all", true,
                                      [](MPI_File file, MPI_Offset offset, void *buffer, int count) {
                                        return MPI_File_read_at_all(file, offset, buffer, count, MPI_BYTE,
                                                                    MPI_STATUS_IGNORE);
                                      }});

}  // namespace
}  // namespace sluice::bench

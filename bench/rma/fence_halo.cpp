// SPDX-License-Identifier: BSD-3-Clause
// fence_halo: the two faces of a halo of two ranks, put between fences, beside the same faces sent by messages.
#include <fmt/format.h>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/catalogue.hpp"
#include "bench/measure/chosen_loop.hpp"
#include "bench/memory/message_buffer.hpp"
#include "bench/mpi/agreed_stop.hpp"
#include "bench/mpi/rank_samples.hpp"
#include "bench/report/failure_text.hpp"
#include "bench/session.hpp"

namespace sluice::bench {
namespace {

constexpr int kFaces = 2;

// The memory of one size on this rank, and a window of the faces that come.
class Faces {
 public:
  Faces(Session &session, std::uint64_t size_bytes)
      : rank_(session.world().rank()), size_bytes_(size_bytes), count_(static_cast<int>(size_bytes)) {
    for (std::unique_ptr<MessageBuffer> &face : sent_) {
      face = std::make_unique<MessageBuffer>(session.module(), session.memory(), size_bytes);
    }
    received_ = std::make_unique<MessageBuffer>(session.module(), session.memory(), kFaces * size_bytes);
    check_mpi(MPI_Win_create(received_->data(), static_cast<MPI_Aint>(kFaces * size_bytes), 1, MPI_INFO_NULL,
                             MPI_COMM_WORLD, &window_),
              "MPI_Win_create");
  }
  Faces(const Faces &) = delete;
  Faces &operator=(const Faces &) = delete;
  ~Faces() {
    if (MPI_Win_free(&window_) != MPI_SUCCESS) fmt::print(stderr, "sluice-bench: the window could not be freed\n");
  }

  void open() const { check_mpi(MPI_Win_fence(MPI_MODE_NOPRECEDE, window_), "MPI_Win_fence"); }
  void close() const { check_mpi(MPI_Win_fence(MPI_MODE_NOSUCCEED, window_), "MPI_Win_fence"); }

  // Between two fences; each ends one iteration and begins the next.
  void by_fence() const {
    for (int face = 0; face < kFaces; ++face) {
      check_mpi(MPI_Put(sent_[face]->data(), count_, MPI_BYTE, 1 - rank_, static_cast<MPI_Aint>(place_of(face)), count_,
                        MPI_BYTE, window_),
                "MPI_Put");
    }
    check_mpi(MPI_Win_fence(0, window_), "MPI_Win_fence");
  }
  void by_messages() const {
    std::array<MPI_Request, std::size_t{2} * kFaces> requests;
    for (int face = 0; face < kFaces; ++face) {
      check_mpi(MPI_Irecv(received_->data() + place_of(face), count_, MPI_BYTE, 1 - rank_, face, MPI_COMM_WORLD,
                          &requests[face]),
                "MPI_Irecv");
    }
    for (int face = 0; face < kFaces; ++face) {
      check_mpi(
          MPI_Isend(sent_[face]->data(), count_, MPI_BYTE, 1 - rank_, face, MPI_COMM_WORLD, &requests[kFaces + face]),
          "MPI_Isend");
    }
    check_mpi(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
  }

  void prepare(std::uint64_t iteration) {
    for (int face = 0; face < kFaces; ++face) sent_[face]->fill(pattern_of(rank_, iteration, face), scratch_);
    received_->store(
        [&](std::span<std::byte> bytes) {
          for (int face = 0; face < kFaces; ++face) {
            pattern_of(1 - rank_, iteration, face).poison(bytes.subspan(place_of(face), size_bytes_));
          }
        },
        scratch_);
  }
  std::string verify(std::uint64_t iteration) {
    for (int face = 0; face < kFaces; ++face) {
      const std::string wrong = sent_[face]->find_error(pattern_of(rank_, iteration, face), scratch_);
      if (!wrong.empty()) return fmt::format("sent face {}, {}", face, wrong);
    }
    return received_->examine_on_host(
        [&](std::span<const std::byte> bytes) {
          for (int face = 0; face < kFaces; ++face) {
            const std::string wrong =
                pattern_of(1 - rank_, iteration, face).find_error(bytes.subspan(place_of(face), size_bytes_));
            if (!wrong.empty()) return fmt::format("received face {}, {}", face, wrong);
          }
          return std::string();
        },
        scratch_);
  }

 private:
  static Pattern pattern_of(int rank, std::uint64_t iteration, int face) {
    return {static_cast<std::uint32_t>(rank), iteration, static_cast<std::uint64_t>(face)};
  }
  std::uint64_t place_of(int face) const { return static_cast<std::uint64_t>(face) * size_bytes_; }

  int rank_;
  std::uint64_t size_bytes_;
  int count_;
  std::array<std::unique_ptr<MessageBuffer>, kFaces> sent_;
  std::unique_ptr<MessageBuffer> received_;
  std::vector<std::byte> scratch_;
  MPI_Win window_ = MPI_WIN_NULL;
};

struct Way {
  const char *name;
  void (Faces::*exchange)() const;
};
constexpr std::array kWays{Way{"fence", &Faces::by_fence}, Way{"messages", &Faces::by_messages}};

// The epoch of the puts is open around all iterations of either way.
template <typename Iterations>
void within_epoch(const Faces &faces, const Way &way, Iterations iterations) {
  const bool has_epoch = way.exchange == &Faces::by_fence;
  if (has_epoch) faces.open();
  iterations();
  if (has_epoch) faces.close();
}

std::string check(Session &session, Faces &faces, std::uint64_t size, std::uint64_t n_iterations) {
  std::string failure;
  for (const Way &way : kWays) {
    for (std::uint64_t iteration = 0; iteration < n_iterations; ++iteration) {
      faces.prepare(iteration);
      session.world().barrier();
      within_epoch(faces, way, [&] { (faces.*way.exchange)(); });
      session.world().barrier();
      const std::string wrong = faces.verify(iteration);
      if (failure.empty()) failure = text_with_iteration(size, iteration, wrong, way.name);
    }
  }
  return session.world().first_error(failure);
}

Summary time(Session &session, const Faces &faces, const Way &way, const Loop &loop) {
  session.world().barrier();
  std::vector<double> samples;
  within_epoch(faces, way, [&] { samples = sample_us(loop, [&] { (faces.*way.exchange)(); }); });
  return summarise(largest_of_ranks(std::move(samples), true), session.options().percentiles);
}

void run(Session &session) {
  const Options &options = session.options();
  session.begin({{"fence", "messages"}, {}});
  for (const std::uint64_t size : options.sizes) {
    Row row;
    row.size_bytes = size;
    const Loop usual = size > 8192 ? Loop{.warmup = 10, .iterations = 200} : Loop{.warmup = 100, .iterations = 1000};
    const Loop loop = chosen_loop(options, usual);
    row.check.n_iterations = checked_iterations(options.check, loop.iterations);
    std::unique_ptr<Faces> faces;
    session.world().agree(text_with_size(size, error_of([&] { faces = std::make_unique<Faces>(session, size); })));
    session.begin_routes();
    row.check.failure = check(session, *faces, size, row.check.n_iterations);
    row.routes = session.end_routes();
    if (row.check.failure.empty()) {
      faces->prepare(0);
      for (const Way &way : kWays) row.series.push_back({way.name, {}});
      row.stopped = repeat_blocks_together(options, row.series, [&](std::uint64_t) {
        for (std::size_t i = 0; i < kWays.size(); ++i) {
          row.series[i].blocks.push_back(time(session, *faces, kWays[i], loop));
        }
      });
    }
    session.add(std::move(row));
  }
}

const Registration fence_halo({.name = "fence_halo",
                               .title = "two faces between two ranks, put between fences and sent by messages",
                               .family = Family::rma,
                               .metric = Metric::latency_us,
                               .min_size = 1,
                               .has_rotation = false,
                               .run = run});

}  // namespace
}  // namespace sluice::bench

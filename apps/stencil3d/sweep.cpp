// SPDX-License-Identifier: BSD-3-Clause
// The halo exchange alone.
#include "apps/stencil3d/sweep.hpp"

#include <fmt/format.h>

namespace sluice::apps::stencil3d {
namespace {

std::vector<HaloMessage> messages_of(const Place &place, std::uint64_t size_bytes) {
  std::vector<HaloMessage> messages;
  for (unsigned face = 0; face < kFaces; ++face) {
    if (place.neighbour[face] == MPI_PROC_NULL) continue;
    messages.push_back({place.neighbour[face], static_cast<int>(face), static_cast<int>(face ^ 1u),
                        messages.size() * size_bytes, static_cast<int>(size_bytes)});
  }
  return messages;
}

}  // namespace

Sweep::Sweep(Device &device, const World &world, const Place &place, std::uint64_t size_bytes, Variant variant,
             int n_graph_steps)
    : rank_(static_cast<std::uint64_t>(world.rank())),
      place_(place),
      size_bytes_(size_bytes),
      n_graph_steps_(variant == Variant::st_graph ? n_graph_steps : 0),
      stream_(device),
      halo_(device, stream_, messages_of(place, size_bytes), form_of(variant)),
      folded_(device, halo_.size_bytes()),
      step_(device, 1) {
  folded_.write(std::vector<std::uint64_t>(folded_.size(), 0));
  step_.write(std::vector<std::uint64_t>(1, 0));
  const Stream::Loading loading(stream_);
  launch_fill();
  launch_fold();
  stream_.synchronize();
}

void Sweep::run(int n_steps) {
  halo_.run(n_steps, n_graph_steps_, [this] { step(); });
  n_steps_ += static_cast<std::uint64_t>(n_steps);
}

void Sweep::step() {
  halo_.exchange([&] { launch_fill(); }, [] {}, [&] { launch_fold(); });
}

void Sweep::launch_fill() {
  stream_.launch(fill_kernel, halo_.size_bytes(), FillTask{halo_.sent(), step_.data(), size_bytes_, rank_},
                 {halo_.reach_bytes(), step_.size_bytes()});
}

void Sweep::launch_fold() {
  stream_.launch(fold_kernel, halo_.size_bytes(), FoldTask{folded_.data(), step_.data(), halo_.received()},
                 {halo_.size_bytes() * sizeof(std::uint64_t), step_.size_bytes(), halo_.reach_bytes()});
}

std::string Sweep::check() const {
  const std::vector<std::uint64_t> folded = folded_.read();
  std::size_t at = 0;
  for (const int peer : place_.neighbour) {
    for (std::uint64_t place = 0; peer != MPI_PROC_NULL && place < size_bytes_; ++place, ++at) {
      std::uint64_t expected = 0;
      for (std::uint64_t step = 0; step < n_steps_; ++step) {
        expected = expected * 31 + byte_of(static_cast<std::uint64_t>(peer), step, place);
      }
      if (folded[at] == expected) continue;
      return fmt::format("byte {} of the messages of rank {}: the sum over {} steps is {:#x} instead of {:#x}", place,
                         peer, n_steps_, folded[at], expected);
    }
  }
  return "";
}

}  // namespace sluice::apps::stencil3d

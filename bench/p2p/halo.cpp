// SPDX-License-Identifier: BSD-3-Clause
// halo_2d and halo_3d: the exchange of a stencil code. Ranks form a torus (MPI_Dims_create); each sends a face to both
// neighbours along every dimension and receives theirs, all at once, as 3DStencil in figure 9 of the CCGrid'23 paper.
#include <array>

#include "bench/p2p/bandwidth.hpp"
#include "bench/p2p/latency.hpp"

namespace sluice::bench {
namespace {

// The rank beside `rank` along one dimension of a torus in which ranks are numbered row by row, as MPI_Cart_create
// does. stride: distance of ranks that are neighbours along it; length: ranks along it.
int neighbour_of(int rank, int stride, int length, int step) {
  const int place = rank / stride % length;
  return rank + ((place + step + length) % length - place) * stride;
}

// A dimension with one rank has no neighbours. Two ranks along one are each other's neighbour on both sides: the tag
// tells the two faces apart.
template <int kDimensions>
Traffic torus_traffic(const Party &party) {
  std::array<int, kDimensions> lengths{};
  check_mpi(MPI_Dims_create(party.n_ranks, kDimensions, lengths.data()), "MPI_Dims_create");
  Traffic traffic;
  int stride = party.n_ranks;
  std::uint64_t message = 0;
  for (const int length : lengths) {
    stride /= length;
    if (length == 1) continue;
    for (const int step : {-1, 1}) {
      const int tag = kMessageTag + static_cast<int>(message);
      traffic.send.push_back({neighbour_of(party.rank, stride, length, step), tag, message});
      // What moves by `step` everywhere comes here from the other side.
      traffic.recv.push_back({neighbour_of(party.rank, stride, length, -step), tag, message});
      ++message;
    }
  }
  return traffic;
}

template <int kDimensions>
struct Halo : PairTest, TimedByOneThread<Halo<kDimensions>> {
  static constexpr std::size_t kSingleBuffers =
      static_cast<std::size_t>(kDimensions) * 2;  // faces are different memory
  static bool leads(const Party &) { return true; }
  static Loop default_loop(std::uint64_t size_bytes) { return latency_loop(size_bytes); }
  static Traffic traffic(const Party &party, std::size_t) { return torus_traffic<kDimensions>(party); }

  template <class Route>
  static void iterate(Route &route, const Party &) {
    receive_window(route);
    send_window(route);
    route.finish_sends();
    route.finish_recvs();
  }

  static Summary result(const Summary &times_us, std::uint64_t, std::size_t, int) { return times_us; }
};

const Registration halo_2d(pair_test<Halo<2>>(
    {.name = "halo_2d", .title = "faces exchanged with all neighbours in a torus of two dimensions", .max_ranks = 0}));
const Registration halo_3d(
    pair_test<Halo<3>>({.name = "halo_3d",
                        .title = "faces exchanged with all neighbours in a torus of three dimensions",
                        .max_ranks = 0}));

}  // namespace
}  // namespace sluice::bench

// SPDX-License-Identifier: BSD-3-Clause
// A rank's part of the grid, and its steps in the ways that are compared.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/stencil2d/kernel_list.hpp"
#include "apps/support/halo.hpp"

namespace sluice::apps::stencil2d {

enum class Variant {
  packed,    // a kernel packs all sides and corners
  subarray,  // MPI sends them where they lie, as subarrays
  hindexed,  // the same, as lists of blocks
  st,        // packed, and the stream starts and awaits the messages
  enqueue,   // the same by MPICH's functions
  st_graph   // the same, captured into a graph that is launched for some steps at a time
};
// By which functions the stream starts and awaits the messages; none: the host does.
inline std::optional<QueueForm> form_of(Variant variant) {
  if (variant == Variant::enqueue) return QueueForm::enqueued;
  return variant == Variant::st || variant == Variant::st_graph ? std::optional(QueueForm::batches) : std::nullopt;
}

// A rank's place among the others; the grid does not wrap around.
struct Place {
  std::uint64_t at[2];
  std::uint64_t n_ranks[2];
  int neighbour[kDirections];  // MPI_PROC_NULL where there is none
};
Place find_place(const World &world, const std::array<int, 2> &ranks);
std::uint64_t mask_of(const Place &place);

// Throws DeviceError and MpiError.
class Grid {
 public:
  // n_graph_steps: in each graph of Variant::st_graph; even, because the arrays take turns. run() is called for as many
  // steps or a multiple of that.
  Grid(Device &device, const Field &field, const Place &place, Variant variant, int n_graph_steps);
  ~Grid();
  Grid(const Grid &) = delete;
  Grid &operator=(const Grid &) = delete;

  // Begins anew with the values of first_value().
  void reset();
  // All is done when it returns.
  void run(int n_steps);
  // Compares the field after n_steps from reset() with the same steps on the host, which computes what it needs of the
  // neighbours' fields itself. Returns what the first wrong point is and holds, or "".
  std::string check(int n_steps) const;

 private:
  MPI_Datatype make_type(unsigned direction, std::uint64_t outwards) const;
  void load_kernels();
  void step();
  void exchange_in_place(double *values);
  void launch_pack(const double *from);
  void launch_unpack(double *to);
  void launch_relax();

  Field field_;
  Place place_;
  Variant variant_;
  int n_graph_steps_;  // 0: no graphs
  Stream stream_;
  DeviceArray<double> values_[2];
  int now_ = 0;  // which of the two holds the last step's values
  std::unique_ptr<Halo> halo_;
  std::vector<MPI_Datatype> types_;  // for each neighbour, of what is sent and of the halo there
};

// Of a point of the whole grid at the start, counted from 1; 0 outside of it, always.
double first_value(std::uint64_t x, std::uint64_t y);

}  // namespace sluice::apps::stencil2d

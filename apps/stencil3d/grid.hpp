// SPDX-License-Identifier: BSD-3-Clause
// A rank's part of the grid, and its steps in the ways that are compared.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/stencil3d/kernel_list.hpp"
#include "apps/support/halo.hpp"

namespace sluice::apps::stencil3d {

enum class Variant {
  packed,    // faces are packed by kernels; the host synchronises and sends
  subarray,  // MPI sends the faces where they lie, as subarrays
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
  std::uint64_t at[3];
  std::uint64_t n_ranks[3];
  int neighbour[kFaces];  // MPI_PROC_NULL where there is none
  std::uint64_t mask() const;
};
Place find_place(const World &world, const std::array<int, 3> &ranks);

// Throws DeviceError and MpiError.
class Grid {
 public:
  // n_graph_steps: in each graph of Variant::st_graph; even, because the arrays take turns. run() is called for as many
  // steps or a multiple of that.
  Grid(Device &device, const Box &box, const Place &place, Variant variant, int n_graph_steps);
  ~Grid();
  Grid(const Grid &) = delete;
  Grid &operator=(const Grid &) = delete;

  // Begins anew with the values of first_value().
  void reset();
  // All is done when it returns.
  void run(int n_steps);
  // Collective: writes the boxes of all ranks, or reads them into boxes that hold nothing else, and deletes the file.
  void save(const std::string &path);
  void restore(const std::string &path);
  // Compares the box after n_steps from reset() with the same steps on the host, which computes what it needs of the
  // neighbours' boxes itself. Returns what the first wrong point is and holds, or "".
  std::string check(int n_steps) const;

 private:
  void make_types();
  void step();
  void exchange_subarrays(const RelaxTask &task);
  void load_kernels();
  void launch_pack(const double *from);
  void launch_unpack(double *to);
  void launch_inside(const RelaxTask &task);
  void launch_surface(const RelaxTask &task);

  Box box_;
  Place place_;
  Variant variant_;
  int n_graph_steps_;  // 0: no graphs
  Stream stream_;
  DeviceArray<double> values_[2];
  int now_ = 0;  // which of the two holds the last step's values
  std::unique_ptr<Halo> halo_;
  std::vector<MPI_Datatype> types_;  // of the face to send and of the halo behind it, in turn
};

// Of a point of the whole grid at the start; 0 outside of it, always.
double first_value(std::uint64_t x, std::uint64_t y, std::uint64_t z);

}  // namespace sluice::apps::stencil3d

// SPDX-License-Identifier: BSD-3-Clause
// One rank's block and its inner loop, in the ways that are compared: arXiv 2208.04817, section V.A.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apps/faces/kernel_list.hpp"
#include "apps/support/device.hpp"
#include "apps/support/queue_calls.hpp"

namespace sluice::apps::faces {

enum class Variant {
  plain,      // the host synchronises with the stream, then sends
  st_send,    // the stream starts and awaits the sends, receives are MPI_Irecv: the paper's form
  st,         // the stream starts and awaits sends and receives: the host waits once, at the end of the loop
  enqueue,    // the same by MPICH's functions
  st_graph,   // st, captured into a graph that is launched once a step
  st_kernels  // as st, where Sluice's streams trigger and wait by kernels (section V.F): a knob of the backend's
};

// The ranks around this one, in a grid that does not wrap around.
struct Neighbours {
  int rank[kDirections];      // MPI_PROC_NULL where there is none
  std::uint64_t position[3];  // of this rank in the grid, along x, y, z
  std::uint64_t grid[3];
};
Neighbours find_neighbours(const World &world, const std::array<int, 3> &grid);

// The block, its messages and its stream. The outer loop makes one anew each time. Throws DeviceError and MpiError.
class Exchange {
 public:
  Exchange(Device &device, const Block &block, const Neighbours &neighbours, Variant variant);

  void write_field(const std::vector<double> &values) { field_.write(values); }
  std::vector<double> read_field() const { return field_.read(); }
  // The inner loop: n_steps times the steps 1 to 6 of the paper. All is done when it returns.
  void run(int n_steps);

 private:
  // A message's place in the buffers, in elements.
  struct Message {
    int peer;
    int send_tag;
    int receive_tag;
    std::size_t offset;
    int count;
  };

  void step_plain(int step);
  void step_triggered_sends(int step);
  void step_triggered();
  void launch_graph();
  void post_receives(double *received);
  void load_kernels();
  void launch_pack();
  void launch_sum_inside();
  void launch_add(const double *received);

  Block block_;
  Variant variant_;
  std::vector<Message> messages_;
  std::size_t n_elements_ = 0;  // of all messages
  DeviceArray<double> field_;
  DeviceArray<double> sent_;
  DeviceArray<double> received_[3];  // in turns, so that one is filled while another is read
  Stream stream_;
  std::unique_ptr<MessageQueue> queue_;
  std::unique_ptr<Graph> graph_;  // of a step
  std::vector<MPI_Request> receives_;
};

// Elements of a block's field, and of all its messages.
std::size_t field_size(const Block &block);
std::size_t messages_size(const Block &block);

}  // namespace sluice::apps::faces

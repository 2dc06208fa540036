// SPDX-License-Identifier: BSD-3-Clause
// A transposition: the ranks of a communicator exchange points, so that pencils along one dimension become pencils
// along another; in the ways that are compared.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "apps/fft3d/kernel_list.hpp"
#include "apps/fft3d/pencils.hpp"
#include "apps/support/device.hpp"
#include "apps/support/message_library.hpp"

namespace sluice::apps::fft3d {

enum class Variant {
  alltoallv,  // kernels pack and unpack, MPI_Alltoallv of device memory
  alltoallw,  // MPI takes the points from where they lie to where they belong, by datatypes
  staged,     // as alltoallv, but the program copies the messages to host memory and back
  vendor      // as alltoallv, but the library of the device's vendor carries the messages, in the stream of the kernels
};

// Complex numbers, as words of 8 bytes: two of double, one of float.
struct Element {
  MPI_Datatype type;
  std::uint64_t log2_words;

  std::uint64_t n_words(std::uint64_t n_elements) const { return n_elements << log2_words; }
  std::uint64_t size_bytes() const { return n_words(1) * sizeof(std::uint64_t); }
};

// Host memory of the runtime, which copies fast. Throws DeviceError.
class HostBuffer {
 public:
  HostBuffer(Device &device, std::uint64_t size_bytes);
  ~HostBuffer();
  HostBuffer(const HostBuffer &) = delete;
  HostBuffer &operator=(const HostBuffer &) = delete;

  void *data() const { return data_; }

 private:
  Device &device_;
  void *data_;
};

// A rank's points and room for as many twice, which exchanges use in turns.
class Points {
 public:
  Points(Device &device, std::uint64_t n_words);

  DeviceArray<std::uint64_t> &now() { return *arrays_[0]; }
  // Room for messages, or for the points of the next pencil.
  DeviceArray<std::uint64_t> &spare(std::size_t i) { return *arrays_[1 + i]; }
  // What is in spare(0) are the points now.
  void advance() { arrays_[0].swap(arrays_[1]); }

 private:
  std::array<std::unique_ptr<DeviceArray<std::uint64_t>>, 3> arrays_;
};

// How points are exchanged. messages: for Variant::vendor; else it may be null.
struct Way {
  Variant variant;
  MessageLibrary *messages;
};

// Between two pencils, in both directions. What it is given outlives it. Throws DeviceError and MpiError.
class Exchange {
 public:
  // The points of `before` are dealt out along dimension `split_before`, those of `after` along `split_after`.
  // Collective.
  Exchange(Device &device, Stream &stream, MPI_Comm communicator, const Element &element, const Way &way,
           const Box &before, unsigned split_before, const Box &after, unsigned split_after);
  ~Exchange();
  Exchange(const Exchange &) = delete;
  Exchange &operator=(const Exchange &) = delete;

  // All is done when it returns, and the stream is idle then; it is to be before. is_back: from `after` to `before`.
  void run(Points &points, bool is_back);

 private:
  // What one of the pencils sends and gets.
  struct Side {
    Box box;
    Split split;
    std::vector<int> counts;  // of elements, for each rank
    std::vector<int> displacements;
    std::vector<MPI_Datatype> types;                // alltoallw only
    std::vector<std::uint64_t> size_bytes;          // the counts
    std::vector<std::uint64_t> displacement_bytes;  // and displacements, for vendor
  };

  Side make_side(const Box &box, unsigned dimension) const;
  MPI_Datatype make_type(const Side &side, const Range &part) const;
  void run_packed(Points &points, const Side &from, const Side &to);
  void carry_by_mpi(Points &points, const Side &from, const Side &to);
  void run_in_place(Points &points, const Side &from, const Side &to);
  void reorder(Points &points, const Side &to);

  Device &device_;
  Stream &stream_;
  MPI_Comm communicator_;
  int n_ranks_ = 0;
  Element element_;
  Variant variant_;
  Side before_;
  Side after_;
  std::unique_ptr<HostBuffer> host_sent_;
  std::unique_ptr<HostBuffer> host_received_;
  std::unique_ptr<MessageGroup> group_;  // vendor only
};

}  // namespace sluice::apps::fft3d

// SPDX-License-Identifier: BSD-3-Clause
// The transpositions.
#include "apps/fft3d/exchange.hpp"

#include <algorithm>
#include <cstdio>

namespace sluice::apps::fft3d {
namespace {

// A type that is an intermediate of another.
void free_type(MPI_Datatype &type) {
  check_mpi(MPI_Type_free(&type), "MPI_Type_free");
}

}  // namespace

HostBuffer::HostBuffer(Device &device, std::uint64_t size_bytes)
    : device_(device), data_(device.module().allocate(SLUICE_MEMORY_PINNED, size_bytes)) {}

HostBuffer::~HostBuffer() {
  const std::string error = device_.module().release(data_);
  if (!error.empty()) std::fprintf(stderr, "host memory could not be freed: %s\n", error.c_str());
}

Points::Points(Device &device, std::uint64_t n_words) {
  for (auto &array : arrays_) array = std::make_unique<DeviceArray<std::uint64_t>>(device, n_words);
}

Exchange::Exchange(Device &device, Stream &stream, MPI_Comm communicator, const Element &element, const Way &way,
                   const Box &before, unsigned split_before, const Box &after, unsigned split_after)
    : device_(device), stream_(stream), communicator_(communicator), element_(element), variant_(way.variant) {
  check_mpi(MPI_Comm_size(communicator, &n_ranks_), "MPI_Comm_size");
  before_ = make_side(before, split_before);
  after_ = make_side(after, split_after);
  if (n_ranks_ == 1) return;
  if (variant_ == Variant::vendor) group_ = std::make_unique<MessageGroup>(*way.messages, stream, communicator);
  if (variant_ != Variant::staged) return;
  const std::uint64_t size_bytes = std::max(n_points(before), n_points(after)) * element.size_bytes();
  host_sent_ = std::make_unique<HostBuffer>(device, size_bytes);
  host_received_ = std::make_unique<HostBuffer>(device, size_bytes);
}

Exchange::~Exchange() {
  for (Side *side : {&before_, &after_}) {
    for (MPI_Datatype &type : side->types) {
      if (MPI_Type_free(&type) != MPI_SUCCESS) std::fputs("a datatype could not be freed\n", stderr);
    }
  }
}

Exchange::Side Exchange::make_side(const Box &box, unsigned dimension) const {
  Side side{box, {dimension, static_cast<std::uint64_t>(n_ranks_)}, {}, {}, {}, {}, {}};
  const std::uint64_t along = dimension == 0 ? box.n_x : dimension == 1 ? box.n_y : box.n_z;
  const std::uint64_t across = n_points(box) / along;
  for (int rank = 0; rank < n_ranks_; ++rank) {
    const Range part = part_of(along, side.split.n_parts, static_cast<std::uint64_t>(rank));
    side.counts.push_back(static_cast<int>(part.length * across));
    side.displacements.push_back(static_cast<int>(part.begin * across));
    side.size_bytes.push_back(part.length * across * element_.size_bytes());
    side.displacement_bytes.push_back(part.begin * across * element_.size_bytes());
    if (variant_ == Variant::alltoallw) side.types.push_back(make_type(side, part));
  }
  return side;
}

// The points of one message where they lie. Both sides name them in the order [z][y][x]: a subarray where they lie so,
// strides within strides where they do not.
MPI_Datatype Exchange::make_type(const Side &side, const Range &part) const {
  const Box &box = side.box;
  int counts[] = {static_cast<int>(box.n_z), static_cast<int>(box.n_y), static_cast<int>(box.n_x)};
  int starts[] = {0, 0, 0};
  const int sizes[] = {counts[0], counts[1], counts[2]};
  counts[2 - side.split.dimension] = static_cast<int>(part.length);
  starts[2 - side.split.dimension] = static_cast<int>(part.begin);
  MPI_Datatype type = MPI_DATATYPE_NULL;
  if (box.is_y_first == 0) {
    check_mpi(MPI_Type_create_subarray(3, sizes, counts, starts, MPI_ORDER_C, element_.type, &type),
              "MPI_Type_create_subarray");
  } else {
    const auto row_bytes = static_cast<MPI_Aint>(box.n_x * element_.size_bytes());
    const MPI_Aint layer_bytes = row_bytes * sizes[0];
    const MPI_Aint begin =
        starts[1] * layer_bytes + starts[0] * row_bytes + starts[2] * static_cast<MPI_Aint>(element_.size_bytes());
    MPI_Datatype row = MPI_DATATYPE_NULL;
    MPI_Datatype rows = MPI_DATATYPE_NULL;
    MPI_Datatype block = MPI_DATATYPE_NULL;
    check_mpi(MPI_Type_contiguous(counts[2], element_.type, &row), "MPI_Type_contiguous");
    check_mpi(MPI_Type_create_hvector(counts[1], 1, layer_bytes, row, &rows), "MPI_Type_create_hvector");
    check_mpi(MPI_Type_create_hvector(counts[0], 1, row_bytes, rows, &block), "MPI_Type_create_hvector");
    check_mpi(MPI_Type_create_hindexed_block(1, 1, &begin, block, &type), "MPI_Type_create_hindexed_block");
    free_type(row);
    free_type(rows);
    free_type(block);
  }
  check_mpi(MPI_Type_commit(&type), "MPI_Type_commit");
  return type;
}

void Exchange::run(Points &points, bool is_back) {
  const Side &from = is_back ? after_ : before_;
  const Side &to = is_back ? before_ : after_;
  if (n_ranks_ == 1) {
    reorder(points, to);
  } else if (variant_ == Variant::alltoallw) {
    run_in_place(points, from, to);
  } else {
    run_packed(points, from, to);
  }
}

void Exchange::run_packed(Points &points, const Side &from, const Side &to) {
  DeviceArray<std::uint64_t> &sent = points.spare(0);
  DeviceArray<std::uint64_t> &received = points.spare(1);
  const std::uint64_t reach_bytes = sent.size_bytes();
  stream_.launch(pack_kernel, element_.n_words(n_points(from.box)),
                 PackTask{sent.data(), points.now().data(), from.box, from.split, element_.log2_words},
                 {reach_bytes, reach_bytes});
  if (group_) {
    group_->enqueue({sent.data(), from.size_bytes.data(), from.displacement_bytes.data(), received.data(),
                     to.size_bytes.data(), to.displacement_bytes.data()});
  } else {
    stream_.synchronize();
    carry_by_mpi(points, from, to);
  }
  stream_.launch(unpack_kernel, element_.n_words(n_points(to.box)),
                 UnpackTask{points.now().data(), received.data(), to.box, to.split, element_.log2_words},
                 {reach_bytes, reach_bytes});
  stream_.synchronize();
}

void Exchange::carry_by_mpi(Points &points, const Side &from, const Side &to) {
  DeviceArray<std::uint64_t> &sent = points.spare(0);
  DeviceArray<std::uint64_t> &received = points.spare(1);
  const void *source = sent.data();
  void *target = received.data();
  if (host_sent_) {
    device_.module().copy(host_sent_->data(), sent.data(), n_points(from.box) * element_.size_bytes());
    source = host_sent_->data();
    target = host_received_->data();
  }
  check_mpi(MPI_Alltoallv(source, from.counts.data(), from.displacements.data(), element_.type, target,
                          to.counts.data(), to.displacements.data(), element_.type, communicator_),
            "MPI_Alltoallv");
  if (host_sent_) device_.module().copy(received.data(), target, n_points(to.box) * element_.size_bytes());
}

void Exchange::run_in_place(Points &points, const Side &from, const Side &to) {
  const std::vector<int> ones(static_cast<std::size_t>(n_ranks_), 1);
  const std::vector<int> zeros(static_cast<std::size_t>(n_ranks_), 0);
  check_mpi(MPI_Alltoallw(points.now().data(), ones.data(), zeros.data(), from.types.data(), points.spare(0).data(),
                          ones.data(), zeros.data(), to.types.data(), communicator_),
            "MPI_Alltoallw");
  points.advance();
}

// One rank has all of the points already, in another order.
void Exchange::reorder(Points &points, const Side &to) {
  const std::uint64_t reach_bytes = points.now().size_bytes();
  stream_.launch(reorder_kernel, element_.n_words(n_points(to.box)),
                 ReorderTask{points.spare(0).data(), points.now().data(), to.box, element_.log2_words},
                 {reach_bytes, reach_bytes});
  stream_.synchronize();
  points.advance();
}

}  // namespace sluice::apps::fft3d

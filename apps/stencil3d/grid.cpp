// SPDX-License-Identifier: BSD-3-Clause
// The steps of a rank's part of the grid.
#include "apps/stencil3d/grid.hpp"

#include <fmt/format.h>

#include <cstdio>

namespace sluice::apps::stencil3d {
namespace {

std::uint64_t volume(const Box &box, std::uint64_t more) {
  return (box.n[0] + more) * (box.n[1] + more) * (box.n[2] + more);
}

std::uint64_t inner_volume(const Box &box) {
  return (box.n[0] - 2) * (box.n[1] - 2) * (box.n[2] - 2);
}

std::vector<HaloMessage> messages_of(const Box &box, const Place &place) {
  std::vector<HaloMessage> messages;
  std::size_t offset = 0;
  for (unsigned face = 0; face < kFaces; ++face) {
    if (place.neighbour[face] == MPI_PROC_NULL) continue;
    const std::size_t size_bytes = face_size(box, face) * sizeof(double);
    messages.push_back({place.neighbour[face], static_cast<int>(face), static_cast<int>(face ^ 1u), offset,
                        static_cast<int>(size_bytes)});
    offset += size_bytes;
  }
  return messages;
}

}  // namespace

std::uint64_t Place::mask() const {
  std::uint64_t mask = 0;
  for (unsigned face = 0; face < kFaces; ++face) {
    if (neighbour[face] != MPI_PROC_NULL) mask |= std::uint64_t{1} << face;
  }
  return mask;
}

Place find_place(const World &world, const std::array<int, 3> &ranks) {
  Place place{};
  int rest = world.rank();
  int stride = 1;
  for (std::size_t d = 0; d < 3; ++d) {
    const int at = rest % ranks[d];
    rest /= ranks[d];
    place.at[d] = static_cast<std::uint64_t>(at);
    place.n_ranks[d] = static_cast<std::uint64_t>(ranks[d]);
    place.neighbour[2 * d] = at > 0 ? world.rank() - stride : MPI_PROC_NULL;
    place.neighbour[2 * d + 1] = at + 1 < ranks[d] ? world.rank() + stride : MPI_PROC_NULL;
    stride *= ranks[d];
  }
  return place;
}

double first_value(std::uint64_t x, std::uint64_t y, std::uint64_t z) {
  std::uint64_t mixed = x * 0x9e3779b97f4a7c15u ^ y * 0xbf58476d1ce4e5b9u ^ z * 0x94d049bb133111ebu;
  mixed ^= mixed >> 29;
  mixed *= 0xd6e8feb86659fd93u;
  return static_cast<double>(mixed >> 44);
}

Grid::Grid(Device &device, const Box &box, const Place &place, Variant variant, int n_graph_steps)
    : box_(box),
      place_(place),
      variant_(variant),
      n_graph_steps_(variant == Variant::st_graph ? n_graph_steps : 0),
      stream_(device),
      values_{{device, volume(box, 2)}, {device, volume(box, 2)}} {
  if (variant == Variant::subarray) {
    make_types();
  } else {
    halo_ = std::make_unique<Halo>(device, stream_, messages_of(box, place), form_of(variant));
  }
  load_kernels();
}

void Grid::load_kernels() {
  const Stream::Loading loading(stream_);
  const RelaxTask task{values_[1].data(), values_[0].data(), box_};
  if (halo_) {
    launch_pack(values_[0].data());
    launch_unpack(values_[0].data());
  }
  launch_inside(task);
  launch_surface(task);
  stream_.synchronize();
}

Grid::~Grid() {
  for (MPI_Datatype &type : types_) {
    if (MPI_Type_free(&type) != MPI_SUCCESS) std::fputs("a datatype could not be freed\n", stderr);
  }
}

// Dimensions slowest first, as the box lies in memory.
void Grid::make_types() {
  int sizes[3];
  for (int d = 0; d < 3; ++d) sizes[2 - d] = static_cast<int>(box_.n[d]) + 2;
  for (unsigned face = 0; face < kFaces; ++face) {
    const unsigned across = face / 2;
    for (const int outwards : {0, 1}) {
      int counts[3];
      int starts[3];
      for (unsigned d = 0; d < 3; ++d) {
        const int n = static_cast<int>(box_.n[d]);
        counts[2 - d] = d == across ? 1 : n;
        starts[2 - d] = d != across ? 1 : face % 2 == 0 ? 1 - outwards : n + outwards;
      }
      MPI_Datatype &type = types_.emplace_back(MPI_DATATYPE_NULL);
      check_mpi(MPI_Type_create_subarray(3, sizes, counts, starts, MPI_ORDER_C, MPI_DOUBLE, &type),
                "MPI_Type_create_subarray");
      check_mpi(MPI_Type_commit(&type), "MPI_Type_commit");
    }
  }
}

void Grid::reset() {
  std::vector<double> values(volume(box_, 2));
  for (DeviceArray<double> &array : values_) array.write(values);
  for (std::uint64_t z = 1; z <= box_.n[2]; ++z) {
    for (std::uint64_t y = 1; y <= box_.n[1]; ++y) {
      for (std::uint64_t x = 1; x <= box_.n[0]; ++x) {
        values[index_of(box_, x, y, z)] =
            first_value(place_.at[0] * box_.n[0] + x, place_.at[1] * box_.n[1] + y, place_.at[2] * box_.n[2] + z);
      }
    }
  }
  values_[0].write(values);
  now_ = 0;
}

void Grid::run(int n_steps) {
  if (halo_) {
    // After an even number of steps the arrays are where they were, so each launch goes on where the last one ended.
    halo_->run(n_steps, n_graph_steps_, [this] { step(); });
  } else {
    for (int i = 0; i < n_steps; ++i) step();
    stream_.synchronize();
  }
}

// The points that need no halo are computed while messages are under way.
void Grid::step() {
  const RelaxTask task{values_[1 - now_].data(), values_[now_].data(), box_};
  double *now = values_[now_].data();
  if (variant_ == Variant::subarray) {
    exchange_subarrays(task);
  } else {
    halo_->exchange([&] { launch_pack(now); }, [&] { launch_inside(task); }, [&] { launch_unpack(now); });
  }
  launch_surface(task);
  now_ = 1 - now_;
}

void Grid::exchange_subarrays(const RelaxTask &task) {
  stream_.synchronize();  // the last step's values are there
  double *now = values_[now_].data();
  std::vector<MPI_Request> requests;
  for (unsigned face = 0; face < kFaces; ++face) {
    check_mpi(MPI_Irecv(now, 1, types_[std::size_t{2} * face + 1], place_.neighbour[face], static_cast<int>(face ^ 1u),
                        MPI_COMM_WORLD, &requests.emplace_back()),
              "MPI_Irecv");
  }
  for (unsigned face = 0; face < kFaces; ++face) {
    check_mpi(MPI_Isend(now, 1, types_[std::size_t{2} * face], place_.neighbour[face], static_cast<int>(face),
                        MPI_COMM_WORLD, &requests.emplace_back()),
              "MPI_Isend");
  }
  launch_inside(task);
  check_mpi(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
}

void Grid::launch_pack(const double *from) {
  stream_.launch(pack_kernel, halo_->size_bytes() / sizeof(double),
                 PackTask{reinterpret_cast<double *>(halo_->sent()), from, box_},
                 {halo_->reach_bytes(), values_[0].size_bytes()});
}

void Grid::launch_unpack(double *to) {
  stream_.launch(unpack_kernel, halo_->size_bytes() / sizeof(double),
                 UnpackTask{to, reinterpret_cast<const double *>(halo_->received()), box_},
                 {values_[0].size_bytes(), halo_->reach_bytes()});
}

void Grid::launch_inside(const RelaxTask &task) {
  stream_.launch(relax_inside_kernel, inner_volume(box_), task, {values_[0].size_bytes(), values_[0].size_bytes()});
}

void Grid::launch_surface(const RelaxTask &task) {
  stream_.launch(relax_surface_kernel, volume(box_, 0) - inner_volume(box_), task,
                 {values_[0].size_bytes(), values_[0].size_bytes()});
}

// The host's box reaches n_steps points further on each side, from where nothing comes into this box in so few steps.
std::string Grid::check(int n_steps) const {
  const auto wider = static_cast<std::uint64_t>(n_steps);
  Box all = box_;
  for (std::uint64_t &n : all.n) n += 2 * wider;
  std::vector<double> now(volume(all, 2), 0.0);
  std::vector<double> next = now;
  const auto for_each_point = [&](const auto &visit) {
    for (std::uint64_t z = 1; z <= all.n[2]; ++z) {
      for (std::uint64_t y = 1; y <= all.n[1]; ++y) {
        for (std::uint64_t x = 1; x <= all.n[0]; ++x) {
          // Of the whole grid, counted from 1 as first_value() is; numbers below 1 wrap around and are outside too.
          const std::uint64_t at[] = {place_.at[0] * box_.n[0] + x - wider, place_.at[1] * box_.n[1] + y - wider,
                                      place_.at[2] * box_.n[2] + z - wider};
          bool is_inside = true;
          for (int d = 0; d < 3; ++d) is_inside = is_inside && at[d] - 1 < place_.n_ranks[d] * box_.n[d];
          if (is_inside) visit(x, y, z, at);
        }
      }
    }
  };
  for_each_point(
      [&](auto x, auto y, auto z, const auto &at) { now[index_of(all, x, y, z)] = first_value(at[0], at[1], at[2]); });
  const std::uint64_t row = all.n[0] + 2;
  const std::uint64_t plane = row * (all.n[1] + 2);
  for (int i = 0; i < n_steps; ++i) {
    for_each_point([&](auto x, auto y, auto z, const auto & /*at*/) {
      const double *p = &now[index_of(all, x, y, z)];
      next[index_of(all, x, y, z)] =
          0.25 * *p + 0.125 * ((p[-1] + p[1]) + (*(p - row) + p[row]) + (*(p - plane) + p[plane]));
    });
    now.swap(next);
  }
  const std::vector<double> own = values_[now_].read();
  for (std::uint64_t z = 1; z <= box_.n[2]; ++z) {
    for (std::uint64_t y = 1; y <= box_.n[1]; ++y) {
      for (std::uint64_t x = 1; x <= box_.n[0]; ++x) {
        const double found = own[index_of(box_, x, y, z)];
        const double expected = now[index_of(all, x + wider, y + wider, z + wider)];
        if (found == expected) continue;
        return fmt::format("point {} {} {} is {} instead of {} after {} steps", x, y, z, found, expected, n_steps);
      }
    }
  }
  return "";
}

}  // namespace sluice::apps::stencil3d

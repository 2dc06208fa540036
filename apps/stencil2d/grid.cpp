// SPDX-License-Identifier: BSD-3-Clause
// The steps of a rank's part of the grid.
#include "apps/stencil2d/grid.hpp"

#include <fmt/format.h>

#include <cstdio>

namespace sluice::apps::stencil2d {
namespace {

constexpr unsigned kOpposite = kDirections - 1;  // the direction k seen from the other side is kOpposite - k

std::size_t size_with_halo(const Field &field) {
  return (field.n[0] + 2) * (field.n[1] + 2);
}

std::vector<HaloMessage> messages_of(const Field &field, const Place &place) {
  std::vector<HaloMessage> messages;
  std::size_t offset = 0;
  for (unsigned k = 0; k < kDirections; ++k) {
    if (place.neighbour[k] == MPI_PROC_NULL) continue;
    const std::size_t size_bytes = count_along(field, k, 0) * count_along(field, k, 1) * sizeof(double);
    messages.push_back({place.neighbour[k], static_cast<int>(k), static_cast<int>(kOpposite - k), offset,
                        static_cast<int>(size_bytes)});
    offset += size_bytes;
  }
  return messages;
}

}  // namespace

Place find_place(const World &world, const std::array<int, 2> &ranks) {
  Place place{};
  const int at[] = {world.rank() % ranks[0], world.rank() / ranks[0]};
  for (unsigned d = 0; d < 2; ++d) {
    place.at[d] = static_cast<std::uint64_t>(at[d]);
    place.n_ranks[d] = static_cast<std::uint64_t>(ranks[d]);
  }
  for (unsigned k = 0; k < kDirections; ++k) {
    const int x = at[0] + step_of(k, 0);
    const int y = at[1] + step_of(k, 1);
    const bool is_there = k != kOpposite / 2 && x >= 0 && x < ranks[0] && y >= 0 && y < ranks[1];
    place.neighbour[k] = is_there ? y * ranks[0] + x : MPI_PROC_NULL;
  }
  return place;
}

std::uint64_t mask_of(const Place &place) {
  std::uint64_t mask = 0;
  for (unsigned k = 0; k < kDirections; ++k) {
    if (place.neighbour[k] != MPI_PROC_NULL) mask |= std::uint64_t{1} << k;
  }
  return mask;
}

double first_value(std::uint64_t x, std::uint64_t y) {
  std::uint64_t mixed = x * 0x9e3779b97f4a7c15u ^ y * 0xbf58476d1ce4e5b9u;
  mixed ^= mixed >> 29;
  mixed *= 0xd6e8feb86659fd93u;
  return static_cast<double>(mixed >> 44);
}

Grid::Grid(Device &device, const Field &field, const Place &place, Variant variant, int n_graph_steps)
    : field_(field),
      place_(place),
      variant_(variant),
      n_graph_steps_(variant == Variant::st_graph ? n_graph_steps : 0),
      stream_(device),
      values_{{device, size_with_halo(field)}, {device, size_with_halo(field)}} {
  if (variant == Variant::subarray || variant == Variant::hindexed) {
    for (unsigned k = 0; k < kDirections; ++k) {
      for (const std::uint64_t outwards : {0, 1}) types_.push_back(make_type(k, outwards));
    }
  } else {
    halo_ = std::make_unique<Halo>(device, stream_, messages_of(field, place), form_of(variant));
  }
  load_kernels();
}

void Grid::load_kernels() {
  const Stream::Loading loading(stream_);
  if (halo_) {
    launch_pack(values_[0].data());
    launch_unpack(values_[0].data());
  }
  launch_relax();
  stream_.synchronize();
}

Grid::~Grid() {
  for (MPI_Datatype &type : types_) {
    if (MPI_Type_free(&type) != MPI_SUCCESS) std::fputs("a datatype could not be freed\n", stderr);
  }
}

// Dimensions slowest first, as the field lies in memory.
MPI_Datatype Grid::make_type(unsigned direction, std::uint64_t outwards) const {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  const int counts[] = {static_cast<int>(count_along(field_, direction, 1)),
                        static_cast<int>(count_along(field_, direction, 0))};
  const int starts[] = {static_cast<int>(begin_along(field_, direction, 1, outwards)),
                        static_cast<int>(begin_along(field_, direction, 0, outwards))};
  if (variant_ == Variant::hindexed) {
    const std::vector<int> lengths(static_cast<std::size_t>(counts[0]), counts[1]);
    std::vector<MPI_Aint> places;
    places.reserve(lengths.size());
    for (int row = 0; row < counts[0]; ++row) {
      const std::uint64_t point =
          index_of(field_, begin_along(field_, direction, 0, outwards),
                   begin_along(field_, direction, 1, outwards) + static_cast<std::uint64_t>(row));
      places.push_back(static_cast<MPI_Aint>(point * sizeof(double)));
    }
    check_mpi(MPI_Type_create_hindexed(counts[0], lengths.data(), places.data(), MPI_DOUBLE, &type),
              "MPI_Type_create_hindexed");
  } else {
    const int sizes[] = {static_cast<int>(field_.n[1]) + 2, static_cast<int>(field_.n[0]) + 2};
    check_mpi(MPI_Type_create_subarray(2, sizes, counts, starts, MPI_ORDER_C, MPI_DOUBLE, &type),
              "MPI_Type_create_subarray");
  }
  check_mpi(MPI_Type_commit(&type), "MPI_Type_commit");
  return type;
}

void Grid::reset() {
  std::vector<double> values(size_with_halo(field_));
  for (DeviceArray<double> &array : values_) array.write(values);
  for (std::uint64_t y = 1; y <= field_.n[1]; ++y) {
    for (std::uint64_t x = 1; x <= field_.n[0]; ++x) {
      values[index_of(field_, x, y)] = first_value(place_.at[0] * field_.n[0] + x, place_.at[1] * field_.n[1] + y);
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

void Grid::step() {
  double *now = values_[now_].data();
  if (halo_) {
    halo_->exchange([&] { launch_pack(now); }, [] {}, [&] { launch_unpack(now); });
  } else {
    exchange_in_place(now);
  }
  launch_relax();
  now_ = 1 - now_;
}

void Grid::launch_pack(const double *from) {
  stream_.launch(pack_kernel, halo_->size_bytes() / sizeof(double),
                 PackTask{reinterpret_cast<double *>(halo_->sent()), from, field_},
                 {halo_->reach_bytes(), values_[0].size_bytes()});
}

void Grid::launch_unpack(double *to) {
  stream_.launch(unpack_kernel, halo_->size_bytes() / sizeof(double),
                 UnpackTask{to, reinterpret_cast<const double *>(halo_->received()), field_},
                 {values_[0].size_bytes(), halo_->reach_bytes()});
}

void Grid::launch_relax() {
  stream_.launch(relax_kernel, field_.n[0] * field_.n[1],
                 RelaxTask{values_[1 - now_].data(), values_[now_].data(), field_},
                 {values_[0].size_bytes(), values_[0].size_bytes()});
}

void Grid::exchange_in_place(double *values) {
  stream_.synchronize();  // the last step's values are there
  std::vector<MPI_Request> requests;
  for (unsigned k = 0; k < kDirections; ++k) {
    check_mpi(MPI_Irecv(values, 1, types_[std::size_t{2} * k + 1], place_.neighbour[k], static_cast<int>(kOpposite - k),
                        MPI_COMM_WORLD, &requests.emplace_back()),
              "MPI_Irecv");
  }
  for (unsigned k = 0; k < kDirections; ++k) {
    check_mpi(MPI_Isend(values, 1, types_[std::size_t{2} * k], place_.neighbour[k], static_cast<int>(k), MPI_COMM_WORLD,
                        &requests.emplace_back()),
              "MPI_Isend");
  }
  check_mpi(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
}

// The host's field reaches n_steps points further on each side, from where nothing comes into this one in so few steps.
std::string Grid::check(int n_steps) const {
  const auto wider = static_cast<std::uint64_t>(n_steps);
  const Field all{{field_.n[0] + 2 * wider, field_.n[1] + 2 * wider}, 0};
  std::vector<double> now(size_with_halo(all), 0.0);
  std::vector<double> next = now;
  const auto for_each_point = [&](const auto &visit) {
    for (std::uint64_t y = 1; y <= all.n[1]; ++y) {
      for (std::uint64_t x = 1; x <= all.n[0]; ++x) {
        // Of the whole grid, counted from 1; numbers below that wrap around and are outside too.
        const std::uint64_t at_x = place_.at[0] * field_.n[0] + x - wider;
        const std::uint64_t at_y = place_.at[1] * field_.n[1] + y - wider;
        const bool is_inside = at_x - 1 < place_.n_ranks[0] * field_.n[0] && at_y - 1 < place_.n_ranks[1] * field_.n[1];
        if (is_inside) visit(index_of(all, x, y), at_x, at_y);
      }
    }
  };
  for_each_point([&](std::size_t i, std::uint64_t x, std::uint64_t y) { now[i] = first_value(x, y); });
  const std::uint64_t row = all.n[0] + 2;
  for (int step = 0; step < n_steps; ++step) {
    for_each_point([&](std::size_t i, std::uint64_t /*x*/, std::uint64_t /*y*/) {
      const double beside = (now[i - 1] + now[i + 1]) + (now[i - row] + now[i + row]);
      const double across = (now[i - row - 1] + now[i - row + 1]) + (now[i + row - 1] + now[i + row + 1]);
      next[i] = 0.25 * now[i] + 0.125 * beside + 0.0625 * across;
    });
    now.swap(next);
  }
  const std::vector<double> own = values_[now_].read();
  for (std::uint64_t y = 1; y <= field_.n[1]; ++y) {
    for (std::uint64_t x = 1; x <= field_.n[0]; ++x) {
      const double found = own[index_of(field_, x, y)];
      const double expected = now[index_of(all, x + wider, y + wider)];
      if (found == expected) continue;
      return fmt::format("point {} {} is {} instead of {} after {} steps", x, y, found, expected, n_steps);
    }
  }
  return "";
}

}  // namespace sluice::apps::stencil2d

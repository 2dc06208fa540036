// SPDX-License-Identifier: BSD-3-Clause
// The grid in a file: each rank writes its box out of device memory through a view of its place in the whole grid.
#include <cstdio>

#include "apps/stencil3d/grid.hpp"

namespace sluice::apps::stencil3d {
namespace {

// A datatype of a box within a larger one, dimensions slowest first. Freed when destroyed.
class BoxType {
 public:
  BoxType(const int *sizes, const int *counts, const int *starts) {
    check_mpi(MPI_Type_create_subarray(3, sizes, counts, starts, MPI_ORDER_C, MPI_DOUBLE, &type_),
              "MPI_Type_create_subarray");
    check_mpi(MPI_Type_commit(&type_), "MPI_Type_commit");
  }
  ~BoxType() {
    if (MPI_Type_free(&type_) != MPI_SUCCESS) std::fputs("a datatype could not be freed\n", stderr);
  }
  BoxType(const BoxType &) = delete;
  BoxType &operator=(const BoxType &) = delete;

  MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

// Calls `move(file, box)` with the file open at this rank's part, and the type of the box in memory.
template <class Move>
void with_file(const std::string &path, int mode, const Box &box, const Place &place, Move move) {
  int whole[3];
  int own[3];
  int start[3];
  int in_memory[3];
  const int behind_halo[3] = {1, 1, 1};
  for (int d = 0; d < 3; ++d) {
    const int n = static_cast<int>(box.n[d]);
    whole[2 - d] = n * static_cast<int>(place.n_ranks[d]);
    own[2 - d] = n;
    start[2 - d] = n * static_cast<int>(place.at[d]);
    in_memory[2 - d] = n + 2;
  }
  const BoxType filetype(whole, own, start);
  const BoxType memory_type(in_memory, own, behind_halo);
  MPI_File file = MPI_FILE_NULL;
  check_mpi(MPI_File_open(MPI_COMM_WORLD, path.c_str(), mode, MPI_INFO_NULL, &file), "MPI_File_open");
  check_mpi(MPI_File_set_view(file, 0, MPI_DOUBLE, filetype.get(), "native", MPI_INFO_NULL), "MPI_File_set_view");
  move(file, memory_type.get());
  check_mpi(MPI_File_close(&file), "MPI_File_close");
}

}  // namespace

void Grid::save(const std::string &path) {
  stream_.synchronize();
  with_file(path, MPI_MODE_CREATE | MPI_MODE_WRONLY, box_, place_, [this](MPI_File file, MPI_Datatype box) {
    check_mpi(MPI_File_write_all(file, values_[now_].data(), 1, box, MPI_STATUS_IGNORE), "MPI_File_write_all");
  });
}

void Grid::restore(const std::string &path) {
  stream_.synchronize();
  // Nothing of what was there is left, and outside of the grid all is zero.
  const std::vector<double> nothing(values_[0].size_bytes() / sizeof(double), 0.0);
  for (DeviceArray<double> &array : values_) array.write(nothing);
  now_ = 0;
  with_file(path, MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE, box_, place_, [this](MPI_File file, MPI_Datatype box) {
    check_mpi(MPI_File_read_all(file, values_[0].data(), 1, box, MPI_STATUS_IGNORE), "MPI_File_read_all");
  });
}

}  // namespace sluice::apps::stencil3d

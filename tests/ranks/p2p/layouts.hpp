// SPDX-License-Identifier: BSD-3-Clause
// Datatypes to send and receive with: contiguous ones in disguise, and every constructor of gaps.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <string>
#include <vector>

namespace sluice::tests {

// A committed datatype. Frees it.
class Layout {
 public:
  // n_ints: how many MPI_INT one element holds; 0 when it holds other types too (then both sides must use it).
  Layout(std::string name, MPI_Datatype type, int n_ints);
  Layout(const Layout &) = delete;
  Layout &operator=(const Layout &) = delete;
  Layout(Layout &&other) noexcept;
  Layout &operator=(Layout &&) = delete;
  ~Layout();

  const std::string &name() const { return name_; }
  MPI_Datatype type() const { return type_; }
  int n_ints() const { return n_ints_; }

  // The bytes that `count` elements reach over, and where the buffer pointer lies in them (past the start when a lower
  // bound or a stride is negative).
  std::size_t span_bytes(int count) const;
  std::size_t origin_bytes(int count) const;

 private:
  std::string name_;
  MPI_Datatype type_;
  int n_ints_;
};

std::vector<Layout> contiguous_layouts();
std::vector<Layout> gapped_layouts();

}  // namespace sluice::tests

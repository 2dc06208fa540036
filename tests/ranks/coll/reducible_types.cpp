// SPDX-License-Identifier: BSD-3-Clause
#include "tests/ranks/coll/reducible_types.hpp"

namespace sluice::tests {

const std::vector<Predefined> &predefined_types() {
  static const std::vector<MPI_Op> of_integers = {MPI_MAX, MPI_MIN,  MPI_SUM,  MPI_PROD, MPI_LAND,
                                                  MPI_LOR, MPI_LXOR, MPI_BAND, MPI_BOR,  MPI_BXOR};
  static const std::vector<MPI_Op> of_numbers = {MPI_MAX, MPI_MIN, MPI_SUM, MPI_PROD};
  static const std::vector<Predefined> types = {
      {MPI_INT, Content::bytes, of_integers},
      {MPI_UNSIGNED_CHAR, Content::bytes, of_integers},
      {MPI_SHORT, Content::bytes, of_integers},
      {MPI_INT64_T, Content::bytes, of_integers},
      {MPI_UINT64_T, Content::bytes, of_integers},
      {MPI_BYTE, Content::bytes, {MPI_BAND, MPI_BOR, MPI_BXOR}},
      {MPI_C_BOOL, Content::logical, {MPI_LAND, MPI_LOR, MPI_LXOR}},
      {MPI_FLOAT, Content::numbers32, of_numbers},
      {MPI_DOUBLE, Content::numbers64, of_numbers},
      {MPI_C_DOUBLE_COMPLEX, Content::numbers64, {MPI_SUM, MPI_PROD}},
      {MPI_2INT, Content::bytes, {MPI_MAXLOC, MPI_MINLOC}},
      {MPI_FLOAT_INT, Content::number_and_place, {MPI_MAXLOC, MPI_MINLOC}},
  };
  return types;
}

}  // namespace sluice::tests

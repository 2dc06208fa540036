// SPDX-License-Identifier: BSD-3-Clause
#include "tests/ranks/coll/accepted_pairs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <fstream>
#include <sstream>

namespace sluice::tests {
namespace {

thread_local bool is_error_seen = false;

// Intel MPI 2021 ends the program for an error under MPI_ERRORS_RETURN, MPICH 5.0 returns MPI_SUCCESS from a call whose
// error came here.
void note_error(MPI_Comm * /*communicator*/, int * /*code*/, ...) {
  is_error_seen = true;
}

struct Listed {
  std::string type;
  std::vector<std::string> ops;
};

// Whether the host MPI's own text of its version has the word.
bool is_host(const std::string &word) {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  EXPECT_EQ(MPI_Get_library_version(text.data(), &length), MPI_SUCCESS);
  return word == "any" || std::string_view(text.data()).find(word) != std::string_view::npos;
}

// Lines of "types host operations reason", with commas between types and between operations, * for all.
std::vector<Listed> read_list() {
  std::vector<Listed> all;
  std::ifstream file(SLUICE_STAGED_REDUCTIONS);
  EXPECT_TRUE(file.is_open()) << SLUICE_STAGED_REDUCTIONS;
  const auto split = [](const std::string &list) {
    std::vector<std::string> words;
    std::istringstream rest(list);
    for (std::string word; std::getline(rest, word, ',');) words.push_back(word);
    return words;
  };
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string types;
    std::string host;
    std::string ops;
    std::string reason;
    if (line.starts_with("#") || !(words >> types)) continue;
    EXPECT_TRUE(words >> host >> ops >> reason) << "no reason in: " << line;
    if (!is_host(host)) continue;
    for (const std::string &type : split(types)) all.push_back({type, split(ops)});
  }
  return all;
}

#define TYPE(name) {#name, name}
#define OPERATION(name) {#name, MPI_##name}

std::vector<NamedType> types_of_c() {
  return {TYPE(MPI_CHAR),
          TYPE(MPI_SIGNED_CHAR),
          TYPE(MPI_UNSIGNED_CHAR),
          TYPE(MPI_BYTE),
          TYPE(MPI_PACKED),
          TYPE(MPI_WCHAR),
          TYPE(MPI_SHORT),
          TYPE(MPI_UNSIGNED_SHORT),
          TYPE(MPI_INT),
          TYPE(MPI_UNSIGNED),
          TYPE(MPI_LONG),
          TYPE(MPI_UNSIGNED_LONG),
          TYPE(MPI_LONG_LONG),
          TYPE(MPI_UNSIGNED_LONG_LONG),
          TYPE(MPI_INT8_T),
          TYPE(MPI_INT16_T),
          TYPE(MPI_INT32_T),
          TYPE(MPI_INT64_T),
          TYPE(MPI_UINT8_T),
          TYPE(MPI_UINT16_T),
          TYPE(MPI_UINT32_T),
          TYPE(MPI_UINT64_T),
          TYPE(MPI_AINT),
          TYPE(MPI_COUNT),
          TYPE(MPI_OFFSET),
          TYPE(MPI_FLOAT),
          TYPE(MPI_DOUBLE),
          TYPE(MPI_LONG_DOUBLE),
          TYPE(MPI_C_BOOL),
          TYPE(MPI_C_FLOAT_COMPLEX),
          TYPE(MPI_C_DOUBLE_COMPLEX),
          TYPE(MPI_C_LONG_DOUBLE_COMPLEX),
          TYPE(MPI_CXX_BOOL),
          TYPE(MPI_CXX_FLOAT_COMPLEX),
          TYPE(MPI_CXX_DOUBLE_COMPLEX),
          TYPE(MPI_CXX_LONG_DOUBLE_COMPLEX),
          TYPE(MPI_SHORT_INT),
          TYPE(MPI_2INT),
          TYPE(MPI_LONG_INT),
          TYPE(MPI_FLOAT_INT),
          TYPE(MPI_DOUBLE_INT),
          TYPE(MPI_LONG_DOUBLE_INT)};
}

std::vector<NamedType> types_of_fortran() {
  return {TYPE(MPI_CHARACTER),      TYPE(MPI_LOGICAL),  TYPE(MPI_INTEGER),
          TYPE(MPI_INTEGER1),       TYPE(MPI_INTEGER2), TYPE(MPI_INTEGER4),
          TYPE(MPI_INTEGER8),       TYPE(MPI_REAL),     TYPE(MPI_DOUBLE_PRECISION),
          TYPE(MPI_REAL4),          TYPE(MPI_REAL8),    TYPE(MPI_COMPLEX),
          TYPE(MPI_DOUBLE_COMPLEX), TYPE(MPI_COMPLEX8), TYPE(MPI_COMPLEX16),
          TYPE(MPI_2INTEGER),       TYPE(MPI_2REAL),    TYPE(MPI_2DOUBLE_PRECISION)};
}

// Which not every host MPI has.
std::vector<NamedType> rare_types() {
  return {
#ifdef MPI_LOGICAL1
      TYPE(MPI_LOGICAL1),
#endif
#ifdef MPI_LOGICAL2
      TYPE(MPI_LOGICAL2),
#endif
#ifdef MPI_LOGICAL4
      TYPE(MPI_LOGICAL4),
#endif
#ifdef MPI_LOGICAL8
      TYPE(MPI_LOGICAL8),
#endif
#ifdef MPI_LOGICAL16
      TYPE(MPI_LOGICAL16),
#endif
#ifdef MPI_INTEGER16
      TYPE(MPI_INTEGER16),
#endif
#ifdef MPI_REAL2
      TYPE(MPI_REAL2),
#endif
#ifdef MPI_REAL16
      TYPE(MPI_REAL16),
#endif
#ifdef MPI_COMPLEX4
      TYPE(MPI_COMPLEX4),
#endif
#ifdef MPI_COMPLEX32
      TYPE(MPI_COMPLEX32),
#endif
#ifdef MPIX_C_FLOAT16
      TYPE(MPIX_C_FLOAT16),
#endif
#ifdef MPIX_BFLOAT16
      TYPE(MPIX_BFLOAT16),
#endif
  };
}

}  // namespace

const std::vector<NamedType> &all_types_by_name() {
  static const std::vector<NamedType> all = [] {
    std::vector<NamedType> types = types_of_c();
    for (const std::vector<NamedType> &more : {types_of_fortran(), rare_types()}) {
      types.insert(types.end(), more.begin(), more.end());
    }
    return types;
  }();
  return all;
}

const std::vector<NamedOp> &all_operations() {
  static const std::vector<NamedOp> all = {OPERATION(SUM),   OPERATION(PROD),   OPERATION(MIN),    OPERATION(MAX),
                                           OPERATION(LAND),  OPERATION(LOR),    OPERATION(LXOR),   OPERATION(BAND),
                                           OPERATION(BOR),   OPERATION(BXOR),   OPERATION(MINLOC), OPERATION(MAXLOC),
                                           OPERATION(NO_OP), OPERATION(REPLACE)};
  return all;
}

bool is_accepted(MPI_Datatype type, MPI_Op op) {
  if (type == MPI_DATATYPE_NULL) return false;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  EXPECT_EQ(MPI_Comm_split(MPI_COMM_SELF, 0, 0, &comm), MPI_SUCCESS);
  EXPECT_EQ(MPI_Comm_create_errhandler(note_error, &handler), MPI_SUCCESS);
  EXPECT_EQ(MPI_Comm_set_errhandler(comm, handler), MPI_SUCCESS);
  // Of one rank, so that nothing is computed: MPICH 4.0 ends the program in some operations that it takes.
  alignas(std::max_align_t) const std::array<std::byte, 64> in{};
  alignas(std::max_align_t) std::array<std::byte, 64> out{};
  is_error_seen = false;
  const bool is_taken = MPI_Allreduce(in.data(), out.data(), 1, type, op, comm) == MPI_SUCCESS && !is_error_seen;
  EXPECT_EQ(MPI_Errhandler_free(&handler), MPI_SUCCESS);
  EXPECT_EQ(MPI_Comm_free(&comm), MPI_SUCCESS);
  return is_taken;
}

bool is_listed_as_staged(std::string_view type, std::string_view op) {
  static const std::vector<Listed> all = read_list();
  return std::ranges::any_of(all, [&](const Listed &listed) {
    return listed.type == type && (std::ranges::count(listed.ops, "*") != 0 || std::ranges::count(listed.ops, op) != 0);
  });
}

std::string listed_name_of(MPI_Datatype type) {
  for (const NamedType &named : all_types_by_name()) {
    if (named.type == type) return named.name;
  }
  int n_integers = 0;
  int n_addresses = 0;
  int n_types = 0;
  int combiner = MPI_COMBINER_NAMED;
  EXPECT_EQ(MPI_Type_get_envelope(type, &n_integers, &n_addresses, &n_types, &combiner), MPI_SUCCESS);
  if (combiner == MPI_COMBINER_F90_INTEGER) return "MPI_Type_create_f90_integer";
  if (combiner == MPI_COMBINER_F90_REAL) return "MPI_Type_create_f90_real";
  return combiner == MPI_COMBINER_F90_COMPLEX ? "MPI_Type_create_f90_complex" : "";
}

}  // namespace sluice::tests

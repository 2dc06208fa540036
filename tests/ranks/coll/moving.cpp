// SPDX-License-Identifier: BSD-3-Clause
#include "tests/ranks/coll/moving.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <tuple>

#include "tests/ranks/coll/variants.hpp"

namespace sluice::tests {
namespace {

SLUICE_COLLECTIVE(Bcast, bcast)
SLUICE_COLLECTIVE(Gather, gather)
SLUICE_COLLECTIVE(Gatherv, gatherv)
SLUICE_COLLECTIVE(Scatter, scatter)
SLUICE_COLLECTIVE(Scatterv, scatterv)
SLUICE_COLLECTIVE(Allgather, allgather)
SLUICE_COLLECTIVE(Allgatherv, allgatherv)
SLUICE_COLLECTIVE(Alltoall, alltoall)
SLUICE_COLLECTIVE(Alltoallv, alltoallv)
SLUICE_COLLECTIVE(Alltoallw, alltoallw)

bool is_forced() {
  const char *value = std::getenv("SLUICE_COLL_IPC");
  return value != nullptr && std::string_view(value) == "always";
}

// `arguments_of`(buffers, root, comm) is the tuple that the forms have in common.
template <class AllForms, class ArgumentsOf>
Moving moving(AllForms forms, ArgumentsOf arguments_of) {
  Moving made{forms.name, {}, {}, {}};
  made.call = [=](const Buffers &b, int root, MPI_Comm comm) {
    return std::apply(forms.block, arguments_of(b, root, comm));
  };
  made.start = [=](const Buffers &b, int root, MPI_Comm comm, MPI_Request *request) {
    return std::apply(forms.start, std::tuple_cat(arguments_of(b, root, comm), std::make_tuple(request)));
  };
  if (forms.init != nullptr) {
    made.init = [=](const Buffers &b, int root, MPI_Comm comm, MPI_Request *request) {
      return std::apply(forms.init,
                        std::tuple_cat(arguments_of(b, root, comm), std::make_tuple(MPI_INFO_NULL, request)));
    };
  }
  return made;
}

}  // namespace

Buffers::Buffers(Kind kind, int round)
    : n_ranks(static_cast<std::size_t>(Session::get().size())),
      in(Session::get().module(), kind, kBlockBytes * n_ranks),
      out(Session::get().module(), kind, kBlockBytes * n_ranks),
      counts(n_ranks, kBlockCount),
      types(n_ranks, MPI_BYTE) {
  for (std::size_t i = 0; i < n_ranks; ++i) places.push_back(static_cast<int>(i * kBlockBytes));
  in.fill_pattern(Session::get().rank(), round);
}

std::string Moving::starting_name() const {
  std::string lower = std::string(name).substr(4);
  lower[0] = static_cast<char>(std::tolower(lower[0]));
  return "MPI_I" + lower;
}

const std::vector<Moving> &movements() {
  using std::make_tuple;
  static const std::vector<Moving> all = {
      moving(bcast_forms<int>(),
             [](const Buffers &b, int root, MPI_Comm comm) {
               const bool is_root = Session::get().rank() == root;
               return make_tuple(is_root ? b.in.data() : b.out.data(), kBlockCount, MPI_BYTE, root, comm);
             }),
      moving(gather_forms<int>(),
             [](const Buffers &b, int root, MPI_Comm comm) {
               return make_tuple(b.in.data(), kBlockCount, MPI_BYTE, b.out.data(), kBlockCount, MPI_BYTE, root, comm);
             }),
      moving(gatherv_forms<int>(),
             [](const Buffers &b, int root, MPI_Comm comm) {
               return make_tuple(b.in.data(), kBlockCount, MPI_BYTE, b.out.data(), b.counts.data(), b.places.data(),
                                 MPI_BYTE, root, comm);
             }),
      moving(scatter_forms<int>(),
             [](const Buffers &b, int root, MPI_Comm comm) {
               return make_tuple(b.in.data(), kBlockCount, MPI_BYTE, b.out.data(), kBlockCount, MPI_BYTE, root, comm);
             }),
      moving(scatterv_forms<int>(),
             [](const Buffers &b, int root, MPI_Comm comm) {
               return make_tuple(b.in.data(), b.counts.data(), b.places.data(), MPI_BYTE, b.out.data(), kBlockCount,
                                 MPI_BYTE, root, comm);
             }),
      moving(allgather_forms<int>(),
             [](const Buffers &b, int, MPI_Comm comm) {
               return make_tuple(b.in.data(), kBlockCount, MPI_BYTE, b.out.data(), kBlockCount, MPI_BYTE, comm);
             }),
      moving(allgatherv_forms<int>(),
             [](const Buffers &b, int, MPI_Comm comm) {
               return make_tuple(b.in.data(), kBlockCount, MPI_BYTE, b.out.data(), b.counts.data(), b.places.data(),
                                 MPI_BYTE, comm);
             }),
      moving(alltoall_forms<int>(),
             [](const Buffers &b, int, MPI_Comm comm) {
               return make_tuple(b.in.data(), kBlockCount, MPI_BYTE, b.out.data(), kBlockCount, MPI_BYTE, comm);
             }),
      moving(alltoallv_forms<int>(),
             [](const Buffers &b, int, MPI_Comm comm) {
               return make_tuple(b.in.data(), b.counts.data(), b.places.data(), MPI_BYTE, b.out.data(), b.counts.data(),
                                 b.places.data(), MPI_BYTE, comm);
             }),
      moving(alltoallw_forms<int>(),
             [](const Buffers &b, int, MPI_Comm comm) {
               return make_tuple(b.in.data(), b.counts.data(), b.places.data(), b.types.data(), b.out.data(),
                                 b.counts.data(), b.places.data(), b.types.data(), comm);
             }),
  };
  return all;
}

const Moving &movement(std::string_view name) {
  const auto &all = movements();
  return *std::find_if(all.begin(), all.end(), [name](const Moving &each) { return each.name == name; });
}

void expect_right(const Moving &moving, const Buffers &b, int root, int round) {
  const Session &session = Session::get();
  const std::string_view name = moving.name;
  const bool gets_all = name.find("llgather") != name.npos;
  if (name == "MPI_Bcast" && session.rank() != root) {
    EXPECT_EQ(find_pattern_error(b.out.read(0, kBlockBytes), root, round), "") << name;
  }
  if (gets_all || (name.find("MPI_Gather") == 0 && session.rank() == root)) {
    for (int rank = 0; rank < session.size(); ++rank) {
      const auto offset = static_cast<std::size_t>(rank) * kBlockBytes;
      EXPECT_EQ(find_pattern_error(b.out.read(offset, kBlockBytes), rank, round), "") << name << " from " << rank;
    }
  }
  const std::size_t own = static_cast<std::size_t>(session.rank()) * kBlockBytes;
  if (name.find("MPI_Scatter") == 0) {
    EXPECT_EQ(find_pattern_error(b.out.read(0, kBlockBytes), root, round, own), "") << name;
  }
  if (name.find("lltoall") != name.npos) {
    for (int rank = 0; rank < session.size(); ++rank) {
      const auto offset = static_cast<std::size_t>(rank) * kBlockBytes;
      EXPECT_EQ(find_pattern_error(b.out.read(offset, kBlockBytes), rank, round, own), "") << name << " from " << rank;
    }
  }
}

void Together::SetUp() {
  if (!session_.has_kind(Kind::device)) GTEST_SKIP() << "no device memory";
  if (!is_forced() || session_.size() < 2) GTEST_SKIP() << "started without SLUICE_COLL_IPC=always, or one rank alone";
}

}  // namespace sluice::tests

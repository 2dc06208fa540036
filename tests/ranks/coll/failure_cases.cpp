// SPDX-License-Identifier: BSD-3-Clause
// Cases in which collective operations of GPU-aware MPIs are known to have failed, named after their numbers there.
#include "tests/ranks/coll/failure_cases.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "tests/support/host_mpi.hpp"
#include "tests/support/program_queue.hpp"

namespace sluice::tests::failure_cases_test {
namespace {

// ---- T2: non-blocking reductions, by every operation, in place too; memory goes as soon as MPI_Wait returns ----

constexpr int kNumbers = 600;  // of a block

struct Numeric {
  MPI_Datatype type;
  std::size_t size_bytes;
  std::vector<MPI_Op> ops;
};

const std::vector<Numeric> &numeric_types() {
  static const std::vector<Numeric> types = {
      {MPI_INT,
       sizeof(int),
       {MPI_MAX, MPI_MIN, MPI_SUM, MPI_PROD, MPI_LAND, MPI_LOR, MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR}},
      {MPI_DOUBLE, sizeof(double), {MPI_MAX, MPI_MIN, MPI_SUM, MPI_PROD}},
      {MPI_2INT, 2 * sizeof(int), {MPI_MAXLOC, MPI_MINLOC}},
  };
  return types;
}

struct NonBlockingReduction {
  const char *name;
  bool is_scattered;  // its input has a block for each rank
  int (*start)(const void *in, void *out, MPI_Datatype type, MPI_Op op, MPI_Request *request);
};

int last_rank() {
  return Session::get().size() - 1;
}

const std::vector<NonBlockingReduction> &reductions() {
  static const std::vector<int> lengths(n_ranks(), kNumbers);  // read until the request is complete
  static const std::vector<NonBlockingReduction> all = {
      {"MPI_Ireduce", false,
       [](auto in, auto out, auto type, auto op, auto request) {
         return MPI_Ireduce(in, out, kNumbers, type, op, last_rank(), Session::get().comm(), request);
       }},
      {"MPI_Iallreduce", false,
       [](auto in, auto out, auto type, auto op, auto request) {
         return MPI_Iallreduce(in, out, kNumbers, type, op, Session::get().comm(), request);
       }},
      {"MPI_Iscan", false,
       [](auto in, auto out, auto type, auto op, auto request) {
         return MPI_Iscan(in, out, kNumbers, type, op, Session::get().comm(), request);
       }},
      {"MPI_Iexscan", false,
       [](auto in, auto out, auto type, auto op, auto request) {
         return MPI_Iexscan(in, out, kNumbers, type, op, Session::get().comm(), request);
       }},
      {"MPI_Ireduce_scatter", true,
       [](auto in, auto out, auto type, auto op, auto request) {
         return MPI_Ireduce_scatter(in, out, lengths.data(), type, op, Session::get().comm(), request);
       }},
      {"MPI_Ireduce_scatter_block", true,
       [](auto in, auto out, auto type, auto op, auto request) {
         return MPI_Ireduce_scatter_block(in, out, kNumbers, type, op, Session::get().comm(), request);
       }},
  };
  return all;
}

class UnderWay {
 public:
  UnderWay(Trial &run, const NonBlockingReduction &reduction, const Numeric &numeric, bool is_in_place, int iteration)
      : run_(run), reduction_(reduction), numeric_(numeric) {
    const std::size_t block_bytes = kNumbers * numeric.size_bytes;
    const std::size_t in_bytes = reduction.is_scattered ? block_bytes * n_ranks() : block_bytes;
    const bool receives = std::strcmp(reduction.name, "MPI_Ireduce") != 0 || Session::get().rank() == last_rank();
    is_defined_ = receives && (std::strcmp(reduction.name, "MPI_Iexscan") != 0 || Session::get().rank() > 0);
    is_in_place_ = is_in_place && receives;
    result_bytes_ = block_bytes;
    if (!is_in_place_) in_ = std::make_unique<Memory>(Session::get().module(), run.send_kind(), in_bytes);
    if (receives) out_ = std::make_unique<Memory>(Session::get().module(), run.recv_kind(), in_bytes);
    write(is_in_place_ ? *out_ : *in_, iteration);
  }

  void start(MPI_Op op, MPI_Request *request) const {
    run_.call(reduction_.name,
              reduction_.start(is_in_place_ ? MPI_IN_PLACE : in_->data(), out_ != nullptr ? out_->data() : nowhere(),
                               numeric_.type, op, request));
  }

  // The result; the memory is gone when this returns.
  void finish() {
    if (is_defined_) run_.note(reduction_.name, static_cast<long long>(hash_of(out_->read(0, result_bytes_))));
    in_.reset();
    out_.reset();
  }

 private:
  // Small powers of two: every order of summing and multiplying them is exact.
  void write(const Memory &memory, int iteration) const {
    Bytes bytes(memory.size_bytes());
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = pattern_byte(Session::get().rank(), i, iteration);
    if (numeric_.type == MPI_DOUBLE) {
      constexpr std::array kFew = {0.5, 1.0, 2.0, 4.0};
      for (std::size_t at = 0; at < bytes.size(); at += sizeof(double)) {
        std::memcpy(&bytes[at], &kFew[bytes[at] % kFew.size()], sizeof(double));
      }
    }
    memory.write(0, bytes.data(), bytes.size());
  }

  Trial &run_;
  const NonBlockingReduction &reduction_;
  const Numeric &numeric_;
  bool is_in_place_ = false;
  bool is_defined_ = false;
  std::size_t result_bytes_ = 0;
  std::unique_ptr<Memory> in_;
  std::unique_ptr<Memory> out_;
};

TEST(FailureCases, T2_NonBlockingReductionsWhoseMemoryGoesAfterTheWait) {
  for (const bool is_in_place : {false, true}) {
    for (const Numeric &numeric : numeric_types()) {
      for (const MPI_Op op : numeric.ops) {
        compare_with_host(between_devices(), [&](Trial &run) {
          const std::size_t n = reductions().size();
          std::vector<UnderWay> calls;
          std::vector<MPI_Request> requests(n, MPI_REQUEST_NULL);
          for (std::size_t i = 0; i < n; ++i) {
            calls.emplace_back(run, reductions()[i], numeric, is_in_place, static_cast<int>(i));
            calls[i].start(op, &requests[i]);
          }
          for (std::size_t i = n; i-- > 0;) {
            run.call("MPI_Wait", MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
            calls[i].finish();
          }
        });
        if (Session::get().agree_any(testing::Test::HasFailure())) return;
      }
    }
  }
}

// ---- T3: derived types of many blocks cost a few lists of copies, not a copy call for each block ----

// `n` ints with a gap behind each, as each of MPI's constructors says it. The extent is 2n ints.
std::vector<MPI_Datatype> types_of_blocks(int n) {
  std::vector<MPI_Datatype> inner(4, MPI_DATATYPE_NULL);
  std::vector<int> lengths(as_size(n), 1);
  std::vector<int> places;
  std::vector<MPI_Aint> addresses;
  for (int i = 0; i < n; ++i) {
    places.push_back(2 * i);
    addresses.push_back(static_cast<MPI_Aint>(places.back()) * static_cast<MPI_Aint>(sizeof(int)));
  }
  const std::vector<MPI_Datatype> ints(as_size(n), MPI_INT);
  const int sizes[] = {n, 2};
  const int parts[] = {n, 1};
  const int starts[] = {0, 0};
  MPI_Type_vector(n, 1, 2, MPI_INT, &inner[0]);
  MPI_Type_indexed(n, lengths.data(), places.data(), MPI_INT, &inner[1]);
  MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &inner[2]);
  MPI_Type_create_struct(n, lengths.data(), addresses.data(), ints.data(), &inner[3]);
  std::vector<MPI_Datatype> types(inner.size(), MPI_DATATYPE_NULL);
  for (std::size_t i = 0; i < inner.size(); ++i) {
    MPI_Type_create_resized(inner[i], 0, static_cast<MPI_Aint>(2 * as_size(n) * sizeof(int)), &types[i]);
    MPI_Type_commit(&types[i]);
    MPI_Type_free(&inner[i]);
  }
  return types;
}

TEST(FailureCases, T3_TypesOfManyBlocks) {
  constexpr int kBlocks = 20'000;
  std::vector<MPI_Datatype> types = types_of_blocks(kBlocks);
  for (MPI_Datatype type : types) {
    compare_with_host(between_devices(), [&](Trial &run) {
      const Session &session = Session::get();
      const std::size_t bytes = 2 * as_size(kBlocks) * sizeof(int);
      const Memory &one = session.rank() == 0 ? run.input(bytes) : run.output(bytes);
      run.call("MPI_Bcast", MPI_Bcast(one.data(), 1, type, 0, session.comm()));
      run.call("MPI_Allgather", MPI_Allgather(run.input(bytes, 1).data(), 1, type, run.output(bytes * n_ranks()).data(),
                                              1, type, session.comm()));
    });
  }
  for (MPI_Datatype &type : types) MPI_Type_free(&type);
}

// Started with a fault that strikes when a rank has had more lists of copies than one collective operation needs: one
// down and one up, or the one that pulls (tests/fault/CMakeLists.txt).
TEST(FailureCases, T3_OneOperationIsAListOfCopiesEachWay) {
  constexpr int kBlocks = 200;
  const Session &session = Session::get();
  std::vector<MPI_Datatype> types = types_of_blocks(kBlocks);
  const std::size_t bytes = 2 * as_size(kBlocks) * sizeof(int) * n_ranks();
  const Memory in(session.module(), device_or_host(), bytes);
  const Memory out(session.module(), device_or_host(), bytes);
  in.fill_pattern(session.rank(), 0);
  EXPECT_EQ(MPI_Alltoall(in.data(), 1, types[0], out.data(), 1, types[0], session.comm()), MPI_SUCCESS)
      << "MPI_Alltoall took more lists of copies than it may";
  const Bytes got = out.read();
  for (std::size_t at = 0; at < bytes; ++at) {
    const std::size_t block_bytes = bytes / n_ranks();
    const bool is_gap = at / sizeof(int) % 2 == 1;
    const std::size_t position = as_size(session.rank()) * block_bytes + at % block_bytes;
    const unsigned char wanted = is_gap ? kPoison : pattern_byte(static_cast<int>(at / block_bytes), position, 0);
    ASSERT_EQ(got[at], wanted) << "byte " << at;
  }
  for (MPI_Datatype &type : types) MPI_Type_free(&type);
}

// ---- T11: what is complete is there, for every queue of the program ----

TEST(FailureCases, T11_CompletionMeansThatEveryQueueSeesTheData) {
  const Session &session = Session::get();
  if (session.agree_any(!session.has_kind(Kind::device))) GTEST_SKIP() << "missing: device memory";
  constexpr std::size_t kBytes = 100'000;
  const int n_iterations = session.options().is_full ? 1000 : 150;
  const ProgramQueue queue(session.module()->table());
  const Memory buffer(session.module(), Kind::device, kBytes);
  for (int iteration = 0; iteration < n_iterations; ++iteration) {
    const int root = iteration % session.size();
    if (session.rank() == root) {
      buffer.fill_pattern(root, iteration);
    } else {
      buffer.fill(kPoison);
    }
    MPI_Request request = MPI_REQUEST_NULL;
    const int count = static_cast<int>(kBytes);
    if (iteration % 2 == 0) {
      ASSERT_EQ(MPI_Bcast(buffer.data(), count, MPI_BYTE, root, session.comm()), MPI_SUCCESS);
    } else {
      ASSERT_EQ(MPI_Ibcast(buffer.data(), count, MPI_BYTE, root, session.comm(), &request), MPI_SUCCESS);
      ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    }
    ASSERT_EQ(find_pattern_error(queue.read(buffer.data(), kBytes), root, iteration), "") << "iteration " << iteration;
  }
}

// ---- T22: lower bounds, counts of zero, buffers that mean nothing, a rank by itself ----

// Each rank has its own: no elements at every second one, and then no buffer either.
int count_of(int rank) {
  return rank % 2 == 0 ? 0 : 400 + rank;
}

void move_with(Trial &run, const Elements &elements, MPI_Comm comm) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const int root = size - 1;
  constexpr int kWhole = 500;
  const auto bytes = [&](int n) { return (as_size(n) * as_size(elements.extent_ints) + 64) * sizeof(int); };
  const auto place = [](const Memory &memory) { return memory.at(32 * sizeof(int)); };
  const Memory &in = run.input(bytes(kWhole * size));
  const Memory &out = run.output(bytes(kWhole * size));
  void *gathered = rank == root ? place(out) : nowhere();
  run.call("MPI_Gather", MPI_Gather(place(in), kWhole, elements.type, gathered, kWhole, elements.type, root, comm));
  const bool may_miss = overruns_in_reduce_with_lower_bound() || overruns_in_ireduce_with_lower_bound();
  const MPI_Op op = may_miss ? ordered_op() : commutative_op();
  const Memory &reduced = run.output(bytes(kWhole));
  run.call("MPI_Reduce",
           MPI_Reduce(place(in), rank == root ? place(reduced) : nowhere(), kWhole, elements.type, op, root, comm));
  const Memory &all_reduced = run.output(bytes(kWhole));
  run.call("MPI_Allreduce", MPI_Allreduce(place(in), place(all_reduced), kWhole, elements.type, op, comm));
  std::vector<int> send_counts;
  std::vector<int> recv_counts;
  std::vector<int> places;
  for (int peer = 0; peer < size; ++peer) {
    send_counts.push_back(count_of(rank));
    recv_counts.push_back(count_of(peer));
    places.push_back(peer * kWhole);
  }
  const Memory &exchanged = run.output(bytes(kWhole * size));
  run.call("MPI_Alltoallv",
           MPI_Alltoallv(count_of(rank) == 0 ? nullptr : place(in), send_counts.data(), places.data(), elements.type,
                         place(exchanged), recv_counts.data(), places.data(), elements.type, comm));
  if (comm != MPI_COMM_SELF || !misplaces_allgatherv_of_one_rank()) {
    const Memory &spread = run.output(bytes(kWhole * size));
    run.call("MPI_Allgatherv", MPI_Allgatherv(count_of(rank) == 0 ? nullptr : place(in), count_of(rank), elements.type,
                                              place(spread), recv_counts.data(), places.data(), elements.type, comm));
  }
}

TEST(FailureCases, T22_LowerBoundsZeroCountsAndBuffersThatMeanNothing) {
  for (const Elements &elements : all_element_types()) {
    SCOPED_TRACE(elements.name);
    for (MPI_Comm comm : {Session::get().comm(), MPI_COMM_SELF}) {
      compare_with_host(between_devices(), [&](Trial &run) { move_with(run, elements, comm); });
      if (Session::get().agree_any(testing::Test::HasFailure())) return;
    }
  }
}

}  // namespace
}  // namespace sluice::tests::failure_cases_test

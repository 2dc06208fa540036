// SPDX-License-Identifier: BSD-3-Clause
// Runs random one-sided programs (random_windows.hpp).
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>

#include "tests/ranks/rma/random_windows.hpp"
#include "tests/support/host_mpi.hpp"

namespace sluice::tests {
namespace {

struct Element {
  MPI_Datatype type;
  std::size_t bytes;
  std::array<MPI_Op, 4> operations;  // the last one only reads
};

Element element_of(WindowElement element) {
  switch (element) {
    case WindowElement::int32:
      return {MPI_INT32_T, 4, {MPI_SUM, MPI_MAX, MPI_BXOR, MPI_NO_OP}};
    case WindowElement::int64:
      return {MPI_INT64_T, 8, {MPI_SUM, MPI_MIN, loses_bitwise_accumulates() ? MPI_MAX : MPI_BOR, MPI_NO_OP}};
    default:
      return {MPI_DOUBLE, 8, {MPI_SUM, MPI_MAX, MPI_MIN, MPI_NO_OP}};
  }
}

// Small whole numbers: sums of them are exact in any order.
Bytes values_of(WindowElement element, std::size_t n, int seed) {
  Bytes bytes(n * element_of(element).bytes);
  for (std::size_t i = 0; i < n; ++i) {
    const auto value = static_cast<std::int64_t>((i * 3 + static_cast<std::size_t>(seed)) % 5 + 1);
    const auto narrow = static_cast<std::int32_t>(value);
    const auto real = static_cast<double>(value);
    if (element == WindowElement::int32) std::memcpy(bytes.data() + i * 4, &narrow, 4);
    if (element == WindowElement::int64) std::memcpy(bytes.data() + i * 8, &value, 8);
    if (element == WindowElement::float64) std::memcpy(bytes.data() + i * 8, &real, 8);
  }
  return bytes;
}

// Every `stride`th of elements, as a type where that is more than 1.
class Elements {
 public:
  Elements(MPI_Datatype element, std::size_t n, int stride) : count_(static_cast<int>(n)), type_(element) {
    if (stride == 1) return;
    MPI_Type_vector(count_, 1, stride, element, &type_);
    MPI_Type_commit(&type_);
    count_ = 1;
    is_made_ = true;
  }
  ~Elements() {
    if (is_made_) MPI_Type_free(&type_);
  }
  Elements(const Elements &) = delete;
  Elements &operator=(const Elements &) = delete;
  Elements(Elements &&) = delete;
  Elements &operator=(Elements &&) = delete;

  int count() const { return count_; }
  MPI_Datatype type() const { return type_; }

 private:
  int count_;
  MPI_Datatype type_;
  bool is_made_ = false;
};

class WindowRun {
 public:
  WindowRun(Trial &run, const WindowProgram &program)
      : run_(run),
        program_(program),
        rank_(Session::get().rank()),
        memory_(run.buffer(kind_here(program.kinds[static_cast<std::size_t>(rank_)]), program.window_bytes)) {
    for (const WindowCell &cell : program.cells) {
      const Bytes values = values_of(cell.element, cell.n_elements, rank_);
      memory_.write(cell.offset_bytes, values.data(), values.size());
    }
    const MPI_Comm comm = Session::get().comm();
    const auto size = static_cast<MPI_Aint>(program.window_bytes);
    if (program.is_dynamic) {
      run_.call("create", MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &window_));
      run_.call("attach", MPI_Win_attach(window_, memory_.data(), size));
      MPI_Get_address(memory_.data(), &own_address_);
      addresses_.resize(static_cast<std::size_t>(Session::get().size()));
      MPI_Allgather(&own_address_, 1, MPI_AINT, addresses_.data(), 1, MPI_AINT, comm);
    } else {
      run_.call("create", MPI_Win_create(memory_.data(), size, unit_of(rank_), MPI_INFO_NULL, comm, &window_));
    }
    MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN);
    MPI_Barrier(comm);
  }
  ~WindowRun() {
    MPI_Barrier(Session::get().comm());
    if (program_.is_dynamic) run_.call("detach", MPI_Win_detach(window_, memory_.data()));
    run_.call("free", MPI_Win_free(&window_));
  }
  WindowRun(const WindowRun &) = delete;
  WindowRun &operator=(const WindowRun &) = delete;
  WindowRun(WindowRun &&) = delete;
  WindowRun &operator=(WindowRun &&) = delete;

  void round(const WindowRound &round) {
    switch (round.sync) {
      case WindowSync::fence:
        run_.call("fence", MPI_Win_fence(MPI_MODE_NOPRECEDE, window_));
        accesses(round, -1, false);
        run_.call("fence", MPI_Win_fence(MPI_MODE_NOSUCCEED, window_));
        break;
      case WindowSync::groups:
        by_groups(round);
        break;
      case WindowSync::lock_all:
        run_.call("lock_all", MPI_Win_lock_all(0, window_));
        accesses(round, -1, true);
        run_.call("unlock_all", MPI_Win_unlock_all(window_));
        break;
      default:
        for (int target = 0; target < Session::get().size(); ++target) {
          const int type = round.sync == WindowSync::lock_shared ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE;
          run_.call("lock", MPI_Win_lock(type, target, 0, window_));
          accesses(round, target, true);
          run_.call("unlock", MPI_Win_unlock(target, window_));
        }
    }
    MPI_Barrier(Session::get().comm());
  }

 private:
  Kind kind_here(Kind kind) const { return run_.recv_kind() == Kind::host ? Kind::host : kind; }
  int unit_of(int rank) const { return program_.is_dynamic ? 1 : program_.disp_units[static_cast<std::size_t>(rank)]; }

  void by_groups(const WindowRound &round) {
    MPI_Group all = MPI_GROUP_NULL;
    MPI_Group origins = MPI_GROUP_NULL;
    MPI_Group targets = MPI_GROUP_NULL;
    std::vector<int> from;
    std::vector<int> to;
    for (int rank = 0; rank < Session::get().size(); ++rank) {
      const auto is_between = [&](int origin, int target) {
        return std::any_of(round.accesses.begin(), round.accesses.end(), [&](const RandomAccess &access) {
          return access.origin == origin && access.target == target;
        });
      };
      if (is_between(rank, rank_)) from.push_back(rank);
      if (is_between(rank_, rank)) to.push_back(rank);
    }
    MPI_Comm_group(Session::get().comm(), &all);
    MPI_Group_incl(all, static_cast<int>(from.size()), from.data(), &origins);
    MPI_Group_incl(all, static_cast<int>(to.size()), to.data(), &targets);
    run_.call("post", MPI_Win_post(origins, 0, window_));
    run_.call("start", MPI_Win_start(targets, 0, window_));
    accesses(round, -1, false);
    run_.call("complete", MPI_Win_complete(window_));
    run_.call("wait", MPI_Win_wait(window_));
    for (MPI_Group *group : {&all, &origins, &targets}) MPI_Group_free(group);
  }

  // Those of this rank, on `target` or on all (-1).
  void accesses(const WindowRound &round, int target, bool is_passive) {
    std::vector<MPI_Request> requests;
    for (const RandomAccess &access : round.accesses) {
      if (access.origin != rank_ || (target >= 0 && access.target != target)) continue;
      MPI_Request request = MPI_REQUEST_NULL;
      begin(access, is_passive && access.has_request ? &request : nullptr);
      if (request != MPI_REQUEST_NULL) requests.push_back(request);
      if (!is_passive || access.flush == 0) continue;
      if (access.flush == 1) run_.call("flush", MPI_Win_flush(access.target, window_));
      if (access.flush == 2) run_.call("flush_local", MPI_Win_flush_local(access.target, window_));
      if (access.flush == 3) run_.call("flush_all", MPI_Win_flush_all(window_));
    }
    if (requests.empty()) return;
    run_.call("waitall", MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
  }

  // `request`: null for the plain form.
  void begin(const RandomAccess &a, MPI_Request *request) {
    const WindowCell &cell = program_.cells[a.cell];
    const Element element = element_of(cell.element);
    const bool is_one = a.access == WindowAccess::fetch_and_op || a.access == WindowAccess::compare_and_swap;
    const int step = a.is_sparse && !is_one && cell.n_elements > 1 ? 2 : 1;
    const std::size_t n =
        is_one ? 1 : (cell.n_elements + static_cast<std::size_t>(step) - 1) / static_cast<std::size_t>(step);
    const int stride = is_one ? 1 : a.origin_stride;
    const Elements here(element.type, n, stride);
    const Elements there(element.type, n, step);
    const std::size_t n_here = n * static_cast<std::size_t>(stride);
    // A displacement is a multiple of the unit: cells begin at multiples of eight bytes.
    const MPI_Aint base = program_.is_dynamic ? addresses_[static_cast<std::size_t>(a.target)] : 0;
    const MPI_Aint disp = base + static_cast<MPI_Aint>(cell.offset_bytes) / unit_of(a.target);
    const MPI_Op op = element.operations.at(a.operation);
    const Bytes values = values_of(cell.element, n_here, a.seed);
    const Memory &in = run_.buffer(kind_here(a.kind), values.size());
    if (a.access != WindowAccess::get) in.write(0, values.data(), values.size());
    const auto result = [&]() -> void * {
      const Memory &out = run_.buffer(kind_here(a.kind), values.size());
      return out.data();
    };
    const int t = a.target;
    switch (a.access) {
      case WindowAccess::put:
        return run_.call("put", request == nullptr ? MPI_Put(in.data(), here.count(), here.type(), t, disp,
                                                             there.count(), there.type(), window_)
                                                   : MPI_Rput(in.data(), here.count(), here.type(), t, disp,
                                                              there.count(), there.type(), window_, request));
      case WindowAccess::get:
        return run_.call("get", request == nullptr ? MPI_Get(in.data(), here.count(), here.type(), t, disp,
                                                             there.count(), there.type(), window_)
                                                   : MPI_Rget(in.data(), here.count(), here.type(), t, disp,
                                                              there.count(), there.type(), window_, request));
      case WindowAccess::accumulate:
        return run_.call("accumulate", request == nullptr
                                           ? MPI_Accumulate(in.data(), here.count(), here.type(), t, disp,
                                                            there.count(), there.type(), op, window_)
                                           : MPI_Raccumulate(in.data(), here.count(), here.type(), t, disp,
                                                             there.count(), there.type(), op, window_, request));
      case WindowAccess::get_accumulate:
        return run_.call(
            "get_accumulate",
            request == nullptr
                ? MPI_Get_accumulate(in.data(), here.count(), here.type(), result(), here.count(), here.type(), t, disp,
                                     there.count(), there.type(), op, window_)
                : MPI_Rget_accumulate(in.data(), here.count(), here.type(), result(), here.count(), here.type(), t,
                                      disp, there.count(), there.type(), op, window_, request));
      case WindowAccess::fetch_and_op:
        return run_.call("fetch_and_op", MPI_Fetch_and_op(in.data(), result(), element.type, t, disp, op, window_));
      default: {
        const Bytes expected = values_of(cell.element, 1, a.seed / 5);
        const Memory &compare = run_.buffer(kind_here(a.kind), expected.size());
        compare.write(0, expected.data(), expected.size());
        return run_.call("compare_and_swap",
                         MPI_Compare_and_swap(in.data(), compare.data(), result(), element.type, t, disp, window_));
      }
    }
  }

  Trial &run_;
  const WindowProgram &program_;
  const int rank_;
  const Memory &memory_;
  MPI_Aint own_address_ = 0;
  std::vector<MPI_Aint> addresses_;
  MPI_Win window_ = MPI_WIN_NULL;
};

}  // namespace

void run_window_program(Trial &run, const WindowProgram &program) {
  WindowRun one(run, program);
  for (const WindowRound &round : program.rounds) one.round(round);
}

}  // namespace sluice::tests

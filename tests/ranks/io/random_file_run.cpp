// SPDX-License-Identifier: BSD-3-Clause
// Random programs of file calls: how they run.
#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "tests/ranks/io/random_files.hpp"
#include "tests/support/completers.hpp"
#include "tests/support/host_mpi.hpp"

namespace sluice::tests {
namespace {

// A datatype that is freed at the end.
class OwnType {
 public:
  // Takes over `type` and commits it.
  explicit OwnType(MPI_Datatype type) : type_(type) { MPI_Type_commit(&type_); }
  OwnType(const OwnType &) = delete;
  OwnType &operator=(const OwnType &) = delete;
  ~OwnType() { MPI_Type_free(&type_); }
  MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_;
};

// The signature so many times without gaps, and `gap` bytes behind it.
MPI_Datatype tight_type(const Signature &signature, int n_repeats, MPI_Aint gap) {
  const int n = static_cast<int>(signature.basics.size());
  std::vector<int> lengths;
  std::vector<MPI_Aint> places;
  std::vector<MPI_Datatype> types;
  MPI_Aint next = 0;
  for (int i = 0; i < n_repeats; ++i) {
    for (const MPI_Datatype basic : signature.basics) {
      int size_bytes = 0;
      MPI_Type_size(basic, &size_bytes);
      lengths.push_back(1);
      places.push_back(next);
      types.push_back(basic);
      next += size_bytes;
    }
  }
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Datatype sized = MPI_DATATYPE_NULL;
  if (n == 1) {
    MPI_Type_contiguous(n_repeats, signature.basics.front(), &made);
  } else {
    MPI_Type_create_struct(n * n_repeats, lengths.data(), places.data(), types.data(), &made);
  }
  MPI_Type_create_resized(made, 0, next + gap, &sized);
  MPI_Type_free(&made);
  return sized;
}

MPI_Datatype file_type(const RandomView &view, MPI_Datatype etype, MPI_Aint extent, int rank) {
  std::vector<int> places;
  for (std::size_t slot = 0; slot < view.owners.size(); ++slot) {
    if (view.is_seen(slot, rank)) places.push_back(static_cast<int>(slot));
  }
  const int n = static_cast<int>(places.size());
  const int size = static_cast<int>(view.owners.size());
  std::vector<MPI_Aint> bytes;
  for (const int place : places) bytes.push_back(place * extent);
  const std::vector<int> ones(places.size(), 1);
  const std::vector<MPI_Datatype> types(places.size(), etype);
  MPI_Datatype made = MPI_DATATYPE_NULL;
  switch (view.maker) {
    case RandomView::Maker::indexed_block:
      MPI_Type_create_indexed_block(n, 1, places.data(), etype, &made);
      break;
    case RandomView::Maker::hindexed:
      MPI_Type_create_hindexed(n, ones.data(), bytes.data(), etype, &made);
      break;
    case RandomView::Maker::structure:
      MPI_Type_create_struct(n, ones.data(), bytes.data(), types.data(), &made);
      break;
    case RandomView::Maker::subarray:
      MPI_Type_create_subarray(1, &size, &n, places.data(), MPI_ORDER_C, etype, &made);
      return made;
  }
  MPI_Datatype sized = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(made, 0, extent * size, &sized);
  MPI_Type_free(&made);
  return sized;
}

// The memory of one share, and the call on it.
class ShareBuffer {
 public:
  ShareBuffer(Trial &run, const FileProgram &program, const RandomFileCall &call, const FileShare &share,
              int iteration) {
    const std::vector<Kind> &kinds = Session::get().kinds();
    const Kind kind = kinds[share.kind % kinds.size()];
    const int repeats = program.repeats * share.n_etypes;
    call_.is_large = call.is_large;
    call_.offset = share.first;
    call_.count = share.count;
    MPI_Aint low = 0;
    MPI_Aint extent = static_cast<MPI_Aint>(program.signature.size_bytes) * repeats;
    MPI_Aint high = extent;
    if (share.sort == FileShare::Sort::nested) {
      layout_.emplace(share.layout_seed, program.signature, repeats, !call.is_read);
      call_.type = layout_->type();
      low = layout_->low_bytes();
      high = layout_->high_bytes();
      extent = layout_->extent_bytes();
    } else {
      const MPI_Aint gap = share.sort == FileShare::Sort::gaps ? static_cast<MPI_Aint>(share.layout_seed % 9) : 0;
      type_.emplace(tight_type(program.signature, repeats, gap));
      call_.type = type_->get();
      extent += gap;
    }
    const MPI_Aint before = std::max<MPI_Aint>(-low, 0);
    const MPI_Aint room = before + std::max<MPI_Aint>(high, 0) + std::max(share.count - 1, 0) * extent;
    const Memory &memory = run.buffer(kind, static_cast<std::size_t>(room));
    if (!call.is_read) run.refill(memory, iteration);
    call_.buffer = memory.at(static_cast<std::size_t>(before));
    if (share.sort == FileShare::Sort::absolute) make_absolute();
  }

  const FileCall &call() const { return call_; }

 private:
  void make_absolute() {
    MPI_Aint address = 0;
    MPI_Datatype made = MPI_DATATYPE_NULL;
    MPI_Get_address(call_.buffer, &address);
    MPI_Type_create_hindexed(1, &call_.count, &address, call_.type, &made);
    type_.emplace(made);
    call_.type = made;
    call_.buffer = MPI_BOTTOM;
    call_.count = 1;
  }

  FileCall call_;
  std::optional<RandomLayout> layout_;
  std::optional<OwnType> type_;
};

// The calls of one phase, through one view.
class PhaseRun {
 public:
  PhaseRun(Trial &run, const FileProgram &program, const FilePhase &phase, const TestFile &file)
      : run_(run), program_(program), phase_(phase), file_(file) {}

  void go() {
    for (const RandomFileCall &call : phase_.calls) make(call);
    complete();
  }

 private:
  void make(const RandomFileCall &call) {
    const FileShare &share = call.shares[static_cast<std::size_t>(Session::get().rank())];
    const ShareBuffer &buffer = buffers_.emplace_back(run_, program_, call, share, ++n_calls_);
    go_to(share, call);
    const bool is_open = has_request(share.way) && !is_by_shared_pointer(share.way);
    if (is_open) {
      requests_.push_back(MPI_REQUEST_NULL);
      types_.push_back(buffer.call().type);
      const auto start = call.is_read ? start_reading : start_writing;
      run_.call("start", start(share.way, file_.get(), buffer.call(), &requests_.back()));
      if (!call.is_left_open || must_be_alone(share.way)) complete();
    } else {
      in_order(share.way, [&] {
        MPI_Status status{};
        run_.call("call", (call.is_read ? read_by : write_by)(share.way, file_.get(), buffer.call(), &status));
        note_file_status(run_, "call", status, buffer.call().type);
      });
    }
    note_position(share.way);
  }

  bool must_be_alone(Way way) const {
    return (is_joint(way) && mixes_collective_file_requests()) ||
           (program_.is_atomic && keeps_locks_of_requests_in_atomic_mode());
  }

  void go_to(const FileShare &share, const RandomFileCall &call) {
    if (is_by_own_pointer(share.way)) {
      run_.call("MPI_File_seek", MPI_File_seek(file_.get(), share.first, seek_set()));
    }
    if (is_by_shared_pointer(share.way)) {
      run_.call("MPI_File_seek_shared", MPI_File_seek_shared(file_.get(), call.shares[0].first, seek_set()));
      MPI_Barrier(Session::get().comm());
    }
  }

  void note_position(Way way) {
    MPI_Offset position = 0;
    if (is_by_own_pointer(way)) {
      run_.call("MPI_File_get_position", MPI_File_get_position(file_.get(), &position));
    } else if (is_by_shared_pointer(way)) {
      MPI_Barrier(Session::get().comm());
      run_.call("MPI_File_get_position_shared", MPI_File_get_position_shared(file_.get(), &position));
      MPI_Barrier(Session::get().comm());
    }
    run_.note("position", position);
  }

  void complete() {
    std::vector<MPI_Status> statuses(requests_.size());
    const Completer *completer = &completers()[phase_.completer];
    if (completer == &completers().back() && loses_file_requests_in_testall()) completer = &completers().front();
    completer->complete(run_, requests_, &statuses);
    for (std::size_t i = 0; i < statuses.size(); ++i) note_file_status(run_, "completed", statuses[i], types_[i]);
    requests_.clear();
    types_.clear();
  }

  Trial &run_;
  const FileProgram &program_;
  const FilePhase &phase_;
  const TestFile &file_;
  int n_calls_ = 0;
  std::deque<ShareBuffer> buffers_;
  std::vector<MPI_Request> requests_;
  std::vector<MPI_Datatype> types_;
};

// What all ranks did is seen by all.
void synchronise(Trial &run, MPI_File file) {
  run.call("MPI_File_sync", MPI_File_sync(file));
  MPI_Barrier(Session::get().comm());
  run.call("MPI_File_sync", MPI_File_sync(file));
}

bool set_view(Trial &run, const FileProgram &program, const FilePhase &phase, MPI_File file) {
  const RandomView &view = phase.view;
  const OwnType etype(tight_type(program.signature, program.repeats, program.etype_gap));
  const OwnType type(file_type(view, etype.get(), program.etype_extent(), Session::get().rank()));
  // ROMIO reads and writes what lies between the pieces of a rank, too, and so undoes what others write there.
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "romio_ds_write", phase.is_joint ? "automatic" : "disable");
  const int code = MPI_File_set_view(file, view.displacement, etype.get(), type.get(), view.representation, info);
  MPI_Info_free(&info);
  note_class(run, "MPI_File_set_view", code);
  return code == MPI_SUCCESS;
}

}  // namespace

void run_file_program(Trial &run, const FileProgram &program) {
  const Session &session = Session::get();
  TestFile file;
  const Memory &before = run.buffer(Kind::host, program.n_bytes);
  run.refill(before, 0);
  if (session.rank() == 0) {
    run.call("MPI_File_write_at", MPI_File_write_at(file.get(), 0, before.data(), static_cast<int>(program.n_bytes),
                                                    MPI_BYTE, MPI_STATUS_IGNORE));
  }
  if (program.is_atomic) note_class(run, "MPI_File_set_atomicity", MPI_File_set_atomicity(file.get(), 1));
  for (const FilePhase &phase : program.phases) {
    synchronise(run, file.get());
    // Some ranks may be refused a representation, or all: the program ends there.
    if (session.agree_any(!set_view(run, program, phase, file.get()))) break;
    PhaseRun(run, program, phase, file).go();
  }
  synchronise(run, file.get());
  const Bytes written = file.close();
  run.buffer(Kind::host, written.size()).write(0, written.data(), written.size());
}

}  // namespace sluice::tests

// SPDX-License-Identifier: BSD-3-Clause
// Every function that writes and reads, through views and out of types of every sort: files, buffers, statuses and
// pointers are those of the host MPI on host memory.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/ranks/io/test_file.hpp"
#include "tests/support/host_mpi.hpp"

namespace sluice::tests::ways_test {
namespace {

// What of the file a rank sees.
enum class ViewKind { bytes, ints, triples, stripes, external, internal, registered };
constexpr ViewKind kViews[] = {ViewKind::bytes,    ViewKind::ints,     ViewKind::triples,   ViewKind::stripes,
                               ViewKind::external, ViewKind::internal, ViewKind::registered};
// What of the buffer a call names.
enum class TypeKind { ints, gaps, backwards, absolute };
constexpr TypeKind kTypes[] = {TypeKind::ints, TypeKind::gaps, TypeKind::backwards, TypeKind::absolute};

constexpr int kEtypeInts[] = {0, 1, 3, 1, 1, 1, 1};  // by view; 0: bytes

// A representation of the program's own, like the native one. MPI registers it for good.
const char *registered_representation() {
  constexpr const char *kName = "sluice_test";
  static const int code = MPI_Register_datarep(
      kName, MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL,
      [](MPI_Datatype type, MPI_Aint *extent, void * /*state*/) {
        MPI_Aint lower = 0;
        return MPI_Type_get_extent(type, &lower, extent);
      },
      nullptr);
  return code == MPI_SUCCESS ? kName : "unregistered";
}

MPI_Offset in_etypes(ViewKind view, MPI_Offset n_ints) {
  const int etype = kEtypeInts[static_cast<int>(view)];
  return etype == 0 ? n_ints * static_cast<MPI_Offset>(sizeof(int)) : n_ints / etype;
}

// False where the host MPI has no such view.
bool set_view(MPI_File file, ViewKind view) {
  const Session &session = Session::get();
  MPI_Datatype triple = MPI_DATATYPE_NULL;
  MPI_Datatype stripe = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(3, MPI_INT, &triple);
  MPI_Type_commit(&triple);
  const int sizes[] = {session.size() * 5};
  const int own[] = {5};
  const int begin[] = {session.rank() * 5};
  MPI_Type_create_subarray(1, sizes, own, begin, MPI_ORDER_C, MPI_INT, &stripe);
  MPI_Type_commit(&stripe);
  int code = MPI_SUCCESS;
  switch (view) {
    case ViewKind::bytes:
      code = MPI_File_set_view(file, 24, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
      break;
    case ViewKind::ints:
      code = MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
      break;
    case ViewKind::triples:
      code = MPI_File_set_view(file, 40, triple, triple, "native", MPI_INFO_NULL);
      break;
    case ViewKind::stripes:
      code = MPI_File_set_view(file, 8, MPI_INT, stripe, "native", MPI_INFO_NULL);
      break;
    case ViewKind::external:
      code = MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL);
      break;
    case ViewKind::internal:
      code = MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "internal", MPI_INFO_NULL);
      break;
    case ViewKind::registered:
      code = MPI_File_set_view(file, 0, MPI_INT, MPI_INT, registered_representation(), MPI_INFO_NULL);
      break;
  }
  MPI_Type_free(&triple);
  MPI_Type_free(&stripe);
  return code == MPI_SUCCESS;
}

// `count` times three ints in a buffer: 24 bytes an element where there are gaps.
class BufferOf {
 public:
  BufferOf(TypeKind kind, const Memory &memory, int count) {
    call.count = count;
    call.buffer = memory.data();
    const int lengths[] = {2, 1};
    const int places[] = {0, 4};
    const int back_places[] = {4, 0};
    const int one = 12 * count;
    MPI_Aint address = 0;
    switch (kind) {
      case TypeKind::ints:
        MPI_Type_contiguous(3, MPI_INT, &call.type);
        break;
      case TypeKind::gaps:
        make_resized(2, lengths, places);
        break;
      case TypeKind::backwards:
        make_resized(2, lengths, back_places);
        break;
      case TypeKind::absolute:
        MPI_Get_address(memory.data(), &address);
        MPI_Type_create_hindexed(1, &one, &address, MPI_BYTE, &call.type);
        call.buffer = MPI_BOTTOM;
        call.count = 1;
        break;
    }
    MPI_Type_commit(&call.type);
  }
  BufferOf(const BufferOf &) = delete;
  BufferOf &operator=(const BufferOf &) = delete;
  ~BufferOf() { MPI_Type_free(&call.type); }

  FileCall call;

 private:
  void make_resized(int n, const int *lengths, const int *places) {
    MPI_Datatype plain = MPI_DATATYPE_NULL;
    MPI_Type_indexed(n, lengths, places, MPI_INT, &plain);
    MPI_Type_create_resized(plain, 0, 24, &call.type);
    MPI_Type_free(&plain);
  }
};

struct WayCase {
  Way way;
  ViewKind view;
  TypeKind type;
  int count;
  bool is_mixed;  // every second rank has host memory
  bool is_large;
};

// Where this rank begins, in etypes: behind the ranks before it unless its view holds it apart.
MPI_Offset beginning(const WayCase &c) {
  const int n_before = c.view == ViewKind::stripes ? 0 : Session::get().rank();
  return in_etypes(c.view, 6 + static_cast<MPI_Offset>(n_before) * (3 * c.count));
}

void note_pointers(Trial &run, const WayCase &c, MPI_File file) {
  MPI_Offset position = 0;
  MPI_Barrier(Session::get().comm());
  if (is_by_shared_pointer(c.way)) {
    run.call("MPI_File_get_position_shared", MPI_File_get_position_shared(file, &position));
  } else {
    run.call("MPI_File_get_position", MPI_File_get_position(file, &position));
  }
  run.note("position", position);
  MPI_Barrier(Session::get().comm());
}

void go_back(const WayCase &c, MPI_File file) {
  if (is_by_shared_pointer(c.way)) MPI_File_seek_shared(file, in_etypes(c.view, 6), seek_set());
  if (is_by_own_pointer(c.way)) MPI_File_seek(file, beginning(c), seek_set());
}

void write_and_read(Trial &run, const WayCase &c) {
  const int rank = Session::get().rank();
  TestFile file;
  // What host MPIs write into holes of a view, which nobody wrote before, is undefined.
  const std::vector<char> zeros(16384, 0);
  if (rank == 0) {
    run.call("zeros", MPI_File_write_at(file.get(), 0, zeros.data(), static_cast<int>(zeros.size()), MPI_BYTE,
                                        MPI_STATUS_IGNORE));
  }
  MPI_File_sync(file.get());
  MPI_Barrier(Session::get().comm());
  if (!set_view(file.get(), c.view)) {
    run.note("no such view", 1);
    return;
  }
  const bool is_host = c.is_mixed && rank % 2 == 1;
  const std::size_t room = std::size_t{24} * static_cast<std::size_t>(c.count) + 24;
  const Memory &in = run.buffer(is_host ? Kind::host : run.send_kind(), room);
  const Memory &out = run.buffer(is_host ? Kind::host : run.recv_kind(), room);
  run.refill(in, 1);
  MPI_Status status{};
  for (const bool is_read : {false, true}) {
    go_back(c, file.get());
    const BufferOf of(c.type, is_read ? out : in, c.count);
    FileCall call = of.call;
    call.offset = beginning(c);
    call.is_large = c.is_large;
    in_order(c.way, [&] {
      status = MPI_Status{};
      const auto function = is_read ? read_by : write_by;
      run.call(is_read ? "read" : "write", function(c.way, file.get(), call, &status));
    });
    note_file_status(run, is_read ? "read" : "write", status, call.type);
    note_pointers(run, c, file.get());
    MPI_File_sync(file.get());
    MPI_Barrier(Session::get().comm());
  }
  const Bytes written = file.close();
  run.buffer(Kind::host, written.size()).write(0, written.data(), written.size());
  if (c.type == TypeKind::ints) {
    run.expect_pattern(out, rank, 1, std::size_t{12} * static_cast<std::size_t>(c.count));
  }
}

// Shared pointers want equal views at all ranks. An absolute address has no representation but the native one.
bool is_possible(const WayCase &c) {
  // Open MPI divides by the size of a type.
  if (c.type == TypeKind::absolute && c.count == 0) return false;
  if (c.view == ViewKind::stripes && (is_by_shared_pointer(c.way) || aborts_on_subarrays_in_files())) return false;
  if (c.view < ViewKind::external) return true;
  if (c.type == TypeKind::absolute) return false;
  if (c.view != ViewKind::external) return true;
  if (c.way == Way::ordered && leaves_ordered_reads_as_in_the_file()) return false;
  return !overruns_in_external_views() || (c.type == TypeKind::ints && !has_request(c.way));
}

// All types and counts with every way and view; in the quick set they take turns.
std::vector<WayCase> cases() {
  constexpr int kCounts[] = {107, 0, 1};
  std::vector<WayCase> all;
  unsigned turn = 0;
  for (const Way way : every_way()) {
    for (const ViewKind view : kViews) {
      const unsigned own_turn = turn++;
      for (const TypeKind type : kTypes) {
        for (const int count : kCounts) {
          const unsigned number = static_cast<unsigned>(type) + (count == 107 ? 0U : 8U);
          const bool is_due = Session::get().options().is_full || number == own_turn % 4 ||
                              (count != 107 && own_turn % 5 == 0 && number == 8 + own_turn % 4);
          const WayCase c{way, view, type, count, own_turn % 2 == 1, own_turn % 3 == 1};
          if (is_due && is_possible(c)) all.push_back(c);
        }
      }
    }
  }
  return all;
}

TEST(Files, AreThoseOfTheHostMpi_ByEveryFunction) {
  for (const WayCase &c : cases()) {
    SCOPED_TRACE(std::string(way_name(c.way)) + " view " + std::to_string(static_cast<int>(c.view)) + " type " +
                 std::to_string(static_cast<int>(c.type)) + " count " + std::to_string(c.count));
    compare_with_host({device_or_host(), device_or_host(), 0}, [&](Trial &run) { write_and_read(run, c); });
  }
}

TEST(Files, TakeEveryKindOfMemory) {
  for (const Kind kind : Session::get().kinds()) {
    SCOPED_TRACE(kind_name(kind));
    for (const Way way : {Way::at, Way::all, Way::i_individual}) {
      const WayCase c{way, ViewKind::ints, TypeKind::gaps, 107, false, false};
      compare_with_host({kind, kind, 0}, [&](Trial &run) { write_and_read(run, c); });
    }
  }
}

}  // namespace
}  // namespace sluice::tests::ways_test

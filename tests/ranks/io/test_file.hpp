// SPDX-License-Identifier: BSD-3-Clause
// A file of one test, and every way to write and to read it.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

#include "tests/support/memory.hpp"
#include "tests/support/oracle.hpp"

namespace sluice::tests {

// The functions of MPI that write and read, by family: each has one of either.
enum class Way {
  at,
  individual,
  shared,
  at_all,
  all,
  ordered,
  split_at,
  split,
  split_ordered,
  i_at,
  i_individual,
  i_shared,
  i_at_all,
  i_all
};
const std::vector<Way> &every_way();
const char *way_name(Way way);
// All ranks make the call together.
bool is_joint(Way way);
// It goes by the shared pointer, or by the individual one; else by an offset.
bool is_by_shared_pointer(Way way);
bool is_by_own_pointer(Way way);
bool has_request(Way way);
bool is_split(Way way);

// What a call is given.
struct FileCall {
  void *buffer = nullptr;
  int count = 0;
  MPI_Datatype type = MPI_BYTE;
  MPI_Offset offset = 0;
  bool is_large = false;  // its large-count form, where the host MPI's interface has one
};

// Starts a call with a request; only of a way that has one.
int start_writing(Way way, MPI_File file, const FileCall &call, MPI_Request *request);
int start_reading(Way way, MPI_File file, const FileCall &call, MPI_Request *request);
// The whole call, both halves of a split one, and the completion of a request. The first error code.
int write_by(Way way, MPI_File file, const FileCall &call, MPI_Status *status);
int read_by(Way way, MPI_File file, const FileCall &call, MPI_Status *status);

// `body` at one rank after the other where the shared pointer would else be moved by several at once.
template <typename Body>
void in_order(Way way, Body body) {
  const Session &session = Session::get();
  if (!is_by_shared_pointer(way) || is_joint(way)) return body();
  for (int rank = 0; rank < session.size(); ++rank) {
    if (rank == session.rank()) body();
    MPI_Barrier(session.comm());
  }
}

// A new empty file of all ranks, which is deleted at the end. Collective.
class TestFile {
 public:
  explicit TestFile(int mode = MPI_MODE_CREATE | MPI_MODE_RDWR);
  TestFile(const TestFile &) = delete;
  TestFile &operator=(const TestFile &) = delete;
  TestFile(TestFile &&) = delete;
  TestFile &operator=(TestFile &&) = delete;
  ~TestFile();

  MPI_File get() const { return file_; }
  const std::string &path() const { return path_; }
  // Collective; what is in the file, at all ranks.
  Bytes close();
  // Closes the file and opens it again with `mode`. Collective.
  void reopen(int mode);

 private:
  void open(int mode);
  std::string path_;
  MPI_File file_ = MPI_FILE_NULL;
};

// Bytes and elements; the rest says nothing here.
void note_file_status(Trial &run, const std::string &what, const MPI_Status &status, MPI_Datatype type);
// The class of an error, or success.
void note_class(Trial &run, const std::string &what, int code);

}  // namespace sluice::tests

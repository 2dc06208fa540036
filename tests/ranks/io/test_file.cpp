// SPDX-License-Identifier: BSD-3-Clause
#include "tests/ranks/io/test_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>

#if MPI_VERSION >= 4
#define SLUICE_FORM(function, ...) (c.is_large ? function##_c(__VA_ARGS__) : function(__VA_ARGS__))
#else
#define SLUICE_FORM(function, ...) function(__VA_ARGS__)
#endif

namespace sluice::tests {
namespace {

constexpr int kNoSuchCall = MPI_ERR_OTHER;

// The second half of a split call, if the first one went well.
template <typename End>
int and_then(int code, End end) {
  return code == MPI_SUCCESS ? end() : code;
}

int write_blocking(Way way, MPI_File f, const FileCall &c, MPI_Status *status) {
  switch (way) {
    case Way::at:
      return SLUICE_FORM(MPI_File_write_at, f, c.offset, c.buffer, c.count, c.type, status);
    case Way::individual:
      return SLUICE_FORM(MPI_File_write, f, c.buffer, c.count, c.type, status);
    case Way::shared:
      return SLUICE_FORM(MPI_File_write_shared, f, c.buffer, c.count, c.type, status);
    case Way::at_all:
      return SLUICE_FORM(MPI_File_write_at_all, f, c.offset, c.buffer, c.count, c.type, status);
    case Way::all:
      return SLUICE_FORM(MPI_File_write_all, f, c.buffer, c.count, c.type, status);
    case Way::ordered:
      return SLUICE_FORM(MPI_File_write_ordered, f, c.buffer, c.count, c.type, status);
    case Way::split_at:
      return and_then(SLUICE_FORM(MPI_File_write_at_all_begin, f, c.offset, c.buffer, c.count, c.type),
                      [&] { return MPI_File_write_at_all_end(f, c.buffer, status); });
    case Way::split:
      return and_then(SLUICE_FORM(MPI_File_write_all_begin, f, c.buffer, c.count, c.type),
                      [&] { return MPI_File_write_all_end(f, c.buffer, status); });
    case Way::split_ordered:
      return and_then(SLUICE_FORM(MPI_File_write_ordered_begin, f, c.buffer, c.count, c.type),
                      [&] { return MPI_File_write_ordered_end(f, c.buffer, status); });
    default:
      return kNoSuchCall;
  }
}

int read_blocking(Way way, MPI_File f, const FileCall &c, MPI_Status *status) {
  switch (way) {
    case Way::at:
      return SLUICE_FORM(MPI_File_read_at, f, c.offset, c.buffer, c.count, c.type, status);
    case Way::individual:
      return SLUICE_FORM(MPI_File_read, f, c.buffer, c.count, c.type, status);
    case Way::shared:
      return SLUICE_FORM(MPI_File_read_shared, f, c.buffer, c.count, c.type, status);
    case Way::at_all:
      return SLUICE_FORM(MPI_File_read_at_all, f, c.offset, c.buffer, c.count, c.type, status);
    case Way::all:
      return SLUICE_FORM(MPI_File_read_all, f, c.buffer, c.count, c.type, status);
    case Way::ordered:
      return SLUICE_FORM(MPI_File_read_ordered, f, c.buffer, c.count, c.type, status);
    case Way::split_at:
      return and_then(SLUICE_FORM(MPI_File_read_at_all_begin, f, c.offset, c.buffer, c.count, c.type),
                      [&] { return MPI_File_read_at_all_end(f, c.buffer, status); });
    case Way::split:
      return and_then(SLUICE_FORM(MPI_File_read_all_begin, f, c.buffer, c.count, c.type),
                      [&] { return MPI_File_read_all_end(f, c.buffer, status); });
    case Way::split_ordered:
      return and_then(SLUICE_FORM(MPI_File_read_ordered_begin, f, c.buffer, c.count, c.type),
                      [&] { return MPI_File_read_ordered_end(f, c.buffer, status); });
    default:
      return kNoSuchCall;
  }
}

}  // namespace

int start_writing(Way way, MPI_File f, const FileCall &c, MPI_Request *request) {
  switch (way) {
    case Way::i_at:
      return SLUICE_FORM(MPI_File_iwrite_at, f, c.offset, c.buffer, c.count, c.type, request);
    case Way::i_individual:
      return SLUICE_FORM(MPI_File_iwrite, f, c.buffer, c.count, c.type, request);
    case Way::i_shared:
      return SLUICE_FORM(MPI_File_iwrite_shared, f, c.buffer, c.count, c.type, request);
    case Way::i_at_all:
      return SLUICE_FORM(MPI_File_iwrite_at_all, f, c.offset, c.buffer, c.count, c.type, request);
    case Way::i_all:
      return SLUICE_FORM(MPI_File_iwrite_all, f, c.buffer, c.count, c.type, request);
    default:
      return kNoSuchCall;
  }
}

int write_by(Way way, MPI_File file, const FileCall &call, MPI_Status *status) {
  if (!has_request(way)) return write_blocking(way, file, call, status);
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = start_writing(way, file, call, &request);
  return code == MPI_SUCCESS ? MPI_Wait(&request, status) : code;
}

int start_reading(Way way, MPI_File f, const FileCall &c, MPI_Request *request) {
  switch (way) {
    case Way::i_at:
      return SLUICE_FORM(MPI_File_iread_at, f, c.offset, c.buffer, c.count, c.type, request);
    case Way::i_individual:
      return SLUICE_FORM(MPI_File_iread, f, c.buffer, c.count, c.type, request);
    case Way::i_shared:
      return SLUICE_FORM(MPI_File_iread_shared, f, c.buffer, c.count, c.type, request);
    case Way::i_at_all:
      return SLUICE_FORM(MPI_File_iread_at_all, f, c.offset, c.buffer, c.count, c.type, request);
    case Way::i_all:
      return SLUICE_FORM(MPI_File_iread_all, f, c.buffer, c.count, c.type, request);
    default:
      return kNoSuchCall;
  }
}

int read_by(Way way, MPI_File file, const FileCall &call, MPI_Status *status) {
  if (!has_request(way)) return read_blocking(way, file, call, status);
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = start_reading(way, file, call, &request);
  return code == MPI_SUCCESS ? MPI_Wait(&request, status) : code;
}

const std::vector<Way> &every_way() {
  static const std::vector<Way> ways = {
      Way::at,    Way::individual,    Way::shared, Way::at_all,       Way::all,      Way::ordered,  Way::split_at,
      Way::split, Way::split_ordered, Way::i_at,   Way::i_individual, Way::i_shared, Way::i_at_all, Way::i_all};
  return ways;
}

const char *way_name(Way way) {
  static const char *const names[] = {"at",           "individual", "shared",   "at_all",        "all",
                                      "ordered",      "split_at",   "split",    "split_ordered", "i_at",
                                      "i_individual", "i_shared",   "i_at_all", "i_all"};
  return names[static_cast<int>(way)];
}

bool is_joint(Way way) {
  switch (way) {
    case Way::at:
    case Way::individual:
    case Way::shared:
    case Way::i_at:
    case Way::i_individual:
    case Way::i_shared:
      return false;
    default:
      return true;
  }
}

bool is_by_shared_pointer(Way way) {
  return way == Way::shared || way == Way::ordered || way == Way::split_ordered || way == Way::i_shared;
}

bool is_by_own_pointer(Way way) {
  return way == Way::individual || way == Way::all || way == Way::split || way == Way::i_individual ||
         way == Way::i_all;
}

bool has_request(Way way) {
  return way == Way::i_at || way == Way::i_individual || way == Way::i_shared || way == Way::i_at_all ||
         way == Way::i_all;
}

bool is_split(Way way) {
  return way == Way::split_at || way == Way::split || way == Way::split_ordered;
}

TestFile::TestFile(int mode) {
  static int number = 0;
  char name[64] = {};
  const Session &session = Session::get();
  if (session.rank() == 0) {
    std::snprintf(name, sizeof name, "/tmp/sluice_io.%d.%d", getpid(), ++number);
    std::remove(name);  // a process of the same number may have ended early, and left its file
  }
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, session.comm());
  path_ = name;
  open(mode);
}

void TestFile::open(int mode) {
  const int code = MPI_File_open(Session::get().comm(), path_.c_str(), mode, MPI_INFO_NULL, &file_);
  EXPECT_EQ(code, MPI_SUCCESS) << "MPI_File_open " << path_;
}

Bytes TestFile::close() {
  EXPECT_EQ(MPI_File_close(&file_), MPI_SUCCESS);
  MPI_Barrier(Session::get().comm());
  std::ifstream in(path_, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  MPI_Barrier(Session::get().comm());
  return {text.begin(), text.end()};
}

void TestFile::reopen(int mode) {
  if (file_ != MPI_FILE_NULL) static_cast<void>(close());
  open(mode);
}

TestFile::~TestFile() {
  if (file_ != MPI_FILE_NULL) MPI_File_close(&file_);
  MPI_Barrier(Session::get().comm());
  if (Session::get().rank() == 0) std::remove(path_.c_str());
}

void note_file_status(Trial &run, const std::string &what, const MPI_Status &status, MPI_Datatype type) {
  int count = 0;
  MPI_Get_count(&status, MPI_BYTE, &count);
  run.note(what + ".bytes", count);
  MPI_Get_count(&status, type, &count);
  run.note(what + ".count", count == MPI_UNDEFINED ? -1 : count);
}

void note_class(Trial &run, const std::string &what, int code) {
  int error_class = MPI_SUCCESS;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &error_class);
  run.note(what, error_class);
}

}  // namespace sluice::tests

// SPDX-License-Identifier: BSD-3-Clause
// Functions that Sluice does not carry out take no device memory: each answers with one error through the right error
// handler, and nobody waits for a rank that was refused. Memory that the CPU may touch, and buffers of nothing, reach
// the host MPI.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <array>
#include <cstring>
#include <memory>
#include <string>

#include "tests/support/host_mpi.hpp"
#include "tests/support/memory.hpp"
#include "tests/support/session.hpp"

namespace sluice::tests {
namespace {

enum class Answerer { comm, self, window, session, code };

// What the calls are given besides the buffer.
struct Things {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Win window = MPI_WIN_NULL;
#if MPI_VERSION >= 4
  MPI_Session session = MPI_SESSION_NULL;
#endif
  std::array<int, 1024> host{};
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Win made = MPI_WIN_NULL;
  int number = 0;
};

struct RefusalCase {
  const char *function;
  const char *buffer;
  Answerer answerer;
  int (*call)(void *function, Things &things, void *buffer);
};

const RefusalCase kCases[] = {
#include "refusal_cases.inc"
};

// How often each handler was called since the last look, and with what.
struct Handled {
  int n = 0;
  Answerer by = Answerer::code;
  int error_class = MPI_SUCCESS;
};
Handled handled;

void note(Answerer by, int code) {
  ++handled.n;
  handled.by = by;
  MPI_Error_class(code, &handled.error_class);
}
void note_on_comm(MPI_Comm *comm, int *code, ...) {
  note(*comm == MPI_COMM_SELF ? Answerer::self : Answerer::comm, *code);
}
void note_on_window(MPI_Win * /*window*/, int *code, ...) {
  note(Answerer::window, *code);
}
#if MPI_VERSION >= 4
void note_on_session(MPI_Session * /*session*/, int *code, ...) {
  note(Answerer::session, *code);
}
#endif

// Whether MPI errors come back without a word, or are noted.
enum class Handlers { return_errors, note_errors };

class Refusals : public testing::TestWithParam<Handlers> {
 protected:
  void SetUp() override {
    if (!Session::get().has_kind(Kind::device)) GTEST_SKIP() << "no device memory";
    things_ = std::make_unique<Things>();
    MPI_Comm_dup(Session::get().comm(), &things_->comm);
    MPI_Comm_set_errhandler(things_->comm, MPI_ERRORS_RETURN);
    // Open MPI 4 makes none in a program with threads.
    if (MPI_Win_create(window_memory_.data(), sizeof(window_memory_), 1, MPI_INFO_NULL, things_->comm,
                       &things_->window) != MPI_SUCCESS) {
      MPI_Comm_free(&things_->comm);
      things_.reset();
      GTEST_SKIP() << "missing: windows of the host MPI";
    }
    open_session();
    MPI_Comm_get_errhandler(MPI_COMM_SELF, &former_);
    set_handlers(GetParam());
  }

  void TearDown() override {
    if (!things_) return;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, former_);
    MPI_Errhandler_free(&former_);
    MPI_Win_free(&things_->window);
    MPI_Comm_free(&things_->comm);
#if MPI_VERSION >= 4
    if (things_->session != MPI_SESSION_NULL) MPI_Session_finalize(&things_->session);
#endif
  }

  void open_session() {
#if MPI_VERSION >= 4
    // Only for the functions that want one, and no host MPI of before MPI-4.1 has.
    if (dlsym(RTLD_DEFAULT, "MPI_Session_attach_buffer") != nullptr) {
      ASSERT_EQ(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &things_->session), MPI_SUCCESS);
    }
#endif
  }

  void set_handlers(Handlers handlers) {
    const bool notes = handlers == Handlers::note_errors;
    MPI_Errhandler handler = MPI_ERRORS_RETURN;
    if (notes) MPI_Comm_create_errhandler(note_on_comm, &handler);
    MPI_Comm_set_errhandler(things_->comm, handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    if (notes) MPI_Errhandler_free(&handler);
    if (notes) MPI_Win_create_errhandler(note_on_window, &handler);
    MPI_Win_set_errhandler(things_->window, handler);
    if (notes) MPI_Errhandler_free(&handler);
#if MPI_VERSION >= 4
    if (notes && things_->session != MPI_SESSION_NULL) {
      MPI_Session_create_errhandler(note_on_session, &handler);
      MPI_Session_set_errhandler(things_->session, handler);
      MPI_Errhandler_free(&handler);
    }
#endif
  }

  void expect_refusal(const RefusalCase &c, const std::string &function, int code) const {
    SCOPED_TRACE(function + ": " + c.buffer);
    int error_class = MPI_SUCCESS;
    MPI_Error_class(code, &error_class);
    if (c.answerer == Answerer::code) {
      EXPECT_EQ(code, std::strncmp(c.function, "MPI_T_", 6) == 0 ? MPI_T_ERR_INVALID : MPI_ERR_BUFFER);
      EXPECT_EQ(handled.n, 0);
      return;
    }
    EXPECT_EQ(error_class, MPI_ERR_BUFFER);
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    MPI_Error_string(code, text.data(), &length);
    EXPECT_NE(std::strstr(text.data(), c.function), nullptr) << text.data();
    EXPECT_NE(std::strstr(text.data(), c.buffer), nullptr) << text.data();
    EXPECT_NE(std::strstr(text.data(), "device memory"), nullptr) << text.data();
    EXPECT_EQ(handled.n, GetParam() == Handlers::note_errors ? 1 : 0);
    if (handled.n == 0) return;
    EXPECT_EQ(handled.by, c.answerer);
    EXPECT_EQ(handled.error_class, MPI_ERR_BUFFER);
  }

  std::unique_ptr<Things> things_;

 private:
  std::array<char, 64> window_memory_{};
  MPI_Errhandler former_ = MPI_ERRHANDLER_NULL;
};

INSTANTIATE_TEST_SUITE_P(Handlers, Refusals, testing::Values(Handlers::return_errors, Handlers::note_errors),
                         [](const auto &test) { return test.param == Handlers::note_errors ? "Noted" : "Returned"; });

TEST_P(Refusals, AnswerEachFunctionThatIsNotCarriedOut) {
  const Memory device(Session::get().module(), Kind::device, 4096, true);
  device.fill_pattern(Session::get().rank(), 1);
  int n_called = 0;
  for (const RefusalCase &c : kCases) {
    for (const char *prefix : {"", "P"}) {
      const std::string function = std::string(prefix) + c.function;
      void *address = dlsym(RTLD_DEFAULT, function.c_str());  // null where the host MPI has none
      if (address == nullptr) continue;
      const bool is_fatal = c.answerer == Answerer::session && GetParam() != Handlers::note_errors;
      if (is_fatal && aborts_in_session_handlers()) continue;
      handled = {};
      const int code = c.call(address, *things_, device.data());
      expect_refusal(c, function, code);
      EXPECT_EQ(things_->request, MPI_REQUEST_NULL) << function;
      ++n_called;
    }
  }
  EXPECT_GT(n_called, 5);  // Open MPI 5 has eight
  EXPECT_EQ(find_pattern_error(device.read(), Session::get().rank(), 1), "");
}

// What follows is handed on: from memory of `kind` to this rank's window.
class HandedOn : public Refusals {
 protected:
  void put(void *address, int count, MPI_Datatype type, int target) {
    MPI_Win_fence(0, things_->window);
    EXPECT_EQ(MPI_Put(address, count, type, target, 0, count, MPI_BYTE, things_->window), MPI_SUCCESS);
    EXPECT_EQ(MPI_Win_fence(0, things_->window), MPI_SUCCESS);
    EXPECT_EQ(handled.n, 0);
  }
};

INSTANTIATE_TEST_SUITE_P(Handlers, HandedOn, testing::Values(Handlers::note_errors));

TEST_P(HandedOn, MemoryThatTheHostMayTouch) {
  handled = {};
  for (const Kind kind : Session::get().kinds()) {
    if (kind == Kind::device) continue;
    SCOPED_TRACE(kind_name(kind));
    const Memory memory(Session::get().module(), kind, 64);
    put(memory.data(), 64, MPI_BYTE, Session::get().rank());
    MPI_Win window = MPI_WIN_NULL;
    EXPECT_EQ(MPI_Win_create(memory.data(), 64, 1, MPI_INFO_NULL, things_->comm, &window), MPI_SUCCESS);
    EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
  }
}

TEST_P(HandedOn, NothingAndNobody) {
  const Memory device(Session::get().module(), Kind::device, 64);
  handled = {};
  put(device.data(), 0, MPI_BYTE, Session::get().rank());
  put(nullptr, 0, MPI_BYTE, Session::get().rank());
  MPI_Win_fence(0, things_->window);
  EXPECT_EQ(MPI_Put(device.data(), 64, MPI_BYTE, MPI_PROC_NULL, 0, 64, MPI_BYTE, things_->window), MPI_SUCCESS);
  MPI_Win_fence(0, things_->window);
  MPI_Win window = MPI_WIN_NULL;
  EXPECT_EQ(MPI_Win_create(nullptr, 0, 1, MPI_INFO_NULL, things_->comm, &window), MPI_SUCCESS);
  EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
  EXPECT_EQ(handled.n, 0);
}

TEST_P(HandedOn, AbsoluteAddresses) {
  const Memory device(Session::get().module(), Kind::device, 64);
  std::array<char, 64> host{};
  handled = {};
  for (const bool is_device : {false, true}) {
    MPI_Aint address = 0;
    MPI_Get_address(is_device ? device.data() : host.data(), &address);
    const int length = 64;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_create_hindexed(1, &length, &address, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    MPI_Win_fence(0, things_->window);
    const int code = MPI_Put(MPI_BOTTOM, 1, type, Session::get().rank(), 0, length, MPI_BYTE, things_->window);
    MPI_Win_fence(0, things_->window);
    EXPECT_EQ(code, MPI_SUCCESS);
    EXPECT_EQ(handled.n, 0);
    MPI_Type_free(&type);
  }
}

// MPI_Bsend is served out of a buffer of the host's, whatever memory it sends.
TEST_P(HandedOn, ABufferOfTheHosts) {
  std::array<char, 4096> buffer{};
  handled = {};
  EXPECT_EQ(MPI_Buffer_attach(buffer.data(), buffer.size()), MPI_SUCCESS);
  void *detached = nullptr;
  int size = 0;
  EXPECT_EQ(MPI_Buffer_detach(&detached, &size), MPI_SUCCESS);
  EXPECT_EQ(detached, buffer.data());
  EXPECT_EQ(handled.n, 0);
}

}  // namespace
}  // namespace sluice::tests

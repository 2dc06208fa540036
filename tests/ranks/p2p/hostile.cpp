// SPDX-License-Identifier: BSD-3-Clause
// A partner that tells of what is not there: it catches descriptors of its own messages on their way, changes them, and
// sends them past Sluice. The other rank must end each such receive, with an error or with bytes that the partner did
// send, and write nowhere else (docs/protocol.md, "What a peer says"). --programs says how many mutations, --seed
// which.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "tests/ranks/p2p/hostile_pair.hpp"
#include "tests/support/mutator.hpp"
#include "tests/support/oracle.hpp"

namespace sluice::tests::hostile {
namespace {

// Of a descriptor by its fields.
Change in_fields(const std::function<void(Descriptor *)> &change) {
  return [change](std::byte *bytes) {
    Descriptor descriptor;
    std::memcpy(&descriptor, bytes, sizeof descriptor);
    change(&descriptor);
    std::memcpy(bytes, &descriptor, sizeof descriptor);
  };
}

// The partner's memory is pulled; else it comes in blocks.
bool pulls() {
  const char *ipc = std::getenv("SLUICE_P2P_IPC");
  return ipc == nullptr || std::string(ipc) != "off";
}

// Both ranks of a pair, on a communicator whose ranks are not those of MPI_COMM_WORLD.
class Hostile : public testing::Test {
 protected:
  void SetUp() override {
    const Session &session = Session::get();
    if (!session.has_kind(Kind::device)) GTEST_SKIP() << "missing: device memory, whose messages are described";
    if (!session.has_sluice()) GTEST_SKIP() << "missing: Sluice";
    ASSERT_EQ(MPI_Comm_split(session.comm(), session.rank() / 2, -session.rank(), &comm_), MPI_SUCCESS);
    ASSERT_EQ(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), MPI_SUCCESS);
    ASSERT_EQ(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN), MPI_SUCCESS);
    MPI_Comm_rank(comm_, &rank_);
    partner_ = 1 - rank_;
    // Until each may describe its messages to the other.
    const Memory out(session.module(), Kind::device, kBytes);
    const Memory in(session.module(), Kind::device, kBytes);
    for (int i = 0; i < 8; ++i) {
      const bool sends = (i + rank_) % 2 == 0;
      const int count = static_cast<int>(kBytes);
      ASSERT_EQ(sends ? MPI_Send(out.data(), count, MPI_BYTE, partner_, kTag, comm_)
                      : MPI_Recv(in.data(), count, MPI_BYTE, partner_, kTag, comm_, MPI_STATUS_IGNORE),
                MPI_SUCCESS);
    }
  }
  void TearDown() override {
    if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
  }
  [[nodiscard]] bool is_victim() const { return rank_ == 0; }

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int partner_ = 1;
  Past past_;
};

struct Lie {
  const char *name;
  std::function<void(Descriptor *)> change;
  bool is_seen_in_device_memory_alone;  // who takes blocks does not use what is wrong
};

std::vector<Lie> lies(int victim) {
  return {
      {"the receiver's own address",
       [=](Descriptor *d) {
         d->sender = victim;
         d->address = 0x10;
       },
       false},
      {"the receiver as the sender", [=](Descriptor *d) { d->sender = victim; }, false},
      {"nobody as the sender", [](Descriptor *d) { d->sender = -1; }, false},
      {"a rank that is not there", [](Descriptor *d) { d->sender = 99; }, false},
      {"a number without tags", [](Descriptor *d) { d->number = 0x7fffffff; }, false},
      {"no number", [](Descriptor *d) { d->number = 0; }, false},
      {"no route", [](Descriptor *d) { d->route = static_cast<Route>(9); }, false},
      {"blocks that do not add up", [](Descriptor *d) { d->blocks.n_blocks = 0; }, false},
      {"more than there can be", [](Descriptor *d) { d->blocks.size_bytes = ~std::uint64_t{0}; }, false},
      {"twice as long, and the second half",
       [](Descriptor *d) {
         d->offset_bytes = kAllBytes + kBefore;
         d->allocation_bytes = 2 * kAllBytes + kBefore;
       },
       true},
      {"far outside",
       [](Descriptor *d) {
         d->offset_bytes = std::uint64_t{1} << 45U;
         d->allocation_bytes = std::uint64_t{1} << 46U;
       },
       true},
      {"a layout that leaves the allocation",
       [](Descriptor *d) {
         // One dimension: cores of 8 bytes, kBytes / 8 of them, 2^40 bytes apart.
         d->layout = {1, 8, 0xAE, 0x44, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40};
         d->blocks.size_bytes = d->blocks.first_bytes = d->blocks.middle_bytes = kBytes / 8 * 8;
         d->allocation_bytes = std::uint64_t{1} << 60U;
         d->offset_bytes = 0;
       },
       true},
  };
}

TEST_F(Hostile, LiesEndTheReceiveWithAnError) {
  const Session &session = Session::get();
  const int victim = session.rank() | 1;  // the lower rank here is the higher there
  for (const Lie &lie : lies(victim)) {
    for (const Into &into : {Into{Kind::device, kBytes, Way::kIrecv}, Into{Kind::device, 100, Way::kIrecv},
                             Into{Kind::host, kBytes, Way::kPersistent}, Into{Kind::host, 100, Way::kMatched},
                             Into{Kind::device, kBytes, Way::kMatched}, Into{Kind::device, kBytes, Way::kProbed}}) {
      SCOPED_TRACE(std::string(lie.name) + ", into " + std::to_string(into.bytes) + " bytes of memory " +
                   kind_name(into.kind) + ", way " + std::to_string(static_cast<int>(into.way)));
      if (!is_victim()) {
        ASSERT_NO_FATAL_FAILURE(Liar(past_, comm_, partner_).send(in_fields(lie.change), false));
        continue;
      }
      Ending ending;
      Victim one(past_, comm_, partner_);
      ASSERT_NO_FATAL_FAILURE(one.receive(into, &ending));
      one.expect_bystander_untouched();
      const bool is_too_short = into.bytes < kDescriptorBytes;  // nothing of such a message is used anyway
      if (lie.is_seen_in_device_memory_alone && (is_too_short || into.kind == Kind::host || !pulls())) continue;
      EXPECT_EQ(class_of(ending.code), MPI_ERR_OTHER);
    }
  }
}

// 200, or as many as --programs says.
TEST_F(Hostile, MutationsWriteNowhereElse) {
  const Options &options = Session::get().options();
  const int n_mutations = options.n_programs > 0 ? options.n_programs : options.is_full ? 5000 : 200;
  const std::array<Into, 8> targets = {
      Into{Kind::device, kBytes, Way::kIrecv},  {Kind::device, kBytes, Way::kMatched},
      {Kind::device, 100, Way::kProbed},        {Kind::host, kBytes, Way::kIrecv},
      {Kind::host, 100, Way::kMatched},         {Kind::device, kBytes, Way::kPersistent, true},
      {Kind::host, kBytes, Way::kProbed, true}, {Kind::device, 2 * kBytes, Way::kProbed}};
  Mutator mutator(options.seed, kAllBytes);
  Liar liar(past_, comm_, partner_);
  Victim victim(past_, comm_, partner_);
  int n_good = 0;
  for (int i = 0; i < n_mutations; ++i) {
    SCOPED_TRACE("mutation " + std::to_string(i));
    const Into &into = targets[static_cast<std::size_t>(i) % targets.size()];
    if (!is_victim()) {
      const std::size_t begin = mutator.below(16) == 0 ? 0 : offsetof(Descriptor, operation);
      const std::size_t end = mutator.below(2) == 0 ? offsetof(Descriptor, handle) : kDescriptorBytes;
      ASSERT_NO_FATAL_FAILURE(
          liar.send([&](std::byte *bytes) { mutator.mutate(bytes, begin, end); }, i % 3 == 2 && pulls()));
      continue;
    }
    Ending ending;
    ASSERT_NO_FATAL_FAILURE(victim.receive(into, &ending));
    n_good += ending.code == MPI_SUCCESS ? 1 : 0;
    const int error_class = class_of(ending.code);
    EXPECT_TRUE(error_class == MPI_SUCCESS || error_class == MPI_ERR_OTHER || error_class == MPI_ERR_TRUNCATE ||
                error_class == MPI_ERR_NO_MEM)
        << error_class;
  }
  victim.expect_bystander_untouched();
  if (is_victim()) {
    std::printf("%d mutations of descriptors on their way: %d receives without an error, %d with one\n", n_mutations,
                n_good, n_mutations - n_good);
  }
}

// Answers that a layer below (lying_wire.c) changes on their way: they are of another message, which the sender knows.
TEST_F(Hostile, AnswersOfOtherMessages_AreErrors) {
  const auto tell = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "lying_wire_tell"));
  if (tell == nullptr) GTEST_SKIP() << "missing: the layer that lies";
  const int count = static_cast<int>(kBytes);
  // 3: an address, which leads nowhere, and the message comes in another way.
  for (const int what : {1, 2, 3, 0}) {
    SCOPED_TRACE(what);
    // Into host memory, which asks for blocks, where requests for them are to be changed.
    const Memory memory(Session::get().module(), is_victim() || what != 2 ? Kind::device : Kind::host, kBytes, true);
    ASSERT_EQ(MPI_Barrier(comm_), MPI_SUCCESS);
    int code = MPI_SUCCESS;
    if (is_victim()) {
      memory.fill_pattern(0, what);
      code = MPI_Ssend(memory.data(), count, MPI_BYTE, partner_, kTag, comm_);
      EXPECT_EQ(class_of(code), what == 1 ? MPI_ERR_OTHER : MPI_SUCCESS);
    } else {
      tell(what);
      code = MPI_Recv(memory.data(), count, MPI_BYTE, partner_, kTag, comm_, MPI_STATUS_IGNORE);
      tell(0);
      EXPECT_EQ(class_of(code), what == 2 ? MPI_ERR_OTHER : MPI_SUCCESS);
      const std::string problem = what == 2 ? "" : find_pattern_error(memory.read(), 0, what);
      EXPECT_EQ(problem, "");
    }
  }
}

// MPI lets a program free a communicator on which a receive waits; the descriptor that comes then is compared with its
// sender all the same.
TEST_F(Hostile, HonestMessages_MayComeOnAFreedCommunicator) {
  for (const Kind kind : {Kind::device, Kind::host}) {
    const Memory memory(Session::get().module(), is_victim() ? kind : Kind::device, kBytes, true);
    MPI_Comm comm = MPI_COMM_NULL;
    ASSERT_EQ(MPI_Comm_dup(comm_, &comm), MPI_SUCCESS);
    MPI_Request request = MPI_REQUEST_NULL;
    const int count = static_cast<int>(kBytes);
    if (is_victim()) {
      ASSERT_EQ(MPI_Irecv(memory.data(), count, MPI_BYTE, partner_, kTag, comm, &request), MPI_SUCCESS);
    }
    ASSERT_EQ(MPI_Barrier(comm), MPI_SUCCESS);
    if (!is_victim()) {
      memory.fill_pattern(0, 1);
      ASSERT_EQ(MPI_Isend(memory.data(), count, MPI_BYTE, partner_, kTag, comm, &request), MPI_SUCCESS);
    }
    ASSERT_EQ(MPI_Comm_free(&comm), MPI_SUCCESS);
    ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    const std::string problem = is_victim() ? find_pattern_error(memory.read(), 0, 1) : "";
    EXPECT_EQ(problem, "");
  }
}

}  // namespace
}  // namespace sluice::tests::hostile

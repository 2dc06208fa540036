// SPDX-License-Identifier: BSD-3-Clause
// The two ranks of the tests of hostile.cpp: one that catches descriptors of its own messages and sends them on
// changed, and one that receives those, and looks at every byte.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

#include "src/transfer/descriptor.hpp"
#include "tests/support/host_mpi.hpp"
#include "tests/support/session.hpp"

namespace sluice::tests::hostile {

using transfer::Descriptor;
using transfer::kDescriptorBytes;

inline constexpr int kRealTag = 41;
inline constexpr int kTag = 42;
inline constexpr int kAsideTag = 43;
// One block of the route in blocks, and room before and behind it in its allocation.
inline constexpr std::size_t kBytes = 70'000;
inline constexpr std::size_t kBefore = 4096;
inline constexpr std::size_t kAllBytes = 1U << 20U;
// What the partner does not send: its other memory, and this rank's.
inline constexpr unsigned char kSecret = 0xEE;
inline constexpr auto kPatience = std::chrono::seconds(60);

// The host MPI's own functions, past Sluice.
struct Past {
  decltype(&PMPI_Send) send = host_function("PMPI_Send", PMPI_Send);
  decltype(&PMPI_Recv) recv = host_function("PMPI_Recv", PMPI_Recv);
};

inline int class_of(int code) {
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  return error_class;
}

using Change = std::function<void(std::byte *)>;

// The one that lies.
class Liar {
 public:
  Liar(const Past &past, MPI_Comm comm, int partner)
      : past_(past),
        comm_(comm),
        partner_(partner),
        memory_(Session::get().module(), Kind::device, kAllBytes),
        secret_(Session::get().module(), Kind::device, kAllBytes) {
    Bytes bytes(kAllBytes);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i % 101);
    memory_.write(0, bytes.data(), bytes.size());
    secret_.fill(kSecret);
  }

  // One message with a changed descriptor, and then, unless that has ended the send, with the real one.
  void send(const Change &change, bool is_gapped) {
    MPI_Datatype type = MPI_BYTE;
    int count = static_cast<int>(kBytes);
    if (is_gapped) {
      ASSERT_EQ(MPI_Type_vector(count / 8, 8, 13, MPI_BYTE, &type), MPI_SUCCESS);
      ASSERT_EQ(MPI_Type_commit(&type), MPI_SUCCESS);
      count = 1;
    }
    MPI_Request request = MPI_REQUEST_NULL;
    ASSERT_EQ(MPI_Isend(memory_.at(kBefore), count, type, partner_, kRealTag, comm_, &request), MPI_SUCCESS);
    if (is_gapped) MPI_Type_free(&type);
    std::array<std::byte, kDescriptorBytes> real{};
    ASSERT_EQ(past_.recv(real.data(), kDescriptorBytes, MPI_BYTE, partner_, kAsideTag, comm_, MPI_STATUS_IGNORE),
              MPI_SUCCESS);
    std::array<std::byte, kDescriptorBytes> changed = real;
    change(changed.data());
    ASSERT_EQ(past_.send(changed.data(), kDescriptorBytes, MPI_BYTE, partner_, kAsideTag, comm_), MPI_SUCCESS);
    ASSERT_EQ(past_.send(changed.data(), kDescriptorBytes, MPI_BYTE, partner_, kTag, comm_), MPI_SUCCESS);
    // Answers what the other asks meanwhile.
    ASSERT_EQ(MPI_Recv(nullptr, 0, MPI_BYTE, partner_, kAsideTag, comm_, MPI_STATUS_IGNORE), MPI_SUCCESS);
    int is_over = 0;
    int code = MPI_SUCCESS;
    constexpr int kLooks = 2000;  // the acknowledgement, if there is one, was sent before that
    for (int look = 0; look < kLooks && is_over == 0 && code == MPI_SUCCESS; ++look) {
      code = MPI_Test(&request, &is_over, MPI_STATUS_IGNORE);
    }
    if (code != MPI_SUCCESS) {
      EXPECT_EQ(class_of(code), MPI_ERR_OTHER);
      is_over = 1;
    }
    ASSERT_EQ(past_.send(&is_over, 1, MPI_INT, partner_, kAsideTag, comm_), MPI_SUCCESS);
    if (is_over != 0) return;
    ASSERT_EQ(past_.send(real.data(), kDescriptorBytes, MPI_BYTE, partner_, kRealTag, comm_), MPI_SUCCESS);
    ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  }

 private:
  const Past &past_;
  MPI_Comm comm_;
  int partner_;
  Memory memory_;
  Memory secret_;
};

enum class Way : std::uint8_t { kIrecv, kMatched, kPersistent, kProbed };
struct Into {
  Kind kind;
  std::size_t bytes;
  Way way;
  bool is_gapped = false;
};

// What a receive of such a message ended with.
struct Ending {
  int code = MPI_SUCCESS;
  int count = 0;
};

// The one that is lied to.
class Victim {
 public:
  Victim(const Past &past, MPI_Comm comm, int partner)
      : past_(past),
        comm_(comm),
        partner_(partner),
        bystander_(Session::get().module(), Kind::device, kAllBytes, true),
        honest_(Session::get().module(), Kind::device, kBytes, true) {}

  void receive(const Into &into, Ending *ending) {
    std::array<std::byte, kDescriptorBytes> real{};
    MPI_Status status;
    std::vector<std::byte> room(kBytes);
    ASSERT_EQ(past_.recv(room.data(), static_cast<int>(kBytes), MPI_BYTE, partner_, kRealTag, comm_, &status),
              MPI_SUCCESS);
    int count = 0;
    MPI_Get_count(&status, MPI_BYTE, &count);
    ASSERT_EQ(count, static_cast<int>(kDescriptorBytes)) << "the partner's message is not described";
    std::copy_n(room.begin(), kDescriptorBytes, real.begin());
    ASSERT_EQ(past_.send(real.data(), kDescriptorBytes, MPI_BYTE, partner_, kAsideTag, comm_), MPI_SUCCESS);
    std::array<std::byte, kDescriptorBytes> changed{};
    ASSERT_EQ(past_.recv(changed.data(), kDescriptorBytes, MPI_BYTE, partner_, kAsideTag, comm_, MPI_STATUS_IGNORE),
              MPI_SUCCESS);
    MPI_Datatype type = MPI_BYTE;
    int elements = static_cast<int>(into.bytes);
    std::size_t span = into.bytes;
    if (into.is_gapped) {
      ASSERT_EQ(MPI_Type_vector(elements / 8, 8, 16, MPI_BYTE, &type), MPI_SUCCESS);
      ASSERT_EQ(MPI_Type_commit(&type), MPI_SUCCESS);
      elements = 1;
      span = into.bytes / 8 * 16;
    }
    const Memory out(Session::get().module(), into.kind, span, true);
    out.fill(kPoison);
    receive_into(out, elements, type, into.way, ending);
    if (into.is_gapped) MPI_Type_free(&type);
    // Without the job's number in it the message is the program's own, whatever else it says.
    const bool is_plain = !is_changed_descriptor(real, changed);
    const Bytes all = out.read_with_guards();
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool is_inside = i >= kGuardBytes && i < all.size() - kGuardBytes;
      const bool is_gap = into.is_gapped && (i - kGuardBytes) % 16 >= 8;
      const bool is_sent = is_inside && !is_gap && (is_plain || all[i] < 101);
      ASSERT_TRUE(all[i] == kPoison || is_sent) << "byte " << i << " is " << int{all[i]};
    }
    receive_real();
  }
  void expect_bystander_untouched() const {
    const Bytes all = bystander_.read_with_guards();
    EXPECT_EQ(std::count(all.begin(), all.end(), kPoison), static_cast<std::ptrdiff_t>(all.size()));
  }

 private:
  static bool is_changed_descriptor(const std::array<std::byte, kDescriptorBytes> &real,
                                    const std::array<std::byte, kDescriptorBytes> &changed) {
    return std::equal(real.begin(), real.begin() + offsetof(Descriptor, operation), changed.begin());
  }

  void receive_into(const Memory &out, int count, MPI_Datatype type, Way way, Ending *ending) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Message message = MPI_MESSAGE_NULL;
    switch (way) {
      case Way::kMatched:
        ASSERT_EQ(MPI_Mprobe(partner_, kTag, comm_, &message, MPI_STATUS_IGNORE), MPI_SUCCESS);
        ASSERT_EQ(MPI_Imrecv(out.data(), count, type, &message, &request), MPI_SUCCESS);
        break;
      case Way::kPersistent:
        ASSERT_EQ(MPI_Recv_init(out.data(), count, type, partner_, kTag, comm_, &request), MPI_SUCCESS);
        ASSERT_EQ(MPI_Start(&request), MPI_SUCCESS);
        break;
      case Way::kProbed:
        ASSERT_EQ(MPI_Probe(MPI_ANY_SOURCE, kTag, comm_, MPI_STATUS_IGNORE), MPI_SUCCESS);
        [[fallthrough]];
      case Way::kIrecv:
        ASSERT_EQ(MPI_Irecv(out.data(), count, type, MPI_ANY_SOURCE, kTag, comm_, &request), MPI_SUCCESS);
    }
    MPI_Request persistent = way == Way::kPersistent ? request : MPI_REQUEST_NULL;
    MPI_Status status;
    int is_done = 0;
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (is_done == 0 && ending->code == MPI_SUCCESS) {
      ending->code = MPI_Test(&request, &is_done, &status);
      ASSERT_LT(std::chrono::steady_clock::now(), end) << "the receive does not end";
    }
    if (ending->code == MPI_SUCCESS) {
      MPI_Count bytes = 0;
      MPI_Get_elements_x(&status, type, &bytes);
      ending->count = static_cast<int>(bytes);
      EXPECT_EQ(status.MPI_SOURCE, partner_);
      EXPECT_EQ(status.MPI_TAG, kTag);
    }
    if (persistent != MPI_REQUEST_NULL) {
      ASSERT_EQ(MPI_Request_free(&persistent), MPI_SUCCESS);
    }
  }

  void receive_real() {
    ASSERT_EQ(MPI_Send(nullptr, 0, MPI_BYTE, partner_, kAsideTag, comm_), MPI_SUCCESS);
    int is_over = 0;
    ASSERT_EQ(past_.recv(&is_over, 1, MPI_INT, partner_, kAsideTag, comm_, MPI_STATUS_IGNORE), MPI_SUCCESS);
    if (is_over != 0) return;
    ASSERT_EQ(
        MPI_Recv(honest_.data(), static_cast<int>(kBytes), MPI_BYTE, partner_, kRealTag, comm_, MPI_STATUS_IGNORE),
        MPI_SUCCESS);
    EXPECT_EQ(honest_.read(0, 1)[0], kBefore % 101) << "the real message that follows a changed one";
    EXPECT_EQ(honest_.read(7, 1)[0], (kBefore + 7) % 101);
  }

  const Past &past_;
  MPI_Comm comm_;
  int partner_;
  Memory bystander_;
  Memory honest_;
};

}  // namespace sluice::tests::hostile

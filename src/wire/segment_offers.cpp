// SPDX-License-Identifier: BSD-3-Clause
#include "wire/segment_offers.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "base/log.hpp"
#include "base/signals_blocked.hpp"
#include "wire/local_socket.hpp"

namespace sluice::wire {
namespace {

// Without the zeros behind it.
std::string_view text_of(const SegmentName &name) noexcept {
  return {name.data(), strnlen(name.data(), name.size())};
}

// One byte, with which one descriptor goes.
struct Parcel {
  char byte = 0;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  iovec part = {&byte, sizeof byte};
  msghdr message = {};

  Parcel() noexcept {
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
  }
};

void send_file(int to, int file) {
  Parcel parcel;
  cmsghdr *header = CMSG_FIRSTHDR(&parcel.message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof file);
  std::memcpy(CMSG_DATA(header), &file, sizeof file);
  // It shows at the other end if it could not be sent.
  if (sendmsg(to, &parcel.message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
    log::debug("wire", std::string("a shared segment could not be handed over: ") + std::strerror(errno));
  }
}

}  // namespace

SegmentOffers &SegmentOffers::process() {
  static auto *made = new SegmentOffers();
  return *made;
}

Status SegmentOffers::add(FileDescriptor file, SegmentName *name) {
  std::uint64_t random[2] = {};
  if (getrandom(random, sizeof random, 0) != sizeof random) return socket_refused("random numbers", errno);
  Offer made;
  fmt::format_to_n(made.name.data(), made.name.size() - 1, "sluice-{:016x}{:016x}", random[0], random[1]);
  made.file = std::move(file);
  if (Status status = listen_at(text_of(made.name), &made.listener); !status.is_ok()) return status;
  const std::scoped_lock lock(mutex_);
  if (Status status = start_thread(); !status.is_ok()) return status;
  *name = made.name;
  offers_.push_back(std::move(made));
  wake();
  return {};
}

void SegmentOffers::remove(const SegmentName &name) noexcept {
  const std::scoped_lock lock(mutex_);
  if (std::erase_if(offers_, [&](const Offer &offer) { return offer.name == name; }) != 0) wake();
}

// The thread looks at the offers again. With the lock.
void SegmentOffers::wake() noexcept {
  if (eventfd_write(wake_.get(), 1) != 0) log::warn_once("segment_offers", "wire", "a thread cannot be woken");
}

// With the lock. It ends by itself when nothing is offered; nobody waits for that.
Status SegmentOffers::start_thread() {
  if (is_serving_) return {};
  if (wake_.get() < 0) wake_ = FileDescriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (wake_.get() < 0) return socket_refused("eventfd", errno);
  try {
    const SignalsBlocked blocked;
    std::thread([this] { serve(); }).detach();
  } catch (const std::exception &error) {
    return Status::error(ErrorKind::kUnsupported, std::string("shared memory: no thread: ") + error.what() +
                                                      "; raise the limit of threads (ulimit -u)");
  }
  is_serving_ = true;
  return {};
}

void SegmentOffers::serve() noexcept {
  std::vector<pollfd> watched;
  while (true) {
    try {
      const std::scoped_lock lock(mutex_);
      for (const pollfd &one : watched) {
        if (one.revents != 0 && one.fd != wake_.get()) hand_out(one.fd);
      }
      eventfd_t n_changes = 0;
      static_cast<void>(eventfd_read(wake_.get(), &n_changes));  // it may be that nothing has changed
      is_serving_ = !offers_.empty();
      if (!is_serving_) return;
      watched.assign(1, {wake_.get(), POLLIN, 0});
      for (const Offer &offer : offers_) watched.push_back({offer.listener.get(), POLLIN, 0});
    } catch (const std::exception &error) {
      log::warn_once("segment_offers", "wire", std::string("a shared segment may not be found: ") + error.what());
    }
    constexpr int kLookAgainMs = 1000;  // where there was no memory for the list
    if (poll(watched.data(), watched.size(), kLookAgainMs) < 0 && errno != EINTR) {
      log::warn_once("segment_offers", "wire", std::string("poll: ") + std::strerror(errno));
    }
  }
}

// To all who have asked by now. With the lock; without waiting for anybody.
void SegmentOffers::hand_out(int listener) noexcept {
  const auto found = std::find_if(offers_.begin(), offers_.end(),
                                  [&](const Offer &offer) { return offer.listener.get() == listener; });
  if (found == offers_.end()) return;
  while (true) {
    const FileDescriptor asking(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (asking.get() < 0) return;
    if (is_same_user(asking)) send_file(asking.get(), found->file.get());
  }
}

Status ask_for_segment(const SegmentName &name, FileDescriptor *file) {
  FileDescriptor asking;
  if (Status status = connect_to(text_of(name), &asking); !status.is_ok()) return status;
  Parcel parcel;
  ssize_t n = 0;
  do {
    n = recvmsg(asking.get(), &parcel.message, MSG_CMSG_CLOEXEC);
  } while (n < 0 && errno == EINTR);
  if (n < 0) return socket_refused("recvmsg", errno);
  const cmsghdr *header = CMSG_FIRSTHDR(&parcel.message);
  if (header == nullptr || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS ||
      header->cmsg_len != CMSG_LEN(sizeof(int))) {
    return socket_refused("no file came", n == 0 ? ENOENT : EMFILE);
  }
  int number = -1;
  std::memcpy(&number, CMSG_DATA(header), sizeof number);
  *file = FileDescriptor(number);
  return {};
}

}  // namespace sluice::wire

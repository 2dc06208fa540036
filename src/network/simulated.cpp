// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <system_error>
#include <utility>

#include "base/file_descriptor.hpp"
#include "device/ipc_exports.hpp"
#include "device/ipc_imports.hpp"
#include "device/queue.hpp"
#include "network/provider.hpp"

namespace sluice::network {
namespace {

constexpr std::size_t kMostUnexpected = 4096;
constexpr unsigned kSlowTurns = 64;

// What one card tells another. Plain bytes; never used before is_sound().
struct Word {
  enum class Kind : std::uint32_t { kOffer, kDone, kFailed };
  static constexpr std::uint64_t kMagic = 0x6c'75'69'63'65'2d'6e'31ULL;
  std::uint64_t magic = kMagic;
  Kind kind = Kind::kOffer;
  std::int32_t process = 0;  // the sender's
  std::uint64_t tag = 0;
  std::uint64_t ticket = 0;   // of the sender's transfer: comes back with the end
  std::uint64_t address = 0;  // of the memory, in that process
  std::uint64_t size_bytes = 0;
  std::uint64_t offset_bytes = 0;  // in its allocation
  std::uint64_t allocation_bytes = 0;
  std::uint64_t exporter = 0;  // tells processes apart, as ExportOrigin wants it
  char backend[16] = {};
  sluice_ipc_handle_t handle{};
};

Status refused(const char *what) {
  return Status::error(ErrorKind::kBackend, fmt::format("the simulated network {}; set SLUICE_NETWORK=off", what));
}

Status export_memory(const Memory &memory, device::Exported *exported) {
  return device::IpcExports::process().find(memory.place, memory.data, memory.size_bytes, exported);
}

// One message of this process, sent or received.
struct Message {
  Memory memory;
  std::uint64_t tag = 0;
  std::uint64_t ticket = 0;  // of a send
  bool is_send = false;
  bool has_ended = false;
  Status outcome;
  unsigned n_turns = 0;  // since it was matched
  // of a receive that was matched
  bool is_matched = false;
  std::string from;
  std::uint64_t sender_ticket = 0;
  device::ImportedPtr imported;
  device::Queue queue;  // outlives the copy
  device::PendingCopy copy;
  bool is_copied = false;
};

class Simulated final : public Provider {
 public:
  Simulated(Fault fault, FileDescriptor socket, std::string address) noexcept
      : fault_(fault), socket_(std::move(socket)), address_(std::move(address)) {}

  [[nodiscard]] std::string_view name() const noexcept override { return "simulated"; }
  [[nodiscard]] const std::string &address() const noexcept override { return address_; }
  [[nodiscard]] bool takes(const Memory &memory) override {
    device::Exported exported;
    return memory.place.kind == MemoryKind::kDevice && export_memory(memory, &exported).is_ok();
  }
  [[nodiscard]] Status send(const Memory &memory, int peer, std::string_view address, std::uint64_t tag,
                            std::unique_ptr<Transfer> *transfer) override;
  [[nodiscard]] Status receive(const Memory &memory, std::uint64_t tag, std::unique_ptr<Transfer> *transfer) override;

  // Of the transfers; each with the lock.
  [[nodiscard]] bool poll(Message *message, Status *outcome);
  void cancel(Message *message) noexcept;
  void forget(const std::shared_ptr<Message> &message) noexcept;

 private:
  struct Unsent {
    std::string to;
    Word word;
  };
  struct Came {
    std::string from;
    Word word;
  };
  [[nodiscard]] std::unique_ptr<Transfer> watch(std::shared_ptr<Message> message);
  void turn();
  void hear();
  void take(const Came &came);
  void match();
  void begin(Message *message, const Came &came);
  [[nodiscard]] Status begin_copy(Message *message, const Word &word);
  void go_on(Message *message);
  void end(Message *message, Status outcome);
  void end_send(std::uint64_t ticket, const Status &outcome);
  void tell(std::string to, const Word &word);
  void flush();

  const Fault fault_;
  const FileDescriptor socket_;
  const std::string address_;
  std::mutex mutex_;
  std::uint64_t last_ticket_ = 0;
  std::list<std::shared_ptr<Message>> messages_;
  std::deque<Came> unexpected_;
  std::deque<Unsent> unsent_;
};

class SimulatedTransfer final : public Transfer {
 public:
  SimulatedTransfer(Simulated *owner, std::shared_ptr<Message> message) noexcept
      : owner_(owner), message_(std::move(message)) {}
  ~SimulatedTransfer() override { owner_->forget(message_); }

  [[nodiscard]] bool poll(Status *outcome) override { return owner_->poll(message_.get(), outcome); }
  void cancel() noexcept override { owner_->cancel(message_.get()); }

 private:
  Simulated *const owner_;
  const std::shared_ptr<Message> message_;
};

sockaddr_un socket_address(std::string_view name, socklen_t *length) noexcept {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t size = std::min(name.size(), sizeof address.sun_path - 1);
  std::memcpy(address.sun_path + 1, name.data(), size);  // in no folder
  *length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + size);
  return address;
}

bool is_sound(const Word &word) noexcept {
  return word.magic == Word::kMagic && std::memchr(word.backend, 0, sizeof word.backend) != nullptr &&
         word.offset_bytes <= word.allocation_bytes && word.size_bytes <= word.allocation_bytes - word.offset_bytes;
}

Status Simulated::send(const Memory &memory, int /*peer*/, std::string_view address, std::uint64_t tag,
                       std::unique_ptr<Transfer> *transfer) {
  const bool is_to_other = address != address_;
  if (is_to_other && fault_ == Fault::kRefuses) return refused("refuses this send, as it was told to");
  if (is_to_other && fault_ == Fault::kBusy) return {};
  Word word;
  word.process = getpid();
  word.tag = tag;
  word.address = reinterpret_cast<std::uintptr_t>(memory.data);
  word.size_bytes = word.allocation_bytes = memory.size_bytes;
  word.exporter = static_cast<std::uint64_t>(getpid());
  const char *const name = memory.place.backend->name();
  std::memcpy(word.backend, name, std::min(std::strlen(name), sizeof word.backend - 1));
  if (is_to_other) {
    device::Exported exported;
    Status status = export_memory(memory, &exported);
    if (!status.is_ok()) return status;
    word.handle = exported.handle;
    word.offset_bytes = exported.offset_bytes;
    word.allocation_bytes = exported.allocation_bytes;
  }
  auto message = std::make_shared<Message>();
  message->memory = memory;
  message->tag = tag;
  message->is_send = true;
  const std::scoped_lock lock(mutex_);
  message->ticket = word.ticket = ++last_ticket_;
  *transfer = watch(message);
  tell(std::string(address), word);
  return {};
}

Status Simulated::receive(const Memory &memory, std::uint64_t tag, std::unique_ptr<Transfer> *transfer) {
  if (!takes(memory)) return refused("takes only device memory that other processes can map");
  auto message = std::make_shared<Message>();
  message->memory = memory;
  message->tag = tag;
  const std::scoped_lock lock(mutex_);
  *transfer = watch(message);
  return {};
}

std::unique_ptr<Transfer> Simulated::watch(std::shared_ptr<Message> message) {
  auto transfer = std::make_unique<SimulatedTransfer>(this, message);
  messages_.push_back(std::move(message));
  return transfer;
}

bool Simulated::poll(Message *message, Status *outcome) {
  const std::scoped_lock lock(mutex_);
  turn();
  if (message->has_ended) *outcome = message->outcome;
  return message->has_ended;
}

void Simulated::cancel(Message *message) noexcept {
  const std::scoped_lock lock(mutex_);
  if (message->has_ended || message->is_matched) return;
  message->has_ended = true;
  message->outcome = refused("has cancelled a message");
}

void Simulated::forget(const std::shared_ptr<Message> &message) noexcept {
  const std::scoped_lock lock(mutex_);
  messages_.remove(message);
}

void Simulated::turn() {
  flush();
  hear();
  match();
  for (const std::shared_ptr<Message> &message : messages_) {
    if (message->is_matched && !message->has_ended) go_on(message.get());
  }
}

void Simulated::hear() {
  for (;;) {
    Came came;
    sockaddr_un from{};
    socklen_t length = sizeof from;
    const ssize_t n = recvfrom(socket_.get(), &came.word, sizeof came.word, MSG_DONTWAIT,
                               reinterpret_cast<sockaddr *>(&from), &length);
    if (n < 0) return;  // nothing there
    constexpr std::size_t kName = offsetof(sockaddr_un, sun_path) + 1;
    if (n != sizeof came.word || !is_sound(came.word) || length <= kName) continue;
    came.from.assign(from.sun_path + 1, length - kName);
    take(came);
  }
}

void Simulated::take(const Came &came) {
  if (came.word.kind == Word::Kind::kOffer) {
    if (unexpected_.size() < kMostUnexpected) unexpected_.push_back(came);
    return;
  }
  end_send(came.word.ticket, came.word.kind == Word::Kind::kDone ? Status() : refused("failed at the receiver"));
}

void Simulated::end_send(std::uint64_t ticket, const Status &outcome) {
  for (const std::shared_ptr<Message> &message : messages_) {
    if (!message->is_send || message->has_ended || message->ticket != ticket) continue;
    message->has_ended = true;
    message->outcome = outcome;
  }
}

void Simulated::match() {
  std::erase_if(unexpected_, [this](const Came &came) {
    const auto found = std::ranges::find_if(messages_, [&](const std::shared_ptr<Message> &message) {
      return !message->is_send && !message->has_ended && !message->is_matched && message->tag == came.word.tag;
    });
    if (found == messages_.end()) return false;
    begin(found->get(), came);
    return true;
  });
}

void Simulated::begin(Message *message, const Came &came) {
  message->is_matched = true;
  message->from = came.from;
  message->sender_ticket = came.word.ticket;
  const bool fails = fault_ == Fault::kFails && came.from != address_;
  Status status = fails ? refused("fails, as it was told to") : begin_copy(message, came.word);
  if (!status.is_ok()) end(message, std::move(status));
}

Status Simulated::begin_copy(Message *message, const Word &word) {
  const Memory &memory = message->memory;
  if (word.size_bytes != memory.size_bytes) return refused("has met a message of another length");
  if (memory.place.backend->name() != std::string_view(word.backend)) {
    return refused("does not carry memory of one runtime to another");
  }
  const std::byte *source = nullptr;
  if (word.process == getpid() && message->from == address_) {
    source = reinterpret_cast<const std::byte *>(static_cast<std::uintptr_t>(word.address));
  } else {
    const device::ExportOrigin origin{word.exporter, word.address - word.offset_bytes, word.allocation_bytes};
    Status status = device::IpcImports::process().open(memory.place.backend, memory.place.device_index(), word.handle,
                                                       origin, &message->imported);
    if (!status.is_ok()) return status;
    source = message->imported->base() + word.offset_bytes;
  }
  Status status = message->queue.acquire(memory.place);
  const sluice_copy_t piece{memory.data, source, memory.size_bytes};
  if (status.is_ok()) status = message->copy.begin(&message->queue, {&piece, 1});
  return status;
}

void Simulated::go_on(Message *message) {
  Status status;
  if (!message->is_copied) status = message->copy.poll(&message->is_copied);
  if (!message->is_copied) return;
  if (status.is_ok() && fault_ == Fault::kSlow && ++message->n_turns < kSlowTurns) return;
  end(message, std::move(status));
}

// The sender's memory is its own again.
void Simulated::end(Message *message, Status outcome) {
  Word word;
  word.kind = outcome.is_ok() ? Word::Kind::kDone : Word::Kind::kFailed;
  word.ticket = message->sender_ticket;
  message->imported.reset();
  message->has_ended = true;
  message->outcome = std::move(outcome);
  tell(message->from, word);
}

void Simulated::tell(std::string to, const Word &word) {
  unsent_.push_back({std::move(to), word});
  flush();
}

// In order; a socket that has no room is tried again later.
void Simulated::flush() {
  while (!unsent_.empty()) {
    const Unsent &next = unsent_.front();
    socklen_t length = 0;
    const sockaddr_un address = socket_address(next.to, &length);
    const ssize_t n = sendto(socket_.get(), &next.word, sizeof next.word, MSG_DONTWAIT,
                             reinterpret_cast<const sockaddr *>(&address), length);
    if (n < 0 && (errno == EAGAIN || errno == ENOBUFS || errno == EINTR)) return;
    if (n < 0 && next.word.kind == Word::Kind::kOffer) {  // nobody is there any more
      end_send(next.word.ticket, refused("has lost the process at the other end"));
    }
    unsent_.pop_front();
  }
}

}  // namespace

Status open_simulated(Fault fault, std::unique_ptr<Provider> *provider) {
  FileDescriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  static std::atomic<unsigned> n_opened{0};
  std::random_device random;
  std::string address = fmt::format("sluice-network-{}-{}-{:08x}", getpid(), n_opened.fetch_add(1), random());
  socklen_t length = 0;
  const sockaddr_un name = socket_address(address, &length);
  if (socket.get() < 0 || bind(socket.get(), reinterpret_cast<const sockaddr *>(&name), length) != 0) {
    const int code = errno;
    return Status::error(ErrorKind::kUnsupported,
                         fmt::format("the simulated network has no socket: {}; set SLUICE_NETWORK=off",
                                     std::system_category().message(code)));
  }
  *provider = std::make_unique<Simulated>(fault, std::move(socket), std::move(address));
  return {};
}

}  // namespace sluice::network

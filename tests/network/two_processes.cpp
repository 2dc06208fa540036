// SPDX-License-Identifier: BSD-3-Clause
#include "tests/network/two_processes.hpp"

#include <fcntl.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): POSIX's kill
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "device/registry.hpp"

// NOLINTNEXTLINE(readability-redundant-declaration): POSIX declares it in no header
extern char **environ;

namespace sluice::tests::network_test {
namespace {

constexpr int kChildSocket = 3;

void put(int socket, const void *bytes, std::size_t size_bytes) {
  const auto *next = static_cast<const char *>(bytes);
  while (size_bytes > 0) {
    const ssize_t n = ::send(socket, next, size_bytes, MSG_NOSIGNAL);
    if (n <= 0) throw std::runtime_error("the other process is gone");
    next += n;
    size_bytes -= static_cast<std::size_t>(n);
  }
}

void get(int socket, void *bytes, std::size_t size_bytes) {
  auto *next = static_cast<char *>(bytes);
  while (size_bytes > 0) {
    const ssize_t n = recv(socket, next, size_bytes, 0);
    if (n <= 0) throw std::runtime_error("the other process is gone");
    next += n;
    size_bytes -= static_cast<std::size_t>(n);
  }
}

void put_address(int socket, const std::string &address) {
  const std::uint64_t length = address.size();
  put(socket, &length, sizeof length);
  put(socket, address.data(), length);
}

std::string get_address(int socket) {
  std::uint64_t length = 0;
  get(socket, &length, sizeof length);
  std::string address(length, '\0');
  get(socket, address.data(), length);
  return address;
}

void must(const Status &status) {
  if (!status.is_ok()) throw std::runtime_error(status.message());
}

}  // namespace

Options &options() {
  static Options given;
  return given;
}

std::string Site::open(bool *is_broken) {
  *is_broken = false;
  std::string reason;
  if (!options().backend.empty()) {
    module_ = BackendModule::open(options().backend, reason);
    if (module_ == nullptr) return "backend " + options().backend + ": " + reason;
    Status status;
    if (device::Registry::process().load(options().backend, &status) == nullptr) {
      *is_broken = true;
      return status.message();
    }
  }
  const Status status = options().provider == "ucp" ? network::open_ucp(&provider_)
                                                    : network::open_simulated(network::Fault::kNone, &provider_);
  *is_broken = !status.is_ok() && status.kind() != ErrorKind::kUnsupported;
  if (!status.is_ok() || module_ == nullptr) return status.message();
  const Memory memory = allocate(4096);
  return provider_->takes(of(memory, 4096)) ? "" : "it takes no device memory of " + options().backend + " here";
}

Memory Site::allocate(std::size_t size_bytes) const {
  return {module_, module_ == nullptr ? Kind::host : Kind::device, size_bytes, true};
}

network::Memory Site::of(const Memory &memory, std::size_t size_bytes) {
  network::Memory made{{}, static_cast<std::byte *>(memory.data()), size_bytes};
  must(device::classify(memory.data(), &made.place));
  return made;
}

int Site::number_of(const std::string &address) const {
  const auto known = std::ranges::find(addresses_, address);
  const auto number = static_cast<int>(known - addresses_.begin());
  if (known == addresses_.end()) addresses_.push_back(address);
  return number;
}

Status finish(network::Transfer *transfer) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  Status outcome;
  while (!transfer->poll(&outcome)) {
    if (std::chrono::steady_clock::now() > end) throw std::runtime_error("a message does not end");
  }
  return outcome;
}

void end_together(int socket, network::Transfer *any) {
  put(socket, "!", 1);
  const auto end = std::chrono::steady_clock::now() + kPatience;
  char word = 0;
  Status outcome;
  while (recv(socket, &word, 1, MSG_DONTWAIT) != 1) {
    static_cast<void>(any->poll(&outcome));
    if (std::chrono::steady_clock::now() > end) throw std::runtime_error("the other process does not end");
  }
}

Status send(const Site &site, const network::Memory &memory, const std::string &address, std::uint64_t tag,
            std::unique_ptr<network::Transfer> *transfer) {
  const int peer = site.number_of(address);
  const auto end = std::chrono::steady_clock::now() + kPatience;
  Status status;
  while (status.is_ok() && *transfer == nullptr) {
    status = site.provider().send(memory, peer, address, tag, transfer);
    if (std::chrono::steady_clock::now() > end) throw std::runtime_error("a message is not taken");
  }
  return status;
}

Peer::Peer(const Site &site) {
  std::array<int, 2> pair{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) throw std::runtime_error("no socketpair");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // dup2 onto itself would keep the close-on-exec mark.
  const int source = pair[1] == kChildSocket ? fcntl(pair[1], F_DUPFD_CLOEXEC, kChildSocket + 1) : pair[1];
  posix_spawn_file_actions_adddup2(&actions, source, kChildSocket);
  std::array<std::string, 9> words = {"/proc/self/exe",  "--peer",           std::to_string(kChildSocket),
                                      "--provider",      options().provider, "--backend",
                                      options().backend, "--module-dir",     options().module_dir};
  std::array<char *, words.size() + 1> arguments{};
  for (std::size_t i = 0; i < words.size(); ++i) arguments[i] = words[i].data();
  const int code = posix_spawn(&pid_, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (source != pair[1]) close(source);
  close(pair[1]);
  socket_ = pair[0];
  if (code != 0) throw std::runtime_error("the other process cannot be started");
  put_address(socket_, site.provider().address());
  address_ = get_address(socket_);
}

Peer::~Peer() {
  const Question last;
  static_cast<void>(::send(socket_, &last, sizeof last, MSG_NOSIGNAL));
  close(socket_);
  if (pid_ > 0) waitpid(pid_, nullptr, 0);
}

void Peer::ask(const Question &question) const {
  put(socket_, &question, sizeof question);
  char is_ready = 0;
  get(socket_, &is_ready, 1);
}

void Peer::end_together(network::Transfer *any) const {
  network_test::end_together(socket_, any);
}

void Peer::kill() const {
  ::kill(pid_, SIGKILL);
  char none = 0;
  static_cast<void>(recv(socket_, &none, 1, 0));  // returns once it is gone
}

int be_peer(const Site &site, int socket) {
  put_address(socket, site.provider().address());
  const std::string other = get_address(socket);
  for (;;) {
    Question question;
    get(socket, &question, sizeof question);
    if (question.n == 0) return 0;
    std::vector<Memory> memories;
    std::vector<std::unique_ptr<network::Transfer>> transfers(question.n);
    for (std::uint64_t i = 0; i < question.n; ++i) memories.push_back(site.allocate(question.size_bytes));
    for (std::uint64_t i = question.n; i-- > 0;) {
      must(site.provider().receive(Site::of(memories[i], question.size_bytes), question.tag + i, &transfers[i]));
    }
    put(socket, "!", 1);
    for (std::uint64_t i = 0; i < question.n; ++i) {
      // One that came wrong is sent back as it is: the other process compares.
      static_cast<void>(finish(transfers[i].get()));
      transfers[i].reset();
      must(send(site, Site::of(memories[i], question.size_bytes), other, question.tag + i + kBack, &transfers[i]));
      must(finish(transfers[i].get()));
    }
    end_together(socket, transfers[0].get());
  }
}

}  // namespace sluice::tests::network_test

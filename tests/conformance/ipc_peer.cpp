// SPDX-License-Identifier: BSD-3-Clause
// Starting the other process and talking to it. It is spawned, never forked: the runtime is up in this one.
#include "ipc_peer.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

// NOLINTNEXTLINE(readability-redundant-declaration): POSIX declares it in no header
extern char **environ;

namespace conformance {
namespace {

std::string g_backend;
std::string g_module_dir;

// The child's end of the socket keeps this number through the exec.
constexpr int kChildSocket = 3;

std::string errno_words(const char *call) {
  const int code = errno;
  return std::string(call) + ": " + std::strerror(code);  // NOLINT(concurrency-mt-unsafe): tests start one at a time
}

}  // namespace

void remember_arguments(const std::string &backend, const std::string &module_dir) {
  g_backend = backend;
  g_module_dir = module_dir;
}

std::string to_hex(const sluice_ipc_handle_t &handle) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : handle.bytes) {
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
  return text;
}

bool from_hex(const std::string &text, sluice_ipc_handle_t *handle) {
  if (text.size() != 2 * sizeof handle->bytes) return false;
  for (size_t i = 0; i < sizeof handle->bytes; ++i) {
    handle->bytes[i] = static_cast<uint8_t>(std::stoul(text.substr(2 * i, 2), nullptr, 16));
  }
  return true;
}

Holdings holdings() {
  Holdings found;
  found.n_descriptors =
      std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) ++found.n_mappings;
  return found;
}

Peer::Peer() {
  std::array<int, 2> pair{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) {
    problem_ = errno_words("socketpair");
    return;
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // dup2 onto itself would keep the close-on-exec mark.
  const int source = pair[1] == kChildSocket ? fcntl(pair[1], F_DUPFD_CLOEXEC, kChildSocket + 1) : pair[1];
  posix_spawn_file_actions_adddup2(&actions, source, kChildSocket);
  std::string program = "/proc/self/exe";
  std::string socket = std::to_string(kChildSocket);
  std::string peer_option = kPeerOption;
  std::string backend_option = "--backend";
  std::string module_option = "--module-dir";
  std::array<char *, 8> arguments = {program.data(),   peer_option.data(),   socket.data(),       backend_option.data(),
                                     g_backend.data(), module_option.data(), g_module_dir.data(), nullptr};
  const int code = posix_spawn(&pid_, program.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (source != pair[1]) close(source);
  close(pair[1]);
  socket_ = pair[0];
  if (code != 0) {
    pid_ = -1;
    problem_ = std::string("posix_spawn: ") + std::strerror(code);  // NOLINT(concurrency-mt-unsafe): as above
    return;
  }
  const Answer hello = ask("hello");
  if (!hello.is_ok()) problem_ = "the other process: " + hello.text;
}

Answer Peer::ask(const std::string &question) const {
  const std::string line = question + "\n";
  for (size_t sent = 0; sent < line.size();) {
    const ssize_t n = send(socket_, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return {SLUICE_ERROR_NATIVE, errno_words("the other process is gone: send")};
    sent += static_cast<size_t>(n);
  }
  std::string reply;
  std::array<char, 4096> bytes{};
  while (reply.empty() || reply.back() != '\n') {
    const ssize_t n = read(socket_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return {SLUICE_ERROR_NATIVE, "the other process ended during: " + question};
    reply.append(bytes.data(), static_cast<size_t>(n));
  }
  reply.pop_back();
  const size_t space = reply.find(' ');
  const std::string first = reply.substr(0, space);
  const std::string rest = space == std::string::npos ? "" : reply.substr(space + 1);
  if (first == "ok") return {SLUICE_SUCCESS, rest};
  return {static_cast<sluice_result_t>(std::stoi(first)), rest};
}

std::string Peer::order(const std::string &question) const {
  const Answer answer = ask(question);
  return answer.is_ok() ? "" : answer.text;
}

std::string Peer::alloc(int32_t device, size_t size_bytes) const {
  return order("alloc " + std::to_string(device) + " " + std::to_string(size_bytes));
}

Answer Peer::export_memory(size_t index, size_t offset, Export *exported) const {
  Answer answer = ask("export " + std::to_string(index) + " " + std::to_string(offset));
  if (!answer.is_ok()) return answer;
  std::istringstream words(answer.text);
  std::string hex;
  words >> hex >> exported->base_offset >> exported->size_bytes;
  if (!words || !from_hex(hex, &exported->handle)) return {SLUICE_ERROR_NATIVE, "not understood: " + answer.text};
  return answer;
}

Answer Peer::open(int32_t device, const sluice_ipc_handle_t &handle) const {
  return ask("open " + std::to_string(device) + " " + to_hex(handle));
}

int Peer::end() {
  if (socket_ >= 0) close(std::exchange(socket_, -1));
  int status = -1;
  if (pid_ > 0) {
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace conformance

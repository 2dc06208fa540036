// SPDX-License-Identifier: BSD-3-Clause
// Fabric of a build without libfabric's headers: open() says so, and nothing else is ever called.
#include "wire/fabric.hpp"

namespace sluice::wire {
namespace {

Status missing() {
  return Status::error(ErrorKind::kUnsupported,
                       "Sluice was built without libfabric's headers; install them (Debian: libfabric-dev) and build "
                       "again");
}

}  // namespace

struct Fabric::State {};
struct FabricTrigger::State {};
struct FabricMessage::State {};

FabricTrigger::FabricTrigger() noexcept = default;
FabricTrigger::~FabricTrigger() = default;
Status FabricTrigger::open() {
  return missing();
}
Status FabricTrigger::add(std::uint64_t /*by*/) const {
  return missing();
}

FabricMessage::FabricMessage() noexcept = default;
FabricMessage::~FabricMessage() = default;
Status FabricMessage::defer_send(const FabricTrigger & /*trigger*/, std::uint64_t /*number*/, const void * /*data*/,
                                 std::size_t /*size_bytes*/, int /*world_rank*/, std::uint64_t /*tag*/,
                                 bool * /*is_taken*/) {
  return missing();
}
Status FabricMessage::send(const void * /*data*/, std::size_t /*size_bytes*/, int /*world_rank*/, std::uint64_t /*tag*/,
                           bool * /*is_taken*/) {
  return missing();
}
Status FabricMessage::receive(void * /*data*/, std::size_t /*size_bytes*/, int /*world_rank*/, std::uint64_t /*tag*/,
                              bool * /*is_taken*/) {
  return missing();
}
bool FabricMessage::poll(Outcome * /*outcome*/) {
  return false;
}

Fabric::Fabric() noexcept = default;
Fabric &Fabric::process() {
  static auto *fabric = new Fabric();
  return *fabric;
}
Status Fabric::open(const std::string & /*provider*/) {
  return missing();
}
std::string Fabric::address() const {
  return "";
}
Status Fabric::connect(std::span<const std::string> /*addresses*/) {
  return missing();
}
bool Fabric::reaches(int /*world_rank*/) const noexcept {
  return false;
}
unsigned Fabric::tag_bits() const noexcept {
  return 0;
}
std::string Fabric::provider() const {
  return "none";
}
void Fabric::turn() noexcept {}
void Fabric::close() noexcept {}

}  // namespace sluice::wire

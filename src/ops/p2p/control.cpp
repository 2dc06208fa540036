// SPDX-License-Identifier: BSD-3-Clause
#include "ops/p2p/control.hpp"

#include <utility>

#include "base/log.hpp"
#include "ops/p2p/outgoing.hpp"
#include "wire/channel.hpp"
#include "wire/host.hpp"

namespace sluice::ops {
namespace {

std::shared_ptr<ControlListener> &listener() {
  static auto *made = new std::shared_ptr<ControlListener>(std::make_shared<ControlListener>());
  return *made;
}

}  // namespace

ControlListener &ControlListener::process() {
  return *listener();
}

void ControlListener::add(int number, std::weak_ptr<Outgoing> outgoing) {
  const std::scoped_lock lock(mutex_);
  sends_.insert_or_assign(number, std::move(outgoing));
  if (is_watched_) return;
  is_watched_ = true;
  progress::Engine::process().watch(listener());
}

void ControlListener::remove(int number) {
  const std::scoped_lock lock(mutex_);
  sends_.erase(number);
}

bool ControlListener::advance() {
  const wire::Channel &channel = wire::Channel::process();
  int is_done = 0;
  int code = MPI_SUCCESS;
  if (request_ != MPI_REQUEST_NULL) {
    code = wire::host().MPI_Test(&request_, &is_done, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS && is_done != 0) dispatch();
  }
  if (request_ == MPI_REQUEST_NULL && code == MPI_SUCCESS) {
    code = wire::host().MPI_Irecv(&control_, sizeof control_, MPI_BYTE, MPI_ANY_SOURCE,
                                  wire::Channel::tag(wire::PrivateKind::kControl, 0), channel.comm(), &request_);
  }
  if (code != MPI_SUCCESS) log::warn_once("control", "p2p", "the host MPI could not receive a control message");
  const std::scoped_lock lock(mutex_);
  is_watched_ = !sends_.empty();
  return !is_watched_;
}

void ControlListener::dispatch() {
  std::shared_ptr<Outgoing> outgoing;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = sends_.find(control_.number);
    if (found != sends_.end()) outgoing = found->second.lock();
  }
  if (outgoing != nullptr && control_.kind == Control::Kind::kGo) outgoing->go(control_);
}

void ControlListener::close() noexcept {
  if (request_ == MPI_REQUEST_NULL) return;
  if (wire::host().MPI_Cancel(&request_) != MPI_SUCCESS ||
      wire::host().MPI_Wait(&request_, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
    log::warn_once("control", "p2p", "the receive of control messages could not be withdrawn");
  }
}

}  // namespace sluice::ops

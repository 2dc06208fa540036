// SPDX-License-Identifier: BSD-3-Clause
#include "device/copy_batch.hpp"

#include <algorithm>

namespace sluice::device {
namespace {

std::mutex mutex;
// The batches that still collect, one for each device that has any.
std::vector<std::weak_ptr<CopyBatch>> &collecting() {
  static auto *batches = new std::vector<std::weak_ptr<CopyBatch>>();
  return *batches;
}

}  // namespace

std::shared_ptr<CopyBatch> CopyBatch::alone(const Place &place, const sluice_copy_t &piece) {
  auto batch = std::make_shared<CopyBatch>(place);
  batch->pieces_.push_back(piece);
  batch->is_closed_ = true;
  return batch;
}

std::shared_ptr<CopyBatch> CopyBatch::join(const Place &place, const sluice_copy_t &piece) {
  if (piece.size_bytes > kLongestBytes) return alone(place, piece);
  const std::scoped_lock lock(mutex);
  std::erase_if(collecting(), [](const std::weak_ptr<CopyBatch> &entry) {
    const std::shared_ptr<CopyBatch> batch = entry.lock();
    return batch == nullptr || batch->is_closed_;
  });
  for (const std::weak_ptr<CopyBatch> &entry : collecting()) {
    std::shared_ptr<CopyBatch> batch = entry.lock();
    if (batch == nullptr || batch->place_.backend != place.backend || batch->place_.device != place.device) continue;
    batch->pieces_.push_back(piece);
    batch->is_closed_ = batch->pieces_.size() == kMost;
    return batch;
  }
  auto batch = std::make_shared<CopyBatch>(place);
  batch->pieces_.push_back(piece);
  collecting().push_back(batch);
  return batch;
}

std::uint64_t CopyBatch::size_bytes() const noexcept {
  std::uint64_t sum = 0;
  for (const sluice_copy_t &piece : pieces_) sum += piece.size_bytes;
  return sum;
}

Status CopyBatch::begin() {
  is_closed_ = true;
  if (Status status = queue_.acquire(place_); !status.is_ok()) return status;
  Status status = copy_.begin(&queue_, pieces_);
  has_begun_ = status.is_ok();
  return status;
}

Status CopyBatch::poll(std::uint64_t turn, bool *is_done) {
  if (!has_begun_ && !is_done_) {
    outcome_ = begin();
    is_done_ = !outcome_.is_ok();
  }
  if (!is_done_ && asked_in_ != turn) outcome_ = copy_.poll(&is_done_);
  asked_in_ = turn;
  *is_done = is_done_;
  return outcome_;
}

}  // namespace sluice::device

// SPDX-License-Identifier: BSD-3-Clause
#include "device/copy_batch.hpp"

#include <algorithm>
#include <mutex>
#include <span>
#include <vector>

#include "base/recycled.hpp"
#include "base/short_mutex.hpp"

namespace sluice::device {
namespace {

ShortMutex mutex;
// The batches that still collect: of each device those of own memory and of peers', short and long.
std::vector<std::weak_ptr<CopyBatch>> &collecting() {
  static auto *batches = new std::vector<std::weak_ptr<CopyBatch>>();
  return *batches;
}

}  // namespace

std::shared_ptr<CopyBatch> CopyBatch::alone(const Place &place, const sluice_copy_t &piece) {
  auto batch = make_recycled<CopyBatch>(place, Source::kPeer, false);
  batch->add(piece);
  batch->is_closed_ = true;
  return batch;
}

std::shared_ptr<CopyBatch> CopyBatch::join(const Place &place, const sluice_copy_t &piece, Source source) {
  if (piece.size_bytes > kLongestBytes) return alone(place, piece);
  const bool is_short = piece.size_bytes <= kShortBytes;
  const std::scoped_lock lock(mutex);
  std::erase_if(collecting(), [](const std::weak_ptr<CopyBatch> &entry) {
    const std::shared_ptr<CopyBatch> batch = entry.lock();
    return batch == nullptr || batch->is_closed_;
  });
  for (const std::weak_ptr<CopyBatch> &entry : collecting()) {
    std::shared_ptr<CopyBatch> batch = entry.lock();
    if (batch == nullptr || !batch->collects(place, source, is_short)) continue;
    batch->add(piece);
    return batch;
  }
  auto batch = make_recycled<CopyBatch>(place, source, is_short);
  batch->add(piece);
  collecting().push_back(batch);
  return batch;
}

void CopyBatch::add(const sluice_copy_t &piece) noexcept {
  pieces_[n_pieces_++] = piece;
  size_bytes_ += piece.size_bytes;
  is_closed_ = n_pieces_ == kMost || size_bytes_ >= kMostBytes;
}

Status CopyBatch::begin() {
  is_closed_ = true;
  if (Status status = queue_.acquire(place_); !status.is_ok()) return status;
  Status status = copy_.begin(&queue_, std::span(pieces_.data(), n_pieces_));
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

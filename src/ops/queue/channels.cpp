// SPDX-License-Identifier: BSD-3-Clause
#include "ops/queue/channels.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <string>
#include <utility>

#include "base/log.hpp"
#include "base/statistics.hpp"
#include "generated/operations.hpp"
#include "ops/queue/comm_number.hpp"
#include "ops/queue/message.hpp"
#include "wire/channel.hpp"
#include "wire/host.hpp"
#include "wire/host_failure.hpp"
#include "wire/owned_handle.hpp"
#include "wire/status.hpp"

namespace sluice::ops::queue {

// As it travels.
struct Channels::Note {
  std::uint64_t nonce = 0;
  Kind kind = Kind::kOpen;
  std::uint32_t comm = 0;
  std::int32_t tag = 0;
  std::uint32_t captured = 0;  // kOpen: as ChannelKey has it
  std::uint32_t sender_id = 0;
  std::uint64_t number = 0;  // kByThread: the message's; kOpen, kOffer of a message of a graph: that side's length
  SlotOffer offer;
  wire::SegmentName words{};
};

struct Channels::Sending {
  Note note;
  MPI_Request request = MPI_REQUEST_NULL;
};

namespace {

// A graph's launches are the device's own: how many there were is seen when the channel goes.
void count_launches(const ChannelEnd &end, bool is_send) noexcept {
  if (end.key.captured == 0 || !end.words.is_open()) return;
  const std::uint64_t n_launches = end.words.get(is_send ? ChannelWords::kFilled : ChannelWords::kTaken);
  const std::uint64_t size_bytes = is_send ? end.own_bytes : end.peer_bytes;
  if (n_launches == 0) return;
  statistics::record(operation_of(is_send, end.key.is_of_signals()), MemoryKind::kDevice, Route::kQueueDevice,
                     n_launches, n_launches * size_bytes, {});
}

Status refused(int code, const char *what) {
  return wire::host_failure(code, what, "set SLUICE_QUEUE_ENGINE=thread");
}

}  // namespace

Channels &Channels::process() {
  static auto *made = new Channels();
  return *made;
}

void Channels::open() noexcept {
  const wire::Host &host = wire::host();
  wire::OwnedComm made;
  Status status;
  int code = host.MPI_Comm_dup(wire::Channel::process().comm(), made.slot());
  if (code == MPI_SUCCESS) code = host.MPI_Comm_set_errhandler(made.get(), MPI_ERRORS_RETURN);
  if (code != MPI_SUCCESS) status = refused(code, "make a communicator for the engine device of queues");
  try {
    void *value = nullptr;
    int is_set = 0;
    if (status.is_ok() &&
        host.MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void *>(&value), &is_set) == MPI_SUCCESS &&
        is_set != 0) {
      most_senders_ = static_cast<std::uint32_t>(*static_cast<int *>(value) - kFirstDataTag);
    }
    if (status.is_ok()) status = begin_comm_numbers();
    coming_ = std::make_unique<Note>();
    n_sent_.assign(static_cast<std::size_t>(wire::Channel::process().size()), 0);
  } catch (const std::exception &error) {
    status = Status::of_exception(error);
  }
  if (!status.is_ok()) log::error("ops", status.message());
  int is_good = status.is_ok() ? 1 : 0;
  code = host.MPI_Allreduce(MPI_IN_PLACE, &is_good, 1, MPI_INT, MPI_MIN, wire::Channel::process().comm());
  if (code == MPI_SUCCESS && is_good != 0) {
    comm_ = made.release();
    return;
  }
  log::warn("ops",
            "the engine device of queues is not there: a rank could not begin it; messages go by the engine thread");
  end_comm_numbers();
}

// Senders first; when all have, the slots.
void Channels::close() {
  if (!is_open()) return;
  const wire::Host &host = wire::host();
  const std::scoped_lock lock(mutex_);
  // What a stream may still look at is left to the end of the process.
  static auto *const kept = new std::vector<std::shared_ptr<ChannelEnd>>();
  const auto let_go = [](auto *ends, auto *forgotten, bool are_senders) {
    for (auto &[key, end] : *ends) {
      count_launches(*end, are_senders);
      forgotten->push_back(end);
    }
    ends->clear();
    std::ranges::copy_if(*forgotten, std::back_inserter(*kept), [](const auto &end) { return end->n_incomplete != 0; });
    forgotten->clear();
  };
  let_go(&senders_, &forgotten_senders_, true);
  take_in_the_last();
  let_go(&receivers_, &forgotten_receivers_, false);
  if (receive_ != MPI_REQUEST_NULL) {
    if (host.MPI_Cancel(&receive_) != MPI_SUCCESS || host.MPI_Wait(&receive_, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
      log::debug("ops", "queues: a receive is left");
    }
  }
  for (Sending &sending : sending_) {
    if (host.MPI_Wait(&sending.request, MPI_STATUS_IGNORE) != MPI_SUCCESS) log::debug("ops", "queues: a send is left");
  }
  sending_.clear();
  const wire::OwnedComm freed(
      std::exchange(comm_, MPI_COMM_NULL));  // closed: what end_comm_numbers() forgets is gone already
  end_comm_numbers();
}

// All notes that were sent to this rank, of which nothing is to be left in the host MPI: each rank says how many it has
// sent to whom. Returns when all ranks are here.
void Channels::take_in_the_last() {
  const wire::Host &host = wire::host();
  std::uint64_t n_to_come = 0;
  if (host.MPI_Reduce_scatter_block(n_sent_.data(), &n_to_come, 1, MPI_UINT64_T, MPI_SUM, comm_) != MPI_SUCCESS) {
    return log::warn("ops", "queues: the host MPI could not wait for the other ranks");
  }
  while (n_taken_in_ < n_to_come) {
    if (!turn_locked()) return;
  }
}

Status Channels::find_sender(const ChannelKey &key, SenderEndPtr *end, std::uint64_t size_bytes) {
  SenderEndPtr &known = senders_[key];
  if (known == nullptr) {
    auto made = std::make_shared<SenderEnd>(key);
    // Numbers come again when tags are used up, long after whoever had them is gone.
    last_sender_ = last_sender_ == most_senders_ ? 1 : last_sender_ + 1;
    made->sender_id = last_sender_;
    Note note;
    note.kind = Kind::kOpen;
    note.comm = key.comm;
    note.tag = key.tag;
    note.captured = key.captured;
    note.sender_id = made->sender_id;
    note.number = made->own_bytes = size_bytes;
    if (Status status = send(note, key.peer); !status.is_ok()) {
      senders_.erase(key);
      return status;
    }
    known = std::move(made);
  }
  *end = known;
  return {};
}

ReceiverEndPtr Channels::find_receiver(const ChannelKey &key) {
  ReceiverEndPtr &known = receivers_[key];
  if (known != nullptr) return known;
  known = std::make_shared<ReceiverEnd>(key);
  if (const auto found = waiting_opens_.find(key); found != waiting_opens_.end()) {
    meet(known.get(), found->second.front());
    found->second.pop_front();
    if (found->second.empty()) waiting_opens_.erase(found);
  }
  return known;
}

// The two ends know of each other.
void Channels::meet(ReceiverEnd *end, const Opening &opening) {
  end->sender_id = opening.sender_id;
  end->peer_bytes = opening.size_bytes;
  const auto found = waiting_numbers_.find({end->key.peer, opening.sender_id});
  if (found != waiting_numbers_.end()) {
    end->by_thread = std::move(found->second);
    waiting_numbers_.erase(found);
  }
  if (end->has_slots()) offer(end);
}

void Channels::offer(ReceiverEnd *end) {
  if (end->sender_id == 0) return;
  Note note;
  note.kind = Kind::kOffer;
  note.sender_id = end->sender_id;
  note.number = end->own_bytes;
  note.offer = end->offer;
  note.words = end->words_name;
  const Status status = send(note, end->key.peer);
  if (!status.is_ok()) log::debug("ops", "messages of queues go by the progress thread: " + status.message());
}

Status Channels::announce(const SenderEnd &end, std::uint64_t number) {
  Note note;
  note.kind = Kind::kByThread;
  note.sender_id = end.sender_id;
  note.number = number;
  return send(note, end.key.peer);
}

Status Channels::send(const Note &note, int to) {
  sending_.emplace_back();
  Sending &sending = sending_.back();
  sending.note = note;
  sending.note.nonce = wire::Channel::process().nonce();
  const int code = wire::host().MPI_Isend(&sending.note, sizeof(Note), MPI_BYTE, to, kNoteTag, comm_, &sending.request);
  if (code == MPI_SUCCESS) {
    ++n_sent_[static_cast<std::size_t>(to)];
    return {};
  }
  sending_.pop_back();
  return refused(code, "send a note of the engine device of queues");
}

Status Channels::post() {
  const int code =
      wire::host().MPI_Irecv(coming_.get(), sizeof(Note), MPI_BYTE, MPI_ANY_SOURCE, kNoteTag, comm_, &receive_);
  return code == MPI_SUCCESS ? Status() : refused(code, "receive a note of the engine device of queues");
}

void Channels::turn() noexcept {
  // Each look takes the host MPI's lock, for which calls of the program's may have to wait, and a note can.
  constexpr std::chrono::microseconds kBetweenLooks{1};
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || !is_open()) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - last_look_ < kBetweenLooks) return;
  take_in_held();
  last_look_ = std::chrono::steady_clock::now();
}

void Channels::take_in_held() noexcept {
  try {
    if (!turn_locked()) log::warn_once("queue_note", "ops", "the host MPI could not receive a note of queues");
  } catch (const std::exception &) {
    log::error("ops",
               "out of memory: a note of the engine device of queues is lost; lower the program's use of memory");
  }
}

bool Channels::turn_locked() {
  const wire::Host &host = wire::host();
  for (auto sending = sending_.begin(); sending != sending_.end();) {
    int is_done = 0;
    const int code = host.MPI_Test(&sending->request, &is_done, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS && is_done == 0) break;  // the others are later ones
    sending = sending_.erase(sending);
  }
  for (;;) {
    if (receive_ == MPI_REQUEST_NULL) {
      if (const Status status = post(); !status.is_ok()) {
        log::warn_once("queue_note", "ops", status.message());
        return false;
      }
    }
    int is_done = 0;
    MPI_Status from;
    // An error is a note that is longer than any: it is taken in, and nothing of it is used.
    const bool is_good = host.MPI_Test(&receive_, &is_done, &from) == MPI_SUCCESS;
    if (!is_good && receive_ != MPI_REQUEST_NULL) return false;
    if (is_good && is_done == 0) break;
    ++n_taken_in_;
    const Note note = *coming_;
    const bool is_whole = is_good && wire::received_bytes(from) == sizeof(Note);
    if (is_whole && note.nonce == wire::Channel::process().nonce()) take_in(note, from.MPI_SOURCE);
  }
  drop_forgotten();
  return true;
}

// Of who sends the host MPI tells; of the rest each kind's function believes what it has compared with its own.
void Channels::take_in(const Note &note, int from) {
  if (note.sender_id == 0 || note.sender_id > most_senders_) return;  // there are no tags for it
  switch (note.kind) {
    case Kind::kOpen:
      return take_open(note, from);
    case Kind::kOffer:
      return take_to_sender(note, from);
    case Kind::kOpened:
    case Kind::kByThread:
    case Kind::kGone:
      return take_to_receiver(note, from);
  }
}

void Channels::take_open(const Note &note, int from) {
  const ChannelKey key{from, note.comm, note.tag, note.captured};
  const Opening opening{note.sender_id, note.number};
  const auto found = receivers_.find(key);
  // One that has met its sender is an earlier communicator's, which is freed here later than there.
  if (found == receivers_.end() || found->second->sender_id != 0) {
    waiting_opens_[key].push_back(opening);
  } else {
    meet(found->second.get(), opening);
  }
}

void Channels::take_to_sender(const Note &note, int from) {
  const auto is_meant = [&](const SenderEndPtr &end) {
    return end->sender_id == note.sender_id && end->key.peer == from;
  };
  const auto found = std::ranges::find_if(senders_, [&](const auto &entry) { return is_meant(entry.second); });
  if (found == senders_.end()) return;  // it is forgotten, and has said so, or will
  found->second->peer_bytes = note.number;
  if (const Status status = found->second->take_offer(note.offer, note.words); !status.is_ok()) {
    return log::warn_once("queue_offer", "ops", status.message() + "; messages of queues go by the progress thread");
  }
  Note answer;
  answer.kind = Kind::kOpened;
  answer.sender_id = note.sender_id;
  if (const Status status = send(answer, from); !status.is_ok()) log::debug("ops", status.message());
}

ReceiverEnd *Channels::find_by_sender(int from, std::uint32_t sender_id) noexcept {
  const auto is_meant = [&](const ReceiverEndPtr &end) { return end->sender_id == sender_id && end->key.peer == from; };
  const auto found = std::ranges::find_if(receivers_, [&](const auto &entry) { return is_meant(entry.second); });
  if (found != receivers_.end()) return found->second.get();
  const auto forgotten = std::ranges::find_if(forgotten_receivers_, is_meant);
  return forgotten != forgotten_receivers_.end() ? forgotten->get() : nullptr;
}

void Channels::take_to_receiver(const Note &note, int from) {
  ReceiverEnd *end = find_by_sender(from, note.sender_id);
  if (note.kind == Kind::kByThread) {
    auto &numbers = end != nullptr ? end->by_thread : waiting_numbers_[{from, note.sender_id}];
    return numbers.push_back(note.number);
  }
  if (end == nullptr) return;
  end->remove_name();
  if (note.kind == Kind::kGone) end->is_left = true;
}

void Channels::forget(std::uint32_t comm, int signals_tag) noexcept {
  if (!is_open()) return;
  const auto is_meant = [&](const ChannelKey &key) {
    return key.comm == comm && (signals_tag != 0 ? key.tag == signals_tag : !key.is_of_signals());
  };
  try {
    const std::scoped_lock lock(mutex_);
    const auto move_to = [&](auto &ends, auto &forgotten) {
      for (auto entry = ends.begin(); entry != ends.end();) {
        if (!is_meant(entry->first)) {
          ++entry;
          continue;
        }
        forgotten.push_back(entry->second);
        entry = ends.erase(entry);
      }
    };
    move_to(senders_, forgotten_senders_);
    move_to(receivers_, forgotten_receivers_);
    for (auto *counts : {&n_captured_sends_, &n_captured_receives_}) {
      std::erase_if(*counts, [&](const auto &entry) { return is_meant(entry.first); });
    }
    drop_forgotten();
  } catch (const std::exception &) {
    log::warn("ops", "out of memory: channels of queues are kept until MPI_Finalize");
  }
}

// What is complete is not looked at by any stream any more.
void Channels::drop_forgotten() {
  std::erase_if(forgotten_senders_, [&](const SenderEndPtr &end) {
    if (end->n_incomplete != 0) return false;
    count_launches(*end, true);
    Note note;
    note.kind = Kind::kGone;
    note.sender_id = end->sender_id;
    end->let_go();
    if (const Status status = send(note, end->key.peer); !status.is_ok()) log::debug("ops", status.message());
    return true;
  });
  std::erase_if(forgotten_receivers_, [](const ReceiverEndPtr &end) {
    const bool is_over = end->n_incomplete == 0 && (end->is_left || !end->has_slots());
    if (is_over) count_launches(*end, false);
    return is_over;
  });
}

}  // namespace sluice::ops::queue

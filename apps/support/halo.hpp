// SPDX-License-Identifier: BSD-3-Clause
// Contiguous messages to neighbours between kernels that pack and unpack them: with the host in between, or started and
// awaited by the stream.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "apps/support/device.hpp"
#include "apps/support/queue_calls.hpp"

namespace sluice::apps {

// A message to a neighbour and the one that comes back; both have the same place in their buffer, and size.
struct HaloMessage {
  int peer;
  int send_tag;
  int receive_tag;
  std::size_t offset_bytes;
  int size_bytes;
};

// Buffers in device memory for messages one behind the other. Throws DeviceError and MpiError.
class Halo {
 public:
  // form: by which functions `stream`, which outlives the halo, starts and awaits the messages; none: the host does.
  Halo(Device &device, Stream &stream, std::vector<HaloMessage> messages, std::optional<QueueForm> form)
      : stream_(stream),
        messages_(std::move(messages)),
        sent_(device, size_bytes(messages_)),
        received_(device, size_bytes(messages_)) {
    if (form) queue_ = std::make_unique<MessageQueue>(MPI_COMM_WORLD, stream, *form);
  }

  unsigned char *sent() const { return sent_.data(); }
  unsigned char *received() const { return received_.data(); }
  std::size_t size_bytes() const { return sent_.size(); }
  // As Stream::launch wants it, which takes no empty memory.
  std::uint64_t reach_bytes() const { return size_bytes() == 0 ? 1 : size_bytes(); }

  // n_steps times `step`, and blocks until all exchanges are over and all that was enqueued has run. n_graph_steps not
  // 0: triggered, on a device with graphs, as launches of a graph of so many steps, which are all that the stream is
  // given; n_steps is a multiple of those. The first call captures that, and waits until both sides of each of its
  // messages know each other (docs/queue/semantics.md).
  template <class Step>
  void run(int n_steps, int n_graph_steps, const Step &step) {
    if (n_graph_steps > 0) {
      run_graphs(n_steps, n_graph_steps, step);
    } else {
      for (int i = 0; i < n_steps; ++i) step();
    }
    stream_.synchronize();
    if (queue_) queue_->complete();
  }

  // One exchange. pack() enqueues what writes sent(); work() what may run while messages are under way; unpack() what
  // reads received(). Not triggered: blocks until this rank's messages are complete. Triggered: returns at once.
  template <class Pack, class Work, class Unpack>
  void exchange(const Pack &pack, const Work &work, const Unpack &unpack) {
    if (queue_) {
      for (const HaloMessage &one : messages_) {
        queue_->enqueue_recv(received() + one.offset_bytes, one.size_bytes, MPI_BYTE, one.peer, one.receive_tag);
      }
      pack();
      for (const HaloMessage &one : messages_) {
        queue_->enqueue_send(sent() + one.offset_bytes, one.size_bytes, MPI_BYTE, one.peer, one.send_tag);
      }
      queue_->enqueue_start();
      work();
      queue_->enqueue_wait();
    } else {
      pack();
      stream_.synchronize();  // packed; and what read received() in the last exchange has run
      post();
      work();
      check_mpi(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
    }
    unpack();
  }

 private:
  template <class Step>
  void run_graphs(int n_steps, int n_graph_steps, const Step &step) {
    if (graph_ == nullptr) {
      graph_ = stream_.capture([&] {
        for (int i = 0; i < n_graph_steps; ++i) step();
      });
      queue_->complete();
    }
    for (int i = 0; i < n_steps; i += n_graph_steps) graph_->launch();
  }
  static std::size_t size_bytes(const std::vector<HaloMessage> &messages) {
    return messages.empty() ? 0 : messages.back().offset_bytes + static_cast<std::size_t>(messages.back().size_bytes);
  }
  void post() {
    requests_.clear();
    for (const HaloMessage &one : messages_) {
      check_mpi(MPI_Irecv(received() + one.offset_bytes, one.size_bytes, MPI_BYTE, one.peer, one.receive_tag,
                          MPI_COMM_WORLD, &requests_.emplace_back()),
                "MPI_Irecv");
    }
    for (const HaloMessage &one : messages_) {
      check_mpi(MPI_Isend(sent() + one.offset_bytes, one.size_bytes, MPI_BYTE, one.peer, one.send_tag, MPI_COMM_WORLD,
                          &requests_.emplace_back()),
                "MPI_Isend");
    }
  }

  Stream &stream_;
  std::vector<HaloMessage> messages_;
  DeviceArray<unsigned char> sent_;
  DeviceArray<unsigned char> received_;
  std::unique_ptr<MessageQueue> queue_;
  std::unique_ptr<Graph> graph_;
  std::vector<MPI_Request> requests_;
};

}  // namespace sluice::apps

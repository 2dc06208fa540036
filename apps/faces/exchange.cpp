// SPDX-License-Identifier: BSD-3-Clause
// The inner loop of Faces.
#include "apps/faces/exchange.hpp"

namespace sluice::apps::faces {
namespace {

constexpr unsigned kOpposite = kDirections - 1;  // the direction k seen from the other side is kOpposite - k

std::uint64_t lattice_size(const Block &block, std::uint64_t less) {
  std::uint64_t size = 1;
  for (int d = 0; d < 3; ++d) size *= side_of(block, d) - less;
  return size;
}

}  // namespace

Neighbours find_neighbours(const World &world, const std::array<int, 3> &grid) {
  Neighbours found{};
  int rest = world.rank();
  for (int d = 0; d < 3; ++d) {
    found.grid[d] = static_cast<std::uint64_t>(grid[d]);
    found.position[d] = static_cast<std::uint64_t>(rest % grid[d]);
    rest /= grid[d];
  }
  for (unsigned direction = 0; direction < kDirections; ++direction) {
    int at[3];
    bool is_inside = direction != kOpposite / 2;
    for (int d = 0; d < 3; ++d) {
      at[d] = static_cast<int>(found.position[d]) + step_of(direction, d);
      is_inside = is_inside && at[d] >= 0 && at[d] < grid[d];
    }
    found.rank[direction] = is_inside ? (at[2] * grid[1] + at[1]) * grid[0] + at[0] : MPI_PROC_NULL;
  }
  return found;
}

std::size_t field_size(const Block &block) {
  std::uint64_t size = block.n_points * block.n_points * block.n_points;
  for (const std::uint64_t n : block.n_elements) size *= n;
  return size;
}

std::size_t messages_size(const Block &block) {
  std::size_t size = 0;
  for (unsigned direction = 0; direction < kDirections; ++direction) {
    if ((block.neighbour_mask >> direction & 1) != 0) size += message_size(block, direction);
  }
  return size;
}

Exchange::Exchange(Device &device, const Block &block, const Neighbours &neighbours, Variant variant)
    : block_(block),
      variant_(variant),
      n_elements_(messages_size(block)),
      field_(device, field_size(block)),
      sent_(device, n_elements_),
      received_{{device, n_elements_}, {device, n_elements_}, {device, n_elements_}},
      stream_(device) {
  std::size_t offset = 0;
  for (unsigned direction = 0; direction < kDirections; ++direction) {
    if ((block.neighbour_mask >> direction & 1) == 0) continue;
    const std::size_t count = message_size(block, direction);
    messages_.push_back({neighbours.rank[direction], static_cast<int>(direction),
                         static_cast<int>(kOpposite - direction), offset, static_cast<int>(count)});
    offset += count;
  }
  load_kernels();
  if (variant == Variant::plain) return;
  const QueueForm form = variant == Variant::enqueue ? QueueForm::enqueued : QueueForm::batches;
  queue_ = std::make_unique<MessageQueue>(MPI_COMM_WORLD, stream_, form);
}

void Exchange::load_kernels() {
  const Stream::Loading loading(stream_);
  launch_pack();
  launch_sum_inside();
  launch_add(received_[0].data());
  stream_.synchronize();
}

void Exchange::run(int n_steps) {
  for (int step = 0; step < n_steps; ++step) {
    switch (variant_) {
      case Variant::plain:
        step_plain(step);
        break;
      case Variant::st_send:
        step_triggered_sends(step);
        break;
      case Variant::st:
      case Variant::enqueue:
      case Variant::st_kernels:
        step_triggered();
        break;
      case Variant::st_graph:
        launch_graph();
        break;
    }
  }
  stream_.synchronize();
  if (queue_) queue_->complete();
}

// The numbers are those of the paper's list.
void Exchange::step_plain(int step) {
  const DeviceArray<double> &received = received_[step % 3];
  post_receives(received.data());  // 1
  launch_pack();                   // 2
  stream_.synchronize();
  std::vector<MPI_Request> sends(messages_.size(), MPI_REQUEST_NULL);
  for (std::size_t i = 0; i < messages_.size(); ++i) {  // 3
    const Message &message = messages_[i];
    check_mpi(MPI_Isend(sent_.data() + message.offset, message.count, MPI_DOUBLE, message.peer, message.send_tag,
                        MPI_COMM_WORLD, &sends[i]),
              "MPI_Isend");
  }
  launch_sum_inside();  // 4
  check_mpi(MPI_Waitall(static_cast<int>(receives_.size()), receives_.data(), MPI_STATUSES_IGNORE),
            "MPI_Waitall");     // 5
  launch_add(received.data());  // 6
  check_mpi(MPI_Waitall(static_cast<int>(sends.size()), sends.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
}

void Exchange::step_triggered_sends(int step) {
  const DeviceArray<double> &received = received_[step % 3];
  // The kernel that read there three steps ago has run, though nobody waited for it: the last step's messages have
  // come; a neighbour's stream sends one after its host has seen this rank's message of the step before that, which
  // this stream sent behind that kernel. Of two buffers this could not be said.
  post_receives(received.data());
  launch_pack();
  for (const Message &message : messages_) {
    queue_->enqueue_send(sent_.data() + message.offset, message.count, MPI_DOUBLE, message.peer, message.send_tag);
  }
  queue_->enqueue_start();
  launch_sum_inside();
  check_mpi(MPI_Waitall(static_cast<int>(receives_.size()), receives_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
  queue_->enqueue_wait();  // the next step packs into the buffer that is being sent
  launch_add(received.data());
}

// The stream itself keeps everything in order, so one buffer for what is received is enough.
void Exchange::step_triggered() {
  const DeviceArray<double> &received = received_[0];
  for (const Message &message : messages_) {
    queue_->enqueue_recv(received.data() + message.offset, message.count, MPI_DOUBLE, message.peer,
                         message.receive_tag);
  }
  launch_pack();
  for (const Message &message : messages_) {
    queue_->enqueue_send(sent_.data() + message.offset, message.count, MPI_DOUBLE, message.peer, message.send_tag);
  }
  queue_->enqueue_start();
  launch_sum_inside();
  queue_->enqueue_wait();
  launch_add(received.data());
}

void Exchange::launch_graph() {
  if (graph_ == nullptr) {
    graph_ = stream_.capture([this] { step_triggered(); });
    queue_->complete();  // both sides of each message know each other
  }
  graph_->launch();
}

void Exchange::post_receives(double *received) {
  receives_.assign(messages_.size(), MPI_REQUEST_NULL);
  for (std::size_t i = 0; i < messages_.size(); ++i) {
    const Message &message = messages_[i];
    check_mpi(MPI_Irecv(received + message.offset, message.count, MPI_DOUBLE, message.peer, message.receive_tag,
                        MPI_COMM_WORLD, &receives_[i]),
              "MPI_Irecv");
  }
}

void Exchange::launch_pack() {
  stream_.launch(pack_kernel, n_elements_, PackTask{sent_.data(), field_.data(), block_},
                 {sent_.size_bytes(), field_.size_bytes()});
}

void Exchange::launch_sum_inside() {
  stream_.launch(sum_inside_kernel, lattice_size(block_, 2), SumTask{field_.data(), block_}, {field_.size_bytes()});
}

void Exchange::launch_add(const double *received) {
  const std::size_t received_bytes = n_elements_ == 0 ? sizeof(double) : n_elements_ * sizeof(double);
  stream_.launch(add_received_kernel, lattice_size(block_, 0) - lattice_size(block_, 2),
                 AddTask{field_.data(), received, block_}, {field_.size_bytes(), received_bytes});
}

}  // namespace sluice::apps::faces

// SPDX-License-Identifier: BSD-3-Clause
// One collective at one size on this rank.
#include "bench/coll/exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <limits>

#include "bench/coll/layouts.hpp"
#include "bench/memory/staging_place.hpp"
#include "bench/mpi/newer_calls.hpp"
#include "bench/mpi/reduction.hpp"
#include "bench/peers/uneven_blocks.hpp"

namespace sluice::bench {
namespace {

constexpr std::uint64_t kLargestCount = std::numeric_limits<int>::max();

std::uint64_t elements_of(const std::vector<Block> &blocks) {
  return blocks.empty() ? 0 : blocks.back().begin + blocks.back().n;
}

std::uint64_t most_elements(const Layout &layout) {
  return std::max(elements_of(layout.send), elements_of(layout.recv));
}

// Of any rank, n elements a size: all ranks must come to the same datatypes, and have unlike amounts where blocks are
// uneven, up to two sizes each.
std::uint64_t most_elements(const Circle &circle, const Layout &layout, std::uint64_t n) {
  return circle.has_uneven_blocks ? 2 * n * ranks_of(circle) : most_elements(layout);
}

// Blocks are whole numbers of such parts of a size.
std::uint64_t parts_of_size(const Circle &circle) {
  return circle.has_uneven_blocks ? peers::kPartsOfSize : 1;
}

// Counts and places of blocks in multiples of `unit` elements.
void set_blocks(const std::vector<Block> &blocks, std::uint64_t unit, std::vector<int> &counts,
                std::vector<int> &offsets) {
  for (const Block &block : blocks) {
    counts.push_back(static_cast<int>(block.n / unit));
    offsets.push_back(static_cast<int>(block.begin / unit));
  }
}

// What MPI's arguments cannot say is refused before memory of that size is asked for.
Layout layout_within_counts(const Collective &collective, const Circle &circle, std::uint64_t n,
                            std::uint64_t size_bytes) {
  Layout layout = collective.layout(circle, n);
  if (collective.is_reduction && most_elements(layout) > kLargestCount) {
    throw MpiError(fmt::format("{} elements: {} counts up to {}", n, collective.name, kLargestCount));
  }
  const std::uint64_t n_parts = parts_of_size(circle);
  if (n % n_parts != 0 && most_elements(circle, layout, n) > kLargestCount) {
    throw MpiError(
        fmt::format("{} elements are no multiple of {}, and uneven blocks of them too many for an int", n, n_parts));
  }
  const bool has_byte_offsets = collective.name == "alltoallw";
  const std::uint64_t most_sizes = ranks_of(circle) * (circle.has_uneven_blocks ? 2 : 1);
  if (has_byte_offsets && size_bytes > kLargestCount / most_sizes) {
    throw MpiError("alltoallw: its offsets are ints of bytes, and cannot reach this far");
  }
  return layout;
}

// The root of a bcast sends from the only buffer there is: both kinds are the same there (TestInfo::has_two_buffers).
MessageBuffer buffer_for(Session &session, sluice_memory_kind_t kind, const std::vector<Block> &blocks,
                         std::uint64_t element_size) {
  return {session.module(), kind, elements_of(blocks) * element_size};
}

}  // namespace

Exchange::Exchange(Session &session, const Collective &collective, Form form, const Circle &circle, MPI_Comm comm,
                   std::uint64_t size_bytes, bool is_naive)
    : collective_(collective),
      form_(form),
      circle_(circle),
      layout_(layout_within_counts(collective, circle, size_bytes / element_bytes(session.options().family.type),
                                   size_bytes)),
      element_(session.options().family.type),
      operation_(session.options().family.operation),
      block_type_(size_bytes / parts_of_size(circle), true),
      send_(buffer_for(session, session.memory(), layout_.send, element_bytes(element_))),
      recv_(buffer_for(session, session.recv_memory(), layout_.recv, element_bytes(element_))),
      module_(session.module()) {
  const StagingPlace send_place{module_, session.memory(), session.options().naive_staging};
  const StagingPlace recv_place{module_, session.recv_memory(), session.options().naive_staging};
  if (is_naive && send_place.is_staged()) staged_send_ = send_place.allocate(send_.size_bytes(), 1);
  if (is_naive && recv_place.is_staged()) staged_recv_ = recv_place.allocate(recv_.size_bytes(), 1);
  call_.comm = comm;
  call_.root = circle.root;
  fill_call(size_bytes / element_bytes(element_));
  point_to_buffers();
  if (form_ == Form::persistent) {
    init_ = require_mpi_function<void *>(collective_.forms.init_name);
    check_mpi(collective_.forms.init(init_, call_, &request_), collective_.forms.init_name.c_str());
  }
}

Exchange::~Exchange() {
  if (request_ != MPI_REQUEST_NULL && MPI_Request_free(&request_) != MPI_SUCCESS) {
    std::fprintf(stderr, "sluice-bench: MPI_Request_free failed\n");
  }
}

// Elements are counted as long as all of them fit an int; from there on each block is one element of a large type, an
// uneven one several, of which reductions have none (layout_within_counts).
void Exchange::fill_call(std::uint64_t n) {
  call_.op = mpi_operation(operation_);
  call_.type = mpi_type(element_);
  const std::uint64_t all = most_elements(circle_, layout_, n);
  std::uint64_t unit = 1;
  if (all > kLargestCount) {
    call_.type = block_type_.type();
    unit = n / parts_of_size(circle_);
  }
  const std::uint64_t count = collective_.count ? collective_.count(circle_, n) : n;
  call_.count = static_cast<int>(count / unit);
  for (int rank = 0; rank < circle_.n_ranks && collective_.is_reduction; ++rank) {
    call_.shares.push_back(static_cast<int>(share_of(n, circle_.n_ranks, rank)));
  }
  set_blocks(layout_.send, unit, call_.send_counts, call_.send_offsets);
  set_blocks(layout_.recv, unit, call_.recv_counts, call_.recv_offsets);
  fill_blocks();
}

// What the w forms take.
void Exchange::fill_blocks() {
  const std::uint64_t bytes = element_bytes(element_);
  for (const Block &block : layout_.send) {
    call_.send_byte_offsets.push_back(static_cast<int>(block.begin * bytes));
    call_.send_addresses.push_back(static_cast<MPI_Aint>(block.begin * bytes));
    call_.send_types.push_back(call_.type);
  }
  for (const Block &block : layout_.recv) {
    call_.recv_byte_offsets.push_back(static_cast<int>(block.begin * bytes));
    call_.recv_addresses.push_back(static_cast<MPI_Aint>(block.begin * bytes));
    call_.recv_types.push_back(call_.type);
  }
}

void Exchange::point_to_buffers() {
  call_.send = staged_send_ ? staged_send_->data() : send_.data();
  call_.recv = staged_recv_ ? staged_recv_->data() : recv_.data();
}

// Groups have different data: what one gets of another is wrong, too. The step is coprime to what data repeat after.
Contents Exchange::contents(std::uint64_t iteration) const {
  constexpr std::uint64_t kGroupStep = 53;
  const std::uint64_t moment = iteration + kGroupStep * static_cast<std::uint64_t>(circle_.group);
  return {collective_.is_reduction, element_, operation_, circle_.n_ranks, moment};
}

void Exchange::prepare(std::uint64_t iteration, std::vector<std::byte> &scratch) {
  const Contents data = contents(iteration);
  send_.store([&](std::span<std::byte> message) { data.fill(message, layout_.send); }, scratch);
  recv_.store(
      [&](std::span<std::byte> message) {
        if (layout_.is_recv_preset) {
          data.fill(message, layout_.recv);
        } else {
          data.poison(message, layout_.recv);
        }
      },
      scratch);
}

std::string Exchange::verify(std::uint64_t iteration, std::vector<std::byte> &scratch) const {
  const Contents data = contents(iteration);
  const std::string wrong = recv_.examine(
      data.expectations(layout_.recv),
      [&](std::span<const std::byte> message) { return data.find_error(message, layout_.recv); }, scratch);
  if (!wrong.empty()) {
    return fmt::format("received {}", wrong);
  }
  const std::string changed = send_.examine(
      data.expectations(layout_.send),
      [&](std::span<const std::byte> message) { return data.find_error(message, layout_.send); }, scratch);
  return changed.empty() ? "" : fmt::format("the send buffer was changed, {}", changed);
}

void Exchange::stage_down() {
  if (staged_send_ && send_.size_bytes() > 0) {
    module_->copy(staged_send_->data(), send_.data(), send_.size_bytes());
  }
  if (staged_recv_ && layout_.is_recv_preset) {
    module_->copy(staged_recv_->data(), recv_.data(), recv_.size_bytes());
  }
}

void Exchange::stage_up() {
  if (staged_recv_ && recv_.size_bytes() > 0 && !layout_.is_recv_preset) {
    module_->copy(recv_.data(), staged_recv_->data(), recv_.size_bytes());
  }
}

void Exchange::run() {
  if (form_ == Form::blocking) {
    stage_down();
    check_mpi(collective_.forms.block(call_), collective_.name.c_str());
    stage_up();
    return;
  }
  start();
  finish();
}

void Exchange::start() {
  stage_down();
  const int rc = form_ == Form::persistent ? MPI_Start(&request_) : collective_.forms.start(call_, &request_);
  check_mpi(rc, collective_.name.c_str());
}

void Exchange::finish() {
  // NOLINTNEXTLINE(clang-analyzer-optin.mpi.MPI-Checker): started in start(), of many forms
  check_mpi(MPI_Wait(&request_, MPI_STATUS_IGNORE), "MPI_Wait");
  stage_up();
}

void Exchange::test() {
  int is_done = 0;
  check_mpi(MPI_Test(&request_, &is_done, MPI_STATUS_IGNORE), "MPI_Test");
}

}  // namespace sluice::bench

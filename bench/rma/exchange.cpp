// SPDX-License-Identifier: BSD-3-Clause
// One one-sided test at one size on this rank.
#include "bench/rma/exchange.hpp"

#include <fmt/format.h>

#include <limits>

#include "bench/mpi/reduction.hpp"

namespace sluice::bench {
namespace {

ElementType element_of(const OneSided &test, ElementType wanted) {
  if (test.is_one_element) {
    return ElementType::int64;
  }
  return test.has_numbers ? wanted : ElementType::bytes;
}

// Accumulates count numbers. What an int cannot say is refused before memory of that size is asked for.
std::uint64_t within_counts(const OneSided &test, ElementType element, std::uint64_t size_bytes) {
  const std::uint64_t n = size_bytes / element_bytes(element);
  if (test.has_numbers && n > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
    throw MpiError(fmt::format("{}: {} elements are more than a count of MPI holds", test.name, n));
  }
  return size_bytes;
}

MessageBuffer memory_of(Session &session, std::uint64_t size_bytes) {
  return {session.module(), session.memory(), size_bytes};
}

}  // namespace

OneSidedExchange::OneSidedExchange(Session &session, const OneSided &test, std::uint64_t size_bytes,
                                   std::uint64_t n_slots)
    : test_(test),
      rank_(session.world().rank()),
      element_(element_of(test, session.options().family.type)),
      operation_(session.options().family.operation),
      size_bytes_(within_counts(test, element_, size_bytes)),
      n_slots_(n_slots),
      is_requested_(session.options().family.epoch == Epoch::request),
      type_(size_bytes),
      origin_(memory_of(session, size_bytes * n_slots)),
      compare_(memory_of(session, test.is_comparing ? size_bytes * n_slots : 0)),
      result_(memory_of(session, test.has_result ? size_bytes * n_slots : 0)),
      window_(session.options().family.window, session.module(), session.memory(), size_bytes * n_slots),
      epoch_(session.options().family.epoch, window_.window(), rank_) {
  access_.window = window_.window();
  access_.count = type_.count();
  access_.type = type_.type();
  if (test.has_numbers) {
    access_.count = static_cast<int>(size_bytes / element_bytes(element_));
    // Windows are not so free: text is no number there.
    access_.type = element_ == ElementType::bytes ? MPI_UNSIGNED_CHAR : mpi_type(element_);
    access_.op = mpi_operation(operation_);
  }
}

WindowData OneSidedExchange::data(std::uint64_t iteration) const {
  return {test_.has_numbers, element_, operation_, size_bytes_, iteration, rank_};
}

// A comparison that fails changes nothing: every other iteration makes one.
Holds OneSidedExchange::target_after(std::uint64_t iteration) const {
  return test_.is_comparing && iteration % 2 == 1 ? Holds::targets : test_.target_after;
}

void OneSidedExchange::prepare(std::uint64_t iteration, std::vector<std::byte> &scratch) {
  const WindowData begin = data(iteration);
  origin_.store(
      [&](std::span<std::byte> memory) {
        if (test_.origin_after == Holds::origins) {
          begin.fill(memory, Holds::origins);
        } else {
          begin.poison(memory, test_.origin_after);
        }
      },
      scratch);
  compare_.store(
      [&](std::span<std::byte> memory) {
        if (target_after(iteration) == Holds::targets) {
          begin.poison(memory, Holds::targets);
        } else {
          begin.fill(memory, Holds::targets);
        }
      },
      scratch);
  result_.store([&](std::span<std::byte> memory) { begin.poison(memory, Holds::targets); }, scratch);
  window_.store([&](std::span<std::byte> memory) { begin.fill(memory, Holds::own); }, scratch);
}

std::string OneSidedExchange::verify(std::uint64_t iteration, std::vector<std::byte> &scratch) {
  const WindowData expected = data(iteration);
  const bool is_origin = rank_ == kOrigin;
  const auto see = [&](auto &memory, Holds whose) {
    return memory.examine(
        expected.expectations(size_bytes_ * n_slots_, whose),
        [&](std::span<const std::byte> bytes) { return expected.find_error(bytes, whose); }, scratch);
  };
  std::string wrong = see(window_, is_origin ? Holds::own : target_after(iteration));
  if (!wrong.empty()) {
    return fmt::format("window, {}", wrong);
  }
  if (!is_origin) {
    return "";
  }
  wrong = see(origin_, test_.origin_after);
  if (!wrong.empty()) {
    return fmt::format("origin, {}", wrong);
  }
  if (test_.has_result) {
    wrong = see(result_, Holds::targets);
  }
  return wrong.empty() ? "" : fmt::format("result, {}", wrong);
}

void OneSidedExchange::run(std::uint64_t n_accesses) {
  epoch_.begin();
  requests_.resize(is_requested_ && rank_ == kOrigin ? n_accesses : 0);
  for (std::uint64_t i = 0; rank_ == kOrigin && i < n_accesses; ++i) {
    const std::uint64_t place = i % n_slots_ * size_bytes_;
    access_.origin = origin_.data() + place;
    access_.compare = compare_.data() + (test_.is_comparing ? place : 0);
    access_.result = result_.data() + (test_.has_result ? place : 0);
    access_.offset = window_.target_offset() + static_cast<MPI_Aint>(place);
    check_mpi(is_requested_ ? test_.requested_access(access_, &requests_[i]) : test_.access(access_),
              test_.name.c_str());
  }
  if (!requests_.empty()) {
    check_mpi(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
  }
  epoch_.end();
}

}  // namespace sluice::bench

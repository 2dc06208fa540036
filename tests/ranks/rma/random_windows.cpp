// SPDX-License-Identifier: BSD-3-Clause
// The generator of random one-sided programs. In a round each cell of each rank's window is used in one way whose
// outcome MPI defines: one put; gets; accumulates of many by one operation; or accesses of one rank that MPI keeps in
// order.
#include "tests/ranks/rma/random_windows.hpp"

#include <array>

#include "tests/support/dice.hpp"

namespace sluice::tests {
namespace {

constexpr int kMostCells = 6;
constexpr int kMostRounds = 4;
// Operations of an element's type in window_run.cpp.
constexpr std::uint64_t kOperations = 3;

// Throws the same dice however many kinds there are.
Kind random_kind(Dice &dice, const std::vector<Kind> &kinds) {
  return kinds[dice.below(4) % kinds.size()];
}

void make_cells(Dice &dice, WindowProgram *program) {
  constexpr std::array<std::size_t, 7> kElements = {1, 2, 9, 64, 1000, 9000, 40'000};
  constexpr std::size_t kMostElementBytes = 8;
  const int n_cells = 1 + dice.below_int(kMostCells);
  std::size_t offset = dice.below(3) * kMostElementBytes;
  for (int i = 0; i < n_cells; ++i) {
    WindowCell cell;
    cell.offset_bytes = offset;
    cell.n_elements = kElements[dice.one_in(4) ? dice.below(kElements.size()) : dice.below(5)];
    cell.element = static_cast<WindowElement>(dice.below(3));
    offset += (cell.n_elements + dice.below(3)) * kMostElementBytes;
    program->cells.push_back(cell);
  }
  program->window_bytes = offset;
}

RandomAccess random_access(Dice &dice, int origin, int target, std::size_t cell, const std::vector<Kind> &kinds) {
  RandomAccess access;
  access.origin = origin;
  access.target = target;
  access.cell = cell;
  access.operation = dice.below(kOperations);
  access.is_sparse = dice.one_in(4);
  access.origin_stride = dice.one_in(3) ? 1 + dice.below_int(3) : 1;
  access.has_request = dice.one_in(3);
  access.flush = dice.one_in(4) ? 1 + dice.below_int(3) : 0;
  access.kind = random_kind(dice, kinds);
  access.seed = dice.below_int(100);
  return access;
}

// Accesses of one rank, which MPI orders where they are accumulates: all by one operation, or reads.
void add_sequence(Dice &dice, const RandomAccess &first, WindowElement element, std::vector<RandomAccess> *accesses) {
  const bool swaps = dice.one_in(3) && element != WindowElement::float64;
  const int n = 1 + dice.below_int(4);
  for (int i = 0; i < n; ++i) {
    RandomAccess access = first;
    access.seed = dice.below_int(100);
    constexpr std::array kUpdates = {WindowAccess::accumulate, WindowAccess::get_accumulate,
                                     WindowAccess::fetch_and_op};
    access.access = dice.one_of(kUpdates);
    const bool only_reads = dice.one_in(4);
    if (only_reads && access.access != WindowAccess::accumulate) access.operation = kOperations;
    if (swaps) access.access = WindowAccess::compare_and_swap;
    accesses->push_back(access);
  }
}

void use_cell(Dice &dice, int target, std::size_t cell, int n_ranks, const std::vector<Kind> &kinds,
              const WindowProgram &program, std::vector<RandomAccess> *accesses) {
  const auto any = [&] { return random_access(dice, dice.below_int(n_ranks), target, cell, kinds); };
  RandomAccess access = any();
  switch (dice.below(6)) {
    case 0:
      access.access = WindowAccess::put;
      accesses->push_back(access);
      return;
    case 1:
      for (std::uint64_t n = 1 + dice.below(2); n != 0; --n) {
        access = any();
        access.access = WindowAccess::get;
        accesses->push_back(access);
      }
      return;
    case 2:
      for (std::uint64_t n = 1 + dice.below(4); n != 0; --n) {
        RandomAccess other = any();
        other.access = WindowAccess::accumulate;
        other.operation = access.operation;
        accesses->push_back(other);
      }
      return;
    case 3:
      return add_sequence(dice, access, program.cells[cell].element, accesses);
    default:
      return;
  }
}

}  // namespace

WindowProgram make_window_program(std::uint64_t seed, int n_ranks, const std::vector<Kind> &kinds) {
  Dice dice(seed ^ 0x77696E646F7773);
  WindowProgram program;
  constexpr std::array kUnits = {1, 4, 8};
  // Every third window is the host MPI's: no rank has device memory there.
  const bool is_of_host = dice.one_in(3);
  for (int rank = 0; rank < n_ranks; ++rank) {
    const Kind kind = random_kind(dice, kinds);
    program.kinds.push_back(is_of_host ? Kind::host : kind);
    program.disp_units.push_back(dice.one_of(kUnits));
  }
  program.is_dynamic = dice.one_in(8);
  make_cells(dice, &program);
  const int n_rounds = 1 + dice.below_int(kMostRounds);
  for (int i = 0; i < n_rounds; ++i) {
    WindowRound round;
    round.sync = static_cast<WindowSync>(dice.below(5));
    for (int target = 0; target < n_ranks; ++target) {
      for (std::size_t cell = 0; cell < program.cells.size(); ++cell) {
        use_cell(dice, target, cell, n_ranks, kinds, program, &round.accesses);
      }
    }
    program.rounds.push_back(std::move(round));
  }
  return program;
}

}  // namespace sluice::tests

// SPDX-License-Identifier: BSD-3-Clause
// Random programs of file calls: what they consist of.
#include "tests/ranks/io/random_files.hpp"

#include <algorithm>
#include <array>

#include "tests/support/completers.hpp"
#include "tests/support/dice.hpp"
#include "tests/support/host_mpi.hpp"

namespace sluice::tests {
namespace {

// A program that is being made. All ranks roll the same dice, for all ranks.
class Maker {
 public:
  Maker(std::uint64_t seed, int n_ranks) : dice_(seed), n_ranks_(n_ranks) {}

  FileProgram make() {
    is_external_ = dice_.one_in(8);
    program_.signature = random_signature(dice_.below(1U << 30U));
    if (is_external_) program_.signature = one_basic();
    program_.repeats = 1 + dice_.below_int(3);
    if (dice_.one_in(6) && !is_external_) program_.etype_gap = 1 + dice_.below_int(12);
    program_.is_atomic = dice_.one_in(5);
    const int n_phases = 1 + dice_.below_int(4);
    for (int i = 0; i < n_phases; ++i) program_.phases.push_back(phase());
    return std::move(program_);
  }

 private:
  Signature one_basic() {
    Signature signature;
    signature.basics = {dice_.one_of(std::array{MPI_INT, MPI_SHORT, MPI_DOUBLE})};
    int size_bytes = 0;
    MPI_Type_size(signature.basics.front(), &size_bytes);
    signature.size_bytes = static_cast<std::size_t>(size_bytes);
    return signature;
  }

  RandomView view() {
    RandomView made;
    made.is_common = dice_.one_in(2);
    const int n_owners = made.is_common ? 1 : n_ranks_;
    for (int owner = 0; owner < n_owners; ++owner) {
      for (int n = 1 + dice_.below_int(3); n > 0; --n) made.owners.push_back(owner);
    }
    if (!dice_.one_in(3)) made.owners.insert(made.owners.end(), 1 + dice_.below(3), -1);
    made.maker = dice_.one_of(std::array{RandomView::Maker::indexed_block, RandomView::Maker::hindexed,
                                         RandomView::Maker::structure, RandomView::Maker::subarray});
    // What one rank owns is one run in a subarray.
    if (made.maker != RandomView::Maker::subarray) dice_.shuffle(&made.owners);
    made.displacement = dice_.one_in(2) ? 0 : dice_.below_int(200);
    made.representation = is_external_ ? "external32" : dice_.one_in(10) ? "internal" : "native";
    return made;
  }

  bool is_allowed(Way way, bool is_read, const FilePhase &phase) const {
    if (is_joint(way) != phase.is_joint) return false;
    if (phase.is_joint && !is_read && (has_request(way) || is_split(way)) && loses_blocks_) return false;
    if (is_by_shared_pointer(way) && !phase.view.is_common) return false;
    if (is_external_ && is_read && way == Way::ordered && leaves_ordered_reads_as_in_the_file()) return false;
    return !is_external_ || !overruns_in_external_views() || !has_request(way);
  }

  Way way_for(bool is_read, const FilePhase &phase) {
    for (;;) {
      const Way way = every_way()[dice_.below(every_way().size())];
      if (is_allowed(way, is_read, phase)) return way;
    }
  }

  FileShare share(Way way) {
    FileShare made;
    made.way = way;
    made.n_etypes = dice_.one_in(3) ? 1 : 1 + dice_.below_int(6);
    made.count = dice_.one_in(7) ? 0 : 1 + dice_.below_int(dice_.one_in(3) ? 60 : 8);
    made.sort = dice_.one_of(
        std::array{FileShare::Sort::plain, FileShare::Sort::gaps, FileShare::Sort::nested, FileShare::Sort::absolute});
    made.layout_seed = dice_.below(1U << 30U);
    made.kind = dice_.below(60);
    if (is_external_) made.sort = FileShare::Sort::plain;
    if (made.sort == FileShare::Sort::nested && has_no_nested_types_) made.sort = FileShare::Sort::gaps;
    // Open MPI divides by the size of a type.
    if (made.sort == FileShare::Sort::absolute && made.count == 0) made.sort = FileShare::Sort::plain;
    return made;
  }

  // Each rank's part lies behind what others have so far: of the file in a common view, else of its own.
  RandomFileCall call(const FilePhase &phase, std::vector<MPI_Offset> *next) {
    RandomFileCall made;
    made.is_read = dice_.one_in(2);
    made.is_large = dice_.one_in(3);
    made.is_left_open = dice_.one_in(2);
    const Way way = way_for(made.is_read, phase);
    const bool is_alike = phase.is_joint || is_by_shared_pointer(way);
    for (auto rank = std::size_t{0}; rank < static_cast<std::size_t>(n_ranks_); ++rank) {
      FileShare own = share(way);
      while (!is_alike && is_by_shared_pointer(own.way = way_for(made.is_read, phase))) {
      }
      MPI_Offset &first = (*next)[phase.view.is_common ? 0 : rank];
      // The shared pointer leaves no gap between ranks.
      if ((!is_by_shared_pointer(way) || rank == 0) && dice_.one_in(3)) first += dice_.below_int(5);
      own.first = first;
      first += own.etypes();
      made.shares.push_back(own);
    }
    return made;
  }

  FilePhase phase() {
    FilePhase made;
    made.view = view();
    made.is_joint = dice_.one_in(2);
    made.completer = dice_.below(completers().size());
    std::vector<MPI_Offset> next(static_cast<std::size_t>(n_ranks_), dice_.below_int(6));
    const int n_calls = 1 + dice_.below_int(5);
    for (int i = 0; i < n_calls; ++i) made.calls.push_back(call(made, &next));
    for (int rank = 0; rank < n_ranks_; ++rank) {
      const MPI_Offset turns = next[made.view.is_common ? 0 : static_cast<std::size_t>(rank)] / made.view.n_seen(rank);
      const auto slots = (turns + 1) * static_cast<MPI_Offset>(made.view.owners.size());
      const MPI_Offset end = made.view.displacement + slots * program_.etype_extent();
      program_.n_bytes = std::max(program_.n_bytes, static_cast<std::size_t>(end));
    }
    return made;
  }

  Dice dice_;
  int n_ranks_;
  bool is_external_ = false;
  const bool loses_blocks_ = loses_blocks_of_collective_file_requests();
  const bool has_no_nested_types_ = lacks_nested_types_in_programs() || misplaces_nested_types_in_files();
  FileProgram program_;
};

}  // namespace

MPI_Offset RandomView::n_seen(int rank) const {
  return std::count(owners.begin(), owners.end(), is_common ? 0 : rank);
}

std::string describe(const FileProgram &program) {
  std::string text = "etype of " + std::to_string(program.etype_extent()) + " bytes, gap " +
                     std::to_string(program.etype_gap) + (program.is_atomic ? ", atomic" : "") + ", file of " +
                     std::to_string(program.n_bytes);
  for (const FilePhase &phase : program.phases) {
    text += std::string("\n view ") + phase.view.representation + (phase.view.is_common ? " common" : " own") +
            " maker " + std::to_string(static_cast<int>(phase.view.maker)) + " at " +
            std::to_string(phase.view.displacement) + " owners";
    for (const int owner : phase.view.owners) text += ' ' + std::to_string(owner);
    text += ", completed by " + std::string(completers()[phase.completer].name);
    for (const RandomFileCall &call : phase.calls) {
      text += std::string("\n  ") + (call.is_read ? "read" : "write") + (call.is_left_open ? ", left open" : "");
      for (const FileShare &share : call.shares) {
        text += std::string("; ") + way_name(share.way) + ' ' + std::to_string(share.count) + 'x' +
                std::to_string(share.n_etypes) + " at " + std::to_string(share.first) + " sort " +
                std::to_string(static_cast<int>(share.sort));
      }
    }
  }
  return text;
}

FileProgram make_file_program(std::uint64_t seed, int n_ranks) {
  return Maker(seed, n_ranks).make();
}

}  // namespace sluice::tests

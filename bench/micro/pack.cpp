// SPDX-License-Identifier: BSD-3-Clause
// pack: moving a message of a derived datatype (-D) between its own device memory and contiguous device memory by hand,
// without MPI: what --packed adds to a message. Rank 0 measures.
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "bench/catalogue.hpp"
#include "bench/measure/chosen_loop.hpp"
#include "bench/measure/repeat_blocks.hpp"
#include "bench/memory/message_buffer.hpp"
#include "bench/memory/packer.hpp"
#include "bench/micro/sizes_on_root.hpp"
#include "bench/report/failure_text.hpp"
#include "bench/session.hpp"

namespace sluice::bench {
namespace {

constexpr Loop kUsual{.warmup = 20, .iterations = 100};

// Packs and unpacks messages of one size.
class PackRun {
 public:
  PackRun(Session &session, std::uint64_t size_bytes)
      : options_(session.options()),
        module_(*session.module()),
        layout_(layout_of(session.options().family.message, size_bytes)),
        spread_(&module_, SLUICE_MEMORY_DEVICE, layout_),
        packed_(&module_, SLUICE_MEMORY_DEVICE, size_bytes),
        packer_(&module_, SLUICE_MEMORY_DEVICE, layout_, session.options().family.pack_way) {}

  Row measure() {
    const Loop loop = chosen_loop(options_, kUsual);
    Row row;
    row.size_bytes = layout_.size_bytes;
    row.check.n_iterations = checked_iterations(options_.check, loop.iterations);
    row.check.failure = check(row.check.n_iterations);
    if (!row.check.failure.empty()) {
      return row;
    }
    row.packed_by = packer_.way();
    row.series = {{"pack", {}}, {"unpack", {}}};
    row.stopped = repeat_blocks_alone(options_, row.series, [&](std::uint64_t) {
      row.series[0].blocks.push_back(time(loop, [&] { packer_.pack(packed_.data(), spread_.data()); }));
      row.series[1].blocks.push_back(time(loop, [&] { packer_.unpack(spread_.data(), packed_.data()); }));
    });
    return row;
  }

 private:
  std::string check(std::uint64_t n_iterations) {
    for (std::uint64_t iteration = 0; iteration < n_iterations; ++iteration) {
      const Pattern pattern(0, iteration, 0);
      spread_.fill(pattern, scratch_);
      packed_.poison(pattern, scratch_);
      packer_.pack(packed_.data(), spread_.data());
      std::string wrong = compare("packed", packed_, pattern);
      spread_.poison(pattern, scratch_);
      packer_.unpack(spread_.data(), packed_.data());
      wrong = wrong.empty() ? compare("unpacked", spread_, pattern) : wrong;
      if (!wrong.empty()) {
        return text_with_iteration(layout_.size_bytes, iteration, wrong);
      }
    }
    return "";
  }

  std::string compare(const char *what, const MessageBuffer &buffer, const Pattern &pattern) {
    const std::string wrong = buffer.find_error(pattern, scratch_);
    return wrong.empty() ? "" : fmt::format("{}, {}", what, wrong);
  }

  template <class Body>
  Summary time(const Loop &loop, Body body) {
    module_.synchronize();
    return summarise(sample_us(loop, body), options_.percentiles);
  }

  const Options &options_;
  DeviceModule &module_;
  MessageLayout layout_;
  MessageBuffer spread_;
  MessageBuffer packed_;
  Packer packer_;
  std::vector<std::byte> scratch_;
};

void run_pack(Session &session) {
  if (!session.options().family.message.is_derived()) {
    throw AgreedError("pack needs a datatype to pack: -D vector, for one");
  }
  session.begin({{"pack", "unpack"}, {}, true});
  measure_sizes_on_root(session, [&](std::uint64_t size) { return PackRun(session, size).measure(); });
}

const Registration pack_test({.name = "pack",
                              .title = "packing and unpacking a derived datatype by hand (-D), on rank 0",
                              .family = Family::micro,
                              .metric = Metric::copy_us,
                              .min_ranks = 1,
                              .max_ranks = 0,
                              .min_size = 1,
                              .has_placement = false,
                              .needs_device = true,
                              .has_derived_types = true,
                              .run = run_pack});

}  // namespace
}  // namespace sluice::bench

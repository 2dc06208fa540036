// SPDX-License-Identifier: BSD-3-Clause
// The text table, in OSU's form.
#include "bench/report/table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace sluice::bench {
namespace {

constexpr int kSizeWidth = 12;
constexpr int kValueWidth = 18;
constexpr int kNamedWidth = 21;  // columns named for their series: "h2d.runtime_aligned"
constexpr int kSpreadWidth = 24;

std::string column(const std::string &text, int width = kValueWidth) {
  return fmt::format("{:>{}}", text, width);
}

std::string column(double value, int width = kValueWidth) {
  return fmt::format("{:>{}.3f}", value, width);
}

std::string column(const Spread &spread) {
  return column(spread.median) + column(fmt::format("[{:.3f}..{:.3f}]", spread.min, spread.max), kSpreadWidth);
}

}  // namespace

std::string distinct(const std::vector<std::string> &words) {
  std::vector<std::string> kept;
  for (const std::string &word : words) {
    if (!word.empty() && std::find(kept.begin(), kept.end(), word) == kept.end()) {
      kept.push_back(word);
    }
  }
  return fmt::format("{}", fmt::join(kept, "/"));
}

std::string route_word(const Row &row) {
  std::vector<std::string> words;
  words.reserve(row.routes.size());
  for (const RankRoute &one : row.routes) {
    words.push_back(one.route);
  }
  const std::string text = distinct(words);
  return text.empty() ? "-" : text;
}

std::string metric_label(Metric metric, const char *statistic) {
  switch (metric) {
    case Metric::latency_us:
      return fmt::format("{} Latency(us)", statistic);
    case Metric::bandwidth_mbps:
      return fmt::format("{} MB/s", statistic);
    case Metric::rate_per_s:
      return fmt::format("{} Messages/s", statistic);
    case Metric::init_us:
      return fmt::format("{} Init(us)", statistic);
    default:
      return fmt::format("{} Copy(us)", statistic);
  }
}

const char *metric_unit(Metric metric) {
  switch (metric) {
    case Metric::bandwidth_mbps:
      return "MB/s";
    case Metric::rate_per_s:
      return "messages/s";
    default:
      return "us";
  }
}

bool is_higher_better(Metric metric) {
  return metric == Metric::bandwidth_mbps || metric == Metric::rate_per_s;
}

std::string Table::heading(const Columns &columns) const {
  const Metric metric = options_.test->metric;
  std::string text = fmt::format("{:<{}}", "# Size", kSizeWidth);
  if (options_.route == Route::compare) {
    text += column("direct") + column(by_hand_name(options_)) +
            column(fmt::format("direct/{}", by_hand_name(options_))) + column("[min..max]", kSpreadWidth);
  } else if (columns.series.size() > 1) {
    for (const std::string &name : columns.series) {
      text += column(name, kNamedWidth);
    }
  } else if (options_.repeat > 1) {
    text += column(metric_label(metric, "Median")) + column("[min..max]", kSpreadWidth);
  } else {
    text += column(metric_label(metric, "Avg"));
    for (const char *name : {"Median", "Min", "P99"}) {
      text += column(name);
    }
    if (options_.is_full) {
      text += column("Max") + column("Stddev") + column("Samples");
    }
    for (const double percent : options_.percentiles) {
      text += column(fmt::format("P{:g}", percent));
    }
  }
  for (const ExtraColumn &extra : columns.extras) {
    text += column(extra.label);
  }
  if (columns.has_packing) {
    text += column("Packed by");
  }
  if (columns.has_routes) {
    text += column("Route");
  }
  return options_.check == CheckMode::none ? text : text + column("Validation");
}

std::string Table::line(const Row &row) const {
  std::string text = fmt::format("{:<{}}", row.size_bytes, kSizeWidth);
  if (row.series.empty()) {
    text += column("-");
  } else if (options_.route == Route::compare) {
    const Series &direct = row.series.at(0);
    const Series &naive = row.series.at(1);
    text += column(medians_of(direct).median) + column(medians_of(naive).median) + column(ratio_of(direct, naive));
  } else if (row.series.size() > 1) {
    for (const Series &series : row.series) {
      text += column(options_.repeat > 1 ? medians_of(series).median : series.blocks.at(0).mean, kNamedWidth);
    }
  } else if (options_.repeat > 1) {
    text += column(medians_of(row.series[0]));
  } else {
    const Summary &summary = row.series[0].blocks.at(0);
    text += column(summary.mean) + column(summary.median) + column(summary.min) + column(summary.p99);
    if (options_.is_full) {
      text += column(summary.max) + column(summary.stddev) + column(std::to_string(summary.n_samples));
    }
    for (const double value : summary.percentiles) {
      text += column(value);
    }
  }
  for (const double value : row.extras) {
    text += column(value);
  }
  if (!row.packed_by.empty()) {
    text += column(row.packed_by);
  }
  if (!row.routes.empty()) {
    text += column(route_word(row));
  }
  if (options_.check == CheckMode::none) {
    return text;
  }
  return text + column(row.check.failure.empty() ? "Pass" : "Fail");
}

}  // namespace sluice::bench

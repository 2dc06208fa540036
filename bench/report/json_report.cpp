// SPDX-License-Identifier: BSD-3-Clause
// The JSON file of a run.
#include "bench/report/json_report.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstring>

#include "bench/report/run_environment.hpp"
#include "bench/report/table.hpp"
#include "bench_commit.hpp"

namespace sluice::bench {
namespace {

using nlohmann::json;

const char *route_name(const Options &options) {
  switch (options.route) {
    case Route::naive:
      return by_hand_name(options);
    case Route::compare:
      return "compare";
    default:
      return "direct";
  }
}

const char *check_name(CheckMode mode) {
  switch (mode) {
    case CheckMode::all:
      return "all";
    case CheckMode::none:
      return "none";
    default:
      return "some";
  }
}

const char *stop_name(Stop stop) {
  switch (stop) {
    case Stop::precise:
      return "precision";
    case Stop::time:
      return "time";
    default:
      return "repeat";
  }
}

json to_json(const Spread &spread) {
  return {{"median", spread.median}, {"min", spread.min}, {"max", spread.max}};
}

json to_json(const Summary &summary, const std::vector<double> &percents) {
  json block = {{"samples", summary.n_samples}, {"mean", summary.mean},
                {"median", summary.median},     {"min", summary.min},
                {"max", summary.max},           {"p99", summary.p99},
                {"stddev", summary.stddev},     {"median_interval", {summary.median_low, summary.median_high}}};
  for (const double sample : summary.samples) {
    constexpr double kSteps = 1e4;  // no clock reads finer, and the file is half as long
    block["sample_values"].push_back(std::round(sample * kSteps) / kSteps);
  }
  for (std::size_t i = 0; i < percents.size(); ++i) {
    block["percentiles"][fmt::format("{:g}", percents[i])] = summary.percentiles.at(i);
  }
  return block;
}

json to_json(const Row &row, const Options &options, const Columns &columns) {
  json text = {{"size_bytes", row.size_bytes}, {"series", json::array()}};
  if (row.check.n_iterations > 0) {
    text["check"] = {{"iterations", row.check.n_iterations}, {"passed", row.check.failure.empty()}};
  }
  if (options.time_cap_s && !row.series.empty()) {
    text["stopped_by"] = stop_name(row.stopped);
  }
  for (const Series &series : row.series) {
    json blocks = json::array();
    for (const Summary &block : series.blocks) {
      blocks.push_back(to_json(block, options.percentiles));
    }
    text["series"].push_back(
        {{"name", series.name}, {"blocks", std::move(blocks)}, {"medians", to_json(medians_of(series))}});
  }
  if (options.route == Route::compare && row.series.size() == 2) {
    text["ratio"] = to_json(ratio_of(row.series[0], row.series[1]));
    text["ratio"]["of"] = {row.series[0].name, row.series[1].name};
  }
  for (std::size_t i = 0; i < row.extras.size(); ++i) {
    text["extras"][columns.extras.at(i).key] = row.extras[i];
  }
  if (!row.packed_by.empty()) {
    text["packed_by"] = row.packed_by;
  }
  for (const RankRoute &one : row.routes) {
    text["routes"].push_back({{"rank", one.rank}, {"route", one.route}});
  }
  return text;
}

json datatype_json(const DerivedType &type) {
  json text = {{"kind", word_of(type.kind)}};
  if (type.has_gaps()) {
    text["stride_bytes"] = type.stride_bytes;
    text["block_bytes"] = type.block_bytes;
  }
  return text;
}

json family_json(const Options &options) {
  const FamilyOptions &family = options.family;
  switch (options.test->family) {
    case Family::coll:
      return {{"type", word_of(family.type)},
              {"operation", word_of(family.operation)},
              {"sync", word_of(family.start)},
              {"topology", fmt::format("cart:{}:{}", family.topology.dimensions, family.topology.radius)},
              {"layout", word_of(family.layout)},
              {"root", options.root},
              {"groups", family.n_groups},
              {"progress_calls", family.n_progress_calls},
              {"compute", word_of(family.compute)}};
    case Family::rma:
      return {{"type", word_of(family.type)},
              {"operation", word_of(family.operation)},
              {"window", word_of(family.window)},
              {"epoch", word_of(family.epoch)}};
    default:
      return {{"threads", options.test->needs_threads ? family.n_threads : 1},
              {"partitions", family.n_partitions},
              {"datatype", datatype_json(family.message)},
              {"pack_by", word_of(family.pack_way)},
              {"large_counts", family.has_large_counts}};
  }
}

// "device", or, of a rank that receives into another kind, "device/host".
json placement_json(const Options &options) {
  const auto names_of = [](const auto &send, const auto &recv) {
    json names = json::array();
    for (std::size_t i = 0; i < send.size(); ++i) {
      const std::string name = memory_name(send.at(i));
      names.push_back(send.at(i) == recv.at(i) ? name : fmt::format("{}/{}", name, memory_name(recv.at(i))));
    }
    return names;
  };
  return options.rank_placement.empty() ? names_of(options.placement, options.recv_placement)
                                        : names_of(options.rank_placement, options.rank_recv_placement);
}

json options_json(const Options &options) {
  const auto count = [](const std::optional<std::uint64_t> &value) { return value ? json(*value) : json(nullptr); };
  return {{"device", options.device},
          {"placement", placement_json(options)},
          {"route", route_name(options)},
          {"naive_staging", options.naive_staging == NaiveStaging::pinned ? "pinned" : "pageable"},
          {"iterations", count(options.iterations)},
          {"warmup", count(options.warmup)},
          {"batch", options.batch},
          {"repeat", options.repeat},
          {"time_cap_s", options.time_cap_s ? json(*options.time_cap_s) : json(nullptr)},
          {"precision_percent", options.precision_percent},
          {"window", options.window},
          {"buffers", options.has_multiple_buffers ? "multiple" : "single"},
          {"rotate", options.rotate},
          {"cold", options.is_cold},
          {"bind", describe(options.binding)},
          {"check", check_name(options.check)},
          {"family", family_json(options)}};
}

}  // namespace

json json_document(const Options &options, const RunRecord &run, const Columns &columns, const std::vector<Row> &rows,
                   const std::string &failure) {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  json document = {{"schema", "sluice-bench"},
                   {"schema_version", kSchemaVersion},
                   {"version", program_version()},
                   {"commit", *program_commit() != '\0' ? json(program_commit()) : json(nullptr)},
                   {"time_utc", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now))},
                   {"command", run.command},
                   {"mpi", {{"library", run.mpi_library}, {"standard", run.mpi_standard}}},
                   {"environment", query_run_environment()},
                   {"ranks", run.ranks},
                   {"notes", run.notes},
                   {"clock", {{"name", "steady"}, {"read_ns", run.clock_cost_ns}}},
                   {"test", options.test->name},
                   {"options", options_json(options)},
                   {"metric",
                    {{"unit", metric_unit(options.test->metric)},
                     {"better", is_higher_better(options.test->metric) ? "higher" : "lower"}}},
                   {"rows", json::array()},
                   {"status", failure.empty() ? "ok" : "failed"}};
  for (const Row &row : rows) {
    document["rows"].push_back(to_json(row, options, columns));
  }
  if (!failure.empty()) {
    document["error"] = failure;
  }
  return document;
}

const char *program_version() {
  return SLUICE_BENCH_VERSION;
}

const char *program_commit() {
  return kCommit;
}

}  // namespace sluice::bench

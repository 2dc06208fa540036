// SPDX-License-Identifier: BSD-3-Clause
#include "command/trace_merge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/output_file.hpp"
#include "base/trace.hpp"

namespace sluice::command {
namespace {

using nlohmann::json;

// Throws json::exception, std::invalid_argument or std::out_of_range for what is no trace of ours.
std::int64_t epoch_of(const json &trace) {
  const json &about = trace.at("otherData");
  if (about.at("format").get<int>() != trace::kFormat) throw std::invalid_argument("another format");
  return std::stoll(about.at("epoch_unix_ns").get<std::string>());
}

void shift(json *event, double shift_us) {
  if (!event->contains("ts")) return;
  event->at("ts") = event->at("ts").get<double>() + shift_us;
  json &submitted = event->at("args").at("submitted");
  submitted = submitted.get<double>() + shift_us;
}

Status unusable(const std::string &name, const char *why) {
  return Status::error(ErrorKind::kInvalidArgument,
                       fmt::format("{} is no trace of Sluice's ({}); give files that SLUICE_TRACE made", name, why));
}

}  // namespace

Status merge_traces(const std::vector<std::string> &names, const std::vector<std::string> &texts, std::string *merged) {
  std::vector<json> traces;
  std::int64_t first_ns = std::numeric_limits<std::int64_t>::max();
  std::uint64_t n_dropped = 0;
  json events = json::array();
  for (std::size_t i = 0; i < texts.size(); ++i) {
    try {
      traces.push_back(json::parse(texts[i]));
      first_ns = std::min(first_ns, epoch_of(traces.back()));
      n_dropped += traces.back().at("otherData").at("dropped").get<std::uint64_t>();
    } catch (const std::exception &error) {
      return unusable(names[i], error.what());
    }
  }
  for (std::size_t i = 0; i < traces.size(); ++i) {
    try {
      const double shift_us = static_cast<double>(epoch_of(traces[i]) - first_ns) * 1e-3;
      for (json &event : traces[i].at("traceEvents")) {
        shift(&event, shift_us);
        events.push_back(std::move(event));
      }
    } catch (const std::exception &error) {
      return unusable(names[i], error.what());
    }
    traces[i] = nullptr;  // its memory is not needed any more
  }
  const json about = {{"format", trace::kFormat},
                      {"merged", traces.size()},
                      {"dropped", n_dropped},
                      {"epoch_unix_ns", std::to_string(first_ns)}};
  *merged = json{{"displayTimeUnit", "ns"}, {"otherData", about}, {"traceEvents", std::move(events)}}.dump() + "\n";
  return {};
}

int merge_traces(const std::vector<std::string> &files, const std::string &output) {
  std::vector<std::string> texts;
  for (const std::string &name : files) {
    std::ifstream file(name);
    texts.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    if (!file.is_open() || file.bad()) {
      fmt::print(stderr, "sluice trace: {} cannot be read\n", name);
      return 1;
    }
  }
  std::string merged;
  if (const Status status = merge_traces(files, texts, &merged); !status.is_ok()) {
    fmt::print(stderr, "sluice trace: {}\n", status.message());
    return 1;
  }
  if (output.empty()) return std::fputs(merged.c_str(), stdout) < 0 ? 1 : 0;
  const Status written = write_file(output, merged, "the merged trace", "-o");
  if (written.is_ok()) return 0;
  fmt::print(stderr, "sluice trace: {}\n", written.message());
  return 1;
}

}  // namespace sluice::command

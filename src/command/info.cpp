// SPDX-License-Identifier: BSD-3-Clause
#include "command/info.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

#include "base/environment.hpp"
#include "command/knob_problems.hpp"
#include "device/backend.hpp"
#include "network/network.hpp"
#include "plan/collective_terms.hpp"
#include "plan/one_sided.hpp"
#include "plan/plan.hpp"
#include "plan/policy.hpp"
#include "plan/queue_engine.hpp"
#include "plan/ways.hpp"
#include "sluice/sluice.h"

namespace sluice::command {
namespace {

// The modules are opened here and not by the registry, which opens those only whose runtime the process uses.
using OpenBackends = std::vector<std::unique_ptr<device::Backend>>;

// Messages of a backend begin with its name, which stands beside them here anyway.
std::string without_name(const std::string &text, const std::string &backend_name) {
  const std::string prefix = backend_name + ": ";
  return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

BackendInfo ask_backend(const device::Module &module, OpenBackends *open) {
  BackendInfo info{module.name, module.path, "", "", "", {}};
  Status status;
  open->push_back(device::Backend::load(module.path, &status));
  const device::Backend *backend = open->back().get();
  if (backend == nullptr) {
    info.problem =
        status.is_ok() ? "it was not loaded and gave no reason" : without_name(status.message(), module.name);
    return info;
  }
  const sluice_backend_t &table = backend->table();
  const std::int32_t n_devices = table.device_count();
  for (std::int32_t i = 0; i < n_devices; ++i) {
    sluice_device_info_t device{};
    const Status asked = backend->check(table.device_info(i, &device), fmt::format("describe device {}", i));
    if (asked.is_ok()) {
      info.devices.push_back(device);
    } else {
      info.problem = asked.message();
    }
  }
  if (n_devices > 0) {
    info.staging_memory = name(plan::policy_of(backend, 0).staging_memory);
    if (!info.devices.empty()) {
      const auto tables = find_tuning(plan::process_tuning(), module.name, info.devices.front().name);
      for (const plan::TuningTable *one : tables) info.tuning += (info.tuning.empty() ? "" : ", ") + one->path;
    }
  }
  return info;
}

KnobInfo info_of(const KnobValue &knob) {
  return {knob.line.name,      knob.value,    knob.source == KnobSource::kEnvironment ? "environment" : "default",
          knob.line.range,     knob.line.doc, experimental_of(knob.line.doc),
          knob.line.is_tunable};
}

void add_knobs_of(const device::Backend *backend, std::vector<KnobInfo> *knobs) {
  if (backend == nullptr) return;
  for (std::size_t i = 0; i < backend->table().n_knobs; ++i) {
    const sluice_backend_knob_t &knob = backend->table().knobs[i];
    const char *set = environment_variable(knob.name);
    knobs->push_back({knob.name, set != nullptr ? set : knob.default_value, set != nullptr ? "environment" : "default",
                      "", knob.doc, experimental_of(knob.doc)});
  }
}

// The first backend that has a device, and `suits`; null: none.
template <typename Suits>
const device::Backend *find_backend(const OpenBackends &open, Suits suits) {
  const auto first = std::find_if(open.begin(), open.end(), [&](const std::unique_ptr<device::Backend> &backend) {
    return backend != nullptr && backend->table().device_count() > 0 && suits(backend->table());
  });
  return first != open.end() ? first->get() : nullptr;
}

// Whether the library carries memory of a device is found out by a process that has some.
NetworkInfo ask_network() {
  const network::Choice choice = network::choose_for_process();
  std::unique_ptr<network::Provider> provider;
  const Status status = network::open(choice, &provider);
  return {std::string(network::kKindNames[static_cast<std::size_t>(choice.kind)]),
          std::string(network::reason(choice.why)), status.message()};
}

// The route of a message depends on no more of a backend than that it has a device.
RouteAnswer answer(const RouteQuestion &question, const OpenBackends &open, bool has_network) {
  const device::Backend *backend = find_backend(open, [](const sluice_backend_t &) { return true; });
  RouteAnswer result{question, backend != nullptr ? backend->name() : "", "", "", "", "", ""};
  const plan::Policy &policy = plan::policy_of(backend, 0);
  const auto explain = [&](MemoryKind kind, bool may_be_described) {
    plan::Query query{kind, question.size_bytes, true};
    query.may_be_described = may_be_described;
    return plan::explain(query, plan::choose(query, policy));
  };
  const auto explain_to = [&](plan::Peer peer, bool is_exportable) {
    plan::Query query{question.from, question.size_bytes, true};
    query.is_outgoing = true;
    query.peer = peer;
    query.is_exportable = is_exportable;
    query.has_network = has_network;
    return plan::explain(query, plan::choose(query, policy));
  };
  result.send = explain(question.from, false);
  result.receive = explain(question.to, backend != nullptr);
  result.send_in_node = explain_to(plan::Peer::kLocal, true);
  result.send_unmapped = explain_to(plan::Peer::kLocal, false);
  result.send_far = explain_to(plan::Peer::kRemote, true);
  return result;
}

struct NamedPattern {
  std::string_view name;
  plan::Pattern pattern;
};
constexpr std::array kCollectives{
    NamedPattern{"bcast", plan::Pattern::kBroadcast},     NamedPattern{"gather", plan::Pattern::kGather},
    NamedPattern{"scatter", plan::Pattern::kScatter},     NamedPattern{"allgather", plan::Pattern::kAllgather},
    NamedPattern{"alltoall", plan::Pattern::kAlltoall},   NamedPattern{"reduce", plan::Pattern::kReduce},
    NamedPattern{"allreduce", plan::Pattern::kAllreduce}, NamedPattern{"reduce_scatter", plan::Pattern::kReduceScatter},
    NamedPattern{"scan", plan::Pattern::kScan},           NamedPattern{"exscan", plan::Pattern::kExscan},
};

constexpr std::array<std::string_view, 6> kOneSided{
    "put", "get", "accumulate", "get_accumulate", "fetch_and_op", "compare_and_swap"};

// To device memory of each sort of target; several nodes: none is near.
std::vector<std::string> explain_one_sided(const WaysQuestion &question, const plan::Policy &policy) {
  plan::OneSidedQuery query;
  query.is_exported = policy.allows_ipc;
  query.has_runtime = true;
  const auto explain = [&] { return plan::explain(choose_one_sided(query)); };
  query.is_self = true;
  std::vector<std::string> sentences{fmt::format("to its own memory: {}", explain())};
  query.is_self = false;
  if (question.n_nodes > 1) sentences.push_back(fmt::format("to a rank of another node: {}", explain()));
  query.is_near = true;
  sentences.push_back(fmt::format("to a rank of this node: {}", explain()));
  query.is_dynamic = true;
  sentences.push_back(fmt::format("in a dynamic window: {}", explain()));
  sentences.push_back(fmt::format("from device memory into a window without any: {}",
                                  plan::explain(plan::OneSidedReason::kHostWindow)));
  return sentences;
}

// Of right arguments, and of a type that rounds, the same on all ranks.
WaysAnswer answer(const WaysQuestion &question, const OpenBackends &open) {
  const device::Backend *backend = find_backend(open, [](const sluice_backend_t &) { return true; });
  WaysAnswer result{question, backend != nullptr ? backend->name() : "", {}};
  const plan::Policy &policy = plan::policy_of(backend, 0);
  if (std::find(kOneSided.begin(), kOneSided.end(), question.operation) != kOneSided.end()) {
    result.sentences = explain_one_sided(question, policy);
    return result;
  }
  const CollectiveTerms terms = plan::collective_terms(policy, policy);
  plan::CallFacts facts;
  for (const NamedPattern &known : kCollectives) {
    if (known.name == question.operation) facts.pattern = known.pattern;
  }
  facts.has_channel = backend != nullptr;
  facts.is_of_one_group = question.n_ranks > 1;
  facts.is_on_one_node = question.n_nodes == 1;
  facts.n_ranks = question.n_ranks;
  facts.known = plan::LengthKnown::kAll;
  facts.size_bytes = question.size_bytes;
  facts.keeps_rank_order = plan::is_reduction(facts.pattern) && terms.keeps_rank_order;
  facts.is_in_rank_order = facts.keeps_rank_order;
  facts.can_be_reduced_in_parts = !facts.is_in_rank_order;
  for (const plan::WayChoice &choice : choose_ways(facts, terms)) result.sentences.push_back(plan::explain(choice));
  return result;
}

PackAnswer answer(const PackQuestion &question, const OpenBackends &open) {
  const device::Backend *backend = find_backend(open, [](const sluice_backend_t &) { return true; });
  PackAnswer result{question, backend != nullptr ? backend->name() : "", {}};
  const plan::PackLimits &limits = plan::policy_of(backend, 0).pack;
  const std::uint64_t n_runs = (question.size_bytes + question.run_bytes - 1) / question.run_bytes;
  const std::uint64_t last = question.size_bytes - (n_runs - std::min<std::uint64_t>(n_runs, 1)) * question.run_bytes;
  std::uint64_t span_bytes = 0;
  if (n_runs == 0 || __builtin_mul_overflow(n_runs - 1, question.gap_bytes, &span_bytes) ||
      __builtin_add_overflow(span_bytes, question.size_bytes, &span_bytes)) {
    span_bytes = 0;  // farther apart than can be said
  }
  const plan::RunSummary runs{question.size_bytes, n_runs, last, std::min(question.run_bytes, question.size_bytes),
                              span_bytes};
  for (std::size_t leg = 0; leg < plan::kPackLegNames.size(); ++leg) {
    const plan::PackQuery query{runs, static_cast<plan::PackLeg>(leg), question.kind};
    result.sentences.push_back(plan::explain(query, choose_packing(query, limits)));
  }
  return result;
}

QueueAnswer answer_queue(const OpenBackends &open) {
  const device::Backend *backend =
      find_backend(open, [](const sluice_backend_t &table) { return table.stream_open != nullptr; });
  if (backend == nullptr) return {};
  QueueAnswer result{backend->name(), {}};
  plan::QueueEngineQuery query;
  query.wanted = plan::queue_engine_of(Knobs::process().text("SLUICE_QUEUE_ENGINE"));
  query.is_agreed = true;
  query.has_channels = backend->table().stream_take != nullptr;
  for (const bool is_asserted : {false, true}) {
    for (const plan::QueueComm comm : {plan::QueueComm::kOneNode, plan::QueueComm::kSomeHere}) {
      query.comm = comm;
      query.is_asserted = is_asserted;
      result.sentences.push_back(plan::explain(query, choose_queue_engine(query)));
    }
  }
  return result;
}

}  // namespace

std::vector<std::string> operation_names() {
  std::vector<std::string> names(kOneSided.begin(), kOneSided.end());
  for (const NamedPattern &known : kCollectives) names.emplace_back(known.name);
  return names;
}

std::string experimental_of(std::string_view doc) {
  constexpr std::string_view kAll = "Experimental: ";
  constexpr std::string_view kValue = ": experimental";
  if (doc.find(kAll) != std::string_view::npos) return "experimental";
  std::string values;
  for (std::size_t at = doc.find(kValue); at != std::string_view::npos; at = doc.find(kValue, at + 1)) {
    const std::size_t space = doc.rfind(' ', at);
    const std::size_t begin = space == std::string_view::npos ? 0 : space + 1;
    values.append(values.empty() ? "experimental: " : ", ").append(doc.substr(begin, at - begin));
  }
  return values;
}

std::string version() {
  return fmt::format("{}.{}.{}", SLUICE_VERSION_MAJOR, SLUICE_VERSION_MINOR, SLUICE_VERSION_PATCH);
}

Info collect_info(const std::string &library_folder, const InfoQuestions &questions) {
  Info info;
  // First of all: it forks, and a backend's runtime starts threads.
  info.host_mpis = find_host_mpis();
  info.launchers = find_launchers();

  info.installation = find_installation(library_folder);
  for (const Status &problem : info.installation.problems) info.problems.push_back(problem.message());
  for (const KnobValue &knob : Knobs::process().values()) info.knobs.push_back(info_of(knob));
  for (const KnobValue &setting : Knobs::process().settings()) info.settings.push_back(info_of(setting));
  info.tuning = plan::process_tuning();
  OpenBackends open;
  for (const device::Module &module : info.installation.modules) {
    info.backends.push_back(ask_backend(module, &open));
    add_knobs_of(open.back().get(), &info.knobs);
  }
  for (std::string &text : unknown_variables(info.installation.modules)) info.problems.push_back(std::move(text));
  info.network = ask_network();
  const bool has_network = info.network.provider != "none" && info.network.problem.empty();
  if (questions.route) info.route = answer(*questions.route, open, has_network);
  if (questions.ways) info.ways = answer(*questions.ways, open);
  if (questions.pack) info.pack = answer(*questions.pack, open);
  if (questions.asks_queue) info.queue = answer_queue(open);
  return info;
}

}  // namespace sluice::command

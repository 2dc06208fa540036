// SPDX-License-Identifier: BSD-3-Clause
// The program `sluice`: reads the command line and calls run.cpp, info.cpp and the like.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>

#include "command/doctor.hpp"
#include "command/info.hpp"
#include "command/job.hpp"
#include "command/place_program.hpp"
#include "command/run.hpp"
#include "command/script.hpp"
#include "command/trace_merge.hpp"
#include "packaging/option_table.hpp"

namespace sluice::command {
namespace {

constexpr int kWrongUse = 2;

struct RouteWords {
  std::string size;
  std::string operation;  // a collective or one-sided one; empty: a message
  int n_ranks = 2;
  int n_nodes = 1;
  std::string from = "device";
  std::string to = "device";
};

// The kind that a word names; freed memory is no kind that anybody has.
bool parse_kind(const std::string &word, MemoryKind *kind) {
  for (std::size_t i = 0; i < kMemoryKindNames.size(); ++i) {
    *kind = static_cast<MemoryKind>(i);
    if (kMemoryKindNames[i] == word && *kind != MemoryKind::kFreed) return true;
  }
  return false;
}

// What "info" is asked besides; all words as they were typed.
struct InfoWords {
  RouteWords route;
  std::string pack_size;
  std::string run = "64";
  std::string gap = "64";
  bool asks_queue = false;
};

int read_size(const RouteWords &words, std::uint64_t *size_bytes) {
  if (parse_bytes(words.size, size_bytes)) return 0;
  fmt::print(stderr, "sluice info: --route {}: wanted a number of bytes, with K, M or G if you like\n", words.size);
  return kWrongUse;
}

int read_route(const RouteWords &words, InfoQuestions *questions) {
  if (words.size.empty()) return 0;
  if (!words.operation.empty()) {
    questions->ways = WaysQuestion{words.operation, 0, words.n_ranks, words.n_nodes};
    return read_size(words, &questions->ways->size_bytes);
  }
  RouteQuestion *question = &questions->route.emplace();
  if (const int result = read_size(words, &question->size_bytes); result != 0) return result;
  if (!parse_kind(words.from, &question->from) || !parse_kind(words.to, &question->to)) {
    fmt::print(stderr, "sluice info: --from {} --to {}: wanted host, pinned, device or shared\n", words.from, words.to);
    return kWrongUse;
  }
  return 0;
}

int read_pack(const InfoWords &words, InfoQuestions *questions) {
  if (words.pack_size.empty()) return 0;
  PackQuestion *question = &questions->pack.emplace();
  if (!parse_bytes(words.pack_size, &question->size_bytes) || !parse_bytes(words.run, &question->run_bytes) ||
      !parse_bytes(words.gap, &question->gap_bytes) || question->size_bytes == 0 || question->run_bytes == 0) {
    fmt::print(
        stderr,
        "sluice info: --pack {} --run {} --gap {}: wanted numbers of bytes, with K, M or G if you like, the first "
        "two not 0\n",
        words.pack_size, words.run, words.gap);
    return kWrongUse;
  }
  return 0;
}

int show_info(const std::string &library_folder, const InfoWords &words, bool wants_json) {
  InfoQuestions questions;
  questions.asks_queue = words.asks_queue;
  for (const int result : {read_route(words.route, &questions), read_pack(words, &questions)}) {
    if (result != 0) return result;
  }
  const Info info = collect_info(library_folder, questions);
  const std::string text = wants_json ? to_json(info) : to_text(info);
  return std::fputs(text.c_str(), stdout) < 0 ? 1 : 0;
}

void describe_info(CLI::App *app, InfoWords *words) {
  CLI::Option *size = app->add_option("--route", words->route.size, "say which route a message of this size takes");
  constexpr const char *kKinds = "KIND:{host,pinned,device,shared}";
  app->add_option("--from", words->route.from, "memory that it is sent from")
      ->needs(size)
      ->capture_default_str()
      ->type_name(kKinds);
  app->add_option("--to", words->route.to, "memory that it is received in")
      ->needs(size)
      ->capture_default_str()
      ->type_name(kKinds);
  CLI::Option *operation =
      app->add_option("--operation", words->route.operation,
                      "of a blocking collective operation or a one-sided one instead: which ways its ranks try")
          ->needs(size)
          ->check(CLI::IsMember(operation_names()));
  app->add_option("--comm-size", words->route.n_ranks, "ranks of the communicator")
      ->needs(operation)
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app->add_option("--nodes", words->route.n_nodes, "nodes that they are on")
      ->needs(operation)
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app->add_flag("--queue", words->asks_queue, "say what carries the messages of queues");
  CLI::Option *pack =
      app->add_option("--pack", words->pack_size,
                      "say what brings so many bytes of device data with gaps together, and how long each way takes "
                      "by the model");
  app->add_option("--run", words->run, "bytes of each run of them")->needs(pack)->capture_default_str();
  app->add_option("--gap", words->gap, "bytes between two runs")->needs(pack)->capture_default_str();
}

void describe_run(CLI::App *app, RunRequest *request) {
  app->add_option("--backend", request->backends, "backends that may be used: auto, none or names: a,b")
      ->type_name("BACKENDS");
  app->add_option("--mpi", request->mpi, "binary interface of the program's MPI")
      ->check(CLI::IsMember({"auto", "mpich", "ompi", "abi"}));
  app->add_option("--bind", request->bind,
                  "run each rank on the cores nearest its device: closest, list:0,1,... (the device of each rank of a "
                  "node) or none")
      ->capture_default_str()
      ->type_name("RULE:{closest,none,list:}");
  app->add_flag("--stats", request->wants_statistics, "print statistics when the program calls MPI_Finalize");
  app->add_option("--lib-dir", request->library_folder, "folder of the Sluice libraries")->type_name("DIR");
  app->footer("Example: sluice run --stats -- mpiexec -n 4 ./app");
}

void describe_topology(CLI::App *app, PlaceWords *words) {
  CLI::Option *wanted = app->add_flag("--topology", words->is_wanted,
                                      "show the cores, the memory and the network cards near each device");
  app->add_option("--ranks", words->n_ranks, "ranks of a node (default: one a device)")
      ->needs(wanted)
      ->check(CLI::PositiveNumber);
  app->add_option("--bind", words->bind, "how they are bound: closest or list:0,1,...")
      ->needs(wanted)
      ->capture_default_str()
      ->type_name("RULE:{closest,list:}");
  app->add_option("--backend", words->backends, "backends whose devices are meant: auto or names: a,b")
      ->needs(wanted)
      ->type_name("BACKENDS");
  app->add_flag("--measure", words->wants_links, "measure what the devices reach of each other")->needs(wanted);
}

void describe_doctor(CLI::App *app, DoctorWords *words) {
  app->add_option("--mpi", words->mpi, "binary interface of the MPI, where the launcher does not tell it")
      ->check(CLI::IsMember({"auto", "mpich", "ompi", "abi"}));
  app->add_option("--backend", words->backend, "backend whose devices are looked at (default: the first with a device)")
      ->type_name("BACKEND");
  app->add_flag("--json", words->wants_json, "print JSON");
  app->add_flag("--no-preload", words->leaves_preload, "preload nothing: look at the ranks as they are");
  app->add_option("--lib-dir", words->library_folder, "folder of the Sluice libraries")->type_name("DIR");
  app->add_option_function<std::string>(
         "--job", [words](const std::string &pid) { words->job = pid.empty() ? kOwnProcesses : std::stoi(pid); },
         "what do the ranks of a running job wait for: of this process and all below it, or all of this user here")
      ->type_name("PID")
      ->expected(0, 1)
      ->check(CLI::PositiveNumber)
      ->excludes("--mpi")
      ->excludes("--backend")
      ->excludes("--no-preload");
  app->footer("Start it by your own launcher: mpiexec -n 4 sluice doctor");
}

// Returns `sluice trace merge`.
CLI::App *describe_trace(CLI::App *app, std::vector<std::string> *files, std::string *output) {
  CLI::App *merge = app->add_subcommand("merge", "joins the files of all ranks on one time axis");
  app->require_subcommand(1);
  merge->add_option("files", *files, "the ranks' files")->required()->type_name("FILE");
  merge->add_option("-o,--output", *output, "file for the result (default: standard output)")->type_name("FILE");
  return merge;
}

// `command` is what stood behind "--", which is not the parser's business.
int dispatch(int argc, char **argv, std::vector<std::string> command) {
  CLI::App app{"Makes the MPI you already have GPU-aware."};
  app.set_version_flag("--version", version());
  app.require_subcommand(1);

  RunRequest request;
  request.command = std::move(command);
  CLI::App *run_app = app.add_subcommand("run", "starts an MPI program with Sluice: sluice run [options] -- command");
  describe_run(run_app, &request);

  std::string library_folder;
  InfoWords words;
  bool wants_json = false;
  CLI::App *info_app = app.add_subcommand("info", "shows host MPIs, backends, devices, knobs and routes");
  info_app->add_flag("--json", wants_json, "print JSON");
  info_app->add_option("--lib-dir", library_folder, "folder of the Sluice libraries")->type_name("DIR");
  describe_info(info_app, &words);

  DoctorWords doctor;
  CLI::App *doctor_app = app.add_subcommand("doctor", "says which way data take between the ranks of a job, and why");
  describe_doctor(doctor_app, &doctor);

  PlaceWords place;
  describe_topology(info_app, &place);

  std::vector<std::string> trace_files;
  std::string merged_file;
  CLI::App *trace_app = app.add_subcommand("trace", "works on the files that SLUICE_TRACE makes");
  CLI::App *merge_app = describe_trace(trace_app, &trace_files, &merged_file);

  CLI::App *report_app = app.add_subcommand(
      "report", "makes a page of a job's statistics and traces, or of sluice-bench's results: sluice report FILE...");
  report_app->prefix_command();  // what stands behind it is the script's business, its help too
  report_app->set_help_flag();

  CLI::App *tune_app = app.add_subcommand("tune", "measures this machine and writes what is best here: sluice tune");
  tune_app->prefix_command();
  tune_app->set_help_flag();

  if (argc == 2 && std::string_view(argv[1]) == packaging::kDescribeOptions) {
    return std::puts(packaging::describe_program(app).dump().c_str()) < 0 ? 1 : 0;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? 0 : kWrongUse;
  }
  if (report_app->parsed()) return run_script("report_runs", report_app->remaining());
  if (tune_app->parsed()) return run_script("tune", tune_app->remaining());
  if (merge_app->parsed()) return merge_traces(trace_files, merged_file);
  if (doctor_app->parsed()) return doctor.job ? examine_job(*doctor.job, doctor.wants_json) : examine(doctor);
  if (info_app->parsed() && place.is_wanted) {
    place.wants_json = wants_json;
    place.library_folder = library_folder;
    return show_topology(place);
  }
  return run_app->parsed() ? run(request) : show_info(library_folder, words, wants_json);
}

}  // namespace
}  // namespace sluice::command

int main(int argc, char **argv) {
  try {
    char **end = argv + argc;
    char **separator = std::find_if(argv, end, [](const char *word) { return std::string_view(word) == "--"; });
    std::vector<std::string> command;
    if (separator != end) command.assign(separator + 1, end);
    return sluice::command::dispatch(static_cast<int>(separator - argv), argv, std::move(command));
  } catch (const std::exception &error) {
    fmt::print(stderr, "sluice: {}\n", error.what());
    return 1;
  }
}

// SPDX-License-Identifier: BSD-3-Clause
// Options and life of a rank test.
#include "tests/support/session.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

namespace sluice::tests {
namespace {

constexpr std::size_t kEarlyBytes = 100'000;

template <class Number>
bool parse_number(std::string_view text, Number &value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

Session &Session::get() {
  static Session session;
  return session;
}

bool *Session::find_flag(std::string_view name) {
  return name == "--open-late" ? &options_.opens_late
         : name == "--threads" ? &options_.wants_threads
         : name == "--digests" ? &options_.prints_digests
                               : nullptr;
}

std::string Session::parse(int &argc, char **argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (bool *const flag = find_flag(name); flag != nullptr) {
      *flag = true;
      continue;
    }
    if (i + 1 >= argc) {
      return fmt::format("unknown option or missing value: {}", name);
    }
    const std::string_view value = argv[++i];
    bool is_good = true;
    if (name == "--backend") {
      options_.backend = value == "none" ? "" : value;
    } else if (name == "--matrix") {
      is_good = value == "quick" || value == "full";
      options_.is_full = value == "full";
    } else if (name == "--sources") {
      options_.sources = value;
    } else if (name == "--seed") {
      is_good = parse_number(value, options_.seed);
    } else if (name == "--programs") {
      is_good = parse_number(value, options_.n_programs);
    } else {
      is_good = false;
    }
    if (!is_good) {
      return fmt::format("bad option {} {}", name, value);
    }
  }
  // Of this rank alone, where the ranks are to be unlike.
  if (const char *own = std::getenv("TEST_BACKEND"); own != nullptr) {
    options_.backend = std::string_view(own) == "none" ? "" : own;
  }
  return "";
}

std::string Session::open_backend() {
  if (options_.backend.empty()) {
    return "";
  }
  std::string reason;
  module_ = BackendModule::open(options_.backend, reason);
  if (module_ == nullptr) {
    return reason;
  }
  return module_->device_count() > 0 ? "" : "backend " + options_.backend + " has no device";
}

std::string Session::open(int &argc, char **&argv) {
  std::string missing;
  if (!options_.opens_late) {
    missing = open_backend();
    if (module_ != nullptr && missing.empty()) {
      early_memory_ = std::make_unique<Memory>(module_, Kind::device, kEarlyBytes);
    }
  }
  int provided = MPI_THREAD_SINGLE;
  if (options_.wants_threads) {
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  } else {
    MPI_Init(&argc, &argv);
  }
  MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
  MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  // Completion functions belong to no communicator: which handler they call is the host MPI's choice.
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_size(comm_, &size_);
  if (options_.opens_late) {
    missing = open_backend();
  }
  has_sluice_ = dlsym(RTLD_DEFAULT, "sluice_is_enabled") != nullptr;
  if (agree_any(!missing.empty())) {
    return missing.empty() ? "another rank misses its backend" : missing;
  }
  if (options_.wants_threads && provided != MPI_THREAD_MULTIPLE) {
    return "the host MPI has no MPI_THREAD_MULTIPLE";
  }
  find_kinds();
  return "";
}

void Session::find_kinds() {
  if (module_ == nullptr) {
    return;
  }
  for (const Kind kind : {Kind::pinned, Kind::device, Kind::shared}) {
    try {
      const Memory probe(module_, kind, 1);
      kinds_.push_back(kind);
    } catch (const std::runtime_error &error) {
      if (rank_ == 0) {
        fmt::print("not tested: {}\n", error.what());
      }
    }
  }
}

void Session::close() {
  early_memory_.reset();
  MPI_Comm_free(&comm_);
  MPI_Finalize();
}

bool Session::has_kind(Kind kind) const {
  return std::find(kinds_.begin(), kinds_.end(), kind) != kinds_.end();
}

bool Session::agree_any(bool value) const {
  int mine = value ? 1 : 0;
  int any = 0;
  MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, comm_);
  return any != 0;
}

}  // namespace sluice::tests

// SPDX-License-Identifier: BSD-3-Clause
#include "device/registry.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <span>
#include <sstream>

#include "base/file_descriptor.hpp"
#include "base/knobs.hpp"
#include "base/log.hpp"

extern char **environ;  // NOLINT(readability-redundant-declaration): POSIX has programs declare it

namespace sluice::device {
namespace {

std::vector<std::string> loaded_libraries() {
  std::vector<std::string> names;
  dl_iterate_phdr(
      [](dl_phdr_info *info, size_t /*size*/, void *data) {
        if (info->dlpi_name != nullptr) {
          static_cast<std::vector<std::string> *>(data)->push_back(
              std::filesystem::path(info->dlpi_name).filename().string());
        }
        return 0;
      },
      &names);
  return names;
}

bool is_runtime_loaded(const Module &module, const std::vector<std::string> &libraries) {
  return std::any_of(module.runtimes.begin(), module.runtimes.end(), [&](const std::string &runtime) {
    return std::any_of(libraries.begin(), libraries.end(),
                       [&](const std::string &library) { return library.starts_with(runtime); });
  });
}

// SLUICE_BACKENDS as a predicate.
bool is_allowed(const std::string &name) {
  const std::string &allowed = Knobs::process().text("SLUICE_BACKENDS");
  if (allowed == "auto") return true;
  std::istringstream words(allowed);
  for (std::string word; std::getline(words, word, ',');) {
    if (word == name) return true;
  }
  return false;
}

// Without a free file descriptor nothing of a module can be read, and what it is missed for would be guessed wrongly.
bool can_open_files() {
  const FileDescriptor file(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int code = errno;
  if (file.get() >= 0 || (code != EMFILE && code != ENFILE)) return true;
  log::warn_once("descriptors", "device",
                 fmt::format("backends cannot be looked for: {}; until files are closed, buffers of a runtime that was "
                             "loaded since are treated as host memory; raise the limit of open files (ulimit -n)",
                             std::strerror(code)));
  return false;
}

std::string knob_prefix(const std::string &backend) {
  std::string upper = backend;
  std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char c) { return std::toupper(c); });
  return "SLUICE_" + upper + "_";
}

std::vector<std::string> environment_names() {
  std::vector<std::string> names;
  for (char **entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    names.emplace_back(text.substr(0, text.find('=')));
  }
  return names;
}

// A backend's own knobs are known only once its module is loaded.
void report_unknown_knobs_of(const Backend &backend) {
  const std::span<const sluice_backend_knob_t> known(backend.table().knobs, backend.table().n_knobs);
  const std::string prefix = knob_prefix(backend.name());
  for (const std::string &name : environment_names()) {
    const auto is_name = [&](const sluice_backend_knob_t &knob) { return name == knob.name; };
    if (!name.starts_with(prefix) || std::ranges::any_of(known, is_name)) continue;
    std::string all;
    for (const sluice_backend_knob_t &knob : known) all += std::string(all.empty() ? "" : ", ") + knob.name;
    log::warn("device", fmt::format("unknown knob {}; the backend {} has {}", name, backend.name(),
                                    all.empty() ? std::string("none") : all));
  }
}

void report_unknown(const std::vector<Module> &all) {
  std::vector<std::string> prefixes;
  prefixes.reserve(all.size());
  for (const Module &module : all) prefixes.push_back(knob_prefix(module.name));
  for (const std::string &text : unknown_knobs(environment_names(), prefixes)) log::warn("base", text);

  const std::string &wanted = Knobs::process().text("SLUICE_BACKENDS");
  if (wanted == "auto" || wanted == "none") return;
  std::istringstream words(wanted);
  for (std::string word; std::getline(words, word, ',');) {
    const auto is_it = [&](const Module &module) { return module.name == word; };
    if (std::none_of(all.begin(), all.end(), is_it)) {
      log::error("device", fmt::format("SLUICE_BACKENDS names the backend \"{}\", which is not in {}; `sluice info` "
                                       "lists those that are",
                                       word, module_folder()));
    }
  }
}

}  // namespace

Registry &Registry::process() {
  static auto *registry = new Registry();
  return *registry;
}

unsigned long long Registry::library_loads() noexcept {
  unsigned long long loads = 0;
  // The callback stops at the first library: only the counter is wanted.
  dl_iterate_phdr(
      [](dl_phdr_info *info, size_t /*size*/, void *data) {
        *static_cast<unsigned long long *>(data) = info->dlpi_adds;
        return 1;
      },
      &loads);
  return loads;
}

void Registry::refresh() noexcept {
  try {
    const std::scoped_lock lock(mutex_);
    if (!can_open_files()) return;  // the next call looks again
    const unsigned long long loads = library_loads();
    if (!is_scanned_) {
      std::vector<Status> problems;
      std::vector<Module> all = find_modules(module_folder(), &problems);
      for (const Status &problem : problems) log::warn("device", problem.message());
      report_unknown(all);
      for (Module &module : all) {
        if (is_allowed(module.name)) modules_.push_back(std::move(module));
      }
      is_scanned_ = true;
    }
    const std::vector<std::string> libraries = loaded_libraries();
    for (auto module = modules_.begin(); module != modules_.end();) {
      if (find(module->name.c_str()) != nullptr) {  // asked for by name before this scan
        module = modules_.erase(module);
        continue;
      }
      if (!is_runtime_loaded(*module, libraries)) {
        ++module;
        continue;
      }
      Status status;
      std::unique_ptr<Backend> backend = Backend::load(module->path, &status);
      if (backend != nullptr) {
        log::info("device", fmt::format("backend {} loaded from {}", module->name, module->path));
        activate(std::move(backend), module->priority);
        loaded_.push_back(*module);
      } else {
        const bool is_absent = status.kind() == ErrorKind::kUnsupported;
        log::write(is_absent ? log::Level::kInfo : log::Level::kWarn, "device",
                   status.message() + "; buffers of this runtime are treated as host memory");
      }
      module = modules_.erase(module);
    }
    // Loading modules loads libraries too; those are not new runtimes, but looking once more costs little.
    seen_library_loads_.store(loads, std::memory_order_release);
    may_grow_.store(!modules_.empty(), std::memory_order_release);
  } catch (const std::exception &error) {
    log::warn_once("refresh", "device", std::string("looking for backends failed: ") + error.what());
  }
}

Backend *Registry::load(const std::string &name, Status *status) {
  const std::scoped_lock lock(mutex_);
  if (Backend *loaded = find(name.c_str()); loaded != nullptr) return loaded;
  std::vector<Status> problems;
  for (const Module &module : find_modules(module_folder(), &problems)) {
    if (module.name != name) continue;
    std::unique_ptr<Backend> backend = Backend::load(module.path, status);
    if (backend == nullptr) return nullptr;
    std::erase_if(modules_, [&](const Module &pending) { return pending.name == name; });
    activate(std::move(backend), module.priority);
    loaded_.push_back(module);
    return find(name.c_str());
  }
  *status = Status::error(
      ErrorKind::kInvalidArgument,
      fmt::format("no backend \"{}\" in {}; `sluice info` lists those that are there", name, module_folder()));
  return nullptr;
}

bool Registry::may_have_devices() {
  if (!backends().empty()) return true;
  const std::string &allowed = Knobs::process().text("SLUICE_BACKENDS");
  if (allowed != "auto") return allowed != "none" && !allowed.empty();
  const std::scoped_lock lock(mutex_);
  return std::any_of(modules_.begin(), modules_.end(), [](const Module &module) { return is_installed(module); });
}

std::vector<std::string> Registry::expected() {
  static_cast<void>(backends());  // looks for those that are there by now
  const bool is_named = Knobs::process().text("SLUICE_BACKENDS") != "auto";
  std::vector<std::string> names;
  const std::scoped_lock lock(mutex_);
  for (const Module &module : modules_) {
    if (is_named || is_installed(module)) names.push_back(module.name);
  }
  return names;
}

std::vector<Module> Registry::usable() {
  static_cast<void>(backends());  // looks for those that are there by now
  std::vector<Module> result;
  const std::scoped_lock lock(mutex_);
  std::ranges::copy_if(loaded_, std::back_inserter(result), has_device_files);
  for (Module &module : modules_) {
    if (!has_device_files(module)) continue;
    if (!module.is_found) module.is_found = is_installed(module);
    if (*module.is_found) result.push_back(module);
  }
  return result;
}

Backend *Registry::find(const char *name) noexcept {
  for (Backend *backend : *active_.load(std::memory_order_acquire)) {
    if (std::strcmp(backend->name(), name) == 0) return backend;
  }
  return nullptr;
}

void Registry::add(std::unique_ptr<Backend> backend) {
  const std::scoped_lock lock(mutex_);
  is_scanned_ = true;  // a test's registry holds what the test put there and nothing else
  activate(std::move(backend), owned_.empty() ? 0 : owned_.back().priority);
}

void Registry::activate(std::unique_ptr<Backend> backend, int priority) {
  if (owned_.size() == kMaxBackends) {
    log::warn("device", fmt::format("backend {} is left out: {} are loaded already", backend->name(), kMaxBackends));
    return;
  }
  const auto behind = std::upper_bound(owned_.begin(), owned_.end(), priority,
                                       [](int wanted, const Owned &owned) { return wanted < owned.priority; });
  report_unknown_knobs_of(*backend);
  owned_.insert(behind, {std::move(backend), priority});
  publish();
}

void Registry::publish() {
  auto snapshot = std::make_unique<Snapshot>();
  for (const Owned &owned : owned_) snapshot->push_back(owned.backend.get());
  active_.store(snapshot.get(), std::memory_order_release);
  snapshots_.push_back(std::move(snapshot));
}

void Registry::clear() noexcept {
  const std::scoped_lock lock(mutex_);
  active_.store(&no_backends, std::memory_order_release);
  owned_.clear();
  loaded_.clear();
  snapshots_.clear();
}

}  // namespace sluice::device

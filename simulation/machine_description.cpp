#include "simulation/machine_description.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace readmost::simulation {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

template <class... Args>
[[noreturn]] void refuse(const std::string& origin, fmt::format_string<Args...> text,
                         Args&&... arguments) {
  throw std::runtime_error(
      fmt::format("machine '{}': {}", origin, fmt::format(text, std::forward<Args>(arguments)...)));
}

// Reads the members of a machine file.
class reader {
 public:
  reader(const json& file, const std::string& origin) : file_(file), origin_(origin) {}

  std::string text(const char* key) const {
    if (!file_.contains(key) || !file_[key].is_string()) {
      refuse(origin_, "'{}' is missing or no text", key);
    }
    return file_[key];
  }

  // A figure is {"value": number, "source": text}.
  double number(const char* group, const char* key) const {
    const std::string name = group == nullptr ? key : fmt::format("{}.{}", group, key);
    const json* at = &file_;
    for (const char* part : {group, key}) {
      if (part == nullptr) continue;
      if (!at->is_object() || !at->contains(part)) refuse(origin_, "'{}' is missing", name);
      at = &(*at)[part];
    }
    if (!at->is_object() || !at->contains("value") || !(*at)["value"].is_number()) {
      refuse(origin_, "'{}' has no number under \"value\"", name);
    }
    if (!at->contains("source") || !(*at)["source"].is_string() ||
        (*at)["source"].get<std::string>().empty()) {
      refuse(origin_, "'{}' does not say where its value comes from (\"source\")", name);
    }
    const double value = (*at)["value"];
    if (!(value >= 0) || !std::isfinite(value)) {
      refuse(origin_, "'{}' is {}; it must be 0 or more", name, value);
    }
    return value;
  }

  unsigned count(const char* key) const {
    const char* const group = "topology";
    if (!file_.contains(group) || !file_[group].contains(key)) {
      refuse(origin_, "'{}.{}' is missing", group, key);
    }
    const json& value = file_[group][key];
    if (!value.is_number_unsigned() || value == 0U || value > most_cpus) {
      refuse(origin_, "'{}.{}' is {}; it must be from 1 to {}", group, key, value.dump(),
             most_cpus);
    }
    return value;
  }

 private:
  const json& file_;
  const std::string& origin_;
};

json parsed(const std::string& text, const std::string& origin) {
  try {
    return json::parse(text);
  } catch (const json::parse_error& problem) {
    refuse(origin, "no JSON: {}", problem.what());
  }
}

fs::path folder_of_machines() {
  const fs::path program = fs::read_symlink("/proc/self/exe");
  return program.parent_path().parent_path() / READMOST_DATA_DIR / "readmost" / "machines";
}

}  // namespace

distance machine_description::between(unsigned cpu, unsigned other) const noexcept {
  if (cpu == other) return distance::same_cpu;
  unsigned size = threads_per_core;
  if (cpu / size == other / size) return distance::same_core;
  size *= cores_per_cluster;
  if (cpu / size == other / size) return distance::same_cluster;
  size *= clusters_per_socket;
  return cpu / size == other / size ? distance::same_socket : distance::other_socket;
}

machine_description machine_from(const std::string& text, const std::string& origin) {
  const json file = parsed(text, origin);
  const reader from(file, origin);
  machine_description made;
  made.name = from.text("name");
  made.description = from.text("description");
  made.ghz = from.number(nullptr, "ghz");
  if (made.ghz == 0) refuse(origin, "'ghz' is 0");

  made.sockets = from.count("sockets");
  made.clusters_per_socket = from.count("clusters_per_socket");
  made.cores_per_cluster = from.count("cores_per_cluster");
  made.threads_per_core = from.count("threads_per_core");
  const std::uint64_t cpus = std::uint64_t{made.sockets} * made.clusters_per_socket *
                             made.cores_per_cluster * made.threads_per_core;
  if (cpus > most_cpus) {
    refuse(origin, "the topology has {} CPUs; at most {} can be simulated", cpus, most_cpus);
  }

  const auto time = [&](const char* group, const char* key) {
    return static_cast<duration>(std::llround(from.number(group, key) * 1000 / made.ghz));
  };
  made.hit = time("latency", "hit");
  made.store = time("latency", "store");
  made.transfer[0] = made.hit;
  made.transfer[1] = time("latency", "same_core");
  made.transfer[2] = time("latency", "same_cluster");
  made.transfer[3] = time("latency", "same_socket");
  made.transfer[4] = time("latency", "other_socket");
  made.memory = time("latency", "memory");
  made.share_more = time("latency", "share_more");
  made.atomic = time(nullptr, "atomic");
  made.fence = time(nullptr, "fence");
  const double entries = from.number("store_buffer", "entries");
  if (entries < 1 || entries > 1000) {
    refuse(origin, "'store_buffer.entries' is {}; it must be from 1 to 1000", entries);
  }
  made.buffer_entries = static_cast<unsigned>(entries);
  made.drain = time("store_buffer", "drain");
  made.relax = time(nullptr, "relax");
  made.clock = time(nullptr, "clock");
  made.interrupt_send = time("interrupt", "send");
  made.interrupt_take = time("interrupt", "take");
  made.interrupt_handle = time("interrupt", "handle");
  made.system_call = time(nullptr, "system_call");
  made.membarrier = time("membarrier", "base");
  made.futex_wait = time("futex", "wait");
  made.futex_wake = time("futex", "wake");
  made.wake_up = time("futex", "wake_up_latency");
  made.switch_threads = time("scheduler", "switch");
  made.time_slice = time("scheduler", "slice");
  made.migrate = time("scheduler", "migrate");
  if (made.time_slice == 0) refuse(origin, "'scheduler.slice' is 0, so no thread would ever run");
  return made;
}

machine_description find_machine(const std::string& name_or_file) {
  const fs::path folder = folder_of_machines();
  fs::path file = folder / (name_or_file + ".json");
  if (name_or_file.find('/') != std::string::npos || !fs::exists(file)) file = name_or_file;
  std::ifstream in(file);
  if (!fs::is_regular_file(file) || !in) {
    std::vector<std::string> names;
    std::error_code none;
    for (const auto& each : fs::directory_iterator(folder, none)) {
      names.push_back(each.path().stem().string());
    }
    std::ranges::sort(names);
    throw std::runtime_error(
        fmt::format("no machine '{}': neither a file nor one of {}; docs/scaling.md says how to "
                    "describe one",
                    name_or_file, fmt::join(names, ", ")));
  }
  std::stringstream text;
  text << in.rdbuf();
  return machine_from(text.str(), name_or_file);
}

}  // namespace readmost::simulation

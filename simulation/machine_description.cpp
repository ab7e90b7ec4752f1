// SPDX-License-Identifier: Apache-2.0
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

  bool has(const std::string& name) const {
    const std::size_t dot = name.find('.');
    if (dot == std::string::npos) return file_.contains(name);
    return file_.contains(name.substr(0, dot)) && file_[name.substr(0, dot)].is_object() &&
           file_[name.substr(0, dot)].contains(name.substr(dot + 1));
  }

  // A figure is {"value": number, "source": text}. `name`: its key, or group.key.
  double number(const std::string& name) const {
    const json* at = &file_;
    for (std::size_t begin = 0; begin != std::string::npos;) {
      const std::size_t dot = name.find('.', begin);
      const std::string part = name.substr(begin, dot - begin);
      if (!at->is_object() || !at->contains(part)) refuse(origin_, "'{}' is missing", name);
      at = &(*at)[part];
      begin = dot == std::string::npos ? dot : dot + 1;
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

void for_each_time(machine_description& of,
                   const std::function<void(const std::string& name, duration& time)>& f) {
  f("latency.hit", of.hit);
  f("latency.store", of.store);
  f("latency.complete", of.complete);
  f("latency.commit", of.commit);
  f("instruction", of.instruction);
  f("instruction_beside", of.instruction_beside);
  f("latency.same_core", of.transfer[1]);
  f("latency.same_cluster", of.transfer[2]);
  f("latency.same_socket", of.transfer[3]);
  f("latency.other_socket", of.transfer[4]);
  f("latency.memory", of.memory);
  f("latency.share_more", of.share_more);
  f("window", of.window);
  f("atomic", of.atomic);
  f("fence", of.fence);
  if (of.order == access_order::arm) {
    f("acquire", of.acquire);
    f("release", of.release);
  }
  f("store_buffer.drain", of.drain);
  f("relax", of.relax);
  f("clock", of.clock);
  f("interrupt.send", of.interrupt_send);
  f("interrupt.take", of.interrupt_take);
  f("interrupt.handle", of.interrupt_handle);
  f("system_call", of.system_call);
  f("membarrier.base", of.membarrier);
  f("futex.wait", of.futex_wait);
  f("futex.wake", of.futex_wake);
  f("futex.wake_up_latency", of.wake_up);
  f("futex.wake_soon", of.futex_wake_soon);
  f("futex.wake_up_latency_soon", of.wake_up_soon);
  f("futex.wake_busy", of.futex_wake_busy);
  f("scheduler.switch", of.switch_threads);
  f("scheduler.slice", of.time_slice);
  f("scheduler.migrate", of.migrate);
}

bool may_be_missing(const std::string& name) {
  return name == "latency.commit" || name == "instruction" || name == "instruction_beside" ||
         name == "futex.wake_soon" || name == "futex.wake_up_latency_soon" ||
         name == "futex.wake_busy";
}

machine_description machine_from(const std::string& text, const std::string& origin) {
  const json file = parsed(text, origin);
  const reader from(file, origin);
  machine_description made;
  made.name = from.text("name");
  made.description = from.text("description");
  made.ghz = from.number("ghz");
  if (made.ghz == 0) refuse(origin, "'ghz' is 0");

  const std::string order = from.text("order");
  if (order != "tso" && order != "arm") {
    refuse(origin, "'order' is '{}'; it must be tso or arm", order);
  }
  made.order = order == "arm" ? access_order::arm : access_order::tso;

  made.sockets = from.count("sockets");
  made.clusters_per_socket = from.count("clusters_per_socket");
  made.cores_per_cluster = from.count("cores_per_cluster");
  made.threads_per_core = from.count("threads_per_core");
  const std::uint64_t cpus = std::uint64_t{made.sockets} * made.clusters_per_socket *
                             made.cores_per_cluster * made.threads_per_core;
  if (cpus > most_cpus) {
    refuse(origin, "the topology has {} CPUs; at most {} can be simulated", cpus, most_cpus);
  }

  for_each_time(made, [&](const std::string& name, duration& time) {
    if (may_be_missing(name) && !from.has(name)) return;
    time = static_cast<duration>(std::llround(from.number(name) * 1000 / made.ghz));
  });
  made.transfer[0] = made.hit;
  made.kept = from.number("kept");
  if (made.kept > 1) refuse(origin, "'kept' is {}; it is a share, from 0 to 1", made.kept);
  if (from.has("spread")) made.spread = from.number("spread");
  if (made.spread >= 1) refuse(origin, "'spread' is {}; it is a share, less than 1", made.spread);
  const auto entries = [&](const char* name) {
    const double value = from.number(name);
    if (value < 1 || value > 1000) {
      refuse(origin, "'{}' is {}; it must be from 1 to 1000", name, value);
    }
    return static_cast<unsigned>(value);
  };
  made.buffer_entries = entries("store_buffer.entries");
  made.fill_buffers = entries("fill_buffers");
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

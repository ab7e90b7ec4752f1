// SPDX-License-Identifier: Apache-2.0
#include "doctor/calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>

#include "doctor/print.hpp"
#include "machine/calibration.hpp"
#include "output_file.hpp"
#include "progress.hpp"

namespace readmost::command {
namespace {

std::string page(const calibration& result, const std::string& file) {
  const double ghz = result.figures.front().value;
  const cpu_topology& topology = result.topology;
  std::string text = fmt::format(
      "{}\nsockets {}, clusters in each {}, cores in each {}, threads in each {}; {} GHz\n\n{:<24}"
      "{:>12}{:>12}\n",
      result.description, topology.sockets, topology.clusters_per_socket,
      topology.cores_per_cluster, topology.threads_per_core, ghz, "", "cycles", "ns");
  const auto measured = std::ranges::count_if(result.figures, &calibration::figure::measured);
  for (const calibration::figure& each : result.figures) {
    if (each.name == "ghz") continue;
    const bool is_time = each.name != "store_buffer.entries" && each.name != "fill_buffers" &&
                         each.name != "kept" && each.name != "spread";
    text += fmt::format("{:<24}{:>12}{:>12}{}\n", each.name, each.value,
                        is_time ? fmt::format("{:.1f}", each.value / ghz) : "",
                        each.measured ? "" : "  estimated");
  }
  text += fmt::format(
      "\n'{}' has {} figures that were measured and {} that were estimated, each with its "
      "source.\n",
      file, measured, result.figures.size() - static_cast<std::size_t>(measured));
  return text;
}

}  // namespace

void write_machine_file(const doctor_options& options, const effort& much) {
  output_file file("--calibrate", options.calibrate);
  const machine_facts machine = facts_of_this_machine();
  calibration result;
  {
    progress bar(measurements_of_calibration);
    result = calibrate(machine, much, [&] { bar.step(); });
  }
  file.write(as_machine_file(result, std::filesystem::path(options.calibrate).stem()));
  std::string told = page(result, options.calibrate);
  if (machine.load && *machine.load > machine.cpus.online / 2.0) {
    told += fmt::format(
        "The load average was {:.1f} on {} CPUs before: repeat this on a quiet machine.\n",
        *machine.load, machine.cpus.online);
  }
  print(told);
}

}  // namespace readmost::command

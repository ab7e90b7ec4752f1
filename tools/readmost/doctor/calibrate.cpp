// SPDX-License-Identifier: Apache-2.0
#include "doctor/calibrate.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>

#include "doctor/print.hpp"
#include "failure.hpp"
#include "machine/calibration.hpp"
#include "progress.hpp"

namespace readmost::command {
namespace {

// Is opened before the measurements, and changed only when there is something to write.
class output_file {
 public:
  explicit output_file(const std::string& name) : name_(name) {
    constexpr int flags = O_WRONLY | O_CREAT | O_CLOEXEC;
    file_ = open(name.c_str(), flags | O_EXCL, 0666);
    is_new_ = file_ >= 0;
    if (file_ < 0 && errno == EEXIST) file_ = open(name.c_str(), flags, 0666);
    if (file_ < 0) fail();
  }
  ~output_file() {
    close(file_);
    if (is_new_) unlink(name_.c_str());
  }
  output_file(const output_file&) = delete;
  output_file& operator=(const output_file&) = delete;

  void write(const std::string& text) {
    // What is no regular file has no length.
    if (ftruncate(file_, 0) != 0 && errno != EINVAL) fail();
    for (std::size_t written = 0; written < text.size();) {
      const ssize_t some = ::write(file_, text.data() + written, text.size() - written);
      if (some < 0 && errno == EINTR) continue;
      if (some < 0) fail();
      written += static_cast<std::size_t>(some);
    }
    is_new_ = false;
  }

 private:
  [[noreturn]] void fail() const {
    throw failure("--calibrate: cannot write '{}': {}; name a file you may write", name_,
                  std::strerror(errno));
  }

  std::string name_;
  int file_ = -1;
  bool is_new_ = false;  // and has nothing in it
};

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
    const bool is_time =
        each.name != "store_buffer.entries" && each.name != "fill_buffers" && each.name != "kept";
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
  output_file file(options.calibrate);
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

// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "commands.hpp"
#include "failure.hpp"
#include "process/signal_watch.hpp"
#include "profile/formats.hpp"
#include "terminal.hpp"
#include "top/metrics.hpp"
#include "top/profile.hpp"
#include "top/rates.hpp"
#include "top/target.hpp"

namespace readmost::command {
namespace {

class screen {
 public:
  // `in_place`: overwrites the previous block on a terminal.
  void show(const std::string& text, bool in_place) {
    if (in_place && isatty(STDOUT_FILENO) == 1) {
      fmt::print("\x1b[H\x1b[J{}", text);
    } else {
      fmt::print("{}{}", is_first_ || !in_place ? "" : "\n", text);
    }
    is_first_ = false;
    if (std::fflush(stdout) != 0) {
      throw failure("cannot write to stdout: {}; redirect it to a file you may write",
                    std::strerror(errno));
    }
  }

 private:
  bool is_first_ = true;
};

enum class event { time_is_up, process_ended, interrupted };

event wait_for(double seconds, const top_process& target, const signal_watch& signals) {
  using namespace std::chrono;
  const auto end = steady_clock::now() + duration<double>(seconds);
  for (;;) {
    const auto left = ceil<milliseconds>(end - steady_clock::now()).count();
    if (left <= 0) return event::time_is_up;
    pollfd watched[] = {{target.descriptor(), POLLIN, 0}, {signals.descriptor(), POLLIN, 0}};
    if (poll(watched, std::size(watched), static_cast<int>(left)) <= 0) continue;
    if (watched[1].revents != 0) return event::interrupted;
    if (watched[0].revents != 0) return event::process_ended;
  }
}

int show_until_the_end(const top_options& options, top_target& target, signal_watch& signals) {
  const unsigned last = options.once ? 1 : options.count;
  screen shown;
  top_sample before = take_sample(target, nullptr);
  for (unsigned block = 1;; ++block) {
    switch (wait_for(options.delay, target, signals)) {
      case event::time_is_up:
        break;
      case event::process_ended:
        throw top_process::process_ended{};
      case event::interrupted:
        if (const int signal = signals.take_interruption(); signal != 0) {
          return signal == SIGINT ? 0 : exit_status::signal_base + signal;
        }
    }
    top_sample now = take_sample(target, &before);
    const top_rates rates = rates_between(before, now);
    shown.show(
        options.json ? as_json(target, rates) : as_block(target, rates, columns_of(STDOUT_FILENO)),
        !options.json);
    if (block == last) return 0;
    before = std::move(now);
  }
}

// --- OpenMetrics ---------------------------------------------------------------------------------

// Who reads the file meanwhile finds all of the old text or all of the new one.
void replace_file(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::path fresh = path;
  fresh += fmt::format(".{}", getpid());
  std::ofstream file(fresh, std::ios::binary);
  file << text;
  file.close();
  if (file && std::rename(fresh.c_str(), path.c_str()) == 0) return;
  const int error = errno;
  std::remove(fresh.c_str());
  throw failure("--openmetrics: cannot write '{}': {}; name a file you may write", path.string(),
                std::strerror(error));
}

void tell(const std::string& file, const std::string& text) {
  if (file == "-") {
    screen().show(text, false);
    return;
  }
  std::error_code unknown;
  if (const auto kind = std::filesystem::status(file, unknown).type();
      kind != std::filesystem::file_type::regular &&
      kind != std::filesystem::file_type::not_found) {
    throw failure(
        "--openmetrics: '{}' is no file, and would be replaced by one; name another, or - for "
        "stdout",
        file);
  }
  replace_file(file, text);
}

int tell_until_the_end(const top_options& options, top_target& target, signal_watch& signals) {
  const unsigned last = options.once ? 1 : options.count;
  std::optional<top_sample> before;
  for (unsigned block = 1;; ++block) {
    before = take_sample(target, before ? &*before : nullptr);
    tell(options.open_metrics, as_open_metrics({metrics_of(target, *before)}));
    if (block == last) return 0;
    switch (wait_for(options.delay, target, signals)) {
      case event::time_is_up:
        break;
      case event::process_ended:
        throw top_process::process_ended{};
      case event::interrupted:
        if (const int signal = signals.take_interruption(); signal != 0) {
          return signal == SIGINT ? 0 : exit_status::signal_base + signal;
        }
    }
  }
}

// --- Profile -------------------------------------------------------------------------------------

int write_profile(const top_options& options, const top_process& target, signal_watch& signals) {
  using clock = std::chrono::steady_clock;
  profile_file file(options.profile);
  kept_profiles first = profiles_of(target);
  kept_profiles last;
  const auto start = clock::now();
  const auto so_far = [&] { return std::chrono::duration<double>(clock::now() - start).count(); };
  int status = 0;
  bool is_over = false;
  // The process may end at any time, and its memory with it.
  constexpr double between_copies = 1;
  while (!is_over) {
    const double left = options.seconds - so_far();
    const event next = wait_for(std::clamp(left, 0.0, between_copies), target, signals);
    if (next == event::process_ended) break;
    if (next == event::interrupted) {
      const int signal = signals.take_interruption();
      is_over = signal != 0;
      if (is_over && signal != SIGINT) status = exit_status::signal_base + signal;
    }
    is_over = is_over || left <= between_copies;
    try {
      last = profiles_of(target);
    } catch (const top_process::process_ended&) {
      break;
    }
  }
  if (last.by_address.empty()) throw top_process::process_ended{};
  if (last.lacks_other_build) warn_of_other_build(target.pid());
  std::vector<taken_profile> taken;
  for (auto& [address, table] : last.by_address) {
    taken.push_back({std::move(table), std::move(first.by_address[address])});
  }
  const process_profile found = readable(taken, fmt::format("/proc/{}/root", target.pid()));
  if (found.stacks.empty()) {
    fmt::print(stderr, "readmost top: no thread lost time to a lock: the profile is empty\n");
  }
  file.write({found}, so_far());
  return status;
}

}  // namespace

int top(const top_options& options) {
  signal_watch signals;
  const top_process process(options.pid);
  try {
    if (!options.profile.empty()) return write_profile(options, process, signals);
    top_target target(options.pid);
    if (!options.open_metrics.empty()) return tell_until_the_end(options, target, signals);
    return show_until_the_end(options, target, signals);
  } catch (const top_process::process_ended&) {
    pollfd ended{process.descriptor(), POLLIN, 0};
    fmt::print(stderr, "readmost top: process {} ({}) {}\n", options.pid, process.program(),
               poll(&ended, 1, 0) == 1 ? "has ended" : "has become another program");
    return 0;
  }
}

}  // namespace readmost::command

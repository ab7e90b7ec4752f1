// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <set>
#include <thread>

#include "commands.hpp"
#include "failure.hpp"
#include "holders/account.hpp"
#include "holders/stacks.hpp"
#include "output_file.hpp"

namespace readmost::command {
namespace {

// A running process changes while it is looked at. What is a deadlock stays one.
snapshot confirmed_snapshot(const holders_target& target) {
  snapshot first = take_snapshot(target);
  if (first.deadlocks.empty() || !target.now()) return first;
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  snapshot second = take_snapshot(target);
  std::erase_if(second.deadlocks, [&](const wait_cycle& each) {
    return std::ranges::find(first.deadlocks, each) == first.deadlocks.end();
  });
  return second;
}

account look_at(holders_target& target) {
  account all;
  all.title = target.title();
  all.program = target.program();
  all.process = target.process();
  all.found = confirmed_snapshot(target);
  all.now = target.now();
  all.is_core = !all.now;
  const auto add_place = [&](std::uintptr_t address) {
    if (!all.places.contains(address)) all.places[address] = target.place_of(address);
  };
  std::set<pid_t> threads;
  for (shown_lock& lock : all.found.locks) {
    add_place(lock.address);
    for (known_hold& each : lock.holders) {
      threads.insert(each.thread);
      // The call, which is before the return address.
      for (const std::uintptr_t frame : each.frames) {
        each.taken_in.push_back(target.place_of(frame - 1));
      }
      each.taken_in = without_library(std::move(each.taken_in));
    }
    for (const known_wait& each : lock.waiters) threads.insert(each.thread);
  }
  for (const wait_cycle& cycle : all.found.deadlocks) {
    for (const auto& link : cycle.links) add_place(link.lock);
  }
  for (const pid_t thread : threads) {
    if (auto frames = target.stack_of(thread); !frames.empty()) {
      all.stacks[thread] = std::move(frames);
    }
  }
  return all;
}

void print(const std::string& text) {
  fmt::print("{}", text);
  if (std::fflush(stdout) != 0) {
    throw failure("cannot write to stdout: {}; redirect it to a file you may write",
                  std::strerror(errno));
  }
}

}  // namespace

int holders(const holders_options& options) {
  const std::unique_ptr<holders_target> target = options.core.empty()
                                                     ? running_target(options.pid)
                                                     : core_target(options.core, options.program);
  const account all = look_at(*target);
  if (options.json.empty()) {
    print(as_page(all));
  } else if (options.json == "-") {
    print(as_json(all));
  } else {
    output_file("--json", options.json).write(as_json(all));
    print(as_page(all));
  }
  return all.found.deadlocks.empty() ? 0 : exit_status::deadlocked;
}

}  // namespace readmost::command

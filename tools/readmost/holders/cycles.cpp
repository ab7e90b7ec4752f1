// SPDX-License-Identifier: Apache-2.0
// Deadlocks: threads each of which waits for the next.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "holders/snapshot.hpp"

namespace readmost::command {
namespace {

using links = std::vector<wait_cycle::link>;
using edges = std::multimap<pid_t, std::pair<wait_cycle::link, pid_t>>;

auto as_tuple(const wait_cycle::link& each) {
  return std::tuple(each.thread, each.lock, each.what, each.since, each.next_holds);
}

// Whom a waiter waits for: all that keep it out, of which it needs every one to go.
void add_edges(const shown_lock& lock, const known_wait& waiter, edges& to) {
  // One that gives up in the end is in no deadlock.
  if (waiter.has_deadline || waiter.since == 0) return;
  const auto add = [&](pid_t thread, bool holds, held_how how) {
    to.insert({waiter.thread,
               {{waiter.thread, lock.address, waiter.what, waiter.since, holds, how}, thread}});
  };
  bool is_held = false;
  for (const known_hold& each : lock.holders) {
    if (waiter.what == waits_to::read && each.how != held_how::exclusively) continue;
    // Its own read hold does not keep an upgrader out.
    if (waiter.what == waits_to::upgrade && each.thread == waiter.thread) continue;
    add(each.thread, true, each.how);
    is_held = true;
  }
  if (waiter.what != waits_to::read || is_held || lock.unknown_writer) return;
  // A reader that waits without a writer inside waits behind another one that waits.
  for (const known_wait& each : lock.waiters) {
    if (each.what != waits_to::read && each.thread != waiter.thread && !each.has_deadline) {
      add(each.thread, false, held_how::exclusively);
    }
  }
}

class search {
 public:
  explicit search(const edges& all) : edges_(all) {}

  std::vector<wait_cycle> cycles() {
    for (const auto& [thread, edge] : edges_) {
      if (!done_.contains(thread)) follow(thread);
    }
    return found_;
  }

 private:
  void follow(pid_t thread) {
    path_threads_.push_back(thread);
    const auto [first, last] = edges_.equal_range(thread);
    for (auto each = first; each != last; ++each) {
      const auto& [link, next] = each->second;
      path_.push_back(link);
      const auto begin = std::ranges::find(path_threads_, next);
      if (begin != path_threads_.end()) {
        found_.push_back({links(path_.begin() + (begin - path_threads_.begin()), path_.end())});
      } else if (!done_.contains(next)) {
        follow(next);
      }
      path_.pop_back();
    }
    path_threads_.pop_back();
    done_.insert(thread);
  }

  const edges& edges_;
  std::set<pid_t> done_;
  std::vector<pid_t> path_threads_;
  links path_;
  std::vector<wait_cycle> found_;
};

}  // namespace

bool operator==(const wait_cycle& one, const wait_cycle& other) {
  return std::ranges::equal(one.links, other.links, {}, as_tuple, as_tuple);
}

std::vector<wait_cycle> cycles_in(const std::vector<shown_lock>& locks) {
  edges all;
  for (const shown_lock& lock : locks) {
    for (const known_wait& waiter : lock.waiters) add_edges(lock, waiter, all);
  }
  return search(all).cycles();
}

}  // namespace readmost::command

// SPDX-License-Identifier: Apache-2.0
// C-RW-WP: readers counted per NUMA node, with preference to writers. BRAVO's "Cohort-RW".
//
// Source: Calciu, Dice, Lev, Luchangco, Marathe and Shavit, "NUMA-aware reader-writer locks", PPoPP
// 2013, section 3; its mutex: Dice, Marathe and Shavit, "Lock cohorting", PPoPP 2012, C-TKT-TKT.
//
// Readers count themselves in and out on their own node, in two counters on lines of their own; a
// writer takes a mutex and waits until on each node as many readers are out as are in. A reader
// that finds the mutex taken steps back and lets writers go first, until it runs out of patience
// and puts up a barrier to new writers. The mutex is a ticket lock for each node and one for all,
// which the threads of one node pass on among them for a while before another node has its turn.
//
// Simplified: a thread belongs to one node (nodes.hpp), so that unlock finds it without a token.
//
// Reader: one read-modify-write to lock, one to unlock, on its node's lines. Writer: two to lock,
// and two loads per node; none to unlock. Preference: writers, until a reader loses patience.
// Recursive read locks: no; they block behind a writer that waits for the first one. Size: 40 bytes
// and three lines per node. Waiting: all threads read the same line.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rivals/nodes.hpp"
#include "rivals/spin.hpp"

namespace rivals {

// A ticket lock that tells whether a thread waits for it.
class ticket_lock : immovable<ticket_lock> {
 public:
  void lock() noexcept {
    const std::uint32_t ticket = next_.fetch_add(1, platform::seq_cst);
    wait_until([&] { return serving_.load(platform::acquire) == ticket; });
  }
  bool try_lock() noexcept {
    std::uint32_t ticket = serving_.load(platform::acquire);
    return next_.compare_exchange_strong(ticket, ticket + 1, platform::seq_cst, platform::relaxed);
  }
  void unlock() noexcept {
    serving_.store(serving_.load(platform::relaxed) + 1, platform::release);
  }

  // Acquire of the last unlock where it is free; in the one order of seq_cst where it is not.
  bool is_locked() const noexcept {
    const std::uint32_t serving = serving_.load(platform::acquire);
    return next_.load(platform::seq_cst) != serving;
  }
  // Asked by its holder.
  bool is_wanted() const noexcept {
    return next_.load(platform::relaxed) != serving_.load(platform::relaxed) + 1;
  }

 private:
  platform::atomic<std::uint32_t> next_{0};
  platform::atomic<std::uint32_t> serving_{0};
};

class cohort_rwlock : immovable<cohort_rwlock> {
 public:
  explicit cohort_rwlock(unsigned of_nodes = nodes()) noexcept : nodes_(of_nodes) {}

  void lock_shared() noexcept {
    node& mine = my_node();
    if (arrive(mine)) return;
    unsigned waited = 0;
    bool raised = false;
    do {
      wait_until([&] {
        if (!raised && ++waited >= platform::spins(patience)) {
          barrier_.fetch_add(1, platform::relaxed);
          raised = true;
        }
        return !global_.is_locked();
      });
    } while (!arrive(mine));
    if (raised) barrier_.fetch_sub(1, platform::relaxed);
  }

  bool try_lock_shared() noexcept { return arrive(my_node()); }

  void unlock_shared() noexcept { depart(my_node()); }

  void lock() noexcept {
    wait_until([this] { return barrier_.load(platform::relaxed) == 0; });
    node& mine = my_node();
    mine.mutex.lock();
    if (!mine.has_global) global_.lock();
    writer_node_ = &mine;
    for (unsigned i = 0; i < nodes_.size(); ++i) {
      wait_until([&] { return is_empty(nodes_[i]); });
    }
  }

  bool try_lock() noexcept {
    if (barrier_.load(platform::relaxed) != 0) return false;
    node& mine = my_node();
    if (!mine.mutex.try_lock()) return false;
    if (!mine.has_global && !global_.try_lock()) {
      mine.mutex.unlock();
      return false;
    }
    writer_node_ = &mine;
    for (unsigned i = 0; i < nodes_.size(); ++i) {
      if (is_empty(nodes_[i])) continue;
      unlock();
      return false;
    }
    return true;
  }

  void unlock() noexcept {
    node& mine = *writer_node_;
    if (mine.mutex.is_wanted() && mine.passed_on < most_passed_on) {
      mine.passed_on = mine.passed_on + 1;
      mine.has_global = true;
    } else {
      mine.passed_on = 0;
      mine.has_global = false;
      global_.unlock();
    }
    mine.mutex.unlock();
  }

  static constexpr std::size_t footprint(unsigned of_nodes) noexcept {
    return sizeof(cohort_rwlock) + decltype(nodes_)::footprint(of_nodes);
  }

 private:
  // The number of times a reader finds the mutex taken before it puts up the barrier; each check
  // may take a time slice.
  static constexpr unsigned patience = 1000;
  // The number of times that one node may pass the mutex on while other nodes wait for it.
  static constexpr std::uint32_t most_passed_on = 64;

  struct alignas(platform::cache_line) counter {
    platform::atomic<std::uint32_t> value{0};
  };
  struct node {
    counter in;
    counter out;
    alignas(platform::cache_line) ticket_lock mutex;
    // The rest is the mutex's.
    platform::variable<bool> has_global{false};
    platform::variable<std::uint32_t> passed_on{0};
  };

  node& my_node() noexcept { return nodes_[home_node(nodes_.size())]; }

  // False, and as if nothing had been done, when a writer has the mutex. In the one order of
  // seq_cst either the reader sees the writer's ticket, or the writer sees the reader.
  bool arrive(node& mine) noexcept {
    mine.in.value.fetch_add(1, platform::seq_cst);
    if (!global_.is_locked()) return true;
    depart(mine);
    return false;
  }
  static void depart(node& mine) noexcept { mine.out.value.fetch_add(1, platform::release); }

  // Loads `out` first, so that a reader that comes and goes in between makes no difference.
  static bool is_empty(const node& n) noexcept {
    const std::uint32_t out = n.out.value.load(platform::acquire);
    return n.in.value.load(platform::seq_cst) == out;
  }

  spread_array<node> nodes_;
  ticket_lock global_;
  // Readers that have lost patience.
  platform::atomic<std::uint32_t> barrier_{0};
  // Of the writer inside.
  platform::variable<node*> writer_node_{nullptr};
};

}  // namespace rivals

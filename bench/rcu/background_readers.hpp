// SPDX-License-Identifier: Apache-2.0
// Readers in threads of their own, beside which updates are measured. Each kind reads from
// construction to destruction.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <latch>
#include <thread>
#include <vector>

#include "contenders/rcu/sides.hpp"
#include "harness/batches.hpp"
#include "harness/sleep_rounds.hpp"
#include "harness/workers.hpp"

namespace bench {

using clock = std::chrono::steady_clock;

// A cell that always points to an object.
class filled_cell {
 public:
  filled_cell() { cell_.current = new data(1); }
  ~filled_cell() { delete cell_.current.load(); }
  shared_cell& operator*() { return cell_; }

 private:
  shared_cell cell_;
};

// Threads that read without a pause. Their progress is the number of reads.
class hot_readers : public workers {
 public:
  hot_readers(read_side& side, const shared_cell& from, unsigned count)
      : workers(
            count,
            [&side, &from](const std::atomic<bool>& stopped, unsigned,
                           std::atomic<std::uint64_t>& reads) {
              const user_of member(side);
              side.read_until(stopped, from, reads);
            },
            10'000) {}
};

// Threads that have read and now wait for something else.
class idle_readers {
 public:
  idle_readers(rcu_flavor& rcu, const shared_cell& from, unsigned count) : have_read_(count) {
    for (unsigned i = 0; i < count; ++i) {
      threads_.emplace_back([this, &rcu, &from] {
        const user_of member(rcu);
        rcu.read(from, 1000);
        rcu.pause();
        have_read_.count_down();
        over_.wait();
        rcu.resume();
      });
    }
    have_read_.wait();
  }
  ~idle_readers() { over_.count_down(); }

 private:
  std::latch have_read_;
  std::latch over_{1};
  std::vector<std::jthread> threads_;
};

// Threads that sleep inside the section after every 10,000 reads.
class drowsy_readers {
 public:
  drowsy_readers(rcu_flavor& rcu, const shared_cell& from, unsigned count) : have_slept_(count) {
    for (unsigned i = 0; i < count; ++i) {
      threads_.emplace_back([this, &rcu, &from] {
        const user_of member(rcu);
        for (bool first = true; !stopped_.load(std::memory_order_relaxed); first = false) {
          rcu.read(from, 10'000);
          rcu.hold(from, [] { std::this_thread::sleep_for(std::chrono::microseconds(100)); });
          if (first) have_slept_.count_down();
        }
      });
    }
    have_slept_.wait();
  }
  ~drowsy_readers() { stopped_ = true; }

 private:
  std::latch have_slept_;
  std::atomic<bool> stopped_{false};
  std::vector<std::jthread> threads_;
};

// Threads that read for a while in each round and then fall asleep inside the section, all at once.
class sleepers {
 public:
  sleepers(rcu_flavor& rcu, const shared_cell& from, unsigned count) : rounds_(count) {
    for (unsigned i = 0; i < count; ++i) {
      threads_.emplace_back([this, &rcu, &from, i] {
        const user_of member(rcu);
        for (;;) {
          rcu.pause();
          const bool another = rounds_.begin();
          rcu.resume();
          if (!another) return;
          rcu.read(from, 200);
          rcu.hold(from, [&] { rounds_.sleep(i); });
        }
      });
    }
  }
  ~sleepers() { rounds_.end(); }

  void fall_asleep() { rounds_.fall_asleep(); }
  clock::time_point last_left() const { return rounds_.last_left(); }

 private:
  sleep_rounds rounds_;
  std::vector<std::jthread> threads_;
};

}  // namespace bench

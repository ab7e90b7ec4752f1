// Readers in threads of their own, for writers to be measured against: each kind reads from its
// construction to its destruction.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <latch>
#include <thread>
#include <vector>

#include "holder.hpp"
#include "sleep_rounds.hpp"

namespace bench {

using clock = std::chrono::steady_clock;

template <class Lock>
void read(holder<Lock>& mine, int times) {
  for (int i = 0; i < times; ++i) {
    mine.lock_shared();
    mine.unlock_shared();
  }
}

// One thread that reads without a rest.
template <class Lock>
class hot_reader {
 public:
  explicit hot_reader(Lock& lock)
      : thread_([this, &lock] {
          holder<Lock> mine(lock);
          while (!stopped_.load(std::memory_order_relaxed)) {
            read(mine, 1);
            reads_.store(reads_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
          }
        }) {
    wait_for_reads(10000);
  }
  ~hot_reader() {
    stopped_.store(true);
    thread_.join();
  }

  // Returns once it has read so many times more: a reader that has no CPU is none.
  void wait_for_reads(unsigned long count) const {
    const unsigned long before = reads_.load(std::memory_order_relaxed);
    while (reads_.load(std::memory_order_relaxed) - before < count) std::this_thread::yield();
  }

 private:
  std::atomic<bool> stopped_{false};
  std::atomic<unsigned long> reads_{0};
  std::thread thread_;
};

// Threads that have read and now wait for something else.
template <class Lock>
class idle_readers {
 public:
  idle_readers(Lock& lock, int count) : have_read_(count) {
    for (int i = 0; i < count; ++i) {
      threads_.emplace_back([this, &lock] {
        holder<Lock> mine(lock);
        read(mine, 1000);
        have_read_.count_down();
        over_.wait();
      });
    }
    have_read_.wait();
  }
  ~idle_readers() {
    over_.count_down();
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  std::latch have_read_;
  std::latch over_{1};
  std::vector<std::thread> threads_;
};

// Threads that, in rounds, read for a while and then fall asleep inside the section, all at once.
template <class Lock>
class sleeping_readers {
 public:
  sleeping_readers(Lock& lock, int count) : rounds_(static_cast<std::size_t>(count)) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      threads_.emplace_back([this, &lock, i] {
        holder<Lock> mine(lock);
        while (rounds_.begin()) {
          read(mine, 200);
          mine.lock_shared();
          rounds_.sleep(i);
          mine.unlock_shared();
        }
      });
    }
  }
  ~sleeping_readers() {
    rounds_.end();
    for (std::thread& thread : threads_) thread.join();
  }

  void fall_asleep() { rounds_.fall_asleep(); }
  clock::time_point last_left() const { return rounds_.last_left(); }

 private:
  sleep_rounds rounds_;
  std::vector<std::thread> threads_;
};

}  // namespace bench

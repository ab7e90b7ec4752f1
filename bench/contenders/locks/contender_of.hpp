// SPDX-License-Identifier: Apache-2.0
// Makes a contender of any lock that bench::holder can use.
#pragma once

#include <sched.h>

#include <memory>
#include <random>
#include <rivals/nodes.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "contenders/locks/contender.hpp"
#include "contenders/locks/holder.hpp"
#include "contenders/locks/upgrades.hpp"
#include "contenders/locks/work.hpp"

namespace bench {

template <class Lock>
class counter_under final : public guarded_counter {
 public:
  std::uint64_t rwbench(unsigned seed, double probability, std::uint64_t& writes,
                        const std::atomic<bool>& stopped) override {
    std::mt19937 random(seed);
    std::bernoulli_distribution writes_now(probability);
    std::uniform_int_distribution<unsigned> steps_outside(0, 199);
    // Each step changes the generator, so the compiler cannot drop it.
    const auto steps = [&](unsigned count) {
      for (; count != 0; --count) random();
    };
    std::uint64_t written = 0;
    const std::uint64_t loops = until(stopped, [&](holder<Lock>& mine, bool& whole) {
      if (writes_now(random)) {
        mine.lock();
        steps(10);
        counter_.value.increment();
        mine.unlock();
        ++written;
      } else {
        mine.lock_shared();
        steps(10);
        whole &= counter_.value.is_whole();
        mine.unlock_shared();
      }
      steps(steps_outside(random));
    });
    writes += written;
    return loops;
  }

  std::uint64_t read(unsigned inside, unsigned outside, const std::atomic<bool>& stopped) override {
    return until(stopped, [&](holder<Lock>& mine, bool& whole) {
      mine.lock_shared();
      count_down(inside);
      whole &= counter_.value.is_whole();
      mine.unlock_shared();
      count_down(outside);
    });
  }

  std::uint64_t write(unsigned inside, unsigned outside,
                      const std::atomic<bool>& stopped) override {
    return until(stopped, [&](holder<Lock>& mine, bool&) {
      mine.lock();
      count_down(inside);
      counter_.value.increment();
      mine.unlock();
      count_down(outside);
    });
  }

  std::uint64_t read_and_call(const action& before, const action& inside,
                              const std::atomic<bool>& stopped) override {
    return until(stopped, [&](holder<Lock>& mine, bool& whole) {
      before();
      mine.lock_shared();
      const std::uint64_t count = counter_.value.count();
      inside();
      whole &= counter_.value.is_whole() && counter_.value.count() == count;
      mine.unlock_shared();
    });
  }

  std::uint64_t write_and_call(const action& before, const action& inside,
                               const std::atomic<bool>& stopped) override {
    return until(stopped, [&](holder<Lock>& mine, bool&) {
      before();
      mine.lock();
      inside();
      counter_.value.increment();
      mine.unlock();
    });
  }

  std::uint64_t read_timed(const action& before, const observer& observe,
                           const std::atomic<bool>& stopped) override {
    return until(stopped, [&](holder<Lock>& mine, bool& whole) {
      before();
      const auto asked = clock::now();
      mine.lock_shared();
      const auto acquired = clock::now();
      whole &= counter_.value.is_whole();
      mine.unlock_shared();
      observe(asked, acquired);
    });
  }

  std::uint64_t write_timed(const action& before, const observer& observe,
                            const std::atomic<bool>& stopped) override {
    return until(stopped, [&](holder<Lock>& mine, bool&) {
      before();
      const auto asked = clock::now();
      mine.lock();
      const auto acquired = clock::now();
      counter_.value.increment();
      mine.unlock();
      observe(asked, acquired);
    });
  }

  std::uint64_t read_by_turns(ring_place& own, ring_place& next, bool polite,
                              const std::atomic<bool>& stopped) override {
    holder<Lock> mine(lock_.value);
    std::uint64_t last = 0;
    for (std::uint64_t times = 0;; ++times) {
      std::uint64_t turn = 0;
      while ((turn = own.turn.load(std::memory_order_acquire)) == last) {
        if (stopped.load(std::memory_order_relaxed)) return times;
        if (polite) sched_yield();
      }
      last = turn;
      mine.lock_shared();
      mine.unlock_shared();
      // A thread that is alone in the ring gives the turn to itself.
      next.turn.store(turn + 1, std::memory_order_release);
      if (stopped.load(std::memory_order_relaxed)) return times + 1;
    }
  }

  void read_times(std::uint64_t times, unsigned tens) override {
    holder<Lock> mine(lock_.value);
    chain work;
    bool whole = true;
    for (; times != 0; --times) {
      mine.lock_shared();
      work.advance(tens);
      whole &= counter_.value.is_whole();
      mine.unlock_shared();
    }
    require(whole);
  }

  void write_times(std::uint64_t times, unsigned tens) override {
    holder<Lock> mine(lock_.value);
    chain work;
    for (; times != 0; --times) {
      mine.lock();
      work.advance(tens);
      counter_.value.increment();
      mine.unlock();
    }
  }

  bool upgrade_times(std::uint64_t times) override {
    if constexpr (upgradable<Lock>) {
      for (; times != 0; --times) {
        read_then_write(lock_.value, [this] { counter_.value.increment(); });
      }
    }
    return upgradable<Lock>;
  }

  bool downgrade_times(std::uint64_t times) override {
    if constexpr (upgradable<Lock>) {
      for (; times != 0; --times) {
        write_then_read(lock_.value, [this] { counter_.value.increment(); });
      }
    }
    return upgradable<Lock>;
  }

  std::uint64_t written() override {
    holder<Lock> mine(lock_.value);
    mine.lock();
    const bool whole = counter_.value.is_whole();
    const std::uint64_t count = counter_.value.count();
    mine.unlock();
    require(whole);
    return count;
  }

 private:
  template <class Value>
  struct alignas(128) own_lines {
    Value value{};
  };

  // Calls body(mine, whole) until `stopped`; returns how often. `whole` becomes false when a read
  // sees a half-made write.
  template <class Body>
  std::uint64_t until(const std::atomic<bool>& stopped, Body body) {
    holder<Lock> mine(lock_.value);
    bool whole = true;
    std::uint64_t times = 0;
    for (; !stopped.load(std::memory_order_relaxed); ++times) body(mine, whole);
    require(whole);
    return times;
  }

  static void require(bool whole) {
    if (!whole) {
      throw std::runtime_error("a reader saw a half-made write: it held the lock beside a writer");
    }
  }

  own_lines<Lock> lock_;
  own_lines<twin_counter> counter_;
};

template <class Lock>
class table_under final : public guarded_table {
 public:
  string_table& table() override { return table_; }

  std::uint64_t look_up(unsigned seed, std::uint64_t keys,
                        const std::atomic<bool>& stopped) override {
    holder<Lock> mine(lock_.lock);
    std::mt19937_64 random(seed);
    bool right = true;
    std::uint64_t times = 0;
    for (; !stopped.load(std::memory_order_relaxed); ++times) {
      const std::uint64_t key = random() % keys;
      std::string value;
      mine.lock_shared();
      const bool there = table_.look_up(key, value);
      mine.unlock_shared();
      right &= there && string_table::is_value_of(key, value);
    }
    if (!right) throw std::runtime_error("a key in the table was not found, or with a wrong value");
    return times;
  }

  std::uint64_t insert(std::uint64_t& next, std::size_t most,
                       const std::atomic<bool>& stopped) override {
    holder<Lock> mine(lock_.lock);
    bool fresh = true;
    std::uint64_t times = 0;
    while (!stopped.load(std::memory_order_relaxed)) {
      const std::string value = string_table::value_of(next);
      mine.lock();
      const bool room = table_.size() < most;
      if (room) fresh &= table_.insert(next, value);
      mine.unlock();
      if (!room) {
        sched_yield();
        continue;
      }
      ++next;
      ++times;
    }
    if (!fresh) throw std::runtime_error("a key was in the table before it was inserted");
    return times;
  }

  std::uint64_t erase(std::uint64_t& next, const std::atomic<bool>& stopped) override {
    holder<Lock> mine(lock_.lock);
    std::uint64_t times = 0;
    while (!stopped.load(std::memory_order_relaxed)) {
      mine.lock();
      const bool there = table_.erase(next);
      mine.unlock();
      if (!there) {
        sched_yield();
        continue;
      }
      ++next;
      ++times;
    }
    return times;
  }

 private:
  alone_on_its_line<Lock> lock_;
  alignas(128) string_table table_;
};

template <class Lock>
class contender_of final : public contender {
 public:
  explicit contender_of(std::string name) : name_(std::move(name)) {}

  std::string name() const override { return name_; }
  std::unique_ptr<guarded_counter> make_counter() const override {
    return std::make_unique<counter_under<Lock>>();
  }
  std::unique_ptr<guarded_table> make_table() const override {
    return std::make_unique<table_under<Lock>>();
  }
  lock_size size() const override {
    using memory = size_of<Lock>;
    return {sizeof(Lock),
            memory::on(rivals::places(), rivals::nodes()),
            memory::on(72, 2),
            memory::of_each_thread_for_each(),
            memory::of_each_thread(),
            memory::of_the_process()};
  }
  void make_and_use(const std::function<void()>& meanwhile) const override {
    const auto lock = std::make_unique<Lock>();
    holder<Lock> mine(*lock);
    mine.lock_shared();
    mine.unlock_shared();
    mine.lock();
    mine.unlock();
    meanwhile();
  }
  void make_times(std::uint64_t times) const override {
    for (; times != 0; --times) {
      Lock lock{};
      asm volatile("" : : "g"(&lock) : "memory");
    }
  }

 private:
  std::string name_;
};

// Adds a contender for each lock of a list, see lists.hpp.
class add_contender {
 public:
  explicit add_contender(std::vector<std::unique_ptr<contender>>& to) : to_(to) {}

  template <class Lock>
  void operator()(const std::string& name) const {
    to_.push_back(std::make_unique<contender_of<Lock>>(name));
  }

 private:
  std::vector<std::unique_ptr<contender>>& to_;
};

}  // namespace bench

// SPDX-License-Identifier: Apache-2.0
// Ways to wake many sleepers, for wake_up.cpp.
#pragma once

#include <fmt/core.h>
#include <sched.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <readmost/detail/platform/platform.hpp>
#include <readmost/shared_mutex.hpp>
#include <string>
#include <utility>
#include <vector>

#include "contenders/locks/basic_locks.hpp"

namespace bench {

namespace platform = readmost::detail::platform;

// In a round, one thread calls prepare(), others call sleep(), the first calls wake(), which lets
// all others return from sleep(), and each of these calls leave().
class wake_strategy {
 public:
  explicit wake_strategy(std::string name) : name_(std::move(name)) {}
  virtual ~wake_strategy() = default;
  wake_strategy(const wake_strategy&) = delete;
  wake_strategy& operator=(const wake_strategy&) = delete;

  const std::string& name() const { return name_; }

  virtual void prepare() {}
  virtual void sleep() = 0;
  virtual void wake() = 0;
  virtual void leave() {}

 private:
  std::string name_;
};

// A futex word to sleep on until it is opened.
class alignas(platform::cache_line) sleeping_word {
 public:
  static constexpr std::uint32_t all_buckets = ~0U;

  void shut() { word_.store(0, platform::seq_cst); }
  void open() { word_.store(1, platform::seq_cst); }
  void sleep_until_open(std::uint32_t mask = all_buckets) {
    while (word_.load(platform::acquire) == 0) {
      platform::futex_wait(platform::futex_of(word_), 0, mask, nullptr);
    }
  }
  int wake(int count, std::uint32_t mask = all_buckets) {
    return platform::futex_wake(platform::futex_of(word_), count, mask);
  }
  int wake_all(std::uint32_t mask = all_buckets) { return wake(INT32_MAX, mask); }

 private:
  platform::atomic<std::uint32_t> word_{0};
};

// The waker wakes all sleepers itself.
class broadcast final : public wake_strategy {
 public:
  broadcast() : wake_strategy("broadcast") {}
  void prepare() override { word_.shut(); }
  void sleep() override { word_.sleep_until_open(); }
  void wake() override {
    word_.open();
    word_.wake_all();
  }

 private:
  sleeping_word word_;
};

class notify_all final : public wake_strategy {
 public:
  enum class when { holding_mutex, mutex_released };
  explicit notify_all(when notified)
      : wake_strategy(notified == when::holding_mutex ? "condvar-mutex-held" : "condvar"),
        notified_(notified) {}
  void prepare() override {
    const std::lock_guard guard(mutex_);
    open_ = false;
  }
  void sleep() override {
    std::unique_lock guard(mutex_);
    opened_.wait(guard, [this] { return open_; });
  }
  void wake() override {
    std::unique_lock guard(mutex_);
    open_ = true;
    if (notified_ == when::mutex_released) guard.unlock();
    opened_.notify_all();
  }

 private:
  when notified_;
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
};

// Sleepers are in buckets by the CPU on which they went to sleep. The waker wakes one thread of
// each bucket, and that thread wakes the rest of its bucket. With one bucket, the first woken
// thread wakes all others.
//
// No wake-up is lost. The word is changed first, so a thread that is not yet in a bucket's queue
// when the waker comes to it does not sleep. If the waker finds the queue empty, no wake-up is
// owed. Otherwise `owed` was set before the woken thread ran, and that thread, or another of the
// bucket that returns before it, clears `owed` and wakes all that are still queued. A thread that
// returns for another reason finds `owed` clear, or wakes the others early.
class by_cpu final : public wake_strategy {
 public:
  struct how {
    unsigned buckets;
    // Buckets have a bit each of one word's futex mask, or a word each.
    enum { bits, words } apart = bits;
    // The waker wakes the whole bucket of its own CPU, where a woken thread would have to wait
    // until the waker leaves the CPU.
    bool own_bucket_directly = false;
    // So many are woken without regard to buckets first; the rest only if there were as many.
    int directly = 0;
  };
  by_cpu(std::string name, how chosen)
      : wake_strategy(std::move(name)), how_(chosen), buckets_(chosen.buckets) {}

  void prepare() override {
    for (bucket& each : buckets_) each.word.shut();
  }
  void sleep() override {
    const std::size_t mine = bucket_of_this_cpu();
    word_of(mine).sleep_until_open(mask_of(mine));
    auto& owed = buckets_[mine].owed;
    if (owed.load(platform::acquire) && owed.exchange(false, platform::acquire)) {
      word_of(mine).wake_all(mask_of(mine));
    }
  }
  void wake() override {
    for (bucket& each : buckets_) each.word.open();
    if (how_.directly > 0 && word_of(0).wake(how_.directly) < how_.directly) return;
    const std::size_t mine = how_.own_bucket_directly ? bucket_of_this_cpu() : buckets_.size();
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      if (i == mine) continue;
      buckets_[i].owed.store(true, platform::release);
      if (word_of(i).wake(1, mask_of(i)) == 0) buckets_[i].owed.store(false, platform::release);
    }
    if (mine != buckets_.size()) word_of(mine).wake_all(mask_of(mine));
  }

 private:
  struct alignas(platform::cache_line) bucket {
    sleeping_word word;
    platform::atomic<bool> owed{false};
  };

  std::size_t bucket_of_this_cpu() const {
    return static_cast<std::size_t>(sched_getcpu()) % buckets_.size();
  }
  sleeping_word& word_of(std::size_t i) { return buckets_[how_.apart == how::words ? i : 0].word; }
  std::uint32_t mask_of(std::size_t i) const {
    return how_.apart == how::words ? sleeping_word::all_buckets : 1U << i % 32;
  }

  how how_;
  std::vector<bucket> buckets_;
};

// The waker wakes a few sleepers, and each of them as many, until one finds fewer. No sleeper is
// left out: a wake that finds fewer has woken all that were asleep, and later sleepers find the
// word changed.
class tree final : public wake_strategy {
 public:
  explicit tree(int fan) : wake_strategy(fmt::format("tree-of-{}", fan)), fan_(fan) {}
  void prepare() override {
    word_.shut();
    exhausted_.store(false, platform::relaxed);
  }
  void sleep() override {
    word_.sleep_until_open();
    wake_some();
  }
  void wake() override {
    word_.open();
    wake_some();
  }

 private:
  void wake_some() {
    if (exhausted_.load(platform::relaxed)) return;
    if (word_.wake(fan_) < fan_) exhausted_.store(true, platform::relaxed);
  }

  int fan_;
  sleeping_word word_;
  alignas(platform::cache_line) platform::atomic<bool> exhausted_{false};
};

// Readers that wait for a writer to unlock.
template <class Lock>
class readers_of final : public wake_strategy {
 public:
  template <class... Arguments>
  explicit readers_of(const char* name, Arguments... of_lock)
      : wake_strategy(name), lock_(of_lock...) {}
  void prepare() override { lock_.lock(); }
  void sleep() override { lock_.lock_shared(); }
  void wake() override { lock_.unlock(); }
  void leave() override { lock_.unlock_shared(); }

 private:
  alignas(platform::cache_line) Lock lock_;
};

inline std::vector<std::unique_ptr<wake_strategy>> wake_strategies() {
  const unsigned cpus = platform::usable_cpus();
  std::vector<std::unique_ptr<wake_strategy>> all;
  all.push_back(std::make_unique<broadcast>());
  all.push_back(std::make_unique<notify_all>(notify_all::when::mutex_released));
  all.push_back(std::make_unique<notify_all>(notify_all::when::holding_mutex));
  const unsigned bits = cpus < 32 ? cpus : 32U;
  const auto add_by_cpu = [&](const char* name, by_cpu::how how) {
    all.push_back(std::make_unique<by_cpu>(name, how));
  };
  add_by_cpu("first-wakes-rest", {.buckets = 1});
  add_by_cpu("by-cpu-bits", {.buckets = bits});
  add_by_cpu("by-cpu-words", {.buckets = cpus, .apart = by_cpu::how::words});
  add_by_cpu("by-cpu-own-directly", {.buckets = bits, .own_bucket_directly = true});
  add_by_cpu("4-then-by-cpu", {.buckets = bits, .own_bucket_directly = true, .directly = 4});
  add_by_cpu("8-then-by-cpu", {.buckets = bits, .own_bucket_directly = true, .directly = 8});
  all.push_back(std::make_unique<tree>(2));
  all.push_back(std::make_unique<tree>(4));
  all.push_back(std::make_unique<readers_of<pthread_lock>>("pthread_rwlock"));
  // Under writer preference a reader wakes by itself after a millisecond and checks the lock.
  all.push_back(std::make_unique<readers_of<readmost::shared_mutex>>("shared_mutex",
                                                                     readmost::preference::reader));
  return all;
}

}  // namespace bench

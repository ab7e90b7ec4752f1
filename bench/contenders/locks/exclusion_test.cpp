// SPDX-License-Identifier: Apache-2.0
// A lock that does not lock is fast: checks that each lock, as wrapped here, excludes.
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <rivals/all.hpp>
#include <string>
#include <thread>
#include <vector>

#include "contenders/locks/lists.hpp"
#include "contenders/locks/upgrades.hpp"

namespace {

constexpr int threads = 2;
constexpr int rounds = 10;

// The section that the lock has to protect. A thread inside stays until the other thread asks to
// come in, and then lets it run, so that they meet if the lock allows it, also on a single CPU.
class section {
 public:
  // Must be called before each lock, and after the last section.
  void ask() { ++others_; }

  void write() {
    --others_;
    if (writers_.fetch_add(1) != 0 || readers_ != 0) ++violations_;
    stay();
    if (writers_.fetch_sub(1) != 1 || readers_ != 0) ++violations_;
  }
  void read() {
    --others_;
    ++readers_;
    if (writers_ != 0) ++violations_;
    stay();
    if (writers_ != 0) ++violations_;
    --readers_;
  }

  int violations() const { return violations_; }

 private:
  void stay() {
    while (others_ + readers_ + writers_ < threads) std::this_thread::yield();
    for (int i = 0; i < 3; ++i) std::this_thread::yield();
  }

  // Threads that have asked or have finished.
  std::atomic<int> others_{0};
  std::atomic<int> readers_{0};
  std::atomic<int> writers_{0};
  std::atomic<int> violations_{0};
};

// Calls round(holder) again and again in all threads at once.
template <class Lock, class Round>
void in_threads(Lock& lock, section& inside, Round round) {
  std::latch ready(threads);
  std::vector<std::jthread> all;
  for (int i = 0; i < threads; ++i) {
    all.emplace_back([&] {
      // Made before any thread is inside: making a holder may need the lock.
      bench::holder<Lock> mine(lock);
      ready.arrive_and_wait();
      for (int done = 0; done < rounds; ++done) round(mine);
      inside.ask();
    });
  }
}

struct expect_exclusion {
  template <class Lock>
  void operator()(const std::string& name) const {
    bench::alone_on_its_line<Lock> shared;
    section inside;
    in_threads(shared.lock, inside, [&](bench::holder<Lock>& mine) {
      inside.ask();
      mine.lock();
      inside.write();
      mine.unlock();
      inside.ask();
      mine.lock_shared();
      inside.read();
      mine.unlock_shared();
    });
    EXPECT_EQ(inside.violations(), 0) << name;
  }
};

struct expect_exclusion_through_upgrades {
  template <class Lock>
  void operator()(const std::string& name) const {
    if constexpr (bench::upgradable<Lock>) {
      bench::alone_on_its_line<Lock> shared;
      section inside;
      in_threads(shared.lock, inside, [&](bench::holder<Lock>&) {
        inside.ask();
        bench::read_then_write(shared.lock, [&] { inside.write(); });
        inside.ask();
        bench::write_then_read(shared.lock, [&] { inside.write(); });
      });
      EXPECT_EQ(inside.violations(), 0) << name;
    }
  }
};

TEST(measured_locks, keep_writers_from_one_another_and_from_readers) {
  bench::for_each_system_lock(expect_exclusion{});
  bench::for_each_library_lock(expect_exclusion{});
  bench::for_each_bravo_lock(expect_exclusion{});
  rivals::for_each_rival(expect_exclusion{});
}

TEST(measured_locks, are_held_alone_after_an_upgrade_and_before_a_downgrade) {
  bench::for_each_system_lock(expect_exclusion_through_upgrades{});
  bench::for_each_library_lock(expect_exclusion_through_upgrades{});
}

}  // namespace

// SPDX-License-Identifier: Apache-2.0
// RCU that does not wait is fast: checks that each side, as wrapped here, protects.
#include "contenders/rcu/sides.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <mutex>
#include <thread>

#include "contenders/rcu/big_reader_lock.hpp"
#include "contenders/rcu/hazard_slots.hpp"
#include "rcu/background_readers.hpp"

namespace {

void let_others_run() {
  for (int i = 0; i < 1000; ++i) std::this_thread::yield();
}

// A reader in a thread of its own that holds a section open until it is let go.
class holding_reader {
 public:
  holding_reader(bench::read_side& side, const bench::shared_cell& from)
      : thread_([this, &side, &from] {
          const bench::user_of member(side);
          side.hold(from, [this] {
            inside_.count_down();
            over_.wait();
          });
        }) {
    inside_.wait();
  }
  ~holding_reader() { let_go(); }
  void let_go() {
    if (!thread_.joinable()) return;
    over_.count_down();
    thread_.join();
  }

 private:
  std::latch inside_{1};
  std::latch over_{1};
  std::thread thread_;
};

TEST(measured_sides, replace_only_objects_without_readers) {
  for (const auto& side : bench::all_replacing_sides()) {
    bench::filled_cell cell;
    holding_reader reader(*side, *cell);
    std::latch asked(1);
    std::atomic<bool> replaced{false};
    std::thread writer([&] {
      asked.count_down();
      bench::data* const old = side->replace(*cell, new bench::data(2));
      replaced = true;
      EXPECT_EQ(old->value, 1U) << side->name();
      delete old;
    });
    asked.wait();
    let_others_run();
    EXPECT_FALSE(replaced) << side->name();
    reader.let_go();
    writer.join();
    EXPECT_EQ((*cell).current.load()->value, 2U) << side->name();
  }
}

TEST(measured_sides, read_what_the_cell_points_to) {
  for (const auto& side : bench::all_read_sides()) {
    bench::filled_cell cell;
    (*cell).current.load()->value = 7;
    const bench::user_of member(*side);
    EXPECT_EQ(side->read(*cell, 100), 700U) << side->name();
  }
}

TEST(measured_flavors, reclaim_once_and_only_when_the_section_is_closed) {
  for (const auto& rcu : bench::all_rcu_flavors()) {
    bench::filled_cell cell;
    const bench::user_of member(*rcu);
    std::atomic<int> reclaimed{0};
    std::function<void()> count = [&] { ++reclaimed; };
    rcu->pause();
    holding_reader reader(*rcu, *cell);
    rcu->resume();
    rcu->retire(&count);
    rcu->pause();
    // liburcu polls every 10 ms.
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    EXPECT_EQ(reclaimed, 0) << rcu->name();
    reader.let_go();
    rcu->resume();
    rcu->barrier();
    EXPECT_EQ(reclaimed, 1) << rcu->name();
  }
}

TEST(measured_flavors, have_background_readers_that_read) {
  for (const auto& rcu : bench::all_rcu_flavors()) {
    bench::filled_cell cell;
    const bench::hot_readers hot(*rcu, *cell, 1);
    const bench::idle_readers idle(*rcu, *cell, 2);
    const bench::drowsy_readers drowsy(*rcu, *cell, 1);
    rcu->synchronize();
    hot.wait_for(100);
    EXPECT_GT(hot.done(), 0U) << rcu->name();
  }
}

TEST(measured_flavors, have_grace_periods_that_wait_for_sleepers) {
  for (const auto& rcu : bench::all_rcu_flavors()) {
    bench::filled_cell cell;
    bench::sleepers readers(*rcu, *cell, 2);
    for (int i = 0; i < 3; ++i) {
      const auto before = bench::clock::now();
      readers.fall_asleep();
      rcu->synchronize();
      EXPECT_GT(readers.last_left(), before) << rcu->name();
      EXPECT_LE(readers.last_left(), bench::clock::now()) << rcu->name();
    }
  }
}

template <class Mutex>
void expect_writer_to_keep_readers_out() {
  bench::big_reader_lock<Mutex> lock;
  typename bench::big_reader_lock<Mutex>::membership member(lock);
  std::atomic<bool> read{false};
  lock.lock();
  std::thread reader([&] {
    const std::lock_guard guard(member.mutex());
    read = true;
  });
  let_others_run();
  EXPECT_FALSE(read);
  lock.unlock();
  reader.join();
}

TEST(big_reader_lock, keeps_readers_out_while_a_writer_is_inside) {
  expect_writer_to_keep_readers_out<std::mutex>();
  expect_writer_to_keep_readers_out<bench::spinlock>();
}

struct counted {
  static inline int destroyed = 0;
  ~counted() { ++destroyed; }
};

template <bench::hazard_fence kind>
void expect_hazard_slots_to_keep_only_protected_objects() {
  using hazards = bench::hazard_slots<counted, kind>;
  std::atomic<counted*> source{new counted};
  counted::destroyed = 0;
  {
    hazards reader;
    EXPECT_EQ(reader.protect(1, source), source.load());
    {
      hazards writer;
      writer.retire(source.exchange(nullptr));
      for (int i = 0; i < 2000; ++i) writer.retire(new counted);
      EXPECT_GE(counted::destroyed, 1500);
    }
    EXPECT_EQ(counted::destroyed, 2000);  // all but the protected one
    reader.clear(1);
  }
  hazards::settle();
  EXPECT_EQ(counted::destroyed, 2001);
}

TEST(hazard_slots, keep_only_protected_objects) {
  expect_hazard_slots_to_keep_only_protected_objects<bench::hazard_fence::fenced>();
  if (!readmost::detail::platform::enable_heavy_fence())
    GTEST_SKIP() << "there is no membarrier(2)";
  expect_hazard_slots_to_keep_only_protected_objects<bench::hazard_fence::asymmetric>();
}

}  // namespace

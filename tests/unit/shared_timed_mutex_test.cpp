// SPDX-License-Identifier: Apache-2.0
// readmost::shared_timed_mutex: its interface, clocks and durations, and condition variables.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <concepts>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <readmost/lock_domain.hpp>
#include <readmost/shared_mutex.hpp>
#include <readmost/shared_timed_mutex.hpp>
#include <shared_mutex>
#include <type_traits>

#include "support/helper_thread.hpp"

namespace {

using readmost::preference;
using readmost::shared_timed_mutex;
using test::helper_thread;
using test::wait_until;
using namespace std::chrono_literals;
using std::chrono::duration;
using std::chrono::steady_clock;
using std::chrono::system_clock;

// --- Shape: the named requirements of the standard -----------------------------------------------

template <class M>
concept lockable = requires(M m) {
  { m.lock() } -> std::same_as<void>;
  { m.unlock() } -> std::same_as<void>;
  { m.try_lock() } -> std::same_as<bool>;
};

template <class M>
concept shared_lockable = requires(M m) {
  { m.lock_shared() } -> std::same_as<void>;
  { m.unlock_shared() } -> std::same_as<void>;
  { m.try_lock_shared() } -> std::same_as<bool>;
};

template <class M>
concept timed_lockable = lockable<M> && requires(M m, duration<float, std::ratio<86400>> days,
                                                 std::chrono::sys_days midnight) {
  { m.try_lock_for(1ms) } -> std::same_as<bool>;
  { m.try_lock_for(days) } -> std::same_as<bool>;
  { m.try_lock_until(steady_clock::now()) } -> std::same_as<bool>;
  { m.try_lock_until(midnight) } -> std::same_as<bool>;
};

template <class M>
concept shared_timed_lockable =
    shared_lockable<M> &&
    requires(M m, duration<float, std::ratio<86400>> days, std::chrono::sys_days midnight) {
      { m.try_lock_shared_for(1ms) } -> std::same_as<bool>;
      { m.try_lock_shared_for(days) } -> std::same_as<bool>;
      { m.try_lock_shared_until(steady_clock::now()) } -> std::same_as<bool>;
      { m.try_lock_shared_until(midnight) } -> std::same_as<bool>;
    };

template <class M>
concept upgradable = requires(M m) {
  { m.upgrade() } -> std::same_as<bool>;
  { m.try_upgrade() } -> std::same_as<bool>;
  { m.downgrade() } -> std::same_as<void>;
};

template <class M>
concept timed_upgradable = upgradable<M> && requires(M m) {
  { m.try_upgrade_for(1ms) } -> std::same_as<bool>;
  { m.try_upgrade_until(steady_clock::now()) } -> std::same_as<bool>;
};

// What the standard asks of a mutex beside its members.
template <class M>
concept mutex_type = std::default_initializable<M> && std::destructible<M> && !std::copyable<M> &&
                     !std::movable<M> && !std::is_copy_constructible_v<M> &&
                     !std::is_move_constructible_v<M> && std::is_standard_layout_v<M>;

static_assert(mutex_type<std::shared_timed_mutex> && timed_lockable<std::shared_timed_mutex> &&
              shared_timed_lockable<std::shared_timed_mutex>);
static_assert(mutex_type<shared_timed_mutex> && timed_lockable<shared_timed_mutex> &&
              shared_timed_lockable<shared_timed_mutex> && timed_upgradable<shared_timed_mutex>);
static_assert(timed_lockable<readmost::domain_shared_mutex> &&
              shared_timed_lockable<readmost::domain_shared_mutex> &&
              timed_upgradable<readmost::domain_shared_mutex>);
static_assert(upgradable<readmost::shared_mutex> && !timed_lockable<readmost::shared_mutex> &&
              !timed_upgradable<readmost::shared_mutex>);

static_assert(sizeof(shared_timed_mutex) == 16);
static_assert(std::is_trivially_destructible_v<shared_timed_mutex>);
static_assert(std::is_nothrow_default_constructible_v<shared_timed_mutex>);
static_assert(std::is_nothrow_constructible_v<shared_timed_mutex, preference>);
static_assert(!std::is_convertible_v<preference, shared_timed_mutex>);

constinit shared_timed_mutex global;

// --- Clocks of a program's own -------------------------------------------------------------------

// Its epoch is so far away that a naive difference between time points overflows.
template <std::int64_t OffsetInSeconds>
struct shifted_clock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<shifted_clock>;
  [[maybe_unused]] static constexpr bool is_steady = true;
  static time_point now() {
    return time_point(steady_clock::now().time_since_epoch() +
                      std::chrono::seconds(OffsetInSeconds));
  }
};
using ahead_clock = shifted_clock<200'000'000>;
using behind_clock = shifted_clock<-4'000'000'000>;  // before its epoch

// Runs at half speed, so that a wait by the steady clock ends too early by this one.
struct slow_clock {
  using duration = std::chrono::microseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<slow_clock>;
  [[maybe_unused]] static constexpr bool is_steady = true;
  static time_point now() {
    return time_point(std::chrono::duration_cast<duration>(steady_clock::now().time_since_epoch()) /
                      2);
  }
};

// --- The timed operations by name ----------------------------------------------------------------

struct operation {
  const char* name;
  bool writes;
  bool upgrades;

  template <class Duration>
  bool take_for(shared_timed_mutex& mutex, Duration wait) const {
    return upgrades ? mutex.try_upgrade_for(wait)
           : writes ? mutex.try_lock_for(wait)
                    : mutex.try_lock_shared_for(wait);
  }
  template <class TimePoint>
  bool take_until(shared_timed_mutex& mutex, TimePoint end) const {
    return upgrades ? mutex.try_upgrade_until(end)
           : writes ? mutex.try_lock_until(end)
                    : mutex.try_lock_shared_until(end);
  }

  // Acquires the hold that the operation requires.
  void prepare(shared_timed_mutex& mutex) const {
    if (upgrades) mutex.lock_shared();
  }
  // Releases the lock: what the operation acquired, or the hold that it required.
  void give_back(shared_timed_mutex& mutex, bool taken) const {
    if (taken && writes) {
      mutex.unlock();
    } else if (taken || upgrades) {
      mutex.unlock_shared();
    }
  }
};

constexpr operation operations[] = {
    {"lock", true, false}, {"lock_shared", false, false}, {"upgrade", true, true}};

// Another thread that keeps the operation from succeeding.
class obstacle {
 public:
  obstacle(shared_timed_mutex& mutex, const operation& what)
      : mutex_(mutex), reads_(what.upgrades) {
    thread_.call([this] { reads_ ? mutex_.lock_shared() : mutex_.lock(); });
  }
  obstacle(const obstacle&) = delete;
  obstacle& operator=(const obstacle&) = delete;
  ~obstacle() { remove(); }

  void remove() {
    if (gone_) return;
    gone_ = true;
    thread_.call([this] { reads_ ? mutex_.unlock_shared() : mutex_.unlock(); });
  }

 private:
  shared_timed_mutex& mutex_;
  bool reads_;
  bool gone_ = false;
  helper_thread thread_;
};

constexpr preference preferences[] = {preference::writer, preference::reader,
                                      preference::phase_fair};

// Calls body(mutex, operation) for every policy and operation.
template <class Body>
void for_each_operation(Body body) {
  for (const preference prefers : preferences) {
    for (const operation& what : operations) {
      SCOPED_TRACE(what.name);
      SCOPED_TRACE(static_cast<int>(prefers));
      shared_timed_mutex mutex(prefers);
      body(mutex, what);
      EXPECT_TRUE(mutex.try_lock()) << "something is left behind";
      mutex.unlock();
    }
  }
}

template <class Wait>
void expect_vain(shared_timed_mutex& mutex, const operation& what, Wait take) {
  what.prepare(mutex);
  {
    const obstacle other(mutex, what);
    EXPECT_FALSE(take());
  }
  what.give_back(mutex, false);
}

template <class Wait>
void expect_success(shared_timed_mutex& mutex, const operation& what, Wait take) {
  what.prepare(mutex);
  EXPECT_TRUE(take());
  what.give_back(mutex, true);
}

// The wait is longer than any test: it ends because the obstacle goes away.
template <class Wait>
void expect_success_after_a_wait(shared_timed_mutex& mutex, const operation& what, Wait take) {
  helper_thread waiter;
  waiter.call([&] { what.prepare(mutex); });
  obstacle other(mutex, what);
  waiter.begin([&] {
    const bool taken = take();
    what.give_back(mutex, taken);
    return static_cast<int>(taken);
  });
  EXPECT_TRUE(waiter.falls_asleep());
  other.remove();
  EXPECT_EQ(waiter.end(), 1);
}

template <class Clock>
void expect_the_clock_is_honoured() {
  for_each_operation([](shared_timed_mutex& mutex, const operation& what) {
    expect_vain(mutex, what, [&] {
      const auto end = Clock::now() + 20ms;
      const bool taken = what.take_until(mutex, end);
      EXPECT_GE(Clock::now(), end) << "given up early";
      return taken;
    });
    using point = typename Clock::time_point;
    const auto until = [&](point end) { return [&, end] { return what.take_until(mutex, end); }; };
    for (const point past : {Clock::now() - 1h, Clock::now(), point::min(), point()}) {
      if (past > Clock::now()) continue;
      expect_vain(mutex, what, until(past));
      expect_success(mutex, what, until(past));
    }
    for (const point future : {Clock::now() + 1h, point::max()}) {
      expect_success(mutex, what, until(future));
      expect_success_after_a_wait(mutex, what, until(future));
    }
  });
}

TEST(shared_timed_mutex, honours_the_steady_clock) {
  expect_the_clock_is_honoured<steady_clock>();
}

TEST(shared_timed_mutex, honours_the_system_clock) {
  expect_the_clock_is_honoured<system_clock>();
}

TEST(shared_timed_mutex, honours_the_file_clock_which_is_neither) {
  expect_the_clock_is_honoured<std::chrono::file_clock>();
}

TEST(shared_timed_mutex, honours_a_clock_far_ahead) {
  expect_the_clock_is_honoured<ahead_clock>();
}

TEST(shared_timed_mutex, honours_a_clock_before_its_epoch) {
  expect_the_clock_is_honoured<behind_clock>();
}

TEST(shared_timed_mutex, asks_a_slow_clock_again) {
  expect_the_clock_is_honoured<slow_clock>();
}

TEST(shared_timed_mutex, waits_for_at_least_the_duration_whatever_its_unit) {
  for_each_operation([](shared_timed_mutex& mutex, const operation& what) {
    const auto expect_a_wait = [&](auto wait) {
      expect_vain(mutex, what, [&] {
        const auto start = steady_clock::now();
        const bool taken = what.take_for(mutex, wait);
        EXPECT_GE(duration<double>(steady_clock::now() - start), duration<double>(wait));
        return taken;
      });
    };
    expect_a_wait(5ms);
    expect_a_wait(duration<int, std::ratio<1, 1000>>(5));
    expect_a_wait(duration<double, std::ratio<3600>>(5e-3 / 3600));
    expect_a_wait(duration<float>(0.005F));
    expect_a_wait(duration<std::int64_t, std::pico>(5'000'000'001));
    expect_a_wait(duration<int, std::ratio<1, 300>>(1));
    expect_a_wait(duration<double, std::nano>(0.5));
  });
}

TEST(shared_timed_mutex, does_not_wait_for_durations_of_nothing_or_less) {
  for_each_operation([](shared_timed_mutex& mutex, const operation& what) {
    const auto expect_no_wait = [&](auto wait) {
      const auto take = [&, wait] { return what.take_for(mutex, wait); };
      expect_vain(mutex, what, take);
      expect_success(mutex, what, take);
    };
    expect_no_wait(0ns);
    expect_no_wait(-1ns);
    expect_no_wait(-5h);
    expect_no_wait(std::chrono::nanoseconds::min());
    expect_no_wait(std::chrono::hours::min());
    expect_no_wait(duration<double>(-1e300));
    expect_no_wait(-duration<double>(std::numeric_limits<double>::infinity()));
    expect_no_wait(duration<float, std::ratio<3600>>(-0.5F));
  });
}

TEST(shared_timed_mutex, waits_for_durations_beyond_all_clocks) {
  for_each_operation([](shared_timed_mutex& mutex, const operation& what) {
    const auto expect_a_long_wait = [&](auto wait) {
      const auto take = [&, wait] { return what.take_for(mutex, wait); };
      expect_success(mutex, what, take);
      expect_success_after_a_wait(mutex, what, take);
    };
    expect_a_long_wait(std::chrono::nanoseconds::max());
    expect_a_long_wait(std::chrono::milliseconds::max());
    expect_a_long_wait(std::chrono::hours::max());
    expect_a_long_wait(std::chrono::years::max());
    expect_a_long_wait(duration<double>(1e300));
    expect_a_long_wait(duration<double>(std::numeric_limits<double>::infinity()));
    expect_a_long_wait(duration<double, std::ratio<3600>>(1e17));
  });
}

TEST(shared_timed_mutex, waits_for_points_in_time_of_coarse_units) {
  for_each_operation([](shared_timed_mutex& mutex, const operation& what) {
    const auto expect_both = [&](auto clock) {
      using point = std::chrono::time_point<decltype(clock), std::chrono::hours>;
      const auto until = [&](point end) {
        return [&, end] { return what.take_until(mutex, end); };
      };
      expect_success_after_a_wait(mutex, what, until(point::max()));
      expect_vain(mutex, what, until(point::min()));
    };
    expect_both(steady_clock());
    expect_both(system_clock());
    expect_both(ahead_clock());
    expect_both(behind_clock());
  });
}

// --- With the standard library -------------------------------------------------------------------

TEST(shared_timed_mutex, works_with_the_guards_of_the_standard_library) {
  shared_timed_mutex mutex;
  const operation& writing = operations[0];
  {
    const std::shared_lock reading(mutex, 1ms);
    EXPECT_TRUE(reading.owns_lock());
    EXPECT_FALSE(mutex.try_lock_for(1ms));
    std::shared_lock again(mutex, steady_clock::now() + 1ms);
    EXPECT_TRUE(again.owns_lock());
    again.unlock();
    EXPECT_TRUE(again.try_lock_for(1ms));
  }
  {
    std::unique_lock alone(mutex, system_clock::now() + 1ms);
    EXPECT_TRUE(alone.owns_lock());
    alone.unlock();
    EXPECT_TRUE(alone.try_lock_until(ahead_clock::now() + 1ms));
  }
  {
    const obstacle other(mutex, writing);
    EXPECT_FALSE(std::shared_lock(mutex, 1ms).owns_lock());
    EXPECT_FALSE(std::unique_lock(mutex, 1ms).owns_lock());
    EXPECT_FALSE(std::unique_lock(mutex, system_clock::now() - 1h).owns_lock());
  }
  const std::scoped_lock both(mutex, global);
  EXPECT_FALSE(global.try_lock_shared_for(0ms));
}

// --- Waiting for a condition (FCP 7) -------------------------------------------------------------

template <class Mutex>
class condition : public testing::Test {
 public:
  condition() {
    // Hot, so that shared holds are passive ones.
    for (int i = 0; i < 20'000; ++i) {
      mutex.lock_shared();
      mutex.unlock_shared();
    }
  }

  template <class Guard>
  int wait_for_flag() {
    Guard guard(mutex);
    changed.wait(guard, [this] { return flag; });
    return flag ? 1 : 0;
  }

  // Only a wait that has let go of the lock lets this in.
  void raise() {
    {
      const std::unique_lock guard(mutex);
      flag = true;
    }
    changed.notify_all();
  }

  Mutex mutex;
  std::condition_variable_any changed;
  bool flag = false;
};

using mutexes = testing::Types<readmost::shared_mutex, shared_timed_mutex>;
class name_of_mutex {
 public:
  template <class Mutex>
  static std::string GetName(int) {
    return std::is_same_v<Mutex, shared_timed_mutex> ? "shared_timed_mutex" : "shared_mutex";
  }
};
TYPED_TEST_SUITE(condition, mutexes, name_of_mutex);

TYPED_TEST(condition, is_waited_for_with_shared_and_exclusive_holds) {
  using shared = std::shared_lock<TypeParam>;
  using alone = std::unique_lock<TypeParam>;
  std::array<helper_thread, 4> waiters;
  for (std::size_t i = 0; i < waiters.size(); ++i) {
    waiters[i].begin([this, i] {
      return i % 2 == 0 ? this->template wait_for_flag<shared>()
                        : this->template wait_for_flag<alone>();
    });
  }
  for (helper_thread& waiter : waiters) ASSERT_TRUE(waiter.falls_asleep());
  this->raise();
  for (helper_thread& waiter : waiters) EXPECT_EQ(waiter.end(), 1);
  EXPECT_TRUE(this->mutex.try_lock());
  this->mutex.unlock();
}

TYPED_TEST(condition, that_is_not_met_in_time_leaves_the_hold_as_it_was) {
  {
    std::shared_lock guard(this->mutex);
    EXPECT_FALSE(this->changed.wait_for(guard, 5ms, [this] { return this->flag; }));
    EXPECT_TRUE(guard.owns_lock());
    EXPECT_FALSE(this->mutex.try_lock());
  }
  {
    std::unique_lock guard(this->mutex);
    EXPECT_FALSE(
        this->changed.wait_until(guard, system_clock::now() + 5ms, [this] { return this->flag; }));
    EXPECT_FALSE(this->mutex.try_lock_shared());
  }
  EXPECT_TRUE(this->mutex.try_lock());
  this->mutex.unlock();
}

TYPED_TEST(condition, is_waited_for_again_after_an_upgrade_and_a_downgrade) {
  helper_thread waiter;
  waiter.begin([this] {
    std::shared_lock guard(this->mutex);
    this->changed.wait(guard, [this] { return this->flag; });
    if (!this->mutex.upgrade()) return 0;
    this->flag = false;
    this->mutex.downgrade();
    this->changed.wait(guard, [this] { return this->flag; });
    return 1;
  });
  ASSERT_TRUE(waiter.falls_asleep());
  this->raise();
  EXPECT_TRUE(wait_until([this] {
    const std::shared_lock guard(this->mutex);
    return !this->flag;
  }));
  this->raise();
  EXPECT_EQ(waiter.end(), 1);
}

}  // namespace

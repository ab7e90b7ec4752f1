// SPDX-License-Identifier: Apache-2.0
// readmost::shared_mutex: its interface, exclusion and preference.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <readmost/shared_mutex.hpp>
#include <shared_mutex>
#include <thread>
#include <type_traits>
#include <vector>

#include "support/helper_thread.hpp"
#include "support/sorts.hpp"

namespace {

using readmost::preference;
using readmost::shared_mutex;
using readmost::detail::rwlock;
using test::helper_thread;
using test::wait_until;

static_assert(sizeof(shared_mutex) == 16);
static_assert(alignof(shared_mutex) == 8);
static_assert(std::is_standard_layout_v<shared_mutex>);
static_assert(std::is_trivially_destructible_v<shared_mutex>);
static_assert(std::is_nothrow_default_constructible_v<shared_mutex>);
static_assert(std::is_nothrow_constructible_v<shared_mutex, preference>);
static_assert(!std::is_convertible_v<preference, shared_mutex>);
static_assert(!std::is_copy_constructible_v<shared_mutex>);
static_assert(!std::is_copy_assignable_v<shared_mutex>);
static_assert(!std::is_move_constructible_v<shared_mutex>);
static_assert(!std::is_move_assignable_v<shared_mutex>);
static_assert(noexcept(std::declval<shared_mutex&>().lock()));
static_assert(noexcept(std::declval<shared_mutex&>().try_lock()));
static_assert(noexcept(std::declval<shared_mutex&>().unlock()));
static_assert(noexcept(std::declval<shared_mutex&>().lock_shared()));
static_assert(noexcept(std::declval<shared_mutex&>().try_lock_shared()));
static_assert(noexcept(std::declval<shared_mutex&>().unlock_shared()));

constinit shared_mutex global;
constinit shared_mutex global_for_readers{preference::reader};
constinit shared_mutex global_for_both{preference::phase_fair};

enum class warmth { cold, warm };
constexpr warmth warmths[] = {warmth::cold, warmth::warm};

const char* name_of(warmth w) {
  return w == warmth::cold ? "read actively" : "read passively";
}

// Reads until the calling thread's reads are passive; false if they never are.
bool warm_up(shared_mutex& mutex) {
  for (int i = 0; i < test::reads_that_earn_bias; ++i) {
    mutex.lock_shared();
    mutex.unlock_shared();
    const std::uint64_t before = test::passive_reads_of_this_thread();
    mutex.lock_shared();
    mutex.unlock_shared();
    if (test::passive_reads_of_this_thread() != before) return true;
  }
  return false;
}

void prepare(shared_mutex& mutex, warmth w) {
  if (w == warmth::warm) {
    ASSERT_TRUE(warm_up(mutex));
  }
}

// Locks for reading; returns whether the hold is of the wanted sort.
int lock_shared_as(shared_mutex& mutex, warmth w) {
  const std::uint64_t before = test::passive_reads_of_this_thread();
  mutex.lock_shared();
  const bool passive = test::passive_reads_of_this_thread() != before;
  return passive == (w == warmth::warm);
}

// Whether each attempt succeeds now; leaves the lock as it was.
bool can_lock(shared_mutex& mutex) {
  const bool locked = mutex.try_lock();
  if (locked) mutex.unlock();
  return locked;
}

bool can_lock_shared(shared_mutex& mutex) {
  const bool locked = mutex.try_lock_shared();
  if (locked) mutex.unlock_shared();
  return locked;
}

// Runs the body for locks of every preference, never read and hot.
void for_all_sorts(const std::function<void(shared_mutex&, preference, warmth)>& body) {
  for (const preference prefers : test::preferences) {
    for (const warmth w : warmths) {
      SCOPED_TRACE(test::name_of(prefers));
      SCOPED_TRACE(name_of(w));
      shared_mutex mutex(prefers);
      prepare(mutex, w);
      body(mutex, prefers, w);
    }
  }
}

TEST(shared_mutex, works_with_the_guards_of_the_standard_library) {
  shared_mutex mutex;
  shared_mutex other;
  {
    const std::shared_lock guard(mutex);
    EXPECT_TRUE(guard.owns_lock());
    EXPECT_FALSE(can_lock(mutex));
    EXPECT_TRUE(can_lock_shared(mutex));
  }
  {
    const std::unique_lock guard(mutex);
    EXPECT_TRUE(guard.owns_lock());
    EXPECT_FALSE(can_lock_shared(mutex));
  }
  {
    const std::lock_guard guard(mutex);
    EXPECT_FALSE(can_lock(mutex));
  }
  {
    const std::scoped_lock guard(mutex, other);
    EXPECT_FALSE(can_lock_shared(mutex));
    EXPECT_FALSE(can_lock_shared(other));
  }
  {
    std::unique_lock first(mutex, std::try_to_lock);
    EXPECT_TRUE(first.owns_lock());
    const std::shared_lock second(mutex, std::try_to_lock);
    EXPECT_FALSE(second.owns_lock());
    first.unlock();
    first.lock();
  }
  EXPECT_TRUE(can_lock(mutex));
  EXPECT_TRUE(can_lock(other));
}

TEST(shared_mutex, works_as_a_constant_initialised_global) {
  for (shared_mutex* mutex : {&global, &global_for_readers, &global_for_both}) {
    {
      const std::shared_lock guard(*mutex);
      EXPECT_FALSE(can_lock(*mutex));
    }
    EXPECT_TRUE(can_lock(*mutex));
  }
}

TEST(shared_mutex, lets_everybody_in_when_it_is_free) {
  for_all_sorts([](shared_mutex& mutex, preference, warmth) {
    EXPECT_TRUE(can_lock(mutex));
    EXPECT_TRUE(can_lock_shared(mutex));
    EXPECT_TRUE(can_lock(mutex));
  });
}

TEST(shared_mutex, lets_only_readers_in_while_somebody_reads) {
  for_all_sorts([](shared_mutex& mutex, preference, warmth w) {
    helper_thread reader;
    ASSERT_EQ(reader.call([&] { return lock_shared_as(mutex, w); }), 1);
    for (int i = 0; i < 3; ++i) {
      EXPECT_FALSE(can_lock(mutex));
      EXPECT_TRUE(can_lock_shared(mutex));
    }
    EXPECT_EQ(reader.call([&] { return can_lock(mutex); }), 0) << "it reads itself";
    EXPECT_EQ(reader.call([&] { return can_lock_shared(mutex); }), 1);
    reader.call([&] { mutex.unlock_shared(); });
    EXPECT_TRUE(can_lock(mutex));
  });
}

TEST(shared_mutex, lets_nobody_in_while_somebody_writes) {
  for_all_sorts([](shared_mutex& mutex, preference, warmth) {
    helper_thread writer;
    writer.call([&] { mutex.lock(); });
    EXPECT_FALSE(can_lock(mutex));
    EXPECT_FALSE(can_lock_shared(mutex));
    writer.call([&] { mutex.unlock(); });
    EXPECT_TRUE(can_lock_shared(mutex));
    EXPECT_TRUE(can_lock(mutex));
  });
}

TEST(shared_mutex, makes_readers_wait_until_the_writer_has_left) {
  for_all_sorts([](shared_mutex& mutex, preference, warmth) {
    helper_thread reader;
    mutex.lock();
    reader.begin([&] {
      mutex.lock_shared();
      mutex.unlock_shared();
    });
    EXPECT_TRUE(reader.falls_asleep());
    mutex.unlock();
    EXPECT_EQ(reader.end(), 0);
  });
}

TEST(shared_mutex, makes_the_writer_wait_until_all_readers_have_left) {
  for_all_sorts([](shared_mutex& mutex, preference, warmth w) {
    helper_thread one, two, writer;
    ASSERT_EQ(one.call([&] { return lock_shared_as(mutex, w); }), 1);
    ASSERT_EQ(two.call([&] { return lock_shared_as(mutex, w); }), 1);
    writer.begin([&] {
      mutex.lock();
      mutex.unlock();
    });
    EXPECT_TRUE(writer.falls_asleep());
    const auto leave = [&] {
      mutex.unlock_shared();
      return 1;
    };
    EXPECT_EQ(one.call(leave), 1);
    EXPECT_TRUE(writer.falls_asleep()) << "there is still a reader";
    EXPECT_EQ(two.call(leave), 1);
    EXPECT_EQ(writer.end(), 0);
  });
}

TEST(shared_mutex, shows_readers_whole_writes_only) {
#if defined(__SANITIZE_THREAD__)
  constexpr int turns = 100;
#else
  constexpr int turns = 1000;
#endif
  constexpr int threads = 4;
  for_all_sorts([](shared_mutex& mutex, preference, warmth) {
    long left = 0, right = 0;
    std::atomic<int> errors{0};
    std::vector<std::thread> crowd;
    for (int t = 0; t < threads; ++t) {
      crowd.emplace_back([&] {
        for (int i = 0; i < turns; ++i) {
          {
            const std::unique_lock guard(mutex);
            left = left + 1;
            right = right + 1;
          }
          for (int reads = 0; reads < 20; ++reads) {
            const std::shared_lock guard(mutex);
            if (left != right) ++errors;
          }
        }
      });
    }
    for (std::thread& thread : crowd) thread.join();
    EXPECT_EQ(errors, 0);
    EXPECT_EQ(left, threads * turns);
    EXPECT_EQ(right, threads * turns);
  });
}

TEST(shared_mutex, may_be_read_locked_again_by_a_reader_while_a_writer_waits) {
  for_all_sorts([](shared_mutex& mutex, preference, warmth w) {
    helper_thread reader, writer;
    ASSERT_EQ(reader.call([&] { return lock_shared_as(mutex, w); }), 1);
    writer.begin([&] {
      mutex.lock();
      mutex.unlock();
    });
    ASSERT_TRUE(writer.falls_asleep());
    constexpr int depth = 12;
    EXPECT_EQ(reader.call([&] {
      for (int i = 0; i < depth; ++i) mutex.lock_shared();
      return can_lock_shared(mutex);
    }),
              1);
    EXPECT_EQ(reader.call([&] {
      for (int i = 0; i < depth; ++i) mutex.unlock_shared();
    }),
              0);
    EXPECT_TRUE(writer.falls_asleep()) << "the first hold is left";
    reader.call([&] { mutex.unlock_shared(); });
    EXPECT_EQ(writer.end(), 0);
  });
}

TEST(shared_mutex, may_be_held_along_with_many_others_and_released_in_any_order) {
  constexpr std::size_t many = 20;
  static_assert(many > readmost::detail::passive_slots);
  for (const warmth w : warmths) {
    SCOPED_TRACE(name_of(w));
    std::array<shared_mutex, many> mutexes;
    helper_thread reader;
    ASSERT_EQ(reader.call([&] {
      if (w == warmth::warm) {
        for (shared_mutex& mutex : mutexes) {
          if (!warm_up(mutex)) return 0;
        }
      }
      for (shared_mutex& mutex : mutexes) mutex.lock_shared();
      return 1;
    }),
              1);
    for (shared_mutex& mutex : mutexes) EXPECT_FALSE(can_lock(mutex));

    // Releases every third lock in turn: neither the order of locking nor its reverse.
    std::array<bool, many> held;
    held.fill(true);
    for (std::size_t i = 0; i < many; ++i) {
      const std::size_t next = i * 3 % many;
      reader.call([&] { mutexes[next].unlock_shared(); });
      held[next] = false;
      for (std::size_t k = 0; k < many; ++k) {
        EXPECT_EQ(can_lock(mutexes[k]), !held[k]) << "lock " << k << " after lock " << next;
      }
    }
  }
}

TEST(shared_mutex, stays_held_when_its_reader_has_exited) {
  for_all_sorts([](shared_mutex& mutex, preference, warmth w) {
    int as_wanted = 0;
    std::thread([&] { as_wanted = lock_shared_as(mutex, w); }).join();
    ASSERT_EQ(as_wanted, 1);
    EXPECT_FALSE(can_lock(mutex));
    EXPECT_TRUE(can_lock_shared(mutex));
    mutex.unlock_shared();  // another thread may do it, because the holder is gone
    EXPECT_TRUE(can_lock(mutex));
  });
}

TEST(shared_mutex, keeps_new_readers_out_while_a_preferred_writer_waits) {
  for_all_sorts([](shared_mutex& mutex, preference prefers, warmth w) {
    if (prefers == preference::reader) return;
    helper_thread first, second, writer;
    ASSERT_EQ(first.call([&] { return lock_shared_as(mutex, w); }), 1);
    std::atomic<bool> written{false};
    writer.begin([&] {
      mutex.lock();
      written = true;
      mutex.unlock();
    });
    ASSERT_TRUE(writer.falls_asleep());
    EXPECT_FALSE(can_lock_shared(mutex));
    second.begin([&] {
      mutex.lock_shared();
      const bool after_the_writer = written;
      mutex.unlock_shared();
      return after_the_writer;
    });
    EXPECT_TRUE(second.falls_asleep());
    first.call([&] { mutex.unlock_shared(); });
    EXPECT_EQ(writer.end(), 0);
    EXPECT_EQ(second.end(), 1);
  });
}

TEST(shared_mutex, lets_readers_in_while_a_writer_waits_that_is_not_preferred) {
  for (const warmth w : warmths) {
    SCOPED_TRACE(name_of(w));
    shared_mutex mutex(preference::reader);
    prepare(mutex, w);
    helper_thread first, second, writer;
    ASSERT_EQ(first.call([&] { return lock_shared_as(mutex, w); }), 1);
    writer.begin([&] {
      mutex.lock();
      mutex.unlock();
    });
    ASSERT_TRUE(writer.falls_asleep());
    EXPECT_TRUE(can_lock_shared(mutex));
    EXPECT_EQ(second.call([&] { mutex.lock_shared(); }), 0);
    const auto leave = [&] {
      mutex.unlock_shared();
      return 0;
    };
    first.call(leave);
    EXPECT_TRUE(writer.falls_asleep());
    second.call(leave);
    EXPECT_EQ(writer.end(), 0);
  }
}

// One writer may pass the reader; then the reader has its turn although another writer waits.
TEST(shared_mutex, lets_a_reader_in_that_a_preferred_writer_has_passed_over) {
  rwlock lock;
  helper_thread reader;
  std::atomic<bool> reader_is_in{false};
  std::atomic<int> writers_passed{0};
  helper_thread writers[3];
  const auto write = [&] {
    test::lock(lock);
    ++writers_passed;
    const bool seen =
        wait_until([&] { return reader_is_in || (lock.state & rwlock::reader_phase) != 0; });
    test::unlock(lock);
    return static_cast<int>(seen);
  };

  test::lock(lock);
  reader.begin([&] {
    test::lock_shared(lock);
    reader_is_in = true;
    return writers_passed.load();
  });
  EXPECT_TRUE(reader.falls_asleep());
  for (helper_thread& writer : writers) writer.begin(write);
  EXPECT_TRUE(
      wait_until([&] { return (lock.state & rwlock::waiting_writers) == 3 * rwlock::one_writer; }));
  test::unlock(lock);

  const int passed = reader.end();
  EXPECT_NE(passed, helper_thread::still_running);
  EXPECT_LE(passed, 1);
  EXPECT_EQ(lock.state & rwlock::reader_phase, 0U) << "the next reader has to wait again";
  reader.call([&] { return test::unlock_shared(lock); });
  for (helper_thread& writer : writers) EXPECT_EQ(writer.end(), 1);
  EXPECT_EQ(writers_passed, 3);
}

}  // namespace

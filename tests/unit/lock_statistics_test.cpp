// SPDX-License-Identifier: Apache-2.0
// Statistics per lock: exact, whoever counts and wherever a count is at the moment. In children,
// because statistics stay on once they are.
#include "statistics/lock_statistics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/auxv.h>

#include <atomic>
#include <csignal>
#include <ctime>
#include <memory>
#include <new>
#include <vector>

#include "platform/address_space.hpp"
#include "statistics/statistics.hpp"
#include "support/helper_thread.hpp"
#include "support/processes.hpp"
#include "support/surface.hpp"

namespace {

using namespace readmost::detail;
using test::helper_thread;
using test::in_a_child;
using ::testing::EndsWith;
using ::testing::HasSubstr;

template <class Body>
void with_statistics(Body body) {
  in_a_child([&] {
    enable_lock_statistics(false);
    body();
  });
}

lock_survey survey() {
  lock_survey all;
  EXPECT_TRUE(survey_locks(all));
  return all;
}

lock_figures figures_of(std::uintptr_t lock) {
  const lock_survey all = survey();
  for (std::size_t i = 0; i < all.count; ++i) {
    if (all.hottest[i].lock == lock) return all.hottest[i];
  }
  return {};
}

lock_figures figures_of(const rwlock& lock) {
  return figures_of(address(lock));
}

// Made-up locks for whose counts a thread has not enough cells.
std::vector<std::uintptr_t> sharing_a_set(std::size_t count) {
  std::vector<std::uintptr_t> locks;
  for (std::uintptr_t lock = 4096; locks.size() < count; lock += sizeof(rwlock)) {
    if (scattered(lock) / (~std::uint64_t{0} / tally_cells::sets) == 0) locks.push_back(lock);
  }
  return locks;
}

// Locks that have the same home slot as the first.
std::vector<rwlock*> sharing_a_slot(std::vector<rwlock>& pool, std::size_t count) {
  std::vector<rwlock*> locks;
  for (rwlock& lock : pool) {
    if (home_slot(&lock) == home_slot(&pool.front()) && locks.size() < count) {
      locks.push_back(&lock);
    }
  }
  EXPECT_EQ(locks.size(), count);
  return locks;
}

TEST(lock_statistics, steps_of_durations_grow_by_a_quarter_of_an_octave_at_most) {
  std::uint64_t last_end = 0;
  for (std::size_t step = 0; step < wait_histogram::steps; ++step) {
    const std::uint64_t end = wait_histogram::end_of(step);
    ASSERT_GT(end, last_end);
    EXPECT_EQ(wait_histogram::step_of(last_end), step);
    EXPECT_EQ(wait_histogram::step_of(end - 1), step);
    if (last_end >= 4) {
      EXPECT_LE(end - last_end, last_end / 4);
    }
    last_end = end;
  }
  EXPECT_EQ(wait_histogram::step_of(~std::uint64_t{0}), wait_histogram::steps - 1);
  EXPECT_GT(last_end, 100'000'000'000U);
}

TEST(lock_statistics, percentiles_are_ends_of_steps_but_not_above_the_longest) {
  wait_counts counts;
  counts.waits[wait_histogram::step_of(1'000)] = 98;
  counts.waits[wait_histogram::step_of(50'000)] = 2;
  counts.longest = 50'001;
  const wait_figures figures = figures_of(counts);
  EXPECT_EQ(figures.count, 100U);
  EXPECT_GE(figures.p50, 1'000U);
  EXPECT_LE(figures.p50, 1'250U);
  EXPECT_EQ(figures.p99, 50'001U);
  EXPECT_EQ(figures_of(wait_counts{}).p99, 0U);
}

TEST(lock_statistics, are_nothing_until_they_are_asked_for) {
  rwlock lock;
  test::read(lock, 100);
  lock_survey all;
  EXPECT_FALSE(survey_locks(all));
}

TEST(lock_statistics, count_locks_that_take_turns_in_the_cells_of_a_thread) {
  with_statistics([] {
    const auto locks = sharing_a_set(tally_cells::ways + 2);
    for (int round = 0; round < 10'000; ++round) {
      for (std::size_t i = 0; i < locks.size(); ++i) {
        note_read(locks[i], true);
        if (i % 2 == 0) note_read(locks[i], false);
        if (round % 100 == 0) note_write(locks[i]);
      }
    }
    for (std::size_t i = 0; i < locks.size(); ++i) {
      EXPECT_EQ(figures_of(locks[i]).passive_reads, 10'000U);
      EXPECT_EQ(figures_of(locks[i]).active_reads, i % 2 == 0 ? 10'000U : 0U);
      EXPECT_EQ(figures_of(locks[i]).writes, 100U);
    }
  });
}

std::vector<std::uintptr_t> locks_of_handler;
std::atomic<std::uint64_t> handled{0};

TEST(lock_statistics, count_what_signal_handlers_do_amid_a_count) {
  with_statistics([] {
    locks_of_handler = sharing_a_set(tally_cells::ways + 1);
    const std::uintptr_t lock = locks_of_handler.back();
    locks_of_handler.pop_back();
    // Takes all cells of the set, also the one that the interrupted count is about to write.
    std::signal(SIGUSR1, [](int) {
      for (const std::uintptr_t other : locks_of_handler) note_read(other, false);
      ++handled;
    });
    sigevent signalling{};
    signalling.sigev_notify = SIGEV_SIGNAL;
    signalling.sigev_signo = SIGUSR1;
    timer_t timer{};
    ASSERT_EQ(timer_create(CLOCK_MONOTONIC, &signalling, &timer), 0);
    constexpr timespec often{.tv_sec = 0, .tv_nsec = 20'000};
    constexpr itimerspec going{.it_interval = often, .it_value = often}, stopped{};
    ASSERT_EQ(timer_settime(timer, 0, &going, nullptr), 0);
    std::uint64_t rounds = 0;
    for (; handled < 1'000; ++rounds) {
      for (int i = 0; i < 10; ++i) note_read(lock, true);
      for (const std::uintptr_t other : locks_of_handler) note_read(other, true);
    }
    ASSERT_EQ(timer_settime(timer, 0, &stopped, nullptr), 0);
    EXPECT_EQ(figures_of(lock).passive_reads, 10 * rounds);
    for (const std::uintptr_t other : locks_of_handler) {
      EXPECT_EQ(figures_of(other).active_reads, handled);
      EXPECT_EQ(figures_of(other).passive_reads, rounds);
    }
  });
}

TEST(lock_statistics, time_a_thread_s_first_write_hold_of_a_lock_and_one_in_64) {
  with_statistics([] {
    constexpr std::uintptr_t lock = 4096;
    const auto hold_for = [](std::uint64_t nanoseconds) {
      note_write(lock);
      note_write_end(2 * lock);  // another lock's
      const std::uint64_t start = platform::now();
      while (platform::now() - start < nanoseconds) {
      }
      note_write_end(lock);
    };
    hold_for(1'000);
    const std::uint64_t first = figures_of(lock).longest_write;
    EXPECT_GE(first, 1'000U);
    for (int i = 1; i < 64; ++i) hold_for(2 * first);
    EXPECT_EQ(figures_of(lock).longest_write, first);
    hold_for(2 * first);
    EXPECT_GE(figures_of(lock).longest_write, 2 * first);
    // The second thread gets the cells of the first.
    for (const std::uint64_t longer : {4 * first, 8 * first}) {
      helper_thread fresh;
      fresh.call([&] {
        rwlock any;
        test::read(any, 1);
        hold_for(longer);
      });
      EXPECT_GE(figures_of(lock).longest_write, longer);
    }
  });
}

TEST(lock_statistics, count_holds_that_are_not_in_their_home_slot) {
  with_statistics([] {
    std::vector<rwlock> pool(512);
    const auto locks = sharing_a_slot(pool, 12);
    for (int round = 0; round < 5'000; ++round) {
      for (rwlock* lock : locks) ASSERT_EQ(test::lock_shared(*lock), test::acquired);
      ASSERT_EQ(test::lock_shared(*locks[3]), test::acquired);
      EXPECT_TRUE(test::unlock_shared(*locks[3]));
      for (rwlock* lock : locks) EXPECT_TRUE(test::unlock_shared(*lock));
    }
    const lock_survey all = survey();
    std::uint64_t reads = all.others.reads();
    for (std::size_t i = 0; i < all.count; ++i) {
      reads += all.hottest[i].reads();
      const bool twice = all.hottest[i].lock == reinterpret_cast<std::uintptr_t>(locks[3]);
      EXPECT_EQ(all.hottest[i].reads(), twice ? 10'000U : 5'000U);
    }
    EXPECT_EQ(reads, 13U * 5'000);
  });
}

TEST(lock_statistics, show_what_running_threads_did_and_keep_what_ended_ones_did) {
  with_statistics([] {
    rwlock lock;
    helper_thread running;
    const auto read = [&] {
      test::read(lock, 1'000);
      test::write(lock);
      return 0;
    };
    running.call(read);
    for (int i = 0; i < 5; ++i) {
      helper_thread ended;
      ended.call(read);
    }
    EXPECT_EQ(figures_of(lock).reads(), 6'000U);
    EXPECT_EQ(figures_of(lock).writes, 6U);
    running.call(read);
    EXPECT_EQ(figures_of(lock).reads(), 7'000U);
  });
}

TEST(lock_statistics, are_exact_over_threads_that_use_the_same_locks_at_once) {
  with_statistics([] {
    std::vector<rwlock> pool(40);
    constexpr int rounds = 300;
    const auto use_all = [&] {
      for (int round = 0; round < rounds; ++round) {
        for (rwlock& lock : pool) {
          test::read(lock, 3);
          if (round % 30 == 0) test::write(lock);
        }
      }
      return 0;
    };
    {
      helper_thread one, two, three;
      one.begin(use_all);
      two.begin(use_all);
      three.begin(use_all);
      one.end();
      two.end();
      three.end();
    }
    lock_survey all = survey();
    EXPECT_EQ(all.count, lock_survey::most);
    EXPECT_EQ(all.other_locks, pool.size() - lock_survey::most);
    for (std::size_t i = 0; i < all.count; ++i) {
      EXPECT_EQ(all.hottest[i].reads(), 3U * 3 * rounds);
      EXPECT_EQ(all.hottest[i].writes, 3U * rounds / 30);
    }
    EXPECT_EQ(all.others.reads(), all.other_locks * 3 * 3 * rounds);
    EXPECT_EQ(all.others.incarnations, all.other_locks);
    const statistics totals = collect_statistics();
    std::uint64_t revocations = all.others.all_revocations();
    for (std::size_t i = 0; i < all.count; ++i) revocations += all.hottest[i].all_revocations();
    EXPECT_EQ(revocations, totals.revocations);
  });
}

TEST(lock_statistics, put_what_found_no_place_with_the_others) {
  with_statistics([] {
    constexpr std::size_t more = 100;
    std::vector<rwlock> pool(lock_table::capacity + more);
    for (rwlock& lock : pool) {
      test::read(lock, 1);
      test::write(lock);
    }
    const lock_survey all = survey();
    std::uint64_t reads = all.others.reads(), writes = all.others.writes;
    for (std::size_t i = 0; i < all.count; ++i) {
      reads += all.hottest[i].reads();
      writes += all.hottest[i].writes;
    }
    EXPECT_EQ(reads, pool.size());
    EXPECT_EQ(writes, pool.size());
  });
}

TEST(lock_statistics, tell_locks_at_one_address_apart_by_number_only) {
  with_statistics([] {
    alignas(rwlock) unsigned char memory[sizeof(rwlock)];
    for (int i = 0; i < 3; ++i) {
      auto* lock = new (memory) rwlock;
      test::read(*lock, 10);
    }
    const lock_figures figures = figures_of(*reinterpret_cast<rwlock*>(memory));
    EXPECT_EQ(figures.incarnations, 3U);
    EXPECT_EQ(figures.reads(), 30U);
  });
}

TEST(lock_statistics, know_how_long_threads_waited) {
  with_statistics([] {
    rwlock lock;
    helper_thread reader, writer;
    ASSERT_EQ(test::lock(lock), test::acquired);
    reader.begin([&] { test::read(lock, 1); });
    writer.begin([&] { test::write(lock); });
    ASSERT_TRUE(reader.falls_asleep());
    ASSERT_TRUE(writer.falls_asleep());
    test::unlock(lock);
    EXPECT_EQ(reader.end(), 0);
    EXPECT_EQ(writer.end(), 0);
    const lock_figures figures = figures_of(lock);
    for (const wait_figures& waits : {figures.read_waits, figures.write_waits}) {
      EXPECT_EQ(waits.count, 1U);
      EXPECT_GT(waits.total, 0U);
      EXPECT_EQ(waits.p99, waits.longest);
    }
    EXPECT_GT(figures.longest_write, 0U) << "a thread's first write is timed";
    EXPECT_LE(figures.read_waits.longest, figures.longest_write + 1'000'000'000U);
  });
}

TEST(lock_statistics, leave_reads_of_a_biased_lock_passive) {
  with_statistics([] {
    rwlock lock;
    ASSERT_TRUE(test::earn_bias(lock));
    EXPECT_FALSE(test::is_biased(lock)) << "a path that does not count would be open";
    const std::uint64_t reads = figures_of(lock).reads();
    const std::uint64_t passive = test::passive_reads_of_this_thread();
    ASSERT_EQ(test::lock_shared(lock), test::acquired);
    EXPECT_TRUE(test::holds_passively(lock));
    EXPECT_EQ(rwlock::readers(lock.state.load()), 0U);
    EXPECT_EQ(test::try_lock(lock), test::busy);
    EXPECT_TRUE(test::unlock_shared(lock));
    EXPECT_EQ(figures_of(lock).reads(), reads + 1);
    EXPECT_EQ(test::passive_reads_of_this_thread(), passive + 1);
    EXPECT_EQ(test::lock(lock), test::acquired);
    EXPECT_FALSE(test::has_bias(lock));
    test::unlock(lock);
  });
}

TEST(lock_statistics, know_what_revocations_cost_and_how_long_readers_were_inside) {
  with_statistics([] {
    rwlock lock;
    helper_thread reader, writer;
    ASSERT_TRUE(test::earn_bias(lock));
    ASSERT_EQ(reader.call([&] { return test::lock_shared(lock); }), test::acquired);
    writer.begin([&] { test::write(lock); });
    ASSERT_TRUE(writer.falls_asleep());
    EXPECT_EQ(reader.call([&] { return test::unlock_shared(lock); }), 1);
    EXPECT_EQ(writer.end(), 0);
    const lock_figures figures = figures_of(lock);
    EXPECT_GE(figures.all_revocations(), 1U);
    EXPECT_GT(figures.revoking, 0U);
    EXPECT_GT(figures.longest_drain, 0U);
    EXPECT_GE(figures.write_waits.longest, figures.longest_drain);
  });
}

TEST(lock_statistics, start_from_nothing_in_a_fork_s_child_and_are_exact_there) {
  with_statistics([] {
    std::vector<rwlock> pool(128);
    const auto locks = sharing_a_slot(pool, 2);
    helper_thread other;
    const auto read_both = [&] {
      for (int i = 0; i < 100; ++i) {
        for (rwlock* lock : locks) test::read(*lock, 2);
      }
      return 0;
    };
    other.call(read_both);
    read_both();
    ASSERT_EQ(test::lock_shared(*locks[1]), test::acquired);
    in_a_child([&] {
      EXPECT_EQ(survey().count, 0U);
      EXPECT_EQ(survey().other_locks, 0U);
      EXPECT_TRUE(test::unlock_shared(*locks[1]));
      test::read(*locks[1], 5);
      test::read(*locks[0], 7);
      read_both();
      EXPECT_EQ(figures_of(*locks[0]).reads(), 207U);
      EXPECT_EQ(figures_of(*locks[1]).reads(), 205U);
    });
    EXPECT_EQ(figures_of(*locks[0]).reads(), 400U);
    EXPECT_EQ(figures_of(*locks[1]).reads(), 401U);
  });
}

TEST(lock_statistics, remember_who_used_a_lock_first_when_asked) {
  in_a_child([] {
    enable_lock_statistics(true);
    rwlock lock;
    test::read(lock, 10);
    lock_table* table = lock_statistics.table.load();
    ASSERT_NE(table, nullptr);
    const std::size_t number = entry_of(*table, reinterpret_cast<std::uintptr_t>(&lock));
    EXPECT_NE(table->origins[number].frames[0].load(), 0U);
    EXPECT_NE(table->origins[number].frames[2].load(), 0U);
  });
}

lock_figures used(std::uint64_t passive, std::uint64_t active, std::uint64_t writes) {
  lock_figures figures{};
  figures.passive_reads = passive;
  figures.active_reads = active;
  figures.writes = writes;
  return figures;
}

TEST(lock_statistics, are_put_into_a_sentence) {
  const auto verdict = [](const lock_figures& f) {
    constexpr std::uint64_t ten_seconds = 10'000'000'000;
    return std::string(verdict_on(f, ten_seconds, {"help readers", "help writers"}).text);
  };
  EXPECT_EQ(verdict(used(9'980, 20, 10)), "read-mostly: biased 99.8% of the time");
  EXPECT_EQ(verdict(used(0, 5'000, 5'000)), "write-heavy: bias kept off");
  EXPECT_EQ(verdict(used(5'000, 5'000, 2'000)), "many writes: biased 50.0% of the time");
  EXPECT_EQ(verdict(used(500, 9'500, 10)), "read-mostly, but biased only 5.0% of the time");
  EXPECT_EQ(verdict(used(100, 0, 0)), "rarely used");
  lock_figures slow = used(9'980, 20, 10);
  slow.read_waits = {20, 100'000'000, 1'000, 3'200'000, 9'000'000};
  EXPECT_EQ(verdict(slow),
            "readers wait long: longest 9.0 ms, 1.0% of a thread's time in all; help readers");
  // Whose longest wait is longer, not whose percentile is.
  slow.write_waits = {2, 1'380'000'000, 10'000'000, 1'370'000'000, 1'370'000'000};
  EXPECT_EQ(verdict(slow),
            "writers wait long: longest 1.37 s, 13.8% of a thread's time in all; help writers");
  // Short waits that are many.
  lock_figures lossy = used(9'980, 20, 10);
  lossy.write_waits = {900'000, 1'000'000'000, 1'000, 2'000, 900'000};
  EXPECT_EQ(verdict(lossy),
            "writers wait long: longest 900.0 us, 10.0% of a thread's time in all; help writers");
  lossy.write_waits.total = 900'000'000;
  EXPECT_EQ(verdict(lossy), "read-mostly: biased 99.8% of the time");
}

// In a namespace with a name, so that its symbol is a mangled one.
}  // namespace
namespace somewhere {
rwlock with_a_name;
char in_bss[100'000];
}  // namespace somewhere
namespace {

place place_of(const void* address) {
  return address_space("/proc/self").place_of(reinterpret_cast<std::uintptr_t>(address));
}

TEST(address_space, names_static_objects) {
  const place here = place_of(&somewhere::with_a_name);
  EXPECT_STREQ(here.symbol, "somewhere::with_a_name");
  EXPECT_EQ(here.symbol_offset, 0U);
  EXPECT_THAT(here.mapping, EndsWith("unit_test"));
  const place inside = place_of(&somewhere::in_bss[90'000]);
  EXPECT_STREQ(inside.symbol, "somewhere::in_bss");
  EXPECT_EQ(inside.symbol_offset, 90'000U);
  char text[200];
  describe(inside, text, sizeof text);
  EXPECT_STREQ(text, "somewhere::in_bss+0x15f90 (unit_test)");
}

TEST(address_space, names_the_mapping_of_what_has_no_symbol) {
  // Under a sanitizer the objects of a function may lie elsewhere.
  EXPECT_STREQ(place_of(reinterpret_cast<const void*>(getauxval(AT_EXECFN))).mapping, "[stack]");
  EXPECT_STREQ(place_of(platform::map_pages(4096)).symbol, "");
  EXPECT_STREQ(place_of(nullptr).mapping, "");
  char text[200];
  describe(place_of(nullptr), text, sizeof text);
  EXPECT_STREQ(text, "not mapped any more");
}

TEST(address_space, is_not_known_of_a_process_that_does_not_exist) {
  EXPECT_FALSE(address_space("/proc/no-such-process").is_known());
  EXPECT_TRUE(address_space("/proc/self").is_known());
}

TEST(platform, content_of_a_file_is_all_of_it) {
  const auto ends_with = [](const char* path, const char* end) {
    const platform::file_content content = platform::content_of(path);
    const std::string text(content.data, content.size);
    platform::give_back(content);
    return text.ends_with(end);
  };
  EXPECT_TRUE(ends_with("/proc/self/status", "\n"));
  EXPECT_TRUE(ends_with("/proc/self/maps", "\n"));
  EXPECT_EQ(platform::content_of("/no/such/file").data, nullptr);
  EXPECT_EQ(platform::content_of("/dev/null").data, nullptr);
}

}  // namespace

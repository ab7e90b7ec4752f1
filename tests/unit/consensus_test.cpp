// SPDX-License-Identifier: Apache-2.0
// The domain: which threads take part in rounds, what they report, and how writers wait.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>

#include <atomic>
#include <functional>
#include <latch>
#include <memory>
#include <mutex>
#include <readmost/detail/platform/bits.hpp>
#include <readmost/lock_domain.hpp>
#include <readmost/shared_mutex.hpp>
#include <set>
#include <thread>
#include <vector>

#include "statistics/statistics.hpp"
#include "support/helper_thread.hpp"
#include "support/surface.hpp"

namespace {

using namespace readmost::detail;
using test::helper_thread;

// Far more rounds than it takes to drop an idle record from the index.
constexpr int many_rounds = 64;

participation mode_of(const thread_record& record) {
  return participation_of(record.mode.load());
}

bool is_present(const thread_record& record) {
  return (entry_of(record).present.load() >> number_of(record) & 1) != 0;
}

chunk* first_chunk() {
  return default_domain.index.load()->entries[0].records.load();
}

// Rounds no longer wait for this thread.
bool is_at_rest(const thread_record& record) {
  return mode_of(record) == participation::dormant || mode_of(record) == participation::offline;
}

// A thread with its record.
class member {
 public:
  member() {
    thread_.call([this] { record_ = enlist(); });
  }

  const thread_record& record() const { return *record_; }
  helper_thread& thread() { return thread_; }

  void come_online() {
    thread_.call([] { readmost::online(); });
  }
  void go_offline() {
    thread_.call([] { readmost::offline(); });
  }
  bool lock_shared(rwlock& lock) {
    return thread_.call([&] { return test::lock_shared(lock); }) == test::acquired;
  }
  bool unlock_shared(rwlock& lock) {
    return thread_.call([&] { return test::unlock_shared(lock); }) == 1;
  }

 private:
  thread_record* record_ = nullptr;
  helper_thread thread_;
};

// Runs a round in the calling thread; another thread is online, so the round has to wait for it.
std::uint64_t round_for(member& silent) {
  silent.come_online();
  return reach_consensus(default_domain, enlist()).version;
}

// A record may come from an exited thread and still be dormant: takes all such records offline.
void retire_all_idle() {
  member busy;
  for (int i = 0; i < many_rounds; ++i) round_for(busy);
}

TEST(consensus, passive_locking_is_possible_where_the_tests_run) {
  EXPECT_TRUE(collect_statistics().membarrier) << "membarrier(2) is missing or forbidden here";
}

TEST(consensus, a_thread_takes_part_from_its_first_passive_read_until_it_says_otherwise) {
  rwlock lock;
  ASSERT_TRUE(test::earn_bias(lock));
  member m;
  retire_all_idle();
  EXPECT_EQ(mode_of(m.record()), participation::offline);
  EXPECT_FALSE(is_present(m.record()));

  ASSERT_TRUE(m.lock_shared(lock));
  ASSERT_TRUE(m.unlock_shared(lock));
  EXPECT_EQ(mode_of(m.record()), participation::online);
  EXPECT_TRUE(is_present(m.record()));

  m.go_offline();
  EXPECT_EQ(mode_of(m.record()), participation::dormant);
  EXPECT_TRUE(is_present(m.record()));

  const std::uint32_t before = m.record().mode.load();
  ASSERT_TRUE(m.lock_shared(lock));
  ASSERT_TRUE(m.unlock_shared(lock));
  EXPECT_EQ(mode_of(m.record()), participation::online);
  EXPECT_NE(m.record().mode.load() / participation_period, before / participation_period)
      << "one period online must not be mistaken for another";
}

TEST(consensus, active_reads_do_not_make_a_thread_take_part) {
  rwlock lock;
  lock.traits.store(rwlock::never_biased);
  member m;
  retire_all_idle();
  m.thread().call([&] {
    test::read(lock, 1000);
    test::write(lock);
    return 0;
  });
  EXPECT_EQ(mode_of(m.record()), participation::offline);
  EXPECT_FALSE(is_present(m.record()));
}

TEST(consensus, the_hint_online_makes_a_thread_take_part_before_it_reads) {
  member m;
  m.come_online();
  EXPECT_EQ(mode_of(m.record()), participation::online);
  EXPECT_EQ(m.record().seen.load(), default_domain.version.load());
}

TEST(consensus, the_hint_offline_does_not_register_a_thread) {
  bool registered = true;
  std::thread([&] {
    readmost::offline();
    registered = &my_record() != &unregistered;
  }).join();
  EXPECT_FALSE(registered);
}

TEST(consensus, the_hint_offline_keeps_what_the_thread_holds) {
  rwlock lock;
  ASSERT_TRUE(test::earn_bias(lock));
  member m;
  ASSERT_TRUE(m.lock_shared(lock));
  m.go_offline();
  EXPECT_EQ(test::try_lock(lock), test::busy);
  ASSERT_TRUE(m.unlock_shared(lock));
  EXPECT_EQ(test::try_lock(lock), test::acquired);
  test::unlock(lock);
}

TEST(consensus, needs_no_round_when_nobody_else_takes_part) {
  member m;
  const std::uint64_t version = default_domain.version.load();
  EXPECT_EQ(reach_consensus(default_domain, enlist()).version, 0U);
  m.come_online();
  m.go_offline();
  EXPECT_EQ(reach_consensus(default_domain, enlist()).version, 0U);
  EXPECT_EQ(default_domain.version.load(), version);
  m.come_online();
  EXPECT_EQ(reach_consensus(default_domain, enlist()).version, version + 2);
}

TEST(consensus, puts_a_thread_to_rest_that_does_not_report) {
  member m;
  const statistics before = collect_statistics();
  EXPECT_NE(round_for(m), 0U);
  EXPECT_TRUE(is_at_rest(m.record()));
  const statistics after = collect_statistics();
  EXPECT_EQ(after.rounds_by_membarrier, before.rounds_by_membarrier + 1);
  EXPECT_EQ(after.rounds_by_reports, before.rounds_by_reports);
  EXPECT_EQ(reach_consensus(default_domain, enlist()).version, 0U) << "no second membarrier for it";
}

// The test writes the report itself, beforehand, so that no scheduling delay affects it.
TEST(consensus, is_reached_without_a_membarrier_when_every_thread_has_reported) {
  member m;
  m.come_online();
  const std::uint64_t next = default_domain.version.load() + 2;
  m.thread().call([&] {
    my_record().seen.store(next);
    return 0;
  });
  const statistics before = collect_statistics();
  EXPECT_EQ(reach_consensus(default_domain, enlist()).version, next);
  const statistics after = collect_statistics();
  EXPECT_EQ(after.rounds_by_reports, before.rounds_by_reports + 1);
  EXPECT_EQ(after.rounds_by_membarrier, before.rounds_by_membarrier);
  EXPECT_EQ(mode_of(m.record()), participation::online);
}

TEST(consensus, drops_an_idle_thread_from_the_index_and_takes_it_back) {
  rwlock lock;
  ASSERT_TRUE(test::earn_bias(lock));
  member idle, busy;
  idle.come_online();
  idle.go_offline();
  for (int i = 0; i < many_rounds; ++i) round_for(busy);
  EXPECT_EQ(mode_of(idle.record()), participation::offline);
  EXPECT_FALSE(is_present(idle.record()));

  ASSERT_TRUE(idle.lock_shared(lock));
  EXPECT_EQ(mode_of(idle.record()), participation::online);
  EXPECT_TRUE(is_present(idle.record()));
  EXPECT_EQ(test::try_lock(lock), test::busy) << "its hold must be seen again";
  ASSERT_TRUE(idle.unlock_shared(lock));
  EXPECT_EQ(test::try_lock(lock), test::acquired);
  test::unlock(lock);
}

TEST(consensus, drops_idle_threads_from_the_index_also_where_no_round_is_needed) {
  member idle;
  idle.come_online();
  idle.go_offline();
  for (int i = 0; i < many_rounds; ++i) {
    EXPECT_EQ(reach_consensus(default_domain, enlist()).version, 0U);
  }
  EXPECT_EQ(mode_of(idle.record()), participation::offline);
}

TEST(consensus, keeps_an_idle_thread_in_the_index_while_it_holds_a_lock) {
  rwlock lock;
  ASSERT_TRUE(test::earn_bias(lock));
  member idle, busy;
  ASSERT_TRUE(idle.lock_shared(lock));
  idle.go_offline();
  for (int i = 0; i < many_rounds; ++i) round_for(busy);
  EXPECT_TRUE(is_present(idle.record()));
  EXPECT_EQ(test::try_lock(lock), test::busy);
  ASSERT_TRUE(idle.unlock_shared(lock));
}

TEST(consensus, a_report_tells_whether_the_thread_holds_anything_passively) {
  rwlock biased, active;
  active.traits.store(rwlock::never_biased);
  ASSERT_TRUE(test::earn_bias(biased));
  member m, other;
  const auto version_reported = [&] {
    m.thread().call([] {
      report(my_record());
      return 0;
    });
    return m.record().seen.load();
  };
  const std::uint64_t version = round_for(other);
  EXPECT_EQ(version_reported(), version);
  ASSERT_TRUE(m.lock_shared(active));
  EXPECT_EQ(version_reported(), version) << "the lock itself counts that hold";
  ASSERT_TRUE(m.lock_shared(biased));
  EXPECT_EQ(version_reported(), version + 1);
  ASSERT_TRUE(m.unlock_shared(biased));
  EXPECT_EQ(m.record().seen.load(), version) << "an unlock after a busy report reports again";
  ASSERT_TRUE(m.unlock_shared(active));
}

TEST(consensus, an_unlock_reports_a_new_version) {
  rwlock lock;
  ASSERT_TRUE(test::earn_bias(lock));
  member m, other;
  ASSERT_TRUE(m.lock_shared(lock));
  const std::uint64_t version = round_for(other);
  EXPECT_LT(m.record().seen.load(), version);
  ASSERT_TRUE(m.unlock_shared(lock));
  EXPECT_EQ(m.record().seen.load(), version);
}

TEST(consensus, keeps_the_version_even) {
  rwlock lock;
  member m;
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(test::earn_bias(lock));
    ASSERT_TRUE(m.lock_shared(lock));
    m.thread().begin([&] { return test::unlock_shared(lock); });
    test::write(lock);
    EXPECT_EQ(m.thread().end(), 1);
    EXPECT_EQ(default_domain.version.load() % 2, 0U);
  }
  EXPECT_NE(default_domain.version.load(), 0U);
}

TEST(consensus, statistics_count_every_operation) {
  rwlock lock;
  ASSERT_TRUE(test::earn_bias(lock));
  lock.balance.store(20'000);
  statistics before = collect_statistics();
  test::read(lock, 1000);
  statistics after = collect_statistics();
  EXPECT_EQ(after.passive_reads, before.passive_reads + 1000);
  EXPECT_EQ(after.active_reads, before.active_reads);
  EXPECT_EQ(after.locks, before.locks);

  rwlock active;
  active.traits.store(rwlock::never_biased);
  before = after;
  test::read(active, 1000);
  after = collect_statistics();
  EXPECT_EQ(after.active_reads, before.active_reads + 1000);
  EXPECT_EQ(after.passive_reads, before.passive_reads);
  EXPECT_EQ(after.locks, before.locks + 1);

  before = after;
  for (int i = 0; i < 10; ++i) test::write(active);
  after = collect_statistics();
  EXPECT_EQ(after.writes, before.writes + 10);
  EXPECT_EQ(after.revocations, before.revocations);

  member m;
  m.come_online();
  before = after;
  test::write(lock);
  after = collect_statistics();
  EXPECT_EQ(after.writes, before.writes + 1);
  EXPECT_EQ(after.revocations, before.revocations + 1);
  EXPECT_EQ(after.rounds_by_membarrier, before.rounds_by_membarrier + 1);
}

TEST(consensus, statistics_keep_what_exited_threads_did) {
  rwlock active;
  active.traits.store(rwlock::never_biased);
  test::write(active);
  const statistics before = collect_statistics();
  std::thread([&] { test::read(active, 100); }).join();
  EXPECT_EQ(collect_statistics().active_reads, before.active_reads + 100);
}

TEST(consensus, a_writer_does_not_wait_for_a_thread_that_sleeps_without_a_hold) {
  rwlock lock;
  ASSERT_TRUE(test::earn_bias(lock));
  member sleeper;
  helper_thread writer;
  ASSERT_TRUE(sleeper.lock_shared(lock));
  ASSERT_TRUE(sleeper.unlock_shared(lock));
  EXPECT_EQ(writer.call([&] { test::write(lock); }), 0);
  EXPECT_TRUE(is_at_rest(sleeper.record()));
}

TEST(consensus, a_writer_sleeps_until_a_reader_that_sleeps_inside_has_left) {
  for (const auto prefers : {readmost::preference::writer, readmost::preference::reader}) {
    rules how;
    how.prefers = prefers;
    rwlock lock;
    ASSERT_TRUE(test::earn_bias(lock));
    member reader;
    helper_thread writer;
    ASSERT_TRUE(reader.lock_shared(lock));
    writer.begin([&] { test::write(lock, how); });
    EXPECT_TRUE(writer.falls_asleep());
    EXPECT_EQ(default_domain.drain_place_of(&lock).sleepers.load(), 1U);
    ASSERT_TRUE(reader.unlock_shared(lock));
    EXPECT_EQ(writer.end(), 0);
    EXPECT_EQ(default_domain.drain_place_of(&lock).sleepers.load(), 0U);
  }
}

TEST(consensus, a_writer_is_woken_by_another_thread_that_releases_the_reader_s_hold) {
  rwlock lock;
  ASSERT_TRUE(test::earn_bias(lock));
  member reader;
  helper_thread writer;
  ASSERT_TRUE(reader.lock_shared(lock));
  writer.begin([&] { test::write(lock); });
  EXPECT_TRUE(writer.falls_asleep());
  EXPECT_TRUE(test::unlock_shared(lock));
  EXPECT_EQ(writer.end(), 0);
}

TEST(consensus, a_writer_that_gives_up_lets_readers_and_writers_in_again) {
  rwlock lock;
  ASSERT_TRUE(test::earn_bias(lock));
  member reader;
  ASSERT_TRUE(reader.lock_shared(lock));
  EXPECT_EQ(test::lock(lock, test::hasty_rules({}, 1'000'000)),
            static_cast<int>(outcome::timed_out));
  EXPECT_EQ(lock.state.load() & rwlock::waiting_writers, 0U);
  EXPECT_EQ(test::try_lock_shared(lock), test::acquired);
  EXPECT_TRUE(test::unlock_shared(lock));
  ASSERT_TRUE(reader.unlock_shared(lock));
  EXPECT_EQ(test::try_lock(lock), test::acquired);
  test::unlock(lock);
}

TEST(consensus, is_reached_by_several_threads_at_once_on_different_locks) {
#if defined(__SANITIZE_THREAD__)
  constexpr int turns = 100;
#else
  constexpr int turns = 1000;
#endif
  constexpr std::size_t threads = 4;
  rwlock locks[threads];
  long values[threads][2] = {};
  std::atomic<int> errors{0};
  const statistics before = collect_statistics();
  std::vector<std::thread> crowd;
  for (std::size_t t = 0; t < threads; ++t) {
    crowd.emplace_back([&, t] {
      for (int i = 0; i < turns; ++i) {
        locks[t].balance.store(20'000);  // so that each write has a bias to take
        test::read(locks[t], 20);
        test::lock(locks[t]);
        ++values[t][0];
        ++values[t][1];
        test::unlock(locks[t]);
        const std::size_t other = (t + static_cast<std::size_t>(i)) % threads;
        test::lock_shared(locks[other]);
        if (values[other][0] != values[other][1]) ++errors;
        test::unlock_shared(locks[other]);
      }
    });
  }
  for (std::thread& thread : crowd) thread.join();
  EXPECT_EQ(errors, 0);
  for (const auto& value : values) EXPECT_EQ(value[0], turns);
  EXPECT_GT(collect_statistics().revocations, before.revocations + threads);
}

TEST(consensus, covers_more_threads_than_one_chunk_of_records_has) {
  constexpr std::ptrdiff_t threads = 200;
  static_assert(threads > 3 * static_cast<std::ptrdiff_t>(chunk::capacity));
  rwlock lock;
  ASSERT_TRUE(test::earn_bias(lock));
  std::latch all_hold(threads + 1), leave(1), all_left(threads + 1), end(1);
  std::vector<thread_record*> records(threads);
  std::vector<std::thread> crowd;
  for (std::size_t t = 0; t < threads; ++t) {
    crowd.emplace_back([&, t] {
      test::lock_shared(lock);
      records[t] = &my_record();
      all_hold.arrive_and_wait();
      leave.wait();
      test::unlock_shared(lock);
      all_left.arrive_and_wait();
      end.wait();
    });
  }
  all_hold.arrive_and_wait();
  std::set<const thread_record*> distinct;
  std::set<const chunk*> chunks;
  for (const thread_record* record : records) {
    distinct.insert(record);
    chunks.insert(&chunk_of(*record));
  }
  EXPECT_EQ(distinct.size(), static_cast<std::size_t>(threads));
  EXPECT_EQ(distinct.count(&unregistered), 0U);
  EXPECT_GE(chunks.size(), 4U);
  EXPECT_EQ(passive_holds(default_domain, &lock, &my_record(), 0), threads);
  EXPECT_EQ(test::try_lock(lock), test::busy);

  // They do not report, and one round makes at most 64 threads dormant.
  for (int i = 0; i < 4; ++i) reach_consensus(default_domain, enlist());
  for (const thread_record* record : records) {
    EXPECT_EQ(mode_of(*record), participation::dormant);
  }
  EXPECT_EQ(test::try_lock(lock), test::busy);

  leave.count_down();
  all_left.arrive_and_wait();
  EXPECT_EQ(passive_holds(default_domain, &lock, &my_record(), 0), 0);
  EXPECT_EQ(test::try_lock(lock), test::acquired);
  test::unlock(lock);
  end.count_down();
  for (std::thread& thread : crowd) thread.join();
}

// What a burst of threads leaves behind costs a round the index alone.
TEST(consensus, reads_no_records_of_threads_that_have_left_the_index) {
  constexpr std::size_t threads = 8 * chunk::capacity;
  std::set<chunk*> chunks;
  std::mutex mutex;
  std::latch all_online(threads);
  std::vector<std::thread> burst;
  for (std::size_t t = 0; t < threads; ++t) {
    burst.emplace_back([&] {
      readmost::online();
      all_online.arrive_and_wait();
      const std::lock_guard guard(mutex);
      chunks.insert(&chunk_of(my_record()));
    });
  }
  for (std::thread& thread : burst) thread.join();
  for (int i = 0; i < many_rounds; ++i) reach_consensus(default_domain, enlist());
  chunks.erase(&chunk_of(my_record()));
  ASSERT_GE(chunks.size(), 7U);
  helper_thread other;
  rwlock lock;
  other.call([&] { test::read(lock, 1); });
  chunks.erase(first_chunk());  // which is no mapping of its own
  for (chunk* c : chunks) ASSERT_EQ(mprotect(c, sizeof(chunk), PROT_NONE), 0);
  EXPECT_TRUE(test::earn_bias(lock));
  test::write(lock);
  reach_consensus(default_domain, &my_record());
  EXPECT_EQ(passive_holds(default_domain, &lock, nullptr, 0), 0);
  for (chunk* c : chunks) ASSERT_EQ(mprotect(c, sizeof(chunk), PROT_READ | PROT_WRITE), 0);
}

TEST(consensus, covers_more_chunks_than_one_block_of_the_index_has) {
  const readmost::lock_domain own;
  domain& d = domains[own.number()];
  constexpr std::size_t wanted = index_block::capacity + 3;
  // One thread for each chunk; the other records seem to be taken.
  std::vector<std::unique_ptr<helper_thread>> threads;
  std::vector<thread_record*> records;
  rwlock lock{.domain = static_cast<std::uint8_t>(own.number())};
  for (std::size_t i = 0; i < wanted; ++i) {
    threads.push_back(std::make_unique<helper_thread>());
    thread_record*& record = records.emplace_back();
    ASSERT_EQ(threads.back()->call([&] {
      record = enlist(own.number());
      return come_online(*record);
    }),
              1);
    chunk_of(*record).used.store(~std::uint64_t{0});
    EXPECT_EQ(number_in_domain(*record), i * chunk::capacity);
  }
  ASSERT_TRUE(threads.back()->call([&] { return test::earn_bias(lock); }));
  for (auto& thread : threads) thread->call([&] { return test::lock_shared(lock); });
  EXPECT_EQ(passive_holds(d, &lock, nullptr, 0), static_cast<std::int64_t>(wanted));
  EXPECT_EQ(test::try_lock(lock), test::busy);
  for (auto& thread : threads) thread->call([&] { return test::unlock_shared(lock); });
  EXPECT_EQ(test::try_lock(lock), test::acquired);
  test::unlock(lock);
  for (const thread_record* record : records) {
    chunk_of(*record).used.store(bit(number_of(*record)));
  }
}

TEST(consensus, reuses_the_record_of_an_exited_thread) {
  std::set<const thread_record*> records;
  rwlock lock;
  ASSERT_TRUE(test::earn_bias(lock));
  for (int i = 0; i < 100; ++i) {
    std::thread([&] {
      test::read(lock, 1);
      records.insert(&my_record());
    }).join();
  }
  EXPECT_EQ(records.size(), 1U);
  EXPECT_NE(*records.begin(), &my_record());
  EXPECT_NE(mode_of(**records.begin()), participation::online) << "nobody would report for it";
}

rwlock* lock_of_late_reads = nullptr;
bool late_reads_on_record = false;

void read_late(void*) {
  test::lock_shared(*lock_of_late_reads);
  late_reads_on_record = late_reads_on_record && &my_record() != &unregistered;
  test::unlock_shared(*lock_of_late_reads);
}

struct late_reader {
  ~late_reader() { read_late(nullptr); }
  bool used = false;
};
thread_local late_reader reads_in_its_destructor;

TEST(consensus, keeps_a_thread_s_record_until_its_last_destructors_have_run) {
  rwlock lock;
  ASSERT_TRUE(test::earn_bias(lock));
  lock_of_late_reads = &lock;
  late_reads_on_record = true;
  pthread_key_t key;
  ASSERT_EQ(pthread_key_create(&key, read_late), 0);
  const std::uint64_t before = collect_statistics().passive_reads;
  const thread_record* record = nullptr;
  std::thread([&] {
    reads_in_its_destructor.used = true;
    pthread_setspecific(key, &lock);
    test::read(lock, 1);
    record = &my_record();
  }).join();
  EXPECT_TRUE(late_reads_on_record);
  EXPECT_EQ(collect_statistics().passive_reads, before + 3);
  EXPECT_EQ(chunk_of(*record).used.load() >> number_of(*record) & 1, 0U) << "given back";
  pthread_key_delete(key);
}

}  // namespace

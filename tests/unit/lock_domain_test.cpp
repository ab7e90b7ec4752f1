// SPDX-License-Identifier: Apache-2.0
// Separate lock domains: what they isolate, what they share, and the holds of their threads.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <readmost/lock_domain.hpp>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "support/helper_thread.hpp"
#include "support/processes.hpp"
#include "support/surface.hpp"

namespace {

using namespace readmost::detail;
using readmost::domain_shared_mutex;
using readmost::lock_domain;
using test::helper_thread;
using test::in_a_child;

static_assert(sizeof(domain_shared_mutex) == 16);
static_assert(!std::is_copy_constructible_v<lock_domain>);
static_assert(!std::is_copy_assignable_v<lock_domain>);
static_assert(std::is_nothrow_default_constructible_v<lock_domain>);

// The number of separate domains that can exist at once.
constexpr unsigned separate_at_most = max_domains - 1;

class lock_in : public rwlock {
 public:
  explicit lock_in(const lock_domain& d)
      : rwlock{.domain = static_cast<std::uint8_t>(d.number())} {}
};

bool can_write(rwlock& lock) {
  if (test::try_lock(lock) != test::acquired) return false;
  test::unlock(lock);
  return true;
}

// The state that a round changes, in the domain and in the threads that report.
struct footprint {
  std::uint64_t version;
  std::uint64_t by_reports;
  std::uint64_t by_membarrier;
  std::uint64_t seen;
  std::uint32_t mode;

  bool operator==(const footprint&) const = default;
};

footprint footprint_of(unsigned number, const thread_record& member) {
  const domain& d = domains[number];
  return {d.version, d.rounds_by_reports, d.rounds_by_membarrier, member.seen, member.mode};
}

TEST(lock_domain, has_a_number_of_its_own) {
  const lock_domain one, two;
  EXPECT_TRUE(one.is_separate());
  EXPECT_TRUE(two.is_separate());
  EXPECT_NE(one.number(), two.number());
  EXPECT_NE(one.number(), 0U);
  EXPECT_LT(one.number(), max_domains);
}

TEST(lock_domain, works_with_the_guards_of_the_standard_library) {
  const lock_domain domain;
  domain_shared_mutex mutex(domain);
  {
    const std::shared_lock guard(mutex);
    EXPECT_FALSE(mutex.try_lock());
    EXPECT_TRUE(mutex.try_lock_shared());
    mutex.unlock_shared();
  }
  {
    const std::unique_lock guard(mutex, std::chrono::seconds(1));
    ASSERT_TRUE(guard.owns_lock());
    EXPECT_FALSE(mutex.try_lock_shared());
  }
  mutex.lock_shared();
  EXPECT_TRUE(mutex.upgrade());
  mutex.downgrade();
  EXPECT_FALSE(mutex.try_lock());
  mutex.unlock_shared();
  EXPECT_TRUE(mutex.try_lock());
  mutex.unlock();
}

// The purpose of domains: rounds of one leave readers of another alone.
TEST(lock_domain, rounds_of_one_do_not_disturb_the_threads_of_another) {
  lock_domain busy_domain, quiet_domain;
  lock_in busy(busy_domain), quiet(quiet_domain);
  rwlock common;
  helper_thread reader;
  thread_record* members[3] = {};
  const unsigned numbers[] = {busy_domain.number(), quiet_domain.number(), 0};
  ASSERT_EQ(reader.call([&] {
    const bool warm = test::earn_bias(busy) && test::earn_bias(quiet) && test::earn_bias(common);
    for (rwlock* lock : {static_cast<rwlock*>(&busy), static_cast<rwlock*>(&quiet), &common}) {
      test::read(*lock, 1);
    }
    for (std::size_t i = 0; i < std::size(numbers); ++i) members[i] = &my_record(numbers[i]);
    return static_cast<int>(warm);
  }),
            1);
  const footprint busy_before = footprint_of(numbers[0], *members[0]);
  const footprint quiet_before = footprint_of(numbers[1], *members[1]);
  const footprint common_before = footprint_of(numbers[2], *members[2]);

  constexpr int rounds = 10;
  for (int i = 0; i < rounds; ++i) {
    busy.balance.store(20'000);  // so that it stays biased
    test::write(busy);
    ASSERT_TRUE(test::is_biased(busy));
    reader.call([&] { test::read(busy, 1); });
  }

  const footprint busy_after = footprint_of(numbers[0], *members[0]);
  EXPECT_GE(busy_after.version, busy_before.version + 2 * rounds);
  EXPECT_EQ(busy_after.by_reports + busy_after.by_membarrier,
            busy_before.by_reports + busy_before.by_membarrier + rounds);
  EXPECT_EQ(footprint_of(numbers[1], *members[1]), quiet_before);
  EXPECT_EQ(footprint_of(numbers[2], *members[2]), common_before);
  EXPECT_EQ(participation_of(quiet_before.mode), participation::online);
}

TEST(lock_domain, a_writer_sees_the_readers_of_its_lock_in_whichever_domain_they_are) {
  std::array<lock_domain, 3> all;
  helper_thread reader, writer;
  for (const lock_domain& d : all) {
    lock_in lock(d);
    ASSERT_EQ(reader.call([&] {
      return test::earn_bias(lock) && test::lock_shared(lock) == test::acquired &&
             test::holds_passively(lock);
    }),
              1);
    EXPECT_FALSE(can_write(lock));
    writer.begin([&] { test::write(lock); });
    EXPECT_TRUE(writer.falls_asleep());
    EXPECT_EQ(reader.call([&] { return test::unlock_shared(lock); }), 1);
    EXPECT_EQ(writer.end(), 0);
    EXPECT_TRUE(can_write(lock));
  }
}

TEST(lock_domain, locks_of_different_domains_are_held_at_once_and_released_in_any_order) {
  constexpr std::size_t many = 4;
  std::array<lock_domain, many> all;
  std::vector<std::unique_ptr<lock_in>> locks;
  // Two locks of each domain and two of the process's default domain.
  for (std::size_t i = 0; i < 2 * many; ++i) {
    locks.push_back(std::make_unique<lock_in>(all[i % many]));
  }
  rwlock common[2];
  std::vector<rwlock*> every;
  for (const auto& lock : locks) every.push_back(lock.get());
  for (rwlock& lock : common) every.push_back(&lock);

  helper_thread reader;
  ASSERT_EQ(reader.call([&] {
    for (rwlock* lock : every) {
      if (!test::earn_bias(*lock)) return 0;
    }
    for (rwlock* lock : every) test::lock_shared(*lock);
    return 1;
  }),
            1);
  std::vector<bool> held(every.size(), true);
  for (std::size_t i = 0; i < every.size(); ++i) {
    const std::size_t next = i * 3 % every.size();
    EXPECT_EQ(reader.call([&] { return test::unlock_shared(*every[next]); }), 1);
    held[next] = false;
    for (std::size_t k = 0; k < every.size(); ++k) {
      EXPECT_EQ(can_write(*every[k]), !held[k]) << "lock " << k << " after lock " << next;
    }
  }
}

TEST(lock_domain, beyond_the_last_they_share_the_one_of_the_process) {
  std::vector<std::unique_ptr<lock_domain>> all;
  unsigned separate = 0;
  for (unsigned i = 0; i < separate_at_most + 2; ++i) {
    all.push_back(std::make_unique<lock_domain>());
    if (all.back()->is_separate()) ++separate;
  }
  EXPECT_EQ(separate, separate_at_most);
  EXPECT_FALSE(all.back()->is_separate());
  EXPECT_EQ(all.back()->number(), 0U);
  helper_thread reader;
  for (const auto& d : all) {
    lock_in lock(*d);
    ASSERT_EQ(reader.call([&] {
      return test::earn_bias(lock) && test::lock_shared(lock) == test::acquired;
    }),
              1);
    EXPECT_FALSE(can_write(lock));
    EXPECT_EQ(reader.call([&] { return test::unlock_shared(lock); }), 1);
    EXPECT_TRUE(can_write(lock));
  }
  // A domain that has to share the default one frees no number at its end.
  all.pop_back();
  const lock_domain another;
  EXPECT_FALSE(another.is_separate());
}

TEST(lock_domain, leaves_its_number_to_the_next_and_threads_take_part_again) {
  helper_thread member;
  std::optional<lock_domain> first(std::in_place);
  const unsigned number = first->number();
  const thread_record* record = nullptr;
  {
    lock_in lock(*first);
    ASSERT_EQ(member.call([&] {
      const bool warm = test::earn_bias(lock);
      test::read(lock, 1);
      record = &my_record(number);
      return static_cast<int>(warm);
    }),
              1);
    EXPECT_TRUE(can_write(lock));
  }
  first.reset();
  const lock_domain second;
  EXPECT_EQ(second.number(), number);
  lock_in lock(second);
  ASSERT_EQ(member.call([&] {
    return test::earn_bias(lock) && test::lock_shared(lock) == test::acquired &&
           test::holds_passively(lock) && &my_record(number) == record;
  }),
            1);
  EXPECT_FALSE(can_write(lock));
  EXPECT_EQ(member.call([&] { return test::unlock_shared(lock); }), 1);
  EXPECT_TRUE(can_write(lock));
}

TEST(lock_domain, a_hold_outlives_its_thread) {
  const lock_domain domain;
  lock_in lock(domain);
  int passive = 0;
  std::thread([&] {
    passive = test::earn_bias(lock) && test::lock_shared(lock) == test::acquired &&
              test::holds_passively(lock);
  }).join();
  ASSERT_EQ(passive, 1);
  EXPECT_FALSE(can_write(lock));
  EXPECT_TRUE(test::unlock_shared(lock));
  EXPECT_TRUE(can_write(lock));
}

TEST(lock_domain, threads_leave_all_their_domains_when_they_exit) {
  std::array<lock_domain, 3> all;
  std::vector<const thread_record*> records;
  std::thread([&] {
    for (lock_domain& d : all) {
      d.online();
      records.push_back(&my_record(d.number()));
    }
  }).join();
  for (const thread_record* record : records) {
    EXPECT_EQ(chunk_of(*record).used.load() >> number_of(*record) & 1, 0U);
    EXPECT_NE(participation_of(record->mode), participation::online);
  }
}

TEST(lock_domain, hints_concern_its_own_members_only) {
  lock_domain one, other;
  const auto mode_in = [](const lock_domain& d) {
    return participation_of(my_record(d.number()).mode);
  };
  one.online();
  other.online();
  EXPECT_EQ(mode_in(one), participation::online);
  one.offline();
  EXPECT_EQ(mode_in(one), participation::dormant);
  EXPECT_EQ(mode_in(other), participation::online);
  other.offline();
  std::thread([&] {
    one.offline();
    EXPECT_EQ(&my_record(one.number()), &unregistered) << "offline() registers nobody";
  }).join();
}

TEST(lock_domain, holds_of_all_threads_count_in_the_child_of_a_fork) {
  const lock_domain domain;
  lock_in lock(domain);
  helper_thread other;
  ASSERT_EQ(other.call(
                [&] { return test::earn_bias(lock) && test::lock_shared(lock) == test::acquired; }),
            1);
  ASSERT_EQ(test::lock_shared(lock), test::acquired);
  in_a_child([&] {
    EXPECT_FALSE(can_write(lock));
    EXPECT_TRUE(test::unlock_shared(lock));
    EXPECT_FALSE(can_write(lock)) << "the hold of a thread that is no more";
    EXPECT_TRUE(test::unlock_shared(lock));
    EXPECT_TRUE(can_write(lock));
    EXPECT_TRUE(test::earn_bias(lock));
    const lock_domain another;
    EXPECT_NE(another.number(), domain.number());
    lock_in fresh(another);
    EXPECT_TRUE(test::earn_bias(fresh));
    EXPECT_TRUE(can_write(fresh));
  });
  EXPECT_TRUE(test::unlock_shared(lock));
  EXPECT_FALSE(can_write(lock));
  EXPECT_EQ(other.call([&] { return test::unlock_shared(lock); }), 1);
  EXPECT_TRUE(can_write(lock));
}

}  // namespace

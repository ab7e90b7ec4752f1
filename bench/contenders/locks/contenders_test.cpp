// SPDX-License-Identifier: Apache-2.0
#include "contenders/locks/contenders.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <readmost/shared_mutex.hpp>
#include <set>
#include <stdexcept>
#include <thread>

#include "contenders/locks/contender_of.hpp"
#include "contenders/locks/lists.hpp"
#include "harness/timed_run.hpp"

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

// A lock that does not lock.
class open_door {
 public:
  void lock() { asm volatile("" ::: "memory"); }
  void unlock() {}
  void lock_shared() { asm volatile("" ::: "memory"); }
  void unlock_shared() { asm volatile("" ::: "memory"); }
};

using bodies_of = std::vector<bench::timed_body> (*)(bench::guarded_counter&);

// Whether running the bodies over a lock that does not lock ends in an error eventually.
bool notice_an_open_door(bodies_of bodies) {
  const bench::contender_of<open_door> door("open door");
  const auto over = clock::now() + 60s;
  while (clock::now() < over) {
    const auto counter = door.make_counter();
    try {
      const bench::timed_outcome outcome = bench::run_together(bodies(*counter), 20ms);
      bench::require_no_write_lost(*counter, outcome.total());
    } catch (const std::runtime_error&) {
      return true;
    }
  }
  return false;
}

TEST(locks_that_do_not_lock, are_noticed_by_a_lost_write) {
  EXPECT_TRUE(notice_an_open_door([](bench::guarded_counter& counter) {
    return std::vector<bench::timed_body>(
        4, [&counter](const std::atomic<bool>& stopped) { return counter.write(0, 0, stopped); });
  }));
}

TEST(locks_that_do_not_lock, are_noticed_by_a_reader_that_stays) {
  const bench::contender_of<open_door> door("open door");
  const auto counter = door.make_counter();
  const auto stay = [] { std::this_thread::sleep_for(1ms); };
  EXPECT_THROW(
      bench::run_together(
          {[&](const auto& stopped) { return counter->write(0, 0, stopped); },
           [&](const auto& stopped) { return counter->read_and_call([] {}, stay, stopped); }},
          200ms),
      std::runtime_error);
}

TEST(contenders, have_names_of_their_own_and_ours_is_first) {
  std::vector<std::string> names;
  for (const auto& one : bench::all_contenders()) names.push_back(one->name());
  EXPECT_EQ(names.front(), "prwlock");
  EXPECT_EQ(std::set(names.begin(), names.end()).size(), names.size());
  for (const char* const expected :
       {"pthread", "std::shared_mutex", "ba", "pf-t", "per-cpu", "cohort-rw", "brlock",
        "brlock-flags", "rmlock", "percpu-rwlock", "c-snzi", "tlrw", "stamped", "bravo-pthread",
        "bravo-ba", "bravo-prwlock", "bravo-mutex", "bravo-consensus"}) {
    EXPECT_EQ(std::count(names.begin(), names.end(), expected), 1) << expected;
  }
  EXPECT_THROW(bench::contender_named(bench::all_contenders(), "no lock"), std::logic_error);
}

TEST(contenders, say_how_large_their_locks_are) {
  const auto all = bench::all_contenders();
  const auto size_of = [&](const char* name) { return bench::contender_named(all, name).size(); };
  EXPECT_EQ(size_of("pthread").here, 56U);
  EXPECT_EQ(size_of("pthread").on_72_cpus_and_2_nodes, 56U);
  EXPECT_EQ(size_of("prwlock").here, sizeof(readmost::shared_mutex));
  EXPECT_GT(size_of("prwlock").of_each_thread, 0U);
  EXPECT_GE(size_of("per-cpu").on_72_cpus_and_2_nodes, 72 * 64U);
  // By nodes, not by CPUs.
  EXPECT_LT(size_of("cohort-rw").on_72_cpus_and_2_nodes, 1024U);
  EXPECT_GE(size_of("bravo-pthread").of_the_process, 8 * 64U);
  EXPECT_EQ(size_of("bravo-consensus").of_the_process, 0U);
}

TEST(contenders, count_what_they_do) {
  const bench::contender_list all = bench::all_contenders();
  const auto counter = bench::contender_named(all, "prwlock").make_counter();
  counter->write_times(7, 0);
  counter->read_times(5, 0);
  EXPECT_EQ(counter->written(), 7U);
  EXPECT_NO_THROW(bench::require_no_write_lost(*counter, 7));
  EXPECT_THROW(bench::require_no_write_lost(*counter, 8), std::runtime_error);

  std::uint64_t writes = 0;
  const std::atomic<bool> stopped{true};
  EXPECT_EQ(counter->rwbench(1, 0.5, writes, stopped), 0U);
  EXPECT_EQ(writes, 0U);

  bench::percentiles waits;
  const auto outcome = bench::run_together(
      {[&](const auto& until) { return counter->rwbench(1, 1, writes, until); },
       [&](const auto& until) {
         return counter->write_timed(
             [] {}, [&](auto asked, auto acquired) { waits.add(acquired - asked); }, until);
       }},
      20ms);
  EXPECT_EQ(outcome.counts[0], writes);
  EXPECT_EQ(outcome.counts[1], waits.count());
  EXPECT_EQ(counter->written(), 7 + outcome.total());
}

TEST(contenders, call_back_in_every_section) {
  const bench::contender_list all = bench::all_contenders();
  const auto counter = bench::contender_named(all, "prwlock").make_counter();
  std::uint64_t before = 0;
  std::uint64_t inside = 0;
  std::atomic<bool> stopped{false};
  const auto count_inside = [&] { stopped = ++inside == 3; };
  EXPECT_EQ(counter->write_and_call([&] { ++before; }, count_inside, stopped), 3U);
  EXPECT_EQ(before, 3U);
  EXPECT_EQ(counter->written(), 3U);

  stopped = false;
  std::uint64_t observed = 0;
  const auto observe = [&](auto asked, auto acquired) {
    EXPECT_LE(asked, acquired);
    stopped = ++observed == 2;
  };
  EXPECT_EQ(counter->read_timed([&] { ++before; }, observe, stopped), 2U);
  EXPECT_EQ(before, 5U);
  EXPECT_EQ(counter->written(), 3U);
}

// Whether a newcomer is kept out of a lock that is held for reading, because a writer waits, within
// that time.
template <class Lock>
bool keeps_newcomers_out(Lock& lock, std::chrono::milliseconds time) {
  lock.lock_shared();
  std::thread writer([&] {
    lock.lock();
    lock.unlock();
  });
  bool kept_out = false;
  for (const auto over = clock::now() + time; !kept_out && clock::now() < over;) {
    std::thread newcomer([&] {
      kept_out = !lock.try_lock_shared();
      if (!kept_out) lock.unlock_shared();
    });
    newcomer.join();
  }
  lock.unlock_shared();
  writer.join();
  return kept_out;
}

TEST(contenders, prefer_what_their_names_say) {
  bench::preferring<readmost::preference::phase_fair> fair;
  EXPECT_TRUE(keeps_newcomers_out(fair, 60s));
  bench::preferring<readmost::preference::reader> reader_first;
  EXPECT_FALSE(keeps_newcomers_out(reader_first, 200ms));
}

TEST(contenders, upgrade_and_downgrade_where_the_lock_can) {
  const bench::contender_list all = bench::all_contenders();
  const auto counter = bench::contender_named(all, "prwlock").make_counter();
  EXPECT_TRUE(counter->upgrade_times(3));
  EXPECT_TRUE(counter->downgrade_times(4));
  EXPECT_EQ(counter->written(), 7U);
  EXPECT_FALSE(bench::contender_named(all, "pthread").make_counter()->upgrade_times(1));
}

TEST(contenders, pass_a_turn_round_a_ring) {
  const bench::contender_list all = bench::all_contenders();
  const auto counter = bench::contender_named(all, "prwlock").make_counter();
  std::vector<bench::ring_place> ring(2);
  ring[0].turn = 1;
  const auto outcome = bench::run_together(
      {[&](const auto& until) { return counter->read_by_turns(ring[0], ring[1], true, until); },
       [&](const auto& until) { return counter->read_by_turns(ring[1], ring[0], true, until); }},
      20ms);
  EXPECT_GT(outcome.total(), 0U);
  EXPECT_LE(outcome.counts[0] - outcome.counts[1], 1U);
  EXPECT_EQ(std::max(ring[0].turn.load(), ring[1].turn.load()), outcome.total() + 1);
}

TEST(guarded_table, finds_what_is_in_it_and_notices_what_is_not) {
  const bench::contender_list all = bench::all_contenders();
  const auto guarded = bench::contender_named(all, "prwlock").make_table();
  // On a busy machine a thread may not get a CPU within its time: repeat until there were enough
  // lookups.
  constexpr int most_runs = 1'000;
  const auto look_up = [&](std::uint64_t keys) {
    std::uint64_t looked_up = 0;
    for (int run = 0; run < most_runs && looked_up < 10'000; ++run) {
      looked_up += bench::run_together(
                       {[&](const auto& until) { return guarded->look_up(1, keys, until); }}, 10ms)
                       .total();
    }
    return looked_up;
  };
  std::uint64_t inserted = 0;
  std::uint64_t erased = 0;
  for (int run = 0; run < most_runs && inserted < 100; ++run) {
    bench::run_together({[&](const auto& until) { return guarded->insert(inserted, 100, until); }},
                        100ms);
  }
  EXPECT_EQ(inserted, 100U);  // waits there
  EXPECT_EQ(guarded->table().size(), 100U);
  EXPECT_GT(look_up(100), 0U);
  EXPECT_THROW(look_up(101), std::runtime_error);

  guarded->table().erase(50);
  guarded->table().insert(50, bench::string_table::value_of(51));
  EXPECT_THROW(look_up(100), std::runtime_error);

  for (int run = 0; run < most_runs && erased < 100; ++run) {
    bench::run_together({[&](const auto& until) { return guarded->erase(erased, until); }}, 100ms);
  }
  EXPECT_EQ(erased, 100U);
  EXPECT_EQ(guarded->table().size(), 0U);
}

}  // namespace

// SPDX-License-Identifier: Apache-2.0
#include "scenarios/lock_under_test.hpp"

#include "lock/bias.hpp"
#include "lock/parking.hpp"
#include "threads/registry.hpp"

namespace readmost::model {

namespace {

constexpr std::int16_t rich = 20'000;
constexpr std::uint32_t last_idle_round = 7;

// Names each member by itself, so that reports can explain its values.
void name_members(scenario& s, const rwlock& lock, const std::string& name) {
  const auto add = [&](const auto& member, const char* called) {
    s.run().name(&member, sizeof member, name + called);
  };
  add(lock.state, ".state");
  add(lock.balance, ".balance");
  add(lock.domain, ".domain");
  add(lock.accounted_exits, ".accounted_exits");
  add(lock.traits, ".traits");
  add(lock.writer_exits, ".writer_exits");
}

rwlock& make_lock(scenario& s, const char* name, std::uint64_t state) {
  parking::set_relay(false);
  find_out_once();
  auto& lock = *new (s.run().memory_for_scenario().take(sizeof(rwlock), alignof(rwlock))) rwlock;
  name_members(s, lock, name);
  lock.traits.store(rwlock::met | rwlock::private_memory | rwlock::clean, platform::relaxed);
  lock.balance.store(rich, platform::relaxed);
  lock.state.store(state | rwlock::ready, platform::relaxed);
  return lock;
}

// In the middle of a period of the bias account.
void set_reads_until_account(std::int32_t reads) {
  my_record().account_period.store(active_reads_per_account, platform::relaxed);
  my_record().until_account.store(reads, platform::relaxed);
}

}  // namespace

rwlock& unbiased_lock(scenario& s, const char* name) {
  return make_lock(s, name, 0);
}

rwlock& biased_lock(scenario& s, const char* name) {
  return make_lock(s, name, rwlock::biased);
}

rwlock& biased_lock_in_slot_of(scenario& s, const rwlock& other, const char* name) {
  for (;;) {
    rwlock& lock = biased_lock(s, name);
    if (home_slot(&lock) == home_slot(&other)) return lock;
  }
}

rwlock& without_bias_to_come(rwlock& lock) {
  lock.balance.store(static_cast<std::int16_t>(bias::lowest), platform::relaxed);
  return lock;
}

rwlock& ordinary_lock(scenario& s) {
  s.spins(0);
  return without_bias_to_come(unbiased_lock(s));
}

rwlock& once_biased_lock(scenario& s) {
  s.spins(0);
  return without_bias_to_come(biased_lock(s));
}

void be_online() {
  be_known();
  come_online(my_record());
}

void be_known() {
  enlist();
  set_reads_until_account(active_reads_per_account);
}

void be_dormant() {
  be_online();
  go_offline(my_record());
}

void be_long_idle() {
  be_dormant();
  seem_long_idle();
}

void seem_long_idle() {
  my_record().idle_rounds.store(last_idle_round, platform::relaxed);
}

void be_about_to_settle() {
  set_reads_until_account(1);
}

void hold_passively(rwlock& lock) {
  be_online();
  expect(test::lock_shared(lock) == test::acquired && test::holds_passively(lock),
         "the scenario does not begin with a passive hold");
}

void hold_while_dormant(rwlock& lock) {
  hold_passively(lock);
  go_offline(my_record());
}

void hold_while_long_idle(rwlock& lock) {
  hold_while_dormant(lock);
  seem_long_idle();
}

void hold_actively(rwlock& lock) {
  be_known();
  expect(test::lock_shared(lock) == test::acquired && !test::holds_passively(lock),
         "the scenario does not begin with an active hold");
}

void hold_alone(rwlock& lock) {
  be_known();
  expect(test::lock(lock) == test::acquired, "the scenario does not begin with a writer inside");
}

void hold_while_draining(rwlock& lock) {
  lock.state.fetch_or(rwlock::biased, platform::relaxed);
  hold_while_dormant(lock);
  make_draining(lock);
}

void make_draining(rwlock& lock) {
  const std::uint64_t state = lock.state.load(platform::relaxed);
  lock.state.store((state & ~rwlock::biased) | rwlock::draining, platform::relaxed);
}

void signal::await() const {
  while (!given()) platform::yield();
}

void run_round() {
  reach_consensus(default_domain, &my_record());
}

void find_out_once() {
  membarrier_works();
  watch_forks();
}

void expect_all_given_back(const rwlock& lock) {
  const std::uint64_t state = lock.state.load(platform::relaxed);
  expect(rwlock::readers(state) == 0, "the lock counts readers, but no thread is inside");
  expect((state & rwlock::writing) == 0, "the lock has a writer, but no thread is inside");
  expect((state & rwlock::claiming) == 0, "the lock is claimed, but no thread decides");
  expect((state & rwlock::handoff) == 0, "the lock is kept for a writer, but no thread waits");
  expect((state & (rwlock::waiting_writers | rwlock::waiting_readers | rwlock::upgrading)) == 0,
         "the lock counts waiting threads, but no thread waits");
  expect_records_given_back(domains[lock.domain], [](const thread_record& record) {
    for_each_slot(record, [](const auto& slot, std::size_t) {
      expect(!is_passive_hold(slot.load(platform::relaxed)),
             "a slot names a lock that no thread holds");
      return true;
    });
  });
  expect_no_sleepers(domains[lock.domain]);
}

void expect_no_sleepers(const domain& of) {
  for (const drain_place& place : of.drains) {
    expect(place.sleepers.load(platform::relaxed) == 0,
           "the domain counts sleepers, but no thread sleeps");
  }
}

void expect_records_given_back(domain& of, void (*check)(const thread_record&)) {
  unsigned looked_at = 0;
  for_each_record(of, [&](const thread_record& record, bool used) {
    // Records beyond those of the simulated threads have never been used.
    if (++looked_at > max_threads || &record == &my_record()) return;
    if (used) {
      execution::current()->fail(violation_kind::leak, "a finished thread has kept its record",
                                 std::source_location::current());
    }
    check(record);
  });
}

void release_at_the_end(scenario& s, rwlock& lock) {
  s.finally([&lock] {
    test::unlock_shared(lock);
    expect_all_given_back(lock);
  });
}

}  // namespace readmost::model

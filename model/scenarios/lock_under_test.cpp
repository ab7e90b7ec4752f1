#include "scenarios/lock_under_test.hpp"

#include "lock/parking.hpp"
#include "threads/registry.hpp"

namespace readmost::model {

namespace {

constexpr std::int16_t rich = 20'000;
constexpr std::uint32_t last_idle_round = 7;

// Each by itself, so that reports can say what their values mean.
void name_members(scenario& s, const rwlock& lock, const std::string& name) {
  const auto add = [&](const auto& member, const char* called) {
    s.run().name(&member, sizeof member, name + called);
  };
  add(lock.state, ".state");
  add(lock.balance, ".balance");
  add(lock.domain, ".domain");
  add(lock.grant, ".grant");
  add(lock.traits, ".traits");
  add(lock.turn, ".turn");
}

rwlock& make_lock(scenario& s, const char* name, std::uint64_t state) {
  // What the library finds out once, at its first use.
  parking::set_relay(false);
  passive_possible();
  watch_forks();
  auto& lock = *new (s.run().memory_for_scenario().take(sizeof(rwlock), alignof(rwlock))) rwlock;
  name_members(s, lock, name);
  lock.traits.store(rwlock::met | rwlock::private_memory, platform::relaxed);
  lock.balance.store(rich, platform::relaxed);
  lock.state.store(state, platform::relaxed);
  return lock;
}

}  // namespace

rwlock& unbiased_lock(scenario& s, const char* name) {
  return make_lock(s, name, 0);
}

rwlock& biased_lock(scenario& s, const char* name) {
  return make_lock(s, name, rwlock::biased);
}

void be_online() {
  come_online(*enlist());
}

void be_known() {
  enlist();
}

void be_dormant() {
  come_online(*enlist());
  go_offline(my_record());
}

void be_long_idle() {
  be_dormant();
  seem_long_idle();
}

void seem_long_idle() {
  my_record().idle_rounds.store(last_idle_round, platform::relaxed);
}

void read_under(rwlock& lock, const guarded& data, rules how) {
  unit::lock_shared(lock, how);
  finish_reading(lock, data);
}

void write_under(rwlock& lock, guarded& data, rules how) {
  unit::lock(lock, how);
  finish_writing(lock, data, how);
}

bool try_read_under(rwlock& lock, const guarded& data, rules how) {
  if (unit::try_lock_shared(lock, how) != unit::acquired) return false;
  finish_reading(lock, data);
  return true;
}

bool try_read_passively(rwlock& lock, const guarded& data) {
  if (!try_lock_shared_passive(lock, my_record())) return false;
  finish_reading(lock, data);
  return true;
}

bool try_write_under(rwlock& lock, guarded& data, rules how) {
  if (unit::try_lock(lock, how) != unit::acquired) return false;
  finish_writing(lock, data, how);
  return true;
}

void finish_reading(rwlock& lock, const guarded& data) {
  data.read();
  unit::unlock_shared(lock);
}

void finish_writing(rwlock& lock, guarded& data, rules how) {
  data.write();
  unit::unlock(lock, how);
}

void run_round() {
  reach_consensus(default_domain, &my_record());
}

rwlock& biased_lock_in_slot_of(scenario& s, const rwlock& other, const char* name) {
  for (;;) {
    rwlock& lock = biased_lock(s, name);
    if (home_slot(&lock) == home_slot(&other)) return lock;
  }
}

void expect_all_given_back(const rwlock& lock) {
  const std::uint64_t state = lock.state.load(platform::relaxed);
  expect(rwlock::readers(state) == 0, "the lock counts readers and nobody is inside");
  expect((state & rwlock::writing) == 0, "the lock has a writer and nobody is inside");
  expect((state & (rwlock::waiting_writers | rwlock::waiting_readers | rwlock::upgrading)) == 0,
         "the lock counts somebody as waiting and nobody waits");
  unsigned looked_at = 0;
  for_each_record(domains[lock.domain], [&](const thread_record& record, bool used) {
    if (++looked_at > max_threads) return;  // nobody has ever had it
    if (&record == &my_record()) return;
    if (used) {
      execution::current()->fail(violation_kind::leak, "a record is left to a thread that is over",
                                 std::source_location::current());
    }
    for (const auto& slot : record.held) {
      expect(is_free(slot.load(platform::relaxed)), "a slot holds a lock that nobody holds");
    }
  });
  expect(domains[lock.domain].drain_sleepers.load(platform::relaxed) == 0,
         "a domain has sleepers and nobody sleeps");
}

}  // namespace readmost::model

#include "scenarios/lock_under_test.hpp"

#include "parking.hpp"
#include "registry.hpp"

namespace readmost::model {

namespace {

constexpr std::int16_t rich = 20'000;

rwlock& make_lock(scenario& s, const char* name, std::uint64_t state) {
  // What the library finds out once, at its first use.
  parking::set_relay(false);
  passive_possible();
  watch_forks();
  auto& lock = s.make<rwlock>(name);
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

void expect_all_given_back(const rwlock& lock) {
  const std::uint64_t state = lock.state.load(platform::relaxed);
  expect(rwlock::readers(state) == 0, "the lock counts readers and nobody is inside");
  expect((state & rwlock::writing) == 0, "the lock has a writer and nobody is inside");
  expect((state & (rwlock::waiting_writers | rwlock::waiting_readers | rwlock::upgrading)) == 0,
         "the lock counts somebody as waiting and nobody waits");
  for_each_record(domains[lock.domain], [](const thread_record& record, bool used) {
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

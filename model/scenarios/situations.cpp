#include "scenarios/situations.hpp"

#include "lock/bias.hpp"

namespace readmost::model {

rwlock& without_bias_to_come(rwlock& lock) {
  lock.balance.store(static_cast<std::int16_t>(bias::lowest), platform::relaxed);
  return lock;
}

rwlock& ordinary_lock(scenario& s) {
  s.turns(0);
  return without_bias_to_come(unbiased_lock(s));
}

rwlock& once_biased_lock(scenario& s) {
  s.turns(0);
  return without_bias_to_come(biased_lock(s));
}

void hold_passively(rwlock& lock) {
  be_online();
  expect(unit::lock_shared(lock) == unit::acquired && unit::holds_passively(lock),
         "the lock does not begin with a passive hold");
}

void hold_while_dormant(rwlock& lock) {
  hold_passively(lock);
  go_offline(my_record());
}

void hold_actively(rwlock& lock) {
  be_known();
  expect(unit::lock_shared(lock) == unit::acquired && !unit::holds_passively(lock),
         "the lock does not begin with an active hold");
}

void hold_alone(rwlock& lock) {
  be_known();
  expect(unit::lock(lock) == unit::acquired, "the lock does not begin with a writer");
}

void make_draining(rwlock& lock) {
  const std::uint64_t state = lock.state.load(platform::relaxed);
  lock.state.store((state & ~rwlock::biased) | rwlock::draining, platform::relaxed);
}

void hold_while_draining(rwlock& lock) {
  lock.state.fetch_or(rwlock::biased, platform::relaxed);
  hold_while_dormant(lock);
  make_draining(lock);
}

void release_at_the_end(scenario& s, rwlock& lock) {
  s.finally([&lock] {
    unit::unlock_shared(lock);
    expect_all_given_back(lock);
  });
}

void signal::await() const {
  while (!given()) platform::yield();
}

}  // namespace readmost::model

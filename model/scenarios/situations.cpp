#include "scenarios/situations.hpp"

#include "bias.hpp"

namespace readmost::model {

rwlock& without_bias_to_come(rwlock& lock) {
  lock.balance.store(static_cast<std::int16_t>(bias::lowest), platform::relaxed);
  return lock;
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

void signal::await() const {
  while (given_.load(platform::acquire) == 0) platform::yield();
}

}  // namespace readmost::model

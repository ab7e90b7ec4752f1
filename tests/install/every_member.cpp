// Every lock class and what of it is compiled only where it is used: all of it has to link with the
// shared library.
#include <chrono>
#include <readmost/lock_domain.hpp>
#include <readmost/shared_mutex.hpp>
#include <readmost/shared_timed_mutex.hpp>

template class readmost::basic_shared_timed_mutex<readmost::in_default_domain>;
template class readmost::basic_shared_timed_mutex<readmost::in_own_domain>;

namespace {

using namespace std::chrono_literals;

template <class Clock, class Lock>
bool with_deadlines(Lock& lock) {
  const auto end = Clock::now() + 1s;
  if (lock.try_lock_until(end)) lock.unlock();
  if (lock.try_lock_for(1s)) lock.unlock();
  if (!lock.try_lock_shared_for(1s)) return false;
  const bool alone = lock.try_upgrade_until(end);
  if (alone) lock.downgrade();
  if (!lock.try_lock_shared_until(end)) return false;
  lock.unlock_shared();
  lock.unlock_shared();
  return alone;
}

template <class Lock>
bool all_of(Lock& lock) {
  return with_deadlines<std::chrono::steady_clock>(lock) &&
         with_deadlines<std::chrono::system_clock>(lock);
}

}  // namespace

bool every_member() {
  readmost::online();
  readmost::offline();
  readmost::lock_domain domain;
  domain.online();
  domain.offline();
  readmost::shared_timed_mutex lock(readmost::preference::phase_fair);
  readmost::domain_shared_mutex lock_in_domain(domain);
  return all_of(lock) && all_of(lock_in_domain);
}

// SPDX-License-Identifier: Apache-2.0
// The locks to compare, on the simulated machine and on a real one.
#pragma once

#include <readmost/bravo.hpp>
#include <readmost/shared_mutex.hpp>
#include <rivals/all.hpp>

namespace readmost::simulation {

// For one thread alone.
class no_lock {
 public:
  void lock_shared() {}
  void unlock_shared() {}
  void lock() {}
  void unlock() {}
};

// Calls use.template operator()<Lock, Arguments...>(name) for each, Readmost's first; a lock is
// made with these arguments. `Glibc`, `Mutex`: glibc's locks, or those of their shape.
template <class Glibc, class Mutex, class Use>
void for_each_lock(Use use) {
  use.template operator()<shared_mutex>("readmost");
  use.template operator()<shared_mutex, preference::reader>("readmost-reader");
  use.template operator()<shared_mutex, preference::phase_fair>("readmost-phase-fair");
  use.template operator()<Glibc>("glibc-like");
  use.template operator()<Mutex>("mutex");
  use.template operator()<bravo<Glibc>>("bravo-glibc");
  use.template operator()<bravo<rivals::pf_q>>("bravo-ba");
  rivals::for_each_rival(
      [&]<class Lock>(const char* name) { use.template operator()<Lock>(name); });
}

}  // namespace readmost::simulation

// SPDX-License-Identifier: Apache-2.0
#include <readmost/shared_timed_mutex.hpp>

#include "catalogue.hpp"
#include "own_timed_lock.hpp"
#include "scenarios.hpp"

namespace torture {

namespace {

template <readmost::preference Preference>
class shared_timed_mutex_lock : public own_timed_lock<readmost::shared_timed_mutex, Preference> {
 public:
  constexpr shared_timed_mutex_lock()
      : own_timed_lock<readmost::shared_timed_mutex, Preference>(Preference) {}
};

const contribution shared_timed_mutexes([](catalogue& all) {
  using readmost::preference;
  add_scenarios<shared_timed_mutex_lock<preference::writer>>(all, "shared_timed_mutex");
  add_scenarios<shared_timed_mutex_lock<preference::phase_fair>>(all,
                                                                 "shared_timed_mutex-phase-fair");
});

}  // namespace

}  // namespace torture

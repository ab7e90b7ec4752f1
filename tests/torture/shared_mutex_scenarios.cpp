// SPDX-License-Identifier: Apache-2.0
#include <readmost/shared_mutex.hpp>

#include "catalogue.hpp"
#include "scenarios.hpp"

namespace torture {

namespace {

template <readmost::preference Preference>
class shared_mutex_lock : public readmost::shared_mutex {
 public:
  static constexpr bool prefers_readers = Preference == readmost::preference::reader;
  static constexpr bool recursive_reads = true;
  static constexpr bool timed = false;
  static constexpr bool any_thread_unlocks = false;
  static constexpr bool upgrades = true;
  static constexpr bool survives_fork = false;

  constexpr shared_mutex_lock() : readmost::shared_mutex(Preference) {}
};

const contribution shared_mutexes([](catalogue& all) {
  add_scenarios<shared_mutex_lock<readmost::preference::writer>>(all, "shared_mutex");
  add_scenarios<shared_mutex_lock<readmost::preference::reader>>(all, "shared_mutex-reader");
});

}  // namespace

}  // namespace torture

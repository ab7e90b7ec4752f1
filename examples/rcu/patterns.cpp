// SPDX-License-Identifier: Apache-2.0
#include "accounts.hpp"
#include "alarms.hpp"
#include "directory.hpp"
#include "dispatcher.hpp"
#include "form.hpp"
#include "limits.hpp"
#include "map.hpp"
#include "routes.hpp"
#include "semaphores.hpp"
#include "sessions.hpp"

namespace examples {

const std::vector<pattern>& all_patterns() {
  static const std::vector<pattern> all = [] {
    std::vector<pattern> made{
        made_of<dispatcher::before, dispatcher::after>("pure-rcu", "Pure RCU"),
        made_of<map::before, map::after>("rwlock-analogy", "Reader-Writer-Lock/RCU Analogy"),
        made_of<sessions::before, sessions::after>("existence-locks", "RCU Existence Locks"),
        made_of<alarms::before, alarms::after>("nbs-writers", "RCU Readers With NBS Writers"),
        made_of<semaphores::before, semaphores::after>("mark-obsolete", "Mark Obsolete Objects"),
        made_of<routes::before, routes::after>("substitute-copy", "Substitute Copy For Original"),
        made_of<limits::before, limits::after>("indirection", "Impose Level Of Indirection"),
        made_of<directory::before, directory::after>("version-number", "Global Version Number"),
        made_of<accounts::before, accounts::after>("stall-updates", "Stall Updates"),
    };
    made.back().has_busy_writer = true;
    return made;
  }();
  return all;
}

}  // namespace examples

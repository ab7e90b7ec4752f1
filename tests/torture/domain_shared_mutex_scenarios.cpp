// SPDX-License-Identifier: Apache-2.0
#include <readmost/lock_domain.hpp>

#include "catalogue.hpp"
#include "own_timed_lock.hpp"
#include "scenarios.hpp"

namespace torture {

namespace {

// Returns the domains in rotation, so that a scenario with several locks uses several domains.
const readmost::lock_domain& next_domain() {
  static const std::array<readmost::lock_domain, 3> domains;
  static std::atomic<unsigned> turn{0};
  return domains[turn.fetch_add(1, std::memory_order_relaxed) % domains.size()];
}

class domain_lock
    : public own_timed_lock<readmost::domain_shared_mutex, readmost::preference::writer> {
 public:
  domain_lock() : own_timed_lock(next_domain()) {}
};

const contribution domain_locks([](catalogue& all) {
  add_scenarios<domain_lock>(all, "domain_shared_mutex");
});

}  // namespace

}  // namespace torture

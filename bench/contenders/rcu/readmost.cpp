// SPDX-License-Identifier: Apache-2.0
// Our RCU.
#include <mutex>
#include <readmost/rcu.hpp>

#include "contenders/rcu/side_of.hpp"
#include "contenders/rcu/sides.hpp"

namespace bench {

namespace {

struct readmost_rcu : needs_no_threads {
  static constexpr const char* name = "readmost::rcu";
  using reader = section_reader<readmost::rcu_reader>;

  struct reclaim;
  struct object;

  static void pause() {}
  static void resume() {}
  static void synchronize() { readmost::rcu_synchronize(); }
  static void barrier() { readmost::rcu_barrier(); }
  static void hurry() { readmost::rcu_limit_laziness({}); }
};

struct readmost_rcu::reclaim {
  void operator()(object* one) const;
};

struct readmost_rcu::object : readmost::rcu_obj_base<object, reclaim> {
  retired_load load;
};

void readmost_rcu::reclaim::operator()(object* one) const {
  if (one->load.reclaimed != nullptr) (*one->load.reclaimed)();
  delete one;
}

// The interface of the C++ standard.
class domain_section {
 public:
  domain_section() : lock_(readmost::rcu_default_domain()) {}

 private:
  std::scoped_lock<readmost::rcu_domain> lock_;
};

struct readmost_rcu_domain : needs_no_threads {
  static constexpr const char* name = "readmost::rcu_domain";
  using reader = section_reader<domain_section>;
};

}  // namespace

std::unique_ptr<rcu_flavor> make_readmost_rcu() {
  return std::make_unique<rcu_flavor_of<readmost_rcu>>();
}

std::unique_ptr<read_side> make_readmost_rcu_domain() {
  return std::make_unique<read_side_of<readmost_rcu_domain>>();
}

}  // namespace bench

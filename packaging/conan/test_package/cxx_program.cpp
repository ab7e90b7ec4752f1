// SPDX-License-Identifier: Apache-2.0
// Reads under a lock and under RCU.
#include <iostream>
#include <mutex>
#include <readmost/rcu.hpp>
#include <readmost/shared_mutex.hpp>
#include <shared_mutex>

struct setting : readmost::rcu_obj_base<setting> {
  explicit setting(int number) : value(number) {}
  int value;
};

int main() {
  readmost::shared_mutex guard;
  int port = 0;
  {
    std::unique_lock writing(guard);
    port = 8080;
  }
  std::shared_lock reading(guard);
  auto* const current = new setting(port);
  {
    std::scoped_lock section(readmost::rcu_default_domain());
    std::cout << "port " << current->value << '\n';
  }
  current->retire();
  readmost::rcu_barrier();
  return port == 8080 ? 0 : 1;
}

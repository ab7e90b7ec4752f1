// Semaphores under liburcu's flavor memb, whose read sections are inline here.
#include "contenders/rcu/semaphore_set_of.hpp"
// clang-format off: last, since some of its names are macros.
#include "contenders/rcu/liburcu_flavor.hpp"
// clang-format on

namespace bench {

std::unique_ptr<semaphore_set> make_liburcu_semaphores() {
  return std::make_unique<semaphore_set_of<rcu_protection<urcu>>>();
}

}  // namespace bench

// SPDX-License-Identifier: Apache-2.0
// The mini-benchmark's table and the semaphores under liburcu's flavor memb, with inline read
// sections.
#include "contenders/rcu/mixed_table_of.hpp"
#include "contenders/rcu/semaphore_set_of.hpp"
// clang-format off: last, since some of its names are macros.
#include "contenders/rcu/liburcu_flavor.hpp"
// clang-format on

namespace bench {

namespace {

struct liburcu : urcu {
  using element = bench::element<element_base>;
  static void quiescent() {}
};

}  // namespace

std::unique_ptr<mixed_table> make_liburcu_mixed_table(std::size_t buckets) {
  return std::make_unique<mixed_table_of<rcu_table<liburcu>>>(buckets);
}

std::unique_ptr<semaphore_set> make_liburcu_semaphores() {
  return std::make_unique<semaphore_set_of<rcu_protection<urcu>>>();
}

}  // namespace bench

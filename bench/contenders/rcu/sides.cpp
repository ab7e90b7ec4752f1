// SPDX-License-Identifier: Apache-2.0
#include "contenders/rcu/sides.hpp"

#include <utility>

namespace bench {

std::vector<std::unique_ptr<rcu_flavor>> all_rcu_flavors() {
  std::vector<std::unique_ptr<rcu_flavor>> all;
  all.push_back(make_readmost_rcu());
#if defined(BENCH_HAS_URCU)
  all.push_back(make_liburcu_memb());
  all.push_back(make_liburcu_bp());
  all.push_back(make_liburcu_qsbr());
  all.push_back(make_liburcu_mb());
#endif
  return all;
}

std::vector<std::unique_ptr<replacing_side>> all_replacing_sides() {
  std::vector<std::unique_ptr<replacing_side>> all;
  for (auto& flavor : all_rcu_flavors()) all.push_back(std::move(flavor));
  for (const auto make : {make_readmost_shared_mutex, make_std_shared_mutex,
                          make_brlock_of_spinlocks, make_brlock_of_mutexes}) {
    all.push_back(make());
  }
  return all;
}

std::vector<std::unique_ptr<read_side>> all_read_sides() {
  std::vector<std::unique_ptr<read_side>> all;
  for (auto& side : all_replacing_sides()) all.push_back(std::move(side));
  for (const auto make :
       {make_readmost_rcu_domain, make_readmost_hazard_pointer, make_asymmetric_hazard_pointer}) {
    all.push_back(make());
  }
  return all;
}

}  // namespace bench

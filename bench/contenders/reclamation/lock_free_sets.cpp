// SPDX-License-Identifier: Apache-2.0
#include "contenders/reclamation/lock_free_sets.hpp"

#include "contenders/reclamation/lock_free_set_of.hpp"
#include "contenders/reclamation/policies.hpp"

namespace bench {

std::vector<reclamation_policy> all_reclamation_policies() {
  return {
      policy_of<by_rcu>(),
      policy_of<by_hazard_pointers>(),
#if defined(BENCH_HAS_URCU)
      liburcu_policy(),
#endif
#if defined(BENCH_HAS_XENIUM)
      xenium_policy(),
      xenium_hazard_policy(),
#endif
      policy_of<by_epochs>(),
      policy_of<by_fenced_hazard_pointers>(),
      policy_of<without_reclamation>(),
  };
}

}  // namespace bench

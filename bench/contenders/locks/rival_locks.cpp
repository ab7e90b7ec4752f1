// SPDX-License-Identifier: Apache-2.0
#include <rivals/all.hpp>

#include "contenders/locks/contender_of.hpp"
#include "contenders/locks/contenders.hpp"

namespace bench {

template <>
struct size_of<rivals::cohort_rwlock> : size_of_lock_alone<rivals::cohort_rwlock> {
  static std::size_t on(unsigned, unsigned nodes) {
    return rivals::cohort_rwlock::footprint(nodes);
  }
};

void add_rival_locks(contender_list& to) {
  rivals::for_each_rival(add_contender(to));
}

}  // namespace bench

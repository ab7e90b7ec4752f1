// SPDX-License-Identifier: Apache-2.0
#include "contenders/locks/contender_of.hpp"
#include "contenders/locks/contenders.hpp"
#include "contenders/locks/lists.hpp"

namespace bench {

void add_library_locks(contender_list& to) {
  for_each_library_lock(add_contender(to));
}

}  // namespace bench

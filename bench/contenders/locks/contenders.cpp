// SPDX-License-Identifier: Apache-2.0
#include "contenders/locks/contenders.hpp"

#include <stdexcept>

namespace bench {

contender_list all_contenders() {
  contender_list all;
  add_system_locks(all);
  add_bravo_locks(all);
  add_rival_locks(all);
  add_library_locks(all);
  return all;
}

contender_list all_with_preferences() {
  contender_list all = all_contenders();
  add_preferring_locks(all);
  return all;
}

const contender& contender_named(const contender_list& all, const std::string& name) {
  for (const auto& each : all) {
    if (each->name() == name) return *each;
  }
  throw std::logic_error("unknown contender " + name);
}

void require_no_write_lost(guarded_counter& counter, std::uint64_t writes) {
  if (counter.written() != writes) {
    throw std::runtime_error("a write was lost: two writers held the lock at once");
  }
}

}  // namespace bench

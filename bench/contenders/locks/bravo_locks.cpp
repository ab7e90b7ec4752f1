// SPDX-License-Identifier: Apache-2.0
#include "contenders/locks/contender_of.hpp"
#include "contenders/locks/contenders.hpp"
#include "contenders/locks/lists.hpp"

namespace bench {

template <class Lock, class Policy>
struct size_of<readmost::bravo<Lock, Policy>> : size_of_lock_alone<readmost::bravo<Lock, Policy>> {
  static std::size_t of_each_thread() {
    return sizeof(readmost::detail::thread_record) + sizeof(readmost::detail::visible_reader) +
           (Policy::by_consensus ? sizeof(readmost::detail::own_slots) : 0);
  }
  // The table that all locks share. It may be larger once it has grown.
  static std::size_t of_the_process() {
    if constexpr (Policy::by_consensus) {
      return 0;
    } else {
      return (std::size_t{Policy::table::newest().mask} + 1) *
             sizeof(readmost::detail::visible_slot);
    }
  }
};

void add_bravo_locks(contender_list& to) {
  for_each_bravo_lock(add_contender(to));
}

}  // namespace bench

// SPDX-License-Identifier: Apache-2.0
#include "contenders/locks/contender_of.hpp"
#include "contenders/locks/contenders.hpp"
#include "contenders/locks/lists.hpp"

namespace bench {

template <>
struct size_of<readmost::shared_mutex> : size_of_lock_alone<readmost::shared_mutex> {
  static std::size_t of_each_thread() { return sizeof(readmost::detail::thread_record); }
};

template <readmost::preference prefers>
struct size_of<preferring<prefers>> : size_of<readmost::shared_mutex> {};

void add_system_locks(contender_list& to) {
  for_each_system_lock(add_contender(to));
}

void add_preferring_locks(contender_list& to) {
  for_each_preferring_lock(add_contender(to));
}

std::unique_ptr<contender> make_no_lock() {
  return std::make_unique<contender_of<no_lock>>("empty");
}

}  // namespace bench

#include "contender_of.hpp"
#include "contenders.hpp"
#include "measured_locks.hpp"

namespace bench {

template <>
struct size_of<readmost::shared_mutex> : size_of_lock_alone<readmost::shared_mutex> {
  static std::size_t of_each_thread() { return sizeof(readmost::detail::thread_record); }
};

void add_system_locks(contender_list& to) {
  const add_contender add(to);
  add.operator()<readmost::shared_mutex>("prwlock");
  add.operator()<pthread_lock>("pthread");
}

std::unique_ptr<guarded_counter> make_counter_without_lock() {
  return std::make_unique<counter_under<no_lock>>();
}

}  // namespace bench

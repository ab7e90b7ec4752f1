#include "contender_of.hpp"
#include "contenders.hpp"
#include "measured_locks.hpp"

namespace bench {

void add_library_locks(contender_list& to) {
  for_each_library_lock(add_contender(to));
}

}  // namespace bench

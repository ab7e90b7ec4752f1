// Read holds: where they are noted and counted.
#pragma once

#include <readmost/detail/lock/rwlock.hpp>

namespace readmost::detail {

// Takes one hold out of the lock's count, whatever is noted in the records. Below zero it is a
// debt; false where there can be none.
bool release_counted_hold(rwlock& lock) noexcept;

}  // namespace readmost::detail

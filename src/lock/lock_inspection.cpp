// SPDX-License-Identifier: Apache-2.0
// The object by which `readmost holders` and gdb find the library's records.
#include "lock/lock_inspection.hpp"

namespace readmost::detail {

// Here, because whoever needs it brings the object below into a program that the library is linked
// into, which names it nowhere.
constinit std::size_t offset_of_core = 0;

}  // namespace readmost::detail

extern "C" {
// A linker that drops unused sections keeps it.
#if __has_attribute(retain)
[[gnu::retain]]
#endif
[[gnu::used]] constinit readmost::detail::inspection readmost_inspection(&readmost_inspection, true,
                                                                         READMOST_VERSION);
}

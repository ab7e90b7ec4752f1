// SPDX-License-Identifier: Apache-2.0
#include "interpose/glibc_rwlock.hpp"

#include <dlfcn.h>

namespace readmost::detail::interpose {

constinit rwlock_functions glibc_functions{};
constinit platform::atomic<bool> glibc_looked_up{false};

namespace {

template <class Function>
void look_up(Function*& function, const char* name) noexcept {
  function = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

void look_up_glibc() noexcept {
  // Several threads may do this at once; each stores the same addresses.
  rwlock_functions found{};
  look_up(found.init, "pthread_rwlock_init");
  look_up(found.destroy, "pthread_rwlock_destroy");
  look_up(found.rdlock, "pthread_rwlock_rdlock");
  look_up(found.tryrdlock, "pthread_rwlock_tryrdlock");
  look_up(found.timedrdlock, "pthread_rwlock_timedrdlock");
  look_up(found.clockrdlock, "pthread_rwlock_clockrdlock");
  look_up(found.wrlock, "pthread_rwlock_wrlock");
  look_up(found.trywrlock, "pthread_rwlock_trywrlock");
  look_up(found.timedwrlock, "pthread_rwlock_timedwrlock");
  look_up(found.clockwrlock, "pthread_rwlock_clockwrlock");
  look_up(found.unlock, "pthread_rwlock_unlock");
  glibc_functions = found;
  glibc_looked_up.store(true, platform::release);
}

}  // namespace readmost::detail::interpose

// SPDX-License-Identifier: Apache-2.0
#include "interpose/glibc_rwlock.hpp"

#include <dlfcn.h>

#include <readmost/detail/platform/platform.hpp>

namespace readmost::detail::interpose {

constinit rwlock_functions glibc_functions{};

namespace {

constinit platform::atomic<bool> looked_up{false};

template <class Function>
void look_up(Function*& function, const char* name) noexcept {
  function = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

const rwlock_functions& glibc() noexcept {
  // Several threads may do this at once; each stores the same addresses.
  if (!looked_up.load(platform::acquire)) [[unlikely]] {
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
    looked_up.store(true, platform::release);
  }
  return glibc_functions;
}

}  // namespace readmost::detail::interpose

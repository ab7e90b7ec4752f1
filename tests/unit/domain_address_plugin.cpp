// SPDX-License-Identifier: Apache-2.0
// A plug-in, compiled with hidden visibility, that tells where it finds the default domain.
#include <readmost/rcu.hpp>

extern "C" [[gnu::visibility("default")]] const void* address_of_domain() {
  return &readmost::rcu_default_domain();
}

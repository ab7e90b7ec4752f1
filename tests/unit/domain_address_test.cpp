// SPDX-License-Identifier: Apache-2.0
// The default domain is one object in a process, also for plug-ins with hidden visibility that are
// loaded apart from one another.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <readmost/rcu.hpp>

namespace {

const void* address_in(const char* plugin) {
  void* const handle = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    ADD_FAILURE() << dlerror();
    return nullptr;
  }
  return reinterpret_cast<const void* (*)()>(dlsym(handle, "address_of_domain"))();
}

TEST(default_domain, has_one_address) {
  readmost::rcu_synchronize();  // the program uses the library
  const void* const here = &readmost::rcu_default_domain();
  EXPECT_EQ(address_in(FIRST_PLUGIN), here);
  EXPECT_EQ(address_in(SECOND_PLUGIN), here);
}

// Its number is known when the program is compiled.
static_assert(&readmost::detail::the_process_domain.core() == &readmost::detail::default_domain);

}  // namespace

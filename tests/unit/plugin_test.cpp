// SPDX-License-Identifier: Apache-2.0
// A copy of the library in a plug-in, which a program loads late and unloads while threads that
// have used it are still there. The plug-in is loaded in children, because it stays.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <thread>

#include "support/helper_thread.hpp"
#include "support/processes.hpp"

namespace {

using test::helper_thread;
using test::in_a_child;

class plugin {
 public:
  plugin() : handle_(dlopen(READMOST_PLUGIN, RTLD_NOW | RTLD_LOCAL)) {
    EXPECT_NE(handle_, nullptr) << dlerror();
  }
  plugin(const plugin&) = delete;
  plugin& operator=(const plugin&) = delete;
  ~plugin() { EXPECT_EQ(dlclose(handle_), 0); }

  void lock_and_unlock() const { function<void()>("plugin_lock_and_unlock")(); }
  void retire() const { function<void()>("plugin_retire")(); }
  int records() const { return function<int()>("plugin_records")(); }

 private:
  template <class Type>
  Type* function(const char* name) const {
    return reinterpret_cast<Type*>(dlsym(handle_, name));
  }

  void* handle_;
};

TEST(plugin, may_be_closed_before_a_thread_ends_that_has_used_it) {
  in_a_child([] {
    helper_thread user;
    {
      const plugin opened;
      user.call([&] { opened.lock_and_unlock(); });
    }
    // Ends the thread.
  });
}

TEST(plugin, may_be_closed_while_its_reclaimer_is_at_work) {
  in_a_child([] {
    for (int i = 0; i < 20; ++i) {
      const plugin opened;
      opened.retire();
    }
  });
}

TEST(plugin, reuses_the_records_of_threads_where_the_program_has_taken_all_keys) {
  in_a_child([] {
    pthread_key_t key;
    while (pthread_key_create(&key, nullptr) == 0) {
    }
    const plugin opened;
    for (int i = 0; i < 100; ++i) std::thread([&] { opened.lock_and_unlock(); }).join();
    EXPECT_EQ(opened.records(), 1);
  });
}

}  // namespace

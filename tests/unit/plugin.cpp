// SPDX-License-Identifier: Apache-2.0
// A plug-in that is linked with the static library, and so has a copy of its own.
#include <readmost/rcu.hpp>
#include <readmost/shared_mutex.hpp>

#include "threads/registry.hpp"

namespace {

readmost::shared_mutex mutex;

struct object : readmost::rcu_obj_base<object> {};

}  // namespace

extern "C" {

__attribute__((visibility("default"))) void plugin_lock_and_unlock() {
  mutex.lock_shared();
  mutex.unlock_shared();
}

// Starts a thread of the library.
__attribute__((visibility("default"))) void plugin_retire() {
  (new object)->retire();
}

// How many records threads have ever had.
__attribute__((visibility("default"))) int plugin_records() {
  using namespace readmost::detail;
  int count = 0;
  for_each_record(default_domain, [&](const thread_record& record, bool) {
    if (record.thread.load() != 0) ++count;
  });
  return count;
}
}

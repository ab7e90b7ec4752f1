// SPDX-License-Identifier: Apache-2.0
// A program whose main thread leaves by pthread_exit() before another thread retires. It must end
// with that thread: the reclaimer must not keep it alive.
#include <pthread.h>

#include <cstdio>
#include <readmost/rcu.hpp>
#include <thread>

namespace {

struct object : readmost::rcu_obj_base<object> {
  explicit object(const char* name) : name(name) {}
  ~object() { std::puts(name); }
  const char* name;
};

}  // namespace

int main() {
  (new object("first"))->retire();
  std::thread([leaving = pthread_self()] {
    pthread_join(leaving, nullptr);
    (new object("second"))->retire();
  }).detach();
  pthread_exit(nullptr);
}

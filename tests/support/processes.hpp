// SPDX-License-Identifier: Apache-2.0
// Second processes for a test: the child's failed expectations become the parent's.
#pragma once

#include <sys/mman.h>
#include <sys/types.h>

#include <atomic>
#include <functional>
#include <new>

namespace test {

// A child that hangs ends itself after this many seconds.
inline constexpr unsigned child_deadline = 60;

// fork(2). gcc's AddressSanitizer leaves its allocator locked in the child if another thread was in
// it at the fork, as each thread is that starts: under it, this first gives threads the time to
// start, so a test must not have threads that allocate later on.
pid_t settled_fork();

class child_process {
 public:
  explicit child_process(const std::function<void()>& body);
  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;
  ~child_process() { wait(); }

  // Expects that the child exits without a failure.
  void wait();

 private:
  pid_t id_;
  bool waited_ = false;
};

inline void in_a_child(const std::function<void()>& body) {
  child_process(body).wait();
}

// An object in memory that all processes forked from here on share.
template <class T>
class shared_object {
 public:
  shared_object() {
    void* memory =
        mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    object_ = new (memory) T();
  }
  shared_object(const shared_object&) = delete;
  shared_object& operator=(const shared_object&) = delete;
  ~shared_object() { munmap(object_, sizeof(T)); }

  T* operator->() { return object_; }

 private:
  T* object_;
};

// Steps that two processes or threads take in turn.
class steps {
 public:
  void reach(int step) { step_.store(step); }
  void await(int step);

 private:
  std::atomic<int> step_{0};
};

}  // namespace test

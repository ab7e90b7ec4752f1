// Second processes for a test: the child's failed expectations become the parent's.
#pragma once

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <new>
#include <utility>

#include "settled_fork.hpp"

namespace contract {

// A child that hangs ends itself after this long.
inline constexpr unsigned child_deadline = 60;

class child_process {
 public:
  template <class Body>
  explicit child_process(Body&& body) {
    std::fflush(nullptr);
    id_ = settled_fork();
    if (id_ == 0) {
      alarm(child_deadline);
      body();
      std::fflush(nullptr);
      _exit(testing::Test::HasFailure() ? 1 : 0);
    }
  }
  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;
  ~child_process() { wait(); }

  // Expects that the child ended well.
  void wait() {
    if (waited_) return;
    waited_ = true;
    ASSERT_GT(id_, 0) << "fork failed";
    int status = 0;
    ASSERT_EQ(waitpid(id_, &status, 0), id_);
    EXPECT_TRUE(WIFEXITED(status)) << "the child was killed by signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0) << "the child failed or hung";
  }

 private:
  pid_t id_;
  bool waited_ = false;
};

template <class Body>
void in_a_child(Body&& body) {
  child_process(std::forward<Body>(body)).wait();
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
  void await(int step) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(15);
    while (step_.load() < step) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "step " << step << " never came";
      sched_yield();
    }
  }

 private:
  std::atomic<int> step_{0};
};

}  // namespace contract

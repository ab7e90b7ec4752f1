// SPDX-License-Identifier: Apache-2.0
// A thread that runs what it is told, one call at a time, so that a test can play several threads
// step by step.
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <thread>
#include <type_traits>

namespace test {

// Far longer than anything here takes: reaching it means that something hangs. Where that is what a
// test is for, READMOST_TEST_PATIENCE says how many seconds it waits for it.
inline const std::chrono::seconds generous{std::getenv("READMOST_TEST_PATIENCE") != nullptr
                                               ? std::atoi(std::getenv("READMOST_TEST_PATIENCE"))
                                               : 10};

// Waits until the condition holds; false when that takes longer than `generous`.
bool wait_until(const std::function<bool()>& condition);

// Whether a thread of this process sleeps in the kernel.
bool is_asleep(pid_t thread);

class helper_thread {
 public:
  static constexpr int still_running = -1;

  helper_thread();
  helper_thread(const helper_thread&) = delete;
  helper_thread& operator=(const helper_thread&) = delete;
  ~helper_thread();

  // begin() starts a call; end() waits for its result, or gives still_running when it hangs. The
  // result of what returns nothing is `done`.
  static constexpr int done = 0;
  template <class Callable>
  void begin(Callable what) {
    if constexpr (std::is_void_v<std::invoke_result_t<Callable>>) {
      start([what] {
        what();
        return done;
      });
    } else {
      start(what);
    }
  }
  int end();
  template <class Callable>
  int call(Callable what) {
    begin(what);
    return end();
  }

  // Whether the call that was begun has not ended.
  bool in_call() const { return state_.load() != idle; }

  // Whether the call that was begun sleeps in the kernel, thus waits for a lock.
  bool is_waiting() const;

  // Waits until that is so.
  bool falls_asleep() const;

  // Waits until that is so or the call has ended.
  bool settles() const;

  pthread_t native() { return thread_.native_handle(); }

 private:
  enum state { idle, ordered, running };

  void start(std::function<int()> what);
  void run();

  std::atomic<state> state_{idle};
  std::atomic<pid_t> id_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<int()> what_;
  int result_ = 0;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace test

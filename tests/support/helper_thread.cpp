// SPDX-License-Identifier: Apache-2.0
#include "support/helper_thread.hpp"

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

namespace test {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

bool wait_until(const std::function<bool()>& condition) {
  const auto deadline = steady_clock::now() + generous;
  while (!condition()) {
    if (steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return true;
}

bool is_asleep(pid_t thread) {
  std::ifstream stat("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string line;
  std::getline(stat, line);
  const auto name_end = line.rfind(')');
  return name_end != std::string::npos && name_end + 2 < line.size() && line[name_end + 2] == 'S';
}

helper_thread::helper_thread() : thread_([this] { run(); }) {}

helper_thread::~helper_thread() {
  // After a failed expectation the test's lock may be destroyed already, so the program cannot
  // continue.
  if (in_call() && end() == still_running) {
    std::fprintf(stderr, "HANG: a thread still waits for a lock at the end of its test\n");
    std::fflush(nullptr);
    _exit(3);
  }
  {
    std::lock_guard guard(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void helper_thread::start(std::function<int()> what) {
  {
    std::lock_guard guard(mutex_);
    what_ = std::move(what);
    state_ = ordered;
  }
  changed_.notify_all();
}

int helper_thread::end() {
  std::unique_lock guard(mutex_);
  if (!changed_.wait_for(guard, generous, [this] { return state_ == idle; })) return still_running;
  return result_;
}

// Looks twice: a short sleep inside an attempt is not yet the wait.
bool helper_thread::is_waiting() const {
  if (state_ != running || !is_asleep(id_)) return false;
  std::this_thread::sleep_for(milliseconds(2));
  return state_ == running && is_asleep(id_);
}

bool helper_thread::falls_asleep() const {
  return wait_until([this] { return is_waiting(); });
}

bool helper_thread::settles() const {
  return wait_until([this] { return !in_call() || is_waiting(); });
}

void helper_thread::run() {
  id_ = gettid();
  std::unique_lock guard(mutex_);
  for (;;) {
    changed_.wait(guard, [this] { return stop_ || state_ == ordered; });
    if (state_ != ordered) return;
    guard.unlock();
    state_ = running;
    const int result = what_();
    guard.lock();
    result_ = result;
    state_ = idle;
    changed_.notify_all();
  }
}

}  // namespace test

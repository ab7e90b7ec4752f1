// SPDX-License-Identifier: Apache-2.0
// Threads that receive messages by different means: send() returns when all have the message.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <latch>
#include <list>
#include <readmost/detail/platform/platform.hpp>
#include <system_error>
#include <thread>
#include <vector>

#include "machine/heartbeats.hpp"

namespace bench {

// The number of a message, on a cache line of its own.
struct alignas(64) message_number {
  std::atomic<std::uint32_t> value{0};

  void await(std::uint32_t number) const {
    for (unsigned spins = 1; value.load(std::memory_order_acquire) != number; ++spins) {
      readmost::detail::platform::relax();
      if (spins % 1024 == 0) std::this_thread::yield();
    }
  }
};

// Threads that run without a pause and do not poll for messages.
class running_threads {
 public:
  explicit running_threads(unsigned count) : running_threads(count, [](unsigned) {}) {}
  // Each thread calls first(number) before.
  template <class First>
  running_threads(unsigned count, First first) : begun_(count) {
    for (unsigned i = 0; i < count; ++i) {
      heartbeats::pulse& pulse = alive_.add();
      threads_.emplace_back([this, first, i, &pulse] {
        first(i);
        begun_.count_down();
        while (!over_.load(std::memory_order_relaxed)) pulse.beat();
      });
    }
    begun_.wait();
  }
  ~running_threads() { over_ = true; }

  bool all_running() { return alive_.all_alive(); }

 private:
  heartbeats alive_;
  std::latch begun_;
  std::atomic<bool> over_{false};
  std::vector<std::jthread> threads_;
};

// Threads that poll one line without a pause.
class polling_threads {
 public:
  explicit polling_threads(unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      message_number& answer = answers_.emplace_back();
      heartbeats::pulse& pulse = alive_.add();
      threads_.emplace_back([this, &answer, &pulse] {
        for (std::uint32_t seen = 0; seen != over; pulse.beat()) {
          const std::uint32_t now = sent_.value.load(std::memory_order_acquire);
          if (now != seen) answer.value.store(seen = now, std::memory_order_release);
        }
      });
    }
  }
  ~polling_threads() { sent_.value.store(over, std::memory_order_release); }

  bool all_running() { return alive_.all_alive(); }

  void send() {
    sent_.value.store(++last_, std::memory_order_release);
    for (const message_number& answer : answers_) answer.await(last_);
  }

 private:
  static constexpr std::uint32_t over = ~0U;

  heartbeats alive_;
  message_number sent_;
  std::uint32_t last_ = 0;
  std::list<message_number> answers_;
  std::vector<std::jthread> threads_;
};

// Threads that sleep on a futex.
class sleeping_threads {
 public:
  explicit sleeping_threads(unsigned count) : begun_(count) {
    for (unsigned i = 0; i < count; ++i) {
      message_number& answer = answers_.emplace_back();
      threads_.emplace_back([this, &answer] {
        begun_.count_down();
        for (std::uint32_t seen = 0; seen != over;) {
          readmost::detail::platform::futex_wait(&sent_.value, seen, any_mask, nullptr);
          const std::uint32_t now = sent_.value.load(std::memory_order_acquire);
          if (now == seen) continue;
          answer.value.store(seen = now, std::memory_order_release);
        }
      });
    }
    begun_.wait();
  }
  ~sleeping_threads() { publish(over); }

  bool all_running() { return true; }  // they sleep

  void send() {
    publish(++last_);
    for (const message_number& answer : answers_) answer.await(last_);
  }

 private:
  static constexpr std::uint32_t over = ~0U;
  static constexpr std::uint32_t any_mask = ~0U;
  static constexpr int all = 1 << 30;

  void publish(std::uint32_t number) {
    sent_.value.store(number, std::memory_order_release);
    readmost::detail::platform::futex_wake(&sent_.value, all, any_mask);
  }

  message_number sent_;
  std::uint32_t last_ = 0;
  std::list<message_number> answers_;
  std::latch begun_;
  std::vector<std::jthread> threads_;
};

// Threads that run without a pause and answer in a signal handler. One object at a time.
class signalled_threads {
 public:
  explicit signalled_threads(unsigned count)
      : receivers_(count), running_(count, [this](unsigned number) {
          my_answer = &receivers_[number].answer;
          receivers_[number].thread = readmost::detail::platform::thread_id();
        }) {
    struct sigaction handler{};
    handler.sa_handler = [](int) { my_answer->value.fetch_add(1, std::memory_order_release); };
    handler.sa_flags = SA_RESTART;
    if (sigaction(SIGUSR1, &handler, nullptr) != 0) {
      throw std::system_error(errno, std::generic_category(), "sigaction");
    }
  }

  bool all_running() { return running_.all_running(); }

  void send() {
    ++last_;
    for (const receiver& one : receivers_) {
      if (syscall(SYS_tgkill, getpid(), one.thread, SIGUSR1) != 0) {
        throw std::system_error(errno, std::generic_category(), "tgkill");
      }
    }
    for (const receiver& one : receivers_) one.answer.await(last_);
  }

 private:
  struct receiver {
    message_number answer;
    std::int32_t thread = 0;
  };

  static inline thread_local message_number* my_answer = nullptr;

  std::uint32_t last_ = 0;
  std::vector<receiver> receivers_;
  running_threads running_;
};

}  // namespace bench

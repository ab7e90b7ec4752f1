// SPDX-License-Identifier: Apache-2.0
// Pure RCU (RCU 4.1.7): events call a handler, which is replaced while they come in. Once the
// replacement is over, no call of the old handler is, and its resources are given back.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <readmost/rcu.hpp>
#include <shared_mutex>

#include "form.hpp"

namespace examples::dispatcher {

class handler {
 public:
  explicit handler(std::uint64_t number) : number_(number | 1) {}
  ~handler() { number_.store(0, std::memory_order_relaxed); }

  void handle(std::uint64_t event) const {
    const std::uint64_t number = number_.load(std::memory_order_relaxed);
    require(number != 0 && (event & number) <= number, "a handler was called after its end");
  }

 private:
  std::atomic<std::uint64_t> number_;  // so that compilers keep the destructor's store
};

class before {
 public:
  void read(xorshift& random) {
    const std::uint64_t event = random();
    const std::shared_lock guard{mutex_};
    present_->handle(event);
  }

  void write(xorshift& random) {
    auto fresh = std::make_unique<handler>(random());
    const std::unique_lock guard{mutex_};
    present_.swap(fresh);
  }

  void check(std::uint64_t, std::uint64_t) { present_->handle(0); }

 private:
  std::shared_mutex mutex_;
  std::unique_ptr<handler> present_ = std::make_unique<handler>(1);
};

class after {
 public:
  ~after() { delete present_.load(); }

  void read(xorshift& random) {
    const std::uint64_t event = random();
    const readmost::rcu_reader section;
    present_.load(std::memory_order_acquire)->handle(event);
  }

  void write(xorshift& random) {
    const std::unique_ptr<handler> old{present_.exchange(new handler(random()))};
    readmost::rcu_synchronize();
  }

  void check(std::uint64_t, std::uint64_t) { present_.load()->handle(0); }

 private:
  std::atomic<handler*> present_{new handler(1)};
};

}  // namespace examples::dispatcher

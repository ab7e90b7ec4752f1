// SPDX-License-Identifier: Apache-2.0
// RCU Readers With NBS Writers (RCU 4.1.10): alarms are raised and settled, newest first, by any
// thread; displays show the newest ones.
#pragma once

#include <cstdint>
#include <forward_list>
#include <iterator>
#include <mutex>
#include <readmost/rcu_stack.hpp>
#include <shared_mutex>

#include "form.hpp"

namespace examples::alarms {

inline constexpr unsigned standing = 16;
inline constexpr unsigned shown = 4;

struct alarm {
  explicit alarm(std::uint64_t number) : number(number), inverted(~number) {}

  void show() const { require(number == ~inverted, "an alarm was shown after its end"); }

  std::uint64_t number;
  std::uint64_t inverted;
};

// Shows the newest ones.
template <class List>
void show_some(const List& alarms) {
  unsigned left = shown;
  for (const auto& each : alarms) {
    each.show();
    if (--left == 0) return;
  }
}

class before {
 public:
  before() {
    for (unsigned number = 0; number < standing; ++number) alarms_.emplace_front(number);
  }

  void read(xorshift&) {
    const std::shared_lock guard{mutex_};
    show_some(alarms_);
  }

  // Memory is allocated and freed without the lock.
  void write(xorshift& random) {
    std::forward_list<alarm> raised, settled;
    raised.emplace_front(random());
    {
      const std::unique_lock guard{mutex_};
      alarms_.splice_after(alarms_.before_begin(), raised);
    }
    const std::unique_lock guard{mutex_};
    settled.splice_after(settled.before_begin(), alarms_, alarms_.before_begin());
  }

  void check(std::uint64_t, std::uint64_t) {
    const auto left = std::distance(alarms_.begin(), alarms_.end());
    require(left == standing, "an alarm is lost or doubled");
  }

 private:
  std::shared_mutex mutex_;
  std::forward_list<alarm> alarms_;
};

class after {
 public:
  after() {
    for (unsigned number = 0; number < standing; ++number) alarms_.push(*new linked_alarm(number));
  }
  ~after() {
    alarms_.clear([](linked_alarm& each) { delete &each; });
  }

  void read(xorshift&) {
    const readmost::rcu_reader section;
    show_some(alarms_);
  }

  void write(xorshift& random) {
    alarms_.push(*new linked_alarm(random()));
    alarms_.pop()->retire();
  }

  void check(std::uint64_t, std::uint64_t) {
    const readmost::rcu_reader section;
    const auto left = std::distance(alarms_.begin(), alarms_.end());
    require(left == standing, "an alarm is lost or doubled");
  }

 private:
  struct linked_alarm : readmost::rcu_stack_hook, readmost::rcu_obj_base<linked_alarm>, alarm {
    using alarm::alarm;
  };

  readmost::rcu_stack<linked_alarm> alarms_;
};

}  // namespace examples::alarms

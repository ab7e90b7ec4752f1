// SPDX-License-Identifier: Apache-2.0
// Stacks of RCU: threads that walk one, push and pop.
#include <readmost/rcu_stack.hpp>

#include "scenarios/rcu/containers.hpp"

namespace readmost::model {

namespace {

struct alarm;
struct end_of_alarm {
  void operator()(alarm* old) const noexcept;
};
struct alarm : rcu_stack_hook, rcu_obj_base<alarm, end_of_alarm> {
  explicit alarm(std::uint32_t number) : data(number) {}
  content data;
};
void end_of_alarm::operator()(alarm* old) const noexcept {
  old->~alarm();
}

using alarms = rcu_stack<alarm>;

// A stack of elements 1, 2 and so on, the last one on top.
alarms& make_alarms(scenario& s, std::uint32_t count) {
  begin_containers(s);
  auto& stack = s.make<alarms>("stack");
  for (std::uint32_t number = 1; number <= count; ++number) {
    stack.push(s.make<alarm>("alarm", number));
  }
  return stack;
}

// Memory for an element that a thread makes while the others run.
class future_alarm {
 public:
  alarm& make(std::uint32_t number) { return *new (memory_) alarm(number); }

 private:
  alignas(alarm) unsigned char memory_[sizeof(alarm)];
};

// Expects the elements from the top down to 1.
void add_reader(scenario& s, const alarms& stack) {
  s.thread("reader", be_online, [&stack] {
    const std::scoped_lock section(rcu_default_domain());
    std::uint32_t above = 0;
    for (const alarm& each : stack) {
      const std::uint32_t number = each.data.read();
      expect(above == 0 || number + 1 == above, "an element is missed or found twice");
      above = number;
    }
    expect(above == 1, "the element at the bottom is not found");
  });
}

// Expects whatever it finds to be complete.
void add_reader_of_any(scenario& s, const alarms& stack) {
  s.thread("reader", be_online, [&stack] {
    const std::scoped_lock section(rcu_default_domain());
    for (const alarm& each : stack) each.data.read();
  });
}

std::uint32_t pop_one(alarms& stack) {
  alarm* const popped = stack.pop();
  if (popped == nullptr) return 0;
  const std::uint32_t number = popped->data.read();
  popped->retire();
  return number;
}

}  // namespace

SCENARIO(stack_push_while_walked, "a walk finds a new element complete, and all below it",
         effort::small) {
  auto& stack = make_alarms(s, 1);
  auto& fresh = s.make<future_alarm>("fresh");
  add_reader(s, stack);
  s.thread("writer", be_known, [&] { stack.push(fresh.make(2)); });
}

SCENARIO(stack_push_by_two_while_walked,
         "a walk finds the elements of several writers complete below the top that it has loaded",
         effort::small) {
  auto& stack = make_alarms(s, 0);
  auto& first = s.make<future_alarm>("first");
  auto& second = s.make<future_alarm>("second");
  add_reader_of_any(s, stack);
  s.thread("writer", be_known, [&] { stack.push(first.make(1)); });
  s.thread("other writer", be_known, [&] { stack.push(second.make(2)); });
}

SCENARIO(stack_pop_while_walked, "a walk goes on from a popped element, which is not deleted",
         effort::medium) {
  auto& stack = make_alarms(s, 2);
  add_reader(s, stack);
  s.thread("writer", be_known, [&] {
    expect(pop_one(stack) == 2, "the newest element is popped");
    reclaim_all_retired();
  });
}

SCENARIO(stack_pop_of_new_element, "a thread that pops an element of another finds it complete",
         effort::small) {
  auto& stack = make_alarms(s, 0);
  auto& fresh = s.make<future_alarm>("fresh");
  s.thread("writer", be_known, [&] { stack.push(fresh.make(1)); });
  s.thread("other writer", be_known, [&] { pop_one(stack); });
}

SCENARIO(stack_pop_after_failure,
         "a thread that pops after another was faster finds the next element complete",
         effort::small) {
  auto& stack = make_alarms(s, 1);
  auto& fresh = s.make<future_alarm>("fresh");
  auto& popped = s.make<std::array<std::uint32_t, 2>>("popped");
  s.thread("writer", be_known, [&] {
    stack.push(fresh.make(2));
    popped[0] = pop_one(stack);
  });
  s.thread("other writer", be_known, [&] { popped[1] = pop_one(stack); });
  s.finally([&] {
    expect(popped[0] != popped[1] && popped[0] + popped[1] == 3, "each element is popped once");
    reclaim_all_retired();
    expect_no_sections_left();
  });
}

SCENARIO(stack_cleared_while_walked,
         "a stack that is cleared gives out the elements of other writers complete",
         effort::small) {
  auto& stack = make_alarms(s, 1);
  auto& fresh = s.make<future_alarm>("fresh");
  add_reader_of_any(s, stack);
  s.thread("writer", be_known, [&] { stack.push(fresh.make(2)); });
  s.thread("other writer", be_known, [&] {
    stack.clear([](alarm& each) {
      each.data.read();
      each.retire();
    });
  });
}

// As treiber_stack_with_aba in classic/treiber_stack.cpp, which goes wrong.
SCENARIO(stack_element_pushed_again,
         "an element that is pushed again after a grace period is not taken for the one popped",
         effort::medium) {
  auto& stack = make_alarms(s, 2);
  auto& kept = s.make<alarm*>("kept");
  s.thread("first", be_online, [&] { static_cast<void>(stack.pop()); });
  s.thread("second", be_known, [&] {
    alarm* const taken = stack.pop();
    kept = stack.pop();
    if (taken == nullptr) return;
    rcu_synchronize();
    stack.push(*taken);
  });
  s.finally([&] {
    const alarm* const top = stack.pop();
    expect(top == nullptr || top != kept,
           "an element that a thread has popped is not in the stack");
    expect_no_sections_left();
  });
}

}  // namespace readmost::model

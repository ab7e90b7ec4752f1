// SPDX-License-Identifier: Apache-2.0
// An intrusive stack whose writers are lock-free and whose readers run beside them: the pattern RCU
// Readers With NBS Writers (docs/patterns/).
//
//   struct problem : readmost::rcu_stack_hook, readmost::rcu_obj_base<problem> { ... };
//   readmost::rcu_stack<problem> problems;
//
//   void report(std::unique_ptr<problem> fresh) { problems.push(*fresh.release()); }
//   void show() {
//     readmost::rcu_reader section;
//     for (const problem& each : problems) use(each);  // newest first
//   }
//   void settle_newest() {
//     if (problem* settled = problems.pop()) settled->retire();
//   }
//
// A reader finds exactly the elements that were in the stack when it called begin(), also those
// that are popped while it walks. Grace periods give pop() what lock-free writers otherwise need
// type-stable memory, counted pointers or hazard pointers for: an element that a thread is about to
// pop is neither deleted nor pushed again before it has.
//
// Readers: begin(), end(), empty() and const_iterator, inside one section. Wait-free and
// signal-safe; a step costs one plain load. Writers: push() and pop() are lock-free, clear() takes
// all elements by one exchange. Any number of threads may call them at once. Nothing throws or
// allocates. The stack does not own its elements; they must not move while they are linked.
//
// Source: R. K. Treiber, "Systems Programming: Coping with Parallelism", 1986; RCU 4.1.10.
#pragma once

#include <readmost/detail/platform/cpp20.h>

#include <concepts>
#include <cstddef>
#include <mutex>
#include <readmost/detail/platform/mutant.hpp>
#include <readmost/detail/rcu/walking.hpp>
#include <readmost/rcu_in_domain.hpp>

namespace readmost {

template <class T, class In>
class rcu_stack;

// Links an element into a stack: a base class of the element. A copy of an element is in no stack.
class rcu_stack_hook {
 public:
  constexpr rcu_stack_hook() noexcept = default;
  constexpr rcu_stack_hook(const rcu_stack_hook&) noexcept {}
  constexpr rcu_stack_hook& operator=(const rcu_stack_hook&) noexcept { return *this; }

 private:
  template <class T, class In>
  friend class rcu_stack;

  // Constant from push() until a grace period after the element was taken out. Hence not atomic:
  // all threads that read it have acquired the top after the push.
  detail::platform::variable<rcu_stack_hook*> next_{};
};

// `In`: the domain of the readers, and of pop() (rcu_in_domain.hpp).
template <class T, class In = rcu_in_default_domain>
class rcu_stack : private In {
 public:
  using value_type = T;

  constexpr rcu_stack() noexcept
    requires std::default_initializable<In>
  = default;
  explicit rcu_stack(In in) noexcept : In(in) {}
  rcu_stack(const rcu_stack&) = delete;
  rcu_stack& operator=(const rcu_stack&) = delete;
  // Does not touch the elements. Precondition: no thread uses the stack any more.
  ~rcu_stack() = default;

  rcu_domain& domain() const noexcept { return In::domain(); }

  // --- For readers -------------------------------------------------------------------------------

  // From the newest element to the oldest. Valid until the section ends.
  using const_iterator = detail::link_iterator<rcu_stack, const T, const rcu_stack_hook>;

  // Precondition: the caller is inside a section, which lasts until it is done with the elements.
  const_iterator begin() const noexcept {
    detail::check_reader(domain());
    // (RS1) Pairs with (RS2), also of elements below the top: every change of the top is a
    // read-modify-write, so the top belongs to the release sequence of each push before it.
    return const_iterator(top_.load(detail::at(detail::letter::RS1, detail::platform::acquire)));
  }
  const_iterator end() const noexcept { return {}; }
  // Needs no section. Out of date at once if others write.
  bool empty() const noexcept { return top_.load(detail::platform::relaxed) == nullptr; }

  // --- For writers -------------------------------------------------------------------------------

  // Puts an element on top. Preconditions: it is complete, it is in no stack, and a grace period
  // has passed since it last was. Lock-free; signal-safe. Cost: one compare-and-swap, if no other
  // writer comes in between.
  void push(T& fresh) noexcept {
    rcu_stack_hook& top = fresh;
    rcu_stack_hook* below = top_.load(detail::platform::relaxed);
    do {
      top.next_ = below;
      // (RS2) Pairs with (RS1), (RS3), (RS4): the element and its link before the top.
    } while (!top_.compare_exchange_weak(below, &top,
                                         detail::at(detail::letter::RS2, detail::platform::release),
                                         detail::platform::relaxed));
  }

  // Takes the newest element out and returns it; null if there is none. Readers, and other threads
  // in pop(), may use it until a grace period of domain() has passed: until then it must not
  // be changed, pushed again or deleted. Retire it. Lock-free; signal-safe. Cost: a read section
  // and one compare-and-swap, if no other writer comes in between.
  [[nodiscard]] T* pop() noexcept {
    if (detail::is_mutant(detail::mutant::pops_without_section)) return pop_inside_section();
    // Keeps the top from being deleted before its link is read, and from being pushed again before
    // the compare-and-swap, which would take it for unchanged.
    const std::scoped_lock section(domain());
    return pop_inside_section();
  }

  // Takes all elements out, then calls dispose(element), which may retire it, for each, newest
  // first. Each is to be treated as after pop().
  template <class Dispose>
  void clear(Dispose dispose) {
    // (RS4) Pairs with (RS2).
    rcu_stack_hook* each =
        top_.exchange(nullptr, detail::at(detail::letter::RS4, detail::platform::acquire));
    while (each != nullptr) {
      rcu_stack_hook* const below = each->next_;
      dispose(static_cast<T&>(*each));
      each = below;
    }
  }

  // The same; retires the elements, which derive from rcu_obj_base, in the stack's domain.
  void clear() noexcept
    requires detail::retirable<T>
  {
    clear([this](T& old) { old.retire({}, domain()); });
  }

 private:
  template <class Container, class AnyT, class AnyHook>
  friend class detail::link_iterator;

  static const T* object_of(const rcu_stack_hook* at) noexcept { return static_cast<const T*>(at); }
  static const rcu_stack_hook* step(const rcu_stack_hook* at) noexcept { return at->next_; }

  T* pop_inside_section() noexcept {
    constexpr auto which = detail::letter::RS3;
    // (RS3) Pairs with (RS2). Not release where it succeeds: it publishes nothing that a push
    // before has not published.
    rcu_stack_hook* top = top_.load(detail::at(which, detail::platform::acquire));
    while (top != nullptr && !top_.compare_exchange_weak(
                                 top, top->next_, detail::at(which, detail::platform::acquire),
                                 detail::at(which, detail::platform::acquire))) {
    }
    return static_cast<T*>(top);
  }

  detail::platform::atomic<rcu_stack_hook*> top_{nullptr};
};

// A stack whose readers are in a domain that is given to its constructor.
template <class T>
using domain_rcu_stack = rcu_stack<T, rcu_in_domain>;

}  // namespace readmost

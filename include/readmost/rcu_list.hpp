// SPDX-License-Identifier: Apache-2.0
// An intrusive doubly linked list whose readers run while it is changed, in the manner of the Linux
// kernel's rculist.
//
//   struct route : readmost::rcu_list_hook, readmost::rcu_obj_base<route> { ... };
//   readmost::rcu_list<route> routes;
//
//   void reader() {
//     readmost::rcu_reader section;
//     for (const route& r : routes) use(r);
//   }
//   void writer(route& old) {
//     std::scoped_lock lock(routes_mutex);
//     routes.erase(old);
//     old.retire();
//   }
//
// A reader that walks the list during a change meets each element that is in the list throughout
// exactly once, in order; elements that come or go during its walk it may or may not meet. The
// iterator may stand on an element that is erased: that element still leads on into the list.
//
// Readers: begin(), end(), empty() and const_iterator, inside one section. Wait-free and
// signal-safe; each step costs one load. Writers: all other members. The caller must serialise
// writers. They take constant time, except for clear(), and do not wait, except for splice_front()
// and splice_back(). Nothing throws or allocates. The list does not own its elements; they must not
// move while they are linked.
//
// Source: RCU 3 (list_add_rcu, list_del_rcu, list_replace_rcu, list_splice_init_rcu).
#pragma once

#include <readmost/detail/platform/cpp20.h>

#include <concepts>
#include <cstddef>
#include <iterator>
#include <readmost/detail/rcu/hooked.hpp>
#include <readmost/detail/rcu/walking.hpp>
#include <readmost/rcu_in_domain.hpp>
#include <utility>

namespace readmost {

template <class T, auto Hook, class In>
class rcu_list;

// Links an element into a list: a base class of the element, or a public member, one for each list
// that it is in at the same time. A copy of an element is in no list.
class rcu_list_hook {
 public:
  constexpr rcu_list_hook() noexcept = default;
  constexpr rcu_list_hook(const rcu_list_hook&) noexcept {}
  constexpr rcu_list_hook& operator=(const rcu_list_hook&) noexcept { return *this; }

  // For writers: whether the element is in a list.
  bool is_linked() const noexcept { return previous_ != nullptr; }

 private:
  template <class T, auto Hook, class In>
  friend class rcu_list;

  // Readers follow it, even from an element that has been erased.
  detail::platform::atomic<rcu_list_hook*> next_{nullptr};
  // Accessed by writers only. Null while the element is in no list.
  detail::platform::variable<rcu_list_hook*> previous_{};
};

// `Hook`: nullptr if T derives from rcu_list_hook, &T::hook if the hook is a member, also an
// inherited one; not of a virtual base. `In`: the domain of the readers (rcu_in_domain.hpp).
template <class T, auto Hook = nullptr, class In = rcu_in_default_domain>
class rcu_list : private In {
 public:
  using value_type = T;

  rcu_list() noexcept
    requires std::default_initializable<In>
  {
    make_empty();
  }
  explicit rcu_list(In in) noexcept : In(in) { make_empty(); }
  rcu_list(const rcu_list&) = delete;
  rcu_list& operator=(const rcu_list&) = delete;
  // Does not touch the elements. Precondition: no reader uses the list any more.
  ~rcu_list() = default;

  rcu_domain& domain() const noexcept { return In::domain(); }

  // --- For readers -------------------------------------------------------------------------------

  // Valid until the section ends.
  using const_iterator = detail::link_iterator<rcu_list, const T, const rcu_list_hook>;

  // Precondition: the caller is inside a section, which lasts until it is done with the elements.
  const_iterator begin() const noexcept {
    detail::check_reader(domain());
    return const_iterator(follow(head_));
  }
  const_iterator end() const noexcept { return const_iterator(&head_); }
  bool empty() const noexcept { return follow(head_) == &head_; }

  // --- For writers -------------------------------------------------------------------------------

  // The elements for a writer: `for (T& each : list.writable())`. An iterator whose element is
  // erased can still be incremented until the element is deleted.
  class iterator {
   public:
    using iterator_category = std::bidirectional_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = T*;
    using reference = T&;

    iterator() noexcept = default;
    reference operator*() const noexcept { return *hooks::object_of(at_); }
    pointer operator->() const noexcept { return hooks::object_of(at_); }
    iterator& operator++() noexcept {
      at_ = next(*at_);
      return *this;
    }
    iterator operator++(int) noexcept {
      const iterator before = *this;
      ++*this;
      return before;
    }
    iterator& operator--() noexcept {
      at_ = at_->previous_;
      return *this;
    }
    iterator operator--(int) noexcept {
      const iterator before = *this;
      --*this;
      return before;
    }
    bool operator==(const iterator&) const noexcept = default;

   private:
    friend class rcu_list;
    explicit iterator(rcu_list_hook* at) noexcept : at_(at) {}

    rcu_list_hook* at_ = nullptr;
  };

  class writable_view {
   public:
    iterator begin() const noexcept { return iterator(next(list_.head_)); }
    iterator end() const noexcept { return iterator(&list_.head_); }

   private:
    friend class rcu_list;
    explicit writable_view(rcu_list& list) noexcept : list_(list) {}

    rcu_list& list_;
  };
  writable_view writable() noexcept { return writable_view(*this); }

  // Insert an element; readers that start their walk afterwards meet it. Preconditions: the element
  // is complete, it is in no list by this hook, and a grace period has passed since it last was
  // (readers may still stand on it).
  void push_front(T& fresh) noexcept { link(hooks::hook_of(fresh), head_, *next(head_)); }
  void push_back(T& fresh) noexcept { link(hooks::hook_of(fresh), *head_.previous_, head_); }
  void insert_after(T& before, T& fresh) noexcept {
    rcu_list_hook& at = hooks::hook_of(before);
    link(hooks::hook_of(fresh), at, *next(at));
  }
  void insert_before(T& after, T& fresh) noexcept {
    rcu_list_hook& at = hooks::hook_of(after);
    link(hooks::hook_of(fresh), *at.previous_, at);
  }

  // Removes an element. Readers may stand on it until a grace period has passed: until then it must
  // not be changed, linked again by this hook, or deleted. Retire it.
  void erase(T& old) noexcept { unlink(hooks::hook_of(old)); }
  // The same; returns an iterator to the next element.
  iterator erase(iterator at) noexcept {
    rcu_list_hook* const after = next(*at.at_);
    unlink(*at.at_);
    return iterator(after);
  }

  // Puts `fresh` in the place of `old`; each reader meets one of them. Preconditions as of
  // push_front() for `fresh`; `old` is to be treated as after erase().
  void replace(T& old, T& fresh) noexcept {
    rcu_list_hook& leaves = hooks::hook_of(old);
    rcu_list_hook& comes = hooks::hook_of(fresh);
    rcu_list_hook* const after = next(leaves);
    comes.previous_ = leaves.previous_;
    prepare(comes, after);
    publish(*leaves.previous_, comes, detail::letter::RL4);
    after->previous_ = &comes;
    leaves.previous_ = nullptr;
  }

  // Erase the first or the last element and return it, or null if there is none. The element is to
  // be treated as after erase().
  [[nodiscard]] T* pop_front() noexcept { return pop(next(head_)); }
  [[nodiscard]] T* pop_back() noexcept { return pop(head_.previous_); }

  // Erases the elements for which chosen(const T&) is true, and calls dispose(element), which may
  // retire it, for each; returns their number. If a function throws, the elements before are erased
  // and disposed of, and the others are in the list.
  template <class Chosen, class Dispose>
  std::size_t erase_if(Chosen chosen, Dispose dispose) {
    return detail::erase_chosen(*this, chosen, dispose);
  }
  // The same; retires the elements, which derive from rcu_obj_base, in the list's domain.
  template <class Chosen>
  std::size_t erase_if(Chosen chosen)
    requires detail::retirable<T>
  {
    return erase_if(std::move(chosen), [this](T& old) { old.retire({}, domain()); });
  }

  // Erases an element that derives from rcu_obj_base and retires it in the list's domain.
  void erase_and_retire(T& old) noexcept
    requires detail::retirable<T>
  {
    erase(old);
    old.retire({}, domain());
  }

  // Removes all elements, then calls dispose(element), which may retire it, for each in order.
  template <class Dispose>
  void clear(Dispose dispose) {
    rcu_list_hook* each = next(head_);
    make_empty();  // the elements still lead to the end of this list
    while (each != &head_) {
      rcu_list_hook* const after = next(*each);
      each->previous_ = nullptr;
      dispose(*hooks::object_of(each));
      each = after;
    }
  }

  // The same; retires the elements, which derive from rcu_obj_base, in the list's domain.
  void clear() noexcept
    requires detail::retirable<T>
  {
    clear([this](T& old) { old.retire({}, domain()); });
  }

  // Move all elements of `other` to the front or to the back of this list. Wait for a grace period,
  // since readers of `other` must reach the end of `other` and not of this list; meanwhile the
  // elements are in neither list. Preconditions: the caller is not inside a section, holds no lock
  // that is taken inside sections, and is the only writer of both lists, which are of one domain.
  void splice_front(rcu_list& other) noexcept { splice(head_, other); }
  void splice_back(rcu_list& other) noexcept { splice(*head_.previous_, other); }

 private:
  template <class Container, class AnyT, class AnyHook>
  friend class detail::link_iterator;

  using hooks = detail::hooked<T, Hook, rcu_list_hook>;

  static const T* object_of(const rcu_list_hook* at) noexcept { return hooks::object_of(at); }
  static const rcu_list_hook* step(const rcu_list_hook* at) noexcept { return follow(*at); }

  // For readers.
  static const rcu_list_hook* follow(const rcu_list_hook& at) noexcept {
    // (RL1) Pairs with (RL2) to (RL5): sees the next element complete.
    return at.next_.load(detail::at(detail::letter::RL1, detail::platform::acquire));
  }

  // For the writer, which sees the work of earlier writers by the lock that serialises them.
  static rcu_list_hook* next(const rcu_list_hook& at) noexcept {
    return at.next_.load(detail::platform::relaxed);
  }

  // Of an element that readers cannot reach before the publish() that follows; or to the head,
  // which is complete at all times.
  static void prepare(rcu_list_hook& at, rcu_list_hook* after) noexcept {
    at.next_.store(after, detail::platform::relaxed);
  }

  // Pairs with (RL1): release, so that readers see complete all that is reached from here on.
  static void publish(rcu_list_hook& at, rcu_list_hook& after, detail::letter which) noexcept {
    at.next_.store(&after, detail::at(which, detail::platform::release));
  }

  static void link(rcu_list_hook& fresh, rcu_list_hook& before, rcu_list_hook& after) noexcept {
    fresh.previous_ = &before;
    prepare(fresh, &after);
    publish(before, fresh, detail::letter::RL2);
    after.previous_ = &fresh;
  }

  static void unlink(rcu_list_hook& old) noexcept {
    rcu_list_hook* const after = next(old);
    after->previous_ = old.previous_;
    // Another writer may have linked `after` since a reader reached the element before it.
    publish(*old.previous_, *after, detail::letter::RL3);
    old.previous_ = nullptr;
  }

  T* pop(rcu_list_hook* at) noexcept {
    if (at == &head_) return nullptr;
    unlink(*at);
    return hooks::object_of(at);
  }

  void make_empty() noexcept {
    head_.previous_ = &head_;
    prepare(head_, &head_);
  }

  // Moves all elements of `other` behind `before`, which is in this list.
  void splice(rcu_list_hook& before, rcu_list& other) noexcept {
    rcu_list_hook* const first = next(other.head_);
    if (first == &other.head_) return;
    rcu_list_hook* const last = other.head_.previous_;
    other.make_empty();
    if (!detail::is_mutant(detail::mutant::splices_at_once)) rcu_synchronize(other.domain());
    rcu_list_hook* const after = next(before);
    prepare(*last, after);
    after->previous_ = last;
    first->previous_ = &before;
    publish(before, *first, detail::letter::RL5);
  }

  // Before the first element and behind the last.
  rcu_list_hook head_;
};

// A list whose readers are in a domain that is given to its constructor.
template <class T, auto Hook = nullptr>
using domain_rcu_list = rcu_list<T, Hook, rcu_in_domain>;

}  // namespace readmost

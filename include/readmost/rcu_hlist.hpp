// SPDX-License-Identifier: Apache-2.0
// An intrusive list with a head of one pointer, whose readers run while it is changed: for tables
// of many short lists, in the manner of the Linux kernel's hlist.
//
//   struct session : readmost::rcu_hlist_hook, readmost::rcu_obj_base<session> { ... };
//   readmost::rcu_hlist<session> by_user[65536];
//
//   void reader(std::uint16_t user) {
//     readmost::rcu_reader section;
//     for (const session& s : by_user[user]) use(s);
//   }
//   void writer(session& old) {
//     std::scoped_lock lock(sessions_mutex);
//     by_user[old.user].erase_and_retire(old);
//   }
//
// What rcu_list.hpp says of readers and writers is true of this list too: a reader that walks the
// list during a change meets each element that is in the list throughout exactly once, in order,
// and may stand on an element that is erased. What rcu_list has besides: a last element, steps
// backwards and splicing.
//
// Readers: begin(), end(), empty() and const_iterator, inside one section. Wait-free and
// signal-safe; each step costs one load. Writers: all other members. The caller must serialise
// writers of one list. They take constant time, except for erase_if() and clear(), and do not wait.
// Nothing throws or allocates. The list does not own its elements; they and the list must not move
// while they are linked.
//
// Source: RCU 3 (hlist_add_head_rcu, hlist_del_rcu, hlist_replace_rcu).
#pragma once

#include <readmost/detail/platform/cpp20.h>

#include <concepts>
#include <cstddef>
#include <readmost/detail/rcu/hooked.hpp>
#include <readmost/detail/rcu/walking.hpp>
#include <readmost/rcu_in_domain.hpp>
#include <utility>

namespace readmost {

template <class T, auto Hook, class In>
class rcu_hlist;

// Links an element into a list: a base class of the element, or a public member, one for each list
// that it is in at the same time. A copy of an element is in no list.
class rcu_hlist_hook {
 public:
  constexpr rcu_hlist_hook() noexcept = default;
  constexpr rcu_hlist_hook(const rcu_hlist_hook&) noexcept {}
  constexpr rcu_hlist_hook& operator=(const rcu_hlist_hook&) noexcept { return *this; }

  // For writers: whether the element is in a list.
  bool is_linked() const noexcept { return leads_here_ != nullptr; }

 private:
  template <class T, auto Hook, class In>
  friend class rcu_hlist;

  using link = detail::platform::atomic<rcu_hlist_hook*>;

  // Readers follow it, even from an element that has been erased.
  link next_{nullptr};
  // The link that leads to the element: the head or that of the element before it. Accessed by
  // writers only. Null while the element is in no list.
  detail::platform::variable<link*> leads_here_{};
};

// `Hook`: nullptr if T derives from rcu_hlist_hook, &T::hook if the hook is a member, also an
// inherited one; not of a virtual base. `In`: the domain of the readers (rcu_in_domain.hpp).
template <class T, auto Hook = nullptr, class In = rcu_in_default_domain>
class rcu_hlist : private In {
 public:
  using value_type = T;

  constexpr rcu_hlist() noexcept
    requires std::default_initializable<In>
  = default;
  explicit rcu_hlist(In in) noexcept : In(in) {}
  rcu_hlist(const rcu_hlist&) = delete;
  rcu_hlist& operator=(const rcu_hlist&) = delete;
  // Does not touch the elements. Precondition: no reader uses the list any more.
  ~rcu_hlist() = default;

  rcu_domain& domain() const noexcept { return In::domain(); }

  // --- For readers -------------------------------------------------------------------------------

  // Valid until the section ends.
  using const_iterator = detail::link_iterator<rcu_hlist, const T, const rcu_hlist_hook>;

  // Precondition: the caller is inside a section, which lasts until it is done with the elements.
  const_iterator begin() const noexcept {
    detail::check_reader(domain());
    return const_iterator(follow(head_));
  }
  const_iterator end() const noexcept { return {}; }
  // Needs no section.
  bool empty() const noexcept { return next(head_) == nullptr; }

  // --- For writers -------------------------------------------------------------------------------

  // The elements for a writer: `for (T& each : list.writable())`. An iterator whose element is
  // erased can still be incremented until the element is deleted.
  using iterator = detail::link_iterator<rcu_hlist, T, rcu_hlist_hook>;

  class writable_view {
   public:
    iterator begin() const noexcept { return iterator(next(list_.head_)); }
    iterator end() const noexcept { return {}; }

   private:
    friend class rcu_hlist;
    explicit writable_view(rcu_hlist& list) noexcept : list_(list) {}

    rcu_hlist& list_;
  };
  writable_view writable() noexcept { return writable_view(*this); }

  // Insert an element; readers that start their walk afterwards meet it. Preconditions: the element
  // is complete, it is in no list by this hook, and a grace period has passed since it last was
  // (readers may still stand on it).
  void push_front(T& fresh) noexcept { link_in(hooks::hook_of(fresh), head_); }
  void insert_after(T& before, T& fresh) noexcept {
    link_in(hooks::hook_of(fresh), hooks::hook_of(before).next_);
  }
  void insert_before(T& after, T& fresh) noexcept {
    link_in(hooks::hook_of(fresh), *hooks::hook_of(after).leads_here_);
  }

  // Removes an element. Readers may stand on it until a grace period has passed: until then it must
  // not be changed, linked again by this hook, or deleted. Retire it.
  void erase(T& old) noexcept { unlink(hooks::hook_of(old)); }

  // Erases an element that derives from rcu_obj_base and retires it in the list's domain.
  void erase_and_retire(T& old) noexcept
    requires detail::retirable<T>
  {
    erase(old);
    old.retire({}, domain());
  }

  // Puts `fresh` in the place of `old`; each reader meets one of them. Preconditions as of
  // push_front() for `fresh`; `old` is to be treated as after erase().
  void replace(T& old, T& fresh) noexcept {
    rcu_hlist_hook& leaves = hooks::hook_of(old);
    rcu_hlist_hook& comes = hooks::hook_of(fresh);
    rcu_hlist_hook* const after = next(leaves.next_);
    prepare(comes, after);
    comes.leads_here_ = leaves.leads_here_;
    publish(*leaves.leads_here_, &comes, detail::letter::RF4);
    if (after != nullptr) after->leads_here_ = &comes.next_;
    leaves.leads_here_ = nullptr;
  }

  // Erases the first element and returns it, or null if there is none. The element is to be treated
  // as after erase().
  [[nodiscard]] T* pop_front() noexcept {
    rcu_hlist_hook* const first = next(head_);
    if (first == nullptr) return nullptr;
    unlink(*first);
    return hooks::object_of(first);
  }

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

  // Removes all elements, then calls dispose(element), which may retire it, for each in order.
  template <class Dispose>
  void clear(Dispose dispose) {
    rcu_hlist_hook* each = next(head_);
    head_.store(nullptr, detail::platform::relaxed);  // readers find the end, which is no element
    while (each != nullptr) {
      rcu_hlist_hook* const after = next(each->next_);
      each->leads_here_ = nullptr;
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

 private:
  template <class Container, class AnyT, class AnyHook>
  friend class detail::link_iterator;

  using hooks = detail::hooked<T, Hook, rcu_hlist_hook>;
  using link = rcu_hlist_hook::link;

  template <class AnyHook>
  static auto* object_of(AnyHook* at) noexcept {
    return hooks::object_of(at);
  }
  static const rcu_hlist_hook* step(const rcu_hlist_hook* at) noexcept { return follow(at->next_); }
  static rcu_hlist_hook* step(rcu_hlist_hook* at) noexcept { return next(at->next_); }

  // For readers.
  static rcu_hlist_hook* follow(const link& at) noexcept {
    // (RF1) Pairs with (RF2) to (RF4): sees the next element complete.
    return at.load(detail::at(detail::letter::RF1, detail::platform::acquire));
  }

  // For the writer, which sees the work of earlier writers by the lock that serialises them.
  static rcu_hlist_hook* next(const link& at) noexcept {
    return at.load(detail::platform::relaxed);
  }

  // Of an element that readers cannot reach before the publish() that follows.
  static void prepare(rcu_hlist_hook& fresh, rcu_hlist_hook* after) noexcept {
    fresh.next_.store(after, detail::platform::relaxed);
  }

  // Pairs with (RF1): release, so that readers see complete all that is reached from here on.
  static void publish(link& at, rcu_hlist_hook* after, detail::letter which) noexcept {
    at.store(after, detail::at(which, detail::platform::release));
  }

  // Between the link and what it leads to.
  static void link_in(rcu_hlist_hook& fresh, link& before) noexcept {
    rcu_hlist_hook* const after = next(before);
    prepare(fresh, after);
    fresh.leads_here_ = &before;
    publish(before, &fresh, detail::letter::RF2);
    if (after != nullptr) after->leads_here_ = &fresh.next_;
  }

  static void unlink(rcu_hlist_hook& old) noexcept {
    rcu_hlist_hook* const after = next(old.next_);
    // Another writer may have linked `after` since a reader reached the element before it.
    publish(*old.leads_here_, after, detail::letter::RF3);
    if (after != nullptr) after->leads_here_ = old.leads_here_;
    old.leads_here_ = nullptr;
  }

  link head_{nullptr};
};

// A list whose readers are in a domain that is given to its constructor.
template <class T, auto Hook = nullptr>
using domain_rcu_hlist = rcu_hlist<T, Hook, rcu_in_domain>;

}  // namespace readmost

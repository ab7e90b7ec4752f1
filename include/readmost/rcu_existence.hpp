// SPDX-License-Identifier: Apache-2.0
// A lock inside the object that it protects, for objects that are found under RCU: the patterns RCU
// Existence Locks and Mark Obsolete Objects (docs/patterns/).
//
//   struct session : readmost::rcu_existence_lock, readmost::rcu_obj_base<session> { ... };
//   readmost::rcu_hash_map<int, session*> sessions;
//
//   auto find(int id) {
//     return readmost::rcu_lock_existing([id] {
//       const auto found = sessions.find(id);
//       return found == sessions.end() ? nullptr : found->second;
//     });
//   }
//   void use(int id) {
//     if (auto found = find(id)) ++found->requests;  // nobody else has it, and it is in the map
//   }
//   void end_session(int id) {
//     if (auto found = find(id)) {
//       sessions.erase(id);
//       found.make_obsolete()->retire();
//     }
//   }
//
// Whoever finds an object in a section may lock it, since it is not reclaimed before the section
// ends. It may have been removed meanwhile: whoever removes it marks it obsolete under its lock,
// and an obsolete object cannot be locked any more. So the data under the lock is never stale, and
// as long as the lock is held the object exists, also after the section.
//
// The protocol. An object becomes reachable unlocked and complete. It is made unreachable, and
// marked, under its own lock; afterwards it is retired. A thread that holds an existence lock must
// not wait for a grace period (rcu_synchronize, rcu_barrier): another may wait for the lock inside
// a section. If writers also lock the structure in which the object is found, they take that lock
// second. In the child of a fork, objects that other threads had locked stay locked.
//
// Source: RCU 4.1.9 (RCU Existence Locks), 4.2.1 (Mark Obsolete Objects), 5.1 (System V IPC).
#pragma once

#include <readmost/detail/platform/cpp20.h>

#include <mutex>
#include <readmost/detail/platform/mutant.hpp>
#include <readmost/detail/threads/mutex.hpp>
#include <readmost/rcu.hpp>
#include <type_traits>
#include <utility>

namespace readmost {

// The lock: a base class or a member of the object. 8 bytes; neither recursive nor fair; waiting
// threads spin briefly, then sleep. Precondition of all members: the object is not reclaimed before
// they return, because the caller is in the section in which it found the object, or holds its
// lock. Thread safety: all members. Not signal-safe.
class rcu_existence_lock {
 public:
  constexpr rcu_existence_lock() noexcept = default;
  // A copy of an object is neither locked nor obsolete.
  constexpr rcu_existence_lock(const rcu_existence_lock&) noexcept {}
  constexpr rcu_existence_lock& operator=(const rcu_existence_lock&) noexcept { return *this; }

  // Locks the object, unless it is obsolete. True: the caller holds the lock, and nobody can remove
  // the object before unlock(). Waits while another thread holds it.
  [[nodiscard]] bool lock_existing() noexcept {
    mutex_.lock();
    return stays_locked();
  }
  // The same without waiting: false also where another thread holds the lock.
  [[nodiscard]] bool try_lock_existing() noexcept { return mutex_.try_lock() && stays_locked(); }

  // Precondition: the caller holds the lock. The object may be reclaimed as soon as another thread
  // can lock it.
  void unlock() noexcept { mutex_.unlock(); }

  // Precondition: the caller holds the lock, and nobody who starts to look for the object after it
  // is released finds it.
  void mark_obsolete() noexcept { obsolete_ = true; }

 private:
  bool stays_locked() noexcept {
    if (obsolete_ && !detail::is_mutant(detail::mutant::locks_obsolete)) [[unlikely]] {
      mutex_.unlock();
      return false;
    }
    return true;
  }

  detail::mutex mutex_;
  detail::platform::variable<bool> obsolete_{false};  // protected by the mutex
};

// An object that its owner has locked, hence exists, or none: a std::unique_lock that is also a
// pointer. T derives from rcu_existence_lock.
template <class T>
class [[nodiscard]] rcu_existing {
 public:
  constexpr rcu_existing() noexcept = default;
  // Takes over the lock of an object that the caller has locked.
  explicit rcu_existing(T* locked) noexcept : object_(locked) {}
  rcu_existing(rcu_existing&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  rcu_existing& operator=(rcu_existing&& other) noexcept {
    if (this != &other) {
      unlock();
      object_ = std::exchange(other.object_, nullptr);
    }
    return *this;
  }
  ~rcu_existing() { unlock(); }

  explicit operator bool() const noexcept { return object_ != nullptr; }
  T* get() const noexcept { return object_; }
  T& operator*() const noexcept { return *object_; }
  T* operator->() const noexcept { return object_; }

  // Releases the lock, if there is an object, which must not be used afterwards.
  void unlock() noexcept {
    if (object_ != nullptr) lock_of(*std::exchange(object_, nullptr)).unlock();
  }

  // Marks the object obsolete, releases its lock and returns it, for the caller to retire.
  // Preconditions: there is an object, and the caller has made it unreachable.
  [[nodiscard]] T* make_obsolete() noexcept {
    lock_of(*object_).mark_obsolete();
    T* const object = object_;
    unlock();
    return object;
  }

 private:
  static rcu_existence_lock& lock_of(T& object) noexcept { return object; }

  T* object_ = nullptr;
};

// Returns the object that find() finds, locked, or none if it finds none. find() returns a pointer;
// it is called in a read section of `dom`, and again if its object has been removed before it could
// be locked. Rethrows what find() throws. The object stays as it is until it is unlocked, also
// after the section, which ends with this function. Preconditions: the protocol above; the caller
// holds no lock that is taken by threads which hold the object's.
template <class Find>
auto rcu_lock_existing(Find find, rcu_domain& dom = rcu_default_domain()) {
  static_assert(std::is_pointer_v<std::invoke_result_t<Find&>>, "find() returns a pointer");
  using object = std::remove_pointer_t<std::invoke_result_t<Find&>>;
  for (;;) {
    const std::scoped_lock section(dom);
    object* const found = find();
    if (found == nullptr) return rcu_existing<object>();
    rcu_existence_lock& lock = *found;
    if (lock.lock_existing()) return rcu_existing<object>(found);
  }
}

}  // namespace readmost

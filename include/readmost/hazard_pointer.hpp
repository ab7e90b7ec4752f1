// SPDX-License-Identifier: Apache-2.0
// Hazard pointers in the shape of C++26 <hazard_pointer> ([saferecl.hp]), whose protect() executes
// no fence and no atomic read-modify-write.
//
//   struct node : readmost::hazard_pointer_obj_base<node> { int value; };
//   std::atomic<node*> current;
//
//   int reader() {
//     readmost::hazard_pointer hazard = readmost::make_hazard_pointer();
//     return hazard.protect(current)->value;  // not deleted before `hazard` lets go of it
//   }
//   void writer(node* fresh) {
//     current.exchange(fresh)->retire();
//   }
//
// Unlike a read section of RCU, a hazard pointer delays the reclamation of one object only, however
// long it is held. Names, interfaces and guarantees are the standard's; members marked as
// extensions are not in it.
//
// Method. protect() publishes the pointer in a slot of its own by a plain store and then loads the
// source again. A full fence belongs between the two; the thread that reclaims supplies it, as the
// writer of a lock does (src/threads/consensus.cpp): threads that use hazard pointers report by
// themselves, and one membarrier(2) covers the others. Threads that cannot take part (no
// membarrier(2), or no memory for a record) execute a fence of their own in protect().
//
// Cost: protect() about 2 ns more than the loads of the source; making and destroying a hazard
// pointer a few ns; retire() some 40 ns with its share of the scans of all hazard pointers.
// Progress: protect() is lock-free, all other members are wait-free except where they allocate
// memory.
//
// Bounded backlog. A thread that retires scans when, over all threads, 128 objects or 1 MiB of
// sizeof wait, or when the last scan was a second ago (hazard_pointer_limit_backlog() adjusts all
// three). The scan reclaims what any thread has retired, also a thread that is idle or has exited,
// unless it is protected. Let H be the number of hazard pointers, including up to 8 that each
// thread keeps for reuse. At most this waits, beside what scans in progress have taken:
//   objects: the larger of the limit and 2 H, and 16 for each thread that there has been at a time;
//   bytes: the limit, what the last scan found protected, and 64 KiB for each such thread.
// The clock is looked at in the 1st, 2nd, 4th, 8th and 16th of every 16 retirements of a thread. If
// no thread retires any more, so much stays until hazard_pointer_clean_up() is called.
//
// Deleters run in retire() and hazard_pointer_clean_up(). They may retire, protect, lock and wait.
// What they retire is reclaimed by the same call, in passes and not by recursion, unless it is
// protected. A deleter that throws ends the program. Objects that are not reclaimed when the
// process ends never are.
//
// Asynchronous reclamation: after hazard_pointer_reclaim_by(reclaiming::in_background) a thread of
// the library's own scans in place of those that retire, when they would and once more a second
// later as long as anything is left, so nothing stays that is not protected, and deleters may take
// locks that retiring threads hold. A thread that retires waits, 10 ms at most for each 16 objects
// or 64 KiB and outside of sections, where eight times the limit waits; so a deleter that needs the
// caller's lock delays it but does not stop it. exit() and the return of main() reclaim what was
// retired before, and wait a second for that at most, or run the deleters themselves if the system
// refuses the library its thread; afterwards objects are only queued. The thread ends when nothing
// has been left for a second, or all has been protected for a minute, and the next retirement
// starts it again, also in the child of a fork. With reclaiming::on_request
// deleters run in hazard_pointer_clean_up() alone, and nothing is bounded.
//
// Signal handlers may make, use and destroy hazard pointers of their own, but must not retire. In
// the child of a fork, objects that any thread of the parent protected stay protected. The child
// reclaims the objects that any thread had retired before the fork, except an object whose deleter
// was just running. Objects that other threads retire during the fork belong to the parent alone.
//
// Source: M. Michael, "Hazard Pointers: Safe Memory Reclamation for Lock-Free Objects", IEEE TPDS
// 2004.
#pragma once

#include <readmost/detail/platform/cpp20.h>

#include <cstddef>
#include <memory>
#include <new>
#include <readmost/detail/platform/exceptions.hpp>
#include <readmost/detail/rcu/hazard_slot.hpp>
#include <span>
#include <utility>

#if defined(READMOST_FAULTS)
#include <mutants/hazard_pointers.hpp>
#endif

namespace readmost {

#define READMOST_HAZARD_POINTER 202606L  // the value of __cpp_lib_hazard_pointer

using detail::hazard_backlog_limit;
using detail::hazard_pointer_clean_up;
using detail::hazard_pointer_limit_backlog;
using detail::hazard_pointer_reclaim_by;
using detail::reclaiming;

namespace detail {

[[noreturn]] inline void fail_for_want_of_memory() {
#if defined(__cpp_exceptions)
  throw std::bad_alloc();
#else
  __builtin_trap();
#endif
}

}  // namespace detail

// --- The classes ---------------------------------------------------------------------------------

// The base of objects that hazard pointers can protect: two pointers and the deleter. T may be
// incomplete here; it has exactly one such base, public and not virtual. D is default constructible
// and move assignable.
template <class T, class D = std::default_delete<T>>
class hazard_pointer_obj_base {
 public:
  // Evaluates `d(pointer to the object)` later, once no hazard pointer that protected the object
  // before this call still does. May run deleters of other objects. Precondition: called once in
  // the object's life, when no thread can reach the object anew.
  void retire(D d = D()) noexcept {
    readmost_retirable_.deleter = std::move(d);
    static constexpr detail::retired_kind kind{
        [](detail::retired* object) noexcept {
          auto* const self =
              reinterpret_cast<hazard_pointer_obj_base*>(object);  // its first member
          detail::call_deleter(self->readmost_retirable_.deleter, static_cast<T*>(self));
        },
        sizeof(T)};
    detail::retire_hazardous(readmost_retirable_.link, kind);
  }

 protected:
  // A copy is not retired with its original.
  hazard_pointer_obj_base() = default;
  hazard_pointer_obj_base(const hazard_pointer_obj_base&) = default;
  hazard_pointer_obj_base(hazard_pointer_obj_base&&) = default;
  hazard_pointer_obj_base& operator=(const hazard_pointer_obj_base&) = default;
  hazard_pointer_obj_base& operator=(hazard_pointer_obj_base&&) = default;
  ~hazard_pointer_obj_base() = default;

 private:
  detail::link_and_deleter<detail::uncopied_link, D> readmost_retirable_;
};

// Protects one object at a time, or none. Used by one thread at a time; it may be moved to another
// thread.
class hazard_pointer {
 public:
  // Makes an empty one, to be assigned to.
  hazard_pointer() noexcept = default;
  hazard_pointer(hazard_pointer&& other) noexcept : slot_(std::exchange(other.slot_, nullptr)) {}
  hazard_pointer& operator=(hazard_pointer&& other) noexcept {
    hazard_pointer(std::move(other)).swap(*this);
    return *this;
  }
  ~hazard_pointer() {
    if (slot_ == nullptr) return;
    detail::unpublish(*slot_);
    detail::give_back_hazard_slot(*slot_);
  }

  [[nodiscard]] bool empty() const noexcept { return slot_ == nullptr; }

  // Precondition of all members below except swap(): not empty.

  // Protects the object that `source` points to, and returns it. Tries again while `source`
  // changes.
  template <class T>
  T* protect(const detail::platform::atomic<T*>& source) noexcept {
    T* pointer = source.load(detail::platform::relaxed);
    while (!try_protect(pointer, source)) {
    }
    return pointer;
  }

  // Protects *pointer if `source` still points to it. Otherwise protects nothing, and `pointer`
  // becomes the value of `source`.
  template <class T>
  bool try_protect(T*& pointer, const detail::platform::atomic<T*>& source) noexcept {
    T* const old = pointer;
    pointer = READMOST_VARIANT(hazard_after_validation, protect_and_load(old, source),
                               detail::load_and_protect(*this, old, source));
    if (old == pointer) return true;
    reset_protection();
    return false;
  }

  // Protects *pointer provided that it is not retired before this call, which the caller must know:
  // for instance because the source still points to it afterwards, or because no other thread can
  // retire it. If another hazard pointer already protects it, move that one or swap the two
  // instead.
  template <class T>
  void reset_protection(const T* pointer) noexcept {
    if (pointer != nullptr) {
      publish(*slot_, identity<T>(pointer));
    } else {
      reset_protection();
    }
  }
  // Protects nothing.
  void reset_protection(std::nullptr_t = nullptr) noexcept { detail::unpublish(*slot_); }

  void swap(hazard_pointer& other) noexcept { std::swap(slot_, other.slot_); }

 private:
  friend hazard_pointer make_hazard_pointer();
  friend void make_hazard_pointer_batch(std::span<hazard_pointer> batch);

  explicit hazard_pointer(detail::hazard_slot& slot) noexcept : slot_(&slot) {}

  // Fills the empty ones of the batch, or none.
  static bool fill(hazard_pointer* batch, std::size_t size) noexcept {
    detail::hazard_slot* made = nullptr;
    for (std::size_t i = 0; i < size; ++i) {
      if (!batch[i].empty()) continue;
      detail::hazard_slot* const slot = detail::take_hazard_slot();
      if (slot == nullptr) {
        while (made != nullptr) detail::give_back_hazard_slot(*std::exchange(made, made->before));
        return false;
      }
      slot->before = made;
      made = slot;
    }
    for (std::size_t i = size; i-- > 0;) {
      if (batch[i].empty()) batch[i].slot_ = std::exchange(made, made->before);
    }
    return true;
  }

  template <class T>
  T* protect_and_load(T* pointer, const detail::platform::atomic<T*>& source) noexcept {
    reset_protection(pointer);
    // (HP5) Pairs with the release by which the caller's program stored the pointer: sees the
    // object complete.
    return source.load(detail::at(detail::letter::HP5, detail::platform::acquire));
  }

  // The address by which scans know the object, which may be deleted already.
  template <class T, class D>
  static const detail::retired* identity(const hazard_pointer_obj_base<T, D>* object) noexcept {
    return reinterpret_cast<const detail::retired*>(object);
  }

  detail::hazard_slot* slot_ = nullptr;
};

// Makes a hazard pointer that is not empty. Throws std::bad_alloc, or ends a program that is
// compiled without exceptions.
inline hazard_pointer make_hazard_pointer() {
  detail::hazard_slot* const slot = detail::take_hazard_slot();
  if (slot == nullptr) detail::fail_for_want_of_memory();
  return hazard_pointer(*slot);
}

// Makes each empty element of the batch a hazard pointer that is not empty. Throws as
// make_hazard_pointer() does, and then has no effect. C++29 (P3428R4).
inline void make_hazard_pointer_batch(std::span<hazard_pointer> batch) {
  if (hazard_pointer::fill(batch.data(), batch.size())) return;
  detail::fail_for_want_of_memory();
}

// Makes each element empty, as its destructor would. C++29 (P3428R4).
inline void clear_hazard_pointer_batch(std::span<hazard_pointer> batch) noexcept {
  for (hazard_pointer& each : batch) each = hazard_pointer();
}

inline void swap(hazard_pointer& left, hazard_pointer& right) noexcept {
  left.swap(right);
}

}  // namespace readmost

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
// Unlike a read section of RCU a hazard pointer keeps back one object and no other, however long
// it is held. Names, shapes and guarantees of the standard are kept; what is marked as an extension
// is not in it.
//
// How. protect() publishes the pointer in a slot of its own by a plain store, and then looks at the
// source again. The fence that belongs between the two is brought about by who reclaims, as for a
// lock's writer (src/threads/consensus.cpp): threads that use hazard pointers report by themselves,
// and for the others there is one membarrier(2). Threads that cannot take part (no membarrier(2),
// or no memory for a record) execute a fence of their own in protect().
//
// Cost: protect() about 2 ns more than the loads of the source, make_hazard_pointer() with the
// destructor some ns; retire() some 10 ns, and every so often a scan of all hazard pointers.
// Progress: protect() lock-free, all else of the class wait-free but for the making of memory.
//
// Bounded backlog. Let H be how many hazard pointers there are (besides, each thread keeps up to 8
// for later, which count) and L the larger of 64 and 2 H. A thread that has L retired objects scans
// and reclaims all that is not protected, at least half of them. So at most L objects wait for each
// thread there has been at a time, beyond what deleters retire while a scan calls them. The objects
// of threads that have exited are taken over by the next scan.
//
// Deleters run in retire() and hazard_pointer_clean_up(). They may retire, protect, lock and wait;
// a scan inside a deleter is left to the next call. One that throws ends the program. What is not
// reclaimed when the process ends never is.
//
// Signal handlers may make, use and destroy hazard pointers of their own, but not retire. In a
// fork's child, what was protected by any thread of the parent remains so, and what any thread had
// retired before is reclaimed by the child, but for the object that a thread was just reclaiming.
// What other threads retire during the fork is the parent's alone.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <readmost/detail/rcu/hazard_slot.hpp>
#include <utility>

#if defined(READMOST_FAULTS)
#include <mutants/hazard_pointers.hpp>
#endif

namespace readmost {

#define READMOST_HAZARD_POINTER 202306L  // the value of __cpp_lib_hazard_pointer

using detail::hazard_pointer_clean_up;

// --- The classes ---------------------------------------------------------------------------------

// The base of objects that hazard pointers can protect: two pointers and the deleter. T may be
// incomplete here; it has exactly one such base, public and not virtual. D is default constructible
// and move assignable.
template <class T, class D = std::default_delete<T>>
class hazard_pointer_obj_base : private detail::retired {
 public:
  // Has `d(pointer to the object)` evaluated once no hazard pointer protects it that did so before
  // it was retired. Once in the object's life, when nobody can find it any more. May evaluate
  // deleters of other objects.
  void retire(D d = D()) noexcept {
    deleter_ = std::move(d);
    static constexpr detail::retired_kind kind{
        [](detail::retired* object) noexcept {
          auto* const self = static_cast<hazard_pointer_obj_base*>(object);
          D deleter = std::move(self->deleter_);  // the object goes, and this member with it
          deleter(static_cast<T*>(self));
        },
        sizeof(T)};
    detail::retire_hazardous(*this, kind);
  }

 protected:
  hazard_pointer_obj_base() = default;
  // What is retired is the object, not its copies.
  hazard_pointer_obj_base(const hazard_pointer_obj_base& other)
      : detail::retired(), deleter_(other.deleter_) {}
  hazard_pointer_obj_base(hazard_pointer_obj_base&& other)
      : detail::retired(), deleter_(std::move(other.deleter_)) {}
  hazard_pointer_obj_base& operator=(const hazard_pointer_obj_base& other) {
    deleter_ = other.deleter_;
    return *this;
  }
  hazard_pointer_obj_base& operator=(hazard_pointer_obj_base&& other) {
    deleter_ = std::move(other.deleter_);
    return *this;
  }
  ~hazard_pointer_obj_base() = default;

 private:
  friend class hazard_pointer;

  [[no_unique_address]] D deleter_{};
};

// Protects one object at a time, or none. One thread at a time uses it; it may be moved to another.
class hazard_pointer {
 public:
  // Empty: to be assigned to.
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

  // The precondition of all that follow but swap(): not empty.

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
  // becomes what `source` points to.
  template <class T>
  bool try_protect(T*& pointer, const detail::platform::atomic<T*>& source) noexcept {
    T* const old = pointer;
    pointer = READMOST_VARIANT(hazard_after_validation, protect_and_load(old, source),
                               detail::load_and_protect(*this, old, source));
    if (old == pointer) return true;
    reset_protection();
    return false;
  }

  // Protects *pointer, if it is not retired before this call: for instance, if `source` still
  // points to it when looked at afterwards, or if nobody else can retire it. Where another hazard
  // pointer protects it already, move that one or swap the two instead.
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

  explicit hazard_pointer(detail::hazard_slot& slot) noexcept : slot_(&slot) {}

  template <class T>
  T* protect_and_load(T* pointer, const detail::platform::atomic<T*>& source) noexcept {
    reset_protection(pointer);
    // (HP5) Pairs with the caller's own release: the object is as who put it there left it.
    return source.load(detail::at(detail::letter::HP5, detail::platform::acquire));
  }

  // What scans know the object by. Only an address: the object may be gone.
  template <class T, class D>
  static const detail::retired* identity(const hazard_pointer_obj_base<T, D>* object) noexcept {
    return object;
  }

  detail::hazard_slot* slot_ = nullptr;
};

// One that is not empty. Throws std::bad_alloc; ends a program that has no exceptions.
inline hazard_pointer make_hazard_pointer() {
  detail::hazard_slot* const slot = detail::take_hazard_slot();
  if (slot == nullptr) {
#if defined(__cpp_exceptions)
    throw std::bad_alloc();
#else
    __builtin_trap();
#endif
  }
  return hazard_pointer(*slot);
}

inline void swap(hazard_pointer& left, hazard_pointer& right) noexcept {
  left.swap(right);
}

}  // namespace readmost

// Pointers that readers of RCU share: functions that read and publish through an atomic pointer,
// and a class that owns the object it points to and retires it when another one takes its place.
//
//   readmost::rcu_pointer<config> current(std::make_unique<config>());
//
//   void reader() {
//     readmost::rcu_reader section;
//     use(*current.load());
//   }
//   void writer(std::unique_ptr<config> fresh) { current.assign(std::move(fresh)); }
//
// Source: RCU 3 (rcu_dereference, rcu_assign_pointer).
#pragma once

#include <memory>
#include <readmost/detail/platform/heap.hpp>
#include <readmost/rcu.hpp>
#include <type_traits>
#include <utility>

namespace readmost {

namespace detail {

// In programs built with READMOST_RCU_CHECK: reports a call outside of all read sections of `dom`.
inline void check_reader([[maybe_unused]] const rcu_domain& dom) noexcept {
#if defined(READMOST_RCU_CHECK)
  check_dereference(number_of(dom.core()));
#endif
}

// A std::atomic<T*>, but in the checker.
template <class T>
using atomic_pointer = platform::atomic<T*>;

}  // namespace detail

// Loads a std::atomic<T*>; the object it points to stays valid until the caller's section of `dom`
// ends. Precondition: the caller is inside a section of `dom`. Thread safety: any; signal-safe.
// Wait-free; costs an acquire load, on x86 a plain one.
template <class T>
[[nodiscard]] T* rcu_dereference(const detail::atomic_pointer<T>& source,
                                 const rcu_domain& dom = rcu_default_domain()) noexcept {
  detail::check_reader(dom);
  // (RP1) Pairs with (RP2), (RP3): sees the object as it was published. Not consume, which
  // compilers turn into acquire or into wrong code.
  return source.load(detail::at(detail::letter::RP1, detail::platform::acquire));
}

// Stores into a std::atomic<T*>: publishes the object that `fresh` points to, which must be
// complete by now. The caller retires the object that was there before. For one writer at a time;
// several use the atomic's exchange() with std::memory_order_acq_rel. Wait-free, signal-safe.
template <class T>
void rcu_assign_pointer(detail::atomic_pointer<T>& destination,
                        std::type_identity_t<T*> fresh) noexcept {
  // (RP2) Pairs with (RP1).
  destination.store(fresh, detail::at(detail::letter::RP2, detail::platform::release));
}

// Owns an object, or none, that readers may use, and retires it when another one takes its place:
// an atomic std::unique_ptr whose deleter runs after a grace period. T may be const. D is default
// constructible. With T derived from rcu_obj_base<T, D>, retiring allocates nothing. 8 bytes.
//
// Thread safety: all members but the destructor may run at once. A pointer belongs to one domain:
// pass the same `dom` to all its members.
template <class T, class D = std::default_delete<T>>
class rcu_pointer {
 public:
  using element_type = T;
  using owner = std::unique_ptr<T, D>;

  constexpr rcu_pointer() noexcept = default;
  explicit rcu_pointer(owner object) noexcept : pointer_(object.release()) {}
  rcu_pointer(const rcu_pointer&) = delete;
  rcu_pointer& operator=(const rcu_pointer&) = delete;
  // Deletes the object at once. Precondition: no reader uses it any more.
  ~rcu_pointer() { owner(pointer_.load(detail::platform::relaxed)); }

  // Returns the object, or null; it stays valid until the caller's section of `dom` ends.
  // Precondition: the caller is inside one. Signal-safe, wait-free; costs an rcu_dereference().
  [[nodiscard]] T* load(const rcu_domain& dom = rcu_default_domain()) const noexcept {
    return rcu_dereference<T>(pointer_, dom);
  }

  // Whether there is an object. Needs no section.
  explicit operator bool() const noexcept {
    return pointer_.load(detail::platform::relaxed) != nullptr;
  }

  // Puts another object in its place and returns the old one, which readers may still be using: the
  // caller retires it, or deletes it after a grace period. Wait-free.
  [[nodiscard]] T* exchange(owner fresh) noexcept {
    // (RP3) Release, pairs with (RP1). Acquire, pairs with (RP3) of the writer that published the
    // old object, which the caller is going to retire.
    return pointer_.exchange(fresh.release(),
                             detail::at(detail::letter::RP3, detail::platform::acq_rel));
  }

  // Puts another object in its place and retires the old one. If it throws std::bad_alloc, nothing
  // has changed and `fresh` is deleted. Costs an exchange and rcu_retire() or retire(); rcu.hpp
  // says how long those may wait.
  void assign(owner fresh,
              rcu_domain& dom = rcu_default_domain()) noexcept(retires_without_allocating) {
    if constexpr (retires_without_allocating) {
      if (T* const old = exchange(std::move(fresh))) mutable_pointer(old)->retire(D(), dom);
    } else {
      auto parcel = std::make_unique<retired_owner>();
      parcel->object.reset(exchange(std::move(fresh)));
      if (parcel->object != nullptr) {
        detail::schedule(dom.core(), *parcel, retired_owner::kind);
        static_cast<void>(parcel.release());
      }
    }
  }

  // Retires the object and leaves none.
  void reset(rcu_domain& dom = rcu_default_domain()) noexcept(retires_without_allocating) {
    assign(owner(), dom);
  }

 private:
  using object_type = std::remove_const_t<T>;

  static constexpr bool retires_without_allocating =
      std::is_base_of_v<rcu_obj_base<object_type, D>, object_type>;

  static object_type* mutable_pointer(T* object) noexcept {
    return const_cast<object_type*>(object);  // the object is given up, not changed
  }

  // Allocated before the exchange, so that nothing can fail after it.
  struct retired_owner : detail::retired, detail::platform::heap_object {
    owner object;

    static constexpr detail::retired_kind kind{
        [](detail::retired* parcel) noexcept { delete static_cast<retired_owner*>(parcel); },
        sizeof(T)};
  };

  detail::atomic_pointer<T> pointer_{nullptr};
};

}  // namespace readmost

// SPDX-License-Identifier: Apache-2.0
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
//   void other_writer() { current.update([](config& copy) { ++copy.generation; }); }
//
// Source: RCU 3 (rcu_dereference, rcu_assign_pointer).
#pragma once

#include <readmost/detail/platform/cpp20.h>

#include <concepts>
#include <memory>
#include <mutex>
#include <readmost/detail/platform/heap.hpp>
#include <readmost/rcu_in_domain.hpp>
#include <type_traits>
#include <utility>

namespace readmost {

namespace detail {

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
// an atomic std::unique_ptr whose deleter runs after a grace period. T may be const. With T derived
// from rcu_obj_base<T, D>, retiring allocates nothing. `In`: the domain of the readers, in which
// all members retire (rcu_in_domain.hpp). 8 bytes, and 8 for a domain that is given, and D if it
// has state.
//
// D is copy constructible. The deleter belongs to the pointer, which has that of the owner it is
// constructed with (or a default constructed one) and deletes all its objects by copies of it: the
// deleters of other owners are dropped, so they must do the same.
//
// Thread safety: all members but the destructor may run at once. Members that retire wait, outside
// of sections, while the backlog is above its limit: rcu.hpp says how long. If one throws, nothing
// has changed, and the owner that was passed to it still has its object, or has deleted it if it
// was passed by value.
template <class T, class D = std::default_delete<T>, class In = rcu_in_default_domain>
class rcu_pointer : private In {
 public:
  using element_type = T;
  using deleter_type = D;
  using owner = std::unique_ptr<T, D>;

  constexpr rcu_pointer() noexcept
    requires std::default_initializable<In> && std::default_initializable<D>
  = default;
  explicit rcu_pointer(owner object) noexcept
    requires std::default_initializable<In>
      : deleter_(std::as_const(object).get_deleter()), pointer_(object.release()) {}
  explicit rcu_pointer(In in, owner object = owner()) noexcept
      : In(in), deleter_(std::as_const(object).get_deleter()), pointer_(object.release()) {}
  rcu_pointer(const rcu_pointer&) = delete;
  rcu_pointer& operator=(const rcu_pointer&) = delete;
  // Deletes the object at once. Precondition: no reader uses it any more.
  ~rcu_pointer() { own(pointer_.load(detail::platform::relaxed)); }

  rcu_domain& domain() const noexcept { return In::domain(); }
  const D& get_deleter() const noexcept { return deleter_; }

  // Returns the object, or null; it stays valid until the caller's section of the domain ends.
  // Precondition: the caller is inside one. Signal-safe, wait-free; costs an rcu_dereference().
  [[nodiscard]] T* load() const noexcept { return rcu_dereference<T>(pointer_, domain()); }

  // Whether there is an object. Needs no section.
  explicit operator bool() const noexcept {
    return pointer_.load(detail::platform::relaxed) != nullptr;
  }

  // Puts another object in its place and returns the old one, which readers may still be using: the
  // caller retires it, or deletes it after a grace period. Wait-free.
  [[nodiscard]] T* exchange(owner fresh) noexcept {
    // (RP3) Release, pairs with (RP1). Acquire, pairs with (RP3), (RP4) of the writer that
    // published the old object, which the caller is going to retire.
    return pointer_.exchange(fresh.release(),
                             detail::at(detail::letter::RP3, detail::platform::acq_rel));
  }

  // Puts another object in its place and retires the old one. Throws std::bad_alloc unless the
  // object can retire by itself. Costs an exchange and rcu_retire() or retire().
  void assign(owner fresh) noexcept(retires_without_allocating) {
    retirement old(*this);
    old.take(exchange(std::move(fresh)));
  }

  // Retires the object and leaves none.
  void reset() noexcept(retires_without_allocating) {
    retirement old(*this);
    old.take(exchange(own(nullptr)));
  }

  // Puts the object of `fresh` in the place of `expected` and retires that; `fresh` is then empty.
  // If another object is there, sets `expected` to that and returns false. Precondition: the caller
  // is inside the section in which it loaded `expected` (or that is null), or else another object
  // may be at the same address. Throws as assign(). Lock-free; since the caller is inside a
  // section, retiring does not wait.
  [[nodiscard]] bool compare_exchange(T*& expected,
                                      owner& fresh) noexcept(retires_without_allocating) {
    retirement old(*this);
    if (!replace(expected, fresh.get())) {
      expected = load();
      return false;
    }
    static_cast<void>(fresh.release());
    old.take(expected);
    return true;
  }

  // Read, copy, update: calls f(copy) for a copy of the object, publishes the copy in its place,
  // and retires the old one. Begins again if another thread has replaced the object meanwhile, so f
  // may be called several times, each time with a new copy. f may return false to leave the object
  // alone. Returns whether the object was replaced; false if there is none. Copies are made by
  // `new`. May throw what f and the copy constructor throw, and std::bad_alloc. Lock-free, as f is.
  template <class F>
  bool update(F f) {
    return renew([&](const T& old) {
      std::unique_ptr<object_type> copy(new object_type(old));
      if constexpr (std::is_void_v<std::invoke_result_t<F&, object_type&>>) {
        f(*copy);
      } else {
        if (!f(*copy)) copy.reset();
      }
      return owner(copy.release(), deleter_);
    });
  }

  // The same for copies that are not made by `new`: f(const T& old) returns the owner of the object
  // that is to take its place, or an empty one to leave it alone.
  template <class F>
  bool renew(F f) {
    retirement parcel(*this);  // ends after the section, so that it may wait
    const std::scoped_lock section(domain());
    for (T* old = load(); old != nullptr; old = load()) {
      owner fresh = f(std::as_const(*old));
      if (fresh == nullptr) return false;
      if (replace(old, fresh.get())) {
        static_cast<void>(fresh.release());
        parcel.take(old);
        return true;
      }
    }
    return false;
  }

 private:
  using object_type = std::remove_const_t<T>;

  static constexpr bool retires_without_allocating =
      std::is_base_of_v<rcu_obj_base<object_type, D>, object_type>;

  owner own(T* object) const { return owner(object, deleter_); }

  bool replace(T* expected, T* fresh) noexcept {
    // (RP4) Pairs with (RP1), by which the caller has also loaded `expected`; if this fails, it
    // does so again.
    return pointer_.compare_exchange_strong(
        expected, fresh, detail::at(detail::letter::RP4, detail::platform::release),
        detail::platform::relaxed);
  }

  // Retired in the place of an object that cannot retire by itself.
  struct retired_owner : detail::retired, detail::platform::heap_object {
    explicit retired_owner(owner&& empty) noexcept : object(std::move(empty)) {}
    owner object;

    static constexpr detail::retired_kind kind{
        [](detail::retired* parcel) noexcept { delete static_cast<retired_owner*>(parcel); },
        sizeof(T)};
  };
  // Each holds the old object and retires it at its end.
  class retirement_by_itself {
   public:
    explicit retirement_by_itself(rcu_pointer& of) noexcept : of_(of) {}
    retirement_by_itself(const retirement_by_itself&) = delete;
    retirement_by_itself& operator=(const retirement_by_itself&) = delete;
    ~retirement_by_itself() {
      if constexpr (retires_without_allocating) {
        // The object is given up, not changed.
        if (old_ != nullptr) const_cast<object_type*>(old_)->retire(of_.deleter_, of_.domain());
      }
    }
    void take(T* old) noexcept { old_ = old; }

   private:
    rcu_pointer& of_;
    T* old_ = nullptr;
  };
  // Allocates before anything is changed, so that nothing can fail afterwards.
  class retirement_in_parcel {
   public:
    explicit retirement_in_parcel(rcu_pointer& of)
        : parcel_(new retired_owner(of.own(nullptr))), domain_(of.domain()) {}
    retirement_in_parcel(const retirement_in_parcel&) = delete;
    retirement_in_parcel& operator=(const retirement_in_parcel&) = delete;
    ~retirement_in_parcel() {
      if (parcel_->object == nullptr) return;
      detail::schedule(domain_.core(), *parcel_, retired_owner::kind);
      static_cast<void>(parcel_.release());
    }
    void take(T* old) noexcept { parcel_->object.reset(old); }

   private:
    std::unique_ptr<retired_owner> parcel_;
    rcu_domain& domain_;
  };
  using retirement =
      std::conditional_t<retires_without_allocating, retirement_by_itself, retirement_in_parcel>;

  [[no_unique_address]] D deleter_{};
  detail::atomic_pointer<T> pointer_{nullptr};
};

// A pointer whose readers are in a domain that is given to its constructor.
template <class T, class D = std::default_delete<T>>
using domain_rcu_pointer = rcu_pointer<T, D, rcu_in_domain>;

}  // namespace readmost

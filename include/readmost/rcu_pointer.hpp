// Pointers to what readers of RCU share: how to read one inside a section and how to publish
// through one, and a slot that owns what it points to and retires it.
//
//   readmost::rcu_pointer<config> current(std::make_unique<config>());
//
//   void reader() {
//     readmost::rcu_reader section;
//     use(*current.load());
//   }
//   void writer(std::unique_ptr<const config> fresh) { current.assign(std::move(fresh)); }
//
// Source: RCU 3 (rcu_dereference, rcu_assign_pointer).
#pragma once

#include <atomic>
#include <memory>
#include <readmost/rcu.hpp>
#include <type_traits>
#include <utility>

namespace readmost {

namespace detail {

// In programs built with READMOST_RCU_CHECK: reports who reads outside of all sections.
inline void check_reader([[maybe_unused]] const rcu_domain& dom) noexcept {
#if defined(READMOST_RCU_CHECK)
  detail::check_dereference(detail::number_of(dom.core()));
#endif
}

}  // namespace detail

// The pointer, for as long as the caller's section of `dom` is open. Precondition: it is. Thread
// and signal safety: any. Wait-free; on x86 and where loads keep the order of dependent ones by
// `ldapr` a plain load.
template <class T>
[[nodiscard]] T* rcu_dereference(const std::atomic<T*>& source,
                                 const rcu_domain& dom = rcu_default_domain()) noexcept {
  detail::check_reader(dom);
  // Acquire, with the release of rcu_assign_pointer(): what it points to is seen as published. Not
  // consume: compilers make that acquire, or wrong code.
  return source.load(std::memory_order_acquire);
}

// Publishes what `fresh` points to, which has to be complete by now. What was there before is the
// caller's to retire; where there are several writers use exchange() of the atomic, release at
// least. Wait-free.
template <class T>
void rcu_assign_pointer(std::atomic<T*>& destination, std::type_identity_t<T*> fresh) noexcept {
  // Release, with the acquire of rcu_dereference().
  destination.store(fresh, std::memory_order_release);
}

// Holds an object, or none, that readers may use, and retires it when another one takes its place.
// Like a std::unique_ptr that is atomic, and whose deleter runs after a grace period. T may be
// const. D is default constructible; with T derived from rcu_obj_base<T, D>, retiring allocates
// nothing. 8 bytes.
//
// Thread safety: all members at once, but the destructor. What differs in `dom` is the readers that
// are waited for: one pointer belongs to one domain.
template <class T, class D = std::default_delete<T>>
class rcu_pointer {
 public:
  using element_type = T;
  using owner = std::unique_ptr<T, D>;

  constexpr rcu_pointer() noexcept = default;
  explicit rcu_pointer(owner object) noexcept : pointer_(object.release()) {}
  rcu_pointer(const rcu_pointer&) = delete;
  rcu_pointer& operator=(const rcu_pointer&) = delete;
  // Deletes the object at once. Precondition: no reader is left.
  ~rcu_pointer() { owner(pointer_.load(std::memory_order_relaxed)); }

  // The object, or null, for as long as the caller's section of `dom` is open. Precondition: it is.
  // Signal-safe, wait-free; costs what rcu_dereference() costs.
  [[nodiscard]] T* load(const rcu_domain& dom = rcu_default_domain()) const noexcept {
    return rcu_dereference(pointer_, dom);
  }

  // Whether there is an object. Needs no section.
  explicit operator bool() const noexcept {
    return pointer_.load(std::memory_order_relaxed) != nullptr;
  }

  // Puts another object in its place. What is returned may be in use by readers and is the
  // caller's to retire, or to delete after a grace period. Wait-free.
  [[nodiscard]] T* exchange(owner fresh) noexcept {
    // Release, with the acquire of load(): the fresh object is seen complete. Acquire, with the
    // release of the writer before: the old one is complete for who deletes it.
    return pointer_.exchange(fresh.release(), std::memory_order_acq_rel);
  }

  // The same, and retires what was there. If it throws std::bad_alloc nothing has changed, and
  // `fresh` is deleted. Costs an exchange and rcu_retire(), or retire(): see there for how long it
  // may take.
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

  // Leaves nothing there, and retires what was.
  void reset(rcu_domain& dom = rcu_default_domain()) noexcept(retires_without_allocating) {
    assign(owner(), dom);
  }

 private:
  using object_type = std::remove_const_t<T>;

  static constexpr bool retires_without_allocating =
      std::is_base_of_v<rcu_obj_base<object_type, D>, object_type>;

  static object_type* mutable_pointer(T* object) noexcept {
    return const_cast<object_type*>(object);  // it is not being changed but given up
  }

  // Allocated before the exchange, so that nothing can fail after it.
  struct retired_owner : detail::retired {
    owner object;

    static constexpr detail::retired_kind kind{
        [](detail::retired* parcel) noexcept { delete static_cast<retired_owner*>(parcel); },
        sizeof(T)};
  };

  std::atomic<T*> pointer_{nullptr};
};

}  // namespace readmost

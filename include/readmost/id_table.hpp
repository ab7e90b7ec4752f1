// SPDX-License-Identifier: Apache-2.0
// A table of objects that are found by id, in the manner of the semaphores of System V IPC: file
// descriptors, sessions, timers, handles that are given to other programs.
//
//   readmost::id_table<session> sessions;
//
//   readmost::object_id id = sessions.emplace("alice");
//   if (auto s = sessions.lock(id)) s->requests.push_back(request);  // alone with the object
//   sessions.visit(id, [](const session& s) { use(s.name); });       // beside others
//   sessions.erase(id);
//
// No id is ever given out twice by a table. Its lower bits are the number of a slot, the bits above
// them count the objects that have had this slot; the count does not wrap around: a slot whose
// counts are used up stays empty. So the id of an object that is gone finds nothing, whatever has
// come since; 0 and numbers that were never ids find nothing either. With 32 bits of both, as at
// first, each slot serves 4,294,967,295 objects, one after the other. An id_table<T, M, 20, 11> has
// ids that fit into an int.
//
// Each object has a lock. Whoever holds it is alone with the object, except for readers inside a
// section (find(), visit(), for_each()), which take no lock: what these read beside lock holders
// that change it must be atomic or constant. An object that is locked stays in the table until the
// lock is released, except by erase() of the holder.
//
// Readers: find(), visit(), contains(), for_each(). They write nothing shared and wait for nothing.
// find() requires a section of the table's domain, which must last until the caller is done with
// the object; the others open one themselves. Any thread, at any time. Wait-free; a lookup costs
// three dependent loads. Signal-safe.
//
// Locking: lock() costs a lookup, and the lock and unlock of the mutex. The guard that it returns
// needs no section and delays no grace period, so it may be held for long, and its holder may wait
// for grace periods. A thread that waits for a lock does so outside of sections, unless the caller
// is inside one. Not signal-safe.
//
// Writers: emplace(), insert(), erase() and the others. Any number of threads at once; each takes
// a mutex of the table for some stores, after the object's lock. erase() waits for the holder of
// the object's lock. When all slots are taken, the writer that needs another one doubles the array
// of slots: it copies 24 bytes for each, holding that mutex, while all readers and lock holders go
// on. Objects and arrays taken out are retired; retire() in rcu.hpp says when they are deleted, and
// how long a writer may wait for that. Constructors run before the mutex is taken. If they throw,
// or memory runs out, the table is unchanged. Not signal-safe. The child of a fork must not write
// if another thread may have been writing.
//
// Source: RCU 5.1 (Figs. 20 to 25): A. Arcangeli, M. Cao, P. McKenney, D. Sarma, "Using Read-Copy
// Update Techniques for System V IPC in the Linux 2.5 Kernel", USENIX ATC 2003.
#pragma once

#include <readmost/detail/platform/cpp20.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <readmost/detail/platform/exceptions.hpp>
#include <readmost/detail/platform/heap.hpp>
#include <readmost/detail/rcu/id_slots.hpp>
#include <readmost/rcu_pointer.hpp>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace readmost {

// Never 0.
using object_id = std::uint64_t;

namespace detail {

template <class T, class Mutex, unsigned lower, unsigned upper>
struct alignas(platform::cache_line) object_node final : id_node<Mutex>, platform::heap_object {
  template <class... Args>
  explicit object_node(Args&&... arguments) : value(std::forward<Args>(arguments)...) {}

  static constexpr unsigned index_bits = lower;
  static constexpr unsigned generation_bits = upper;

  static void* allocate(std::size_t bytes) noexcept {
    READMOST_TRY {
      return platform::allocator<std::byte>().allocate(bytes);
    }
    READMOST_CATCH(const std::bad_alloc&) {
      return nullptr;
    }
  }
  static void deallocate(void* memory, std::size_t bytes) noexcept {
    platform::allocator<std::byte>().deallocate(static_cast<std::byte*>(memory), bytes);
  }

  void retire(domain& d) noexcept {
    static constexpr retired_kind kind{
        [](retired* object) noexcept { delete static_cast<object_node*>(object); },
        sizeof(object_node)};
    schedule(d, *this, kind);
  }
  void destroy() noexcept { delete this; }

  T value;
};

}  // namespace detail

// T needs to be neither copied nor moved. Mutex is default constructible and has lock(), try_lock()
// and unlock(), which accesses nothing of the mutex once another thread can lock it, as POSIX
// demands of pthread_mutex_unlock(): std::mutex and readmost::shared_mutex, for instance. The
// default has 4 bytes and sleeps on a futex. lock_shared() requires lock_shared() of Mutex.
// An object takes a cache line, or more if it has more than 24 bytes with that mutex.
template <class T, class Mutex = detail::mutex, unsigned index_bits = 32,
          unsigned generation_bits = 64 - index_bits>
class id_table {
  static_assert(index_bits >= 1 && generation_bits >= 1 && index_bits + generation_bits <= 64);
  using node = detail::object_node<T, Mutex, index_bits, generation_bits>;
  using slots = detail::id_slots<node>;
  static constexpr bool shareable = requires(Mutex& of) { of.lock_shared(); };

 public:
  using id_type = object_id;
  using value_type = T;
  using size_type = std::size_t;
  using mutex_type = Mutex;

  // The most objects that a table may have at a time.
  static constexpr std::uint64_t most_objects = std::uint64_t{1} << index_bits;

  // `most`: objects at a time. The domain must outlive the table. Throws std::bad_alloc, and
  // std::length_error if `most` is above most_objects.
  explicit id_table(std::uint64_t most = most_objects, rcu_domain& dom = rcu_default_domain())
      : slots_(most, first_array(most), dom.core()), domain_(dom) {}
  explicit id_table(rcu_domain& dom) : id_table(most_objects, dom) {}
  id_table(const id_table&) = delete;
  id_table& operator=(const id_table&) = delete;
  // Deletes the objects at once. Precondition: no thread uses the table, holds a guard of it or
  // reads one of its objects.
  ~id_table() = default;

  // --- Readers -----------------------------------------------------------------------------------

  // Returns the object, or null if none has that id any more. Precondition: the caller is inside a
  // section.
  T* find(object_id id) noexcept { return value_of(found(id)); }
  const T* find(object_id id) const noexcept { return value_of(found(id)); }

  bool contains(object_id id) const noexcept {
    const auto inside = slots_.open_section();
    return slots_.find(id) != nullptr;
  }

  // Calls f(T&) inside a section if there is such an object; returns whether there is.
  template <class F>
  bool visit(object_id id, F&& f) {
    return visit_in(*this, id, std::forward<F>(f));
  }
  template <class F>
  bool visit(object_id id, F&& f) const {
    return visit_in(*this, id, std::forward<F>(f));
  }

  // Calls f(id, T&) for each object, inside one section: once for each that is in the table
  // throughout, at most once for those that come or go meanwhile. The lowest slot first.
  template <class F>
  void for_each(F f) {
    slots_.for_each([&](node& each) { f(object_id{each.id}, each.value); });
  }
  template <class F>
  void for_each(F f) const {
    slots_.for_each([&](const node& each) { f(object_id{each.id}, each.value); });
  }

  // Exact while there is no writer.
  size_type size() const noexcept { return static_cast<size_type>(slots_.size()); }
  bool empty() const noexcept { return size() == 0; }
  // Objects at a time, as the constructor was told.
  std::uint64_t max_size() const noexcept { return slots_.most(); }
  // The number of slots at present.
  size_type capacity() const noexcept { return slots_.capacity(); }
  rcu_domain& domain() const noexcept { return domain_; }

  // --- Locks of objects --------------------------------------------------------------------------

  // Holds the lock of an object, or nothing. May be moved to another thread if Mutex allows that.
  // Must not outlive the table.
  template <class Object, class Hold>
  class [[nodiscard]] holder {
   public:
    holder() noexcept = default;
    holder(holder&& other) noexcept : held_(std::exchange(other.held_, nullptr)) {}
    holder& operator=(holder&& other) noexcept {
      holder(std::move(other)).swap(*this);
      return *this;
    }
    ~holder() { unlock(); }

    explicit operator bool() const noexcept { return held_ != nullptr; }
    // Precondition of these three: it holds an object.
    Object& operator*() const noexcept { return held_->value; }
    Object* operator->() const noexcept { return &held_->value; }
    object_id id() const noexcept { return held_->id; }

    // Releases the lock, if it holds one.
    void unlock() noexcept {
      if (held_ != nullptr) Hold::unlock(std::exchange(held_, nullptr)->lock);
    }
    void swap(holder& other) noexcept { std::swap(held_, other.held_); }

   private:
    friend class id_table;
    explicit holder(node* held) noexcept : held_(held) {}

    node* held_ = nullptr;
  };
  using guard = holder<T, detail::exclusive_hold>;
  using shared_guard = holder<const T, detail::shared_hold>;

  // Waits for the object's lock. The guard is empty if no object has that id any more, also if it
  // was taken out during the wait. Precondition: the caller does not hold the object's lock.
  guard lock(object_id id) { return guard(slots_.template lock<detail::exclusive_hold>(id)); }
  // The guard is also empty if another thread holds the lock; contains() tells these apart.
  guard try_lock(object_id id) {
    bool busy = false;
    return guard(slots_.template try_lock<detail::exclusive_hold>(id, busy));
  }
  // The same for reading, together with other readers.
  shared_guard lock_shared(object_id id) const
    requires shareable
  {
    return shared_guard(slots_.template lock<detail::shared_hold>(id));
  }
  shared_guard try_lock_shared(object_id id) const
    requires shareable
  {
    bool busy = false;
    return shared_guard(slots_.template try_lock<detail::shared_hold>(id, busy));
  }

  // --- Writers -----------------------------------------------------------------------------------

  // Put an object in and return its id. Throw what constructors throw, std::bad_alloc, and
  // std::length_error if there are max_size() objects, or if all ids are used up; then the table is
  // unchanged.
  template <class... Args>
  object_id emplace(Args&&... arguments) {
    auto fresh = std::make_unique<node>(std::forward<Args>(arguments)...);
    detail::id_refusal why{};
    const object_id id = slots_.insert(*fresh, why);
    if (id == 0) refuse(why);
    static_cast<void>(fresh.release());
    return id;
  }
  object_id insert(const T& value) { return emplace(value); }
  object_id insert(T&& value) { return emplace(std::move(value)); }

  // Takes the object out, after waiting for its lock; false if no object has that id any more.
  // Precondition: the caller does not hold the object's lock.
  bool erase(object_id id) {
    node* const held = slots_.template lock<detail::exclusive_hold>(id);
    if (held == nullptr) return false;
    slots_.erase(*held);
    return true;
  }
  // Takes out the object that the guard holds; does not wait for locks. Precondition: the guard
  // holds an object of this table.
  void erase(guard&& held) noexcept { slots_.erase(*std::exchange(held.held_, nullptr)); }

  // Takes all objects out, one after the other; some of those that come at the same time may stay.
  void clear() {
    for (size_type i = 0; i < capacity(); ++i) {
      if (const object_id id = slots_.id_at(i)) erase(id);
    }
  }

  // Gives the table at least so many slots. Throws std::bad_alloc, and std::length_error if that is
  // more than max_size(); then the table is unchanged.
  void reserve(std::uint64_t objects) {
    if (objects > max_size()) refuse_as_too_many(objects, max_size());
    if (!slots_.reserve(objects)) READMOST_THROW(std::bad_alloc());
  }
  // Gives back the slots behind the last object, as far as no id would be given out twice for it.
  // Throws std::bad_alloc.
  void shrink_to_fit() {
    if (!slots_.shrink()) READMOST_THROW(std::bad_alloc());
  }

 private:
  static typename slots::array& first_array(std::uint64_t most) {
    if (most > most_objects) refuse_as_too_many(most, most_objects);
    auto* const first = slots::array::make(slots::fewest_slots);
    if (first == nullptr) READMOST_THROW(std::bad_alloc());
    return *first;
  }

  [[noreturn, gnu::noinline]] static void refuse_as_too_many([[maybe_unused]] std::uint64_t objects,
                                                             [[maybe_unused]] std::uint64_t most) {
    READMOST_THROW(std::length_error("id_table: " + std::to_string(objects) +
                                     " objects are too many, " + std::to_string(most) +
                                     " the most"));
  }
  [[noreturn, gnu::noinline]] void refuse(detail::id_refusal why) const {
    switch (why) {
      case detail::id_refusal::full:
        READMOST_THROW(
            std::length_error("id_table: full with " + std::to_string(max_size()) + " objects"));
      case detail::id_refusal::used_up:
        READMOST_THROW(std::length_error("id_table: all ids of the free slots are used up"));
      default:
        READMOST_THROW(std::bad_alloc());
    }
  }

  node* found(object_id id) const noexcept {
    detail::check_reader(domain_);
    return slots_.find(id);
  }
  static T* value_of(node* of) noexcept { return of != nullptr ? &of->value : nullptr; }

  template <class Table, class F>
  static bool visit_in(Table& in, object_id id, F&& f) {
    const auto inside = in.slots_.open_section();
    auto* const found = in.find(id);
    if (found == nullptr) return false;
    std::forward<F>(f)(*found);
    return true;
  }

  slots slots_;
  rcu_domain& domain_;
};

}  // namespace readmost

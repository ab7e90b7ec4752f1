// SPDX-License-Identifier: Apache-2.0
// The table of id_table without the type of its objects: the array of slots that readers look ids
// up in, its growth, and the objects' locks (RCU 5.1, Figs. 20 to 25).
//
// Patterns: the array and its size are replaced together, so a reader finds a size that belongs to
// its array ("impose level of indirection", 4.2.3). A thread that has locked an object checks that
// it has not been taken out meanwhile ("existence locks", 4.1.9; "mark obsolete objects", 4.2.1).
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <readmost/detail/rcu/retired.hpp>
#include <readmost/detail/threads/mutex.hpp>

namespace readmost::detail {

// What the table keeps of an object.
template <class Mutex>
struct id_node : retired {
  id_node() = default;
  // An access to all that threads which waited for the lock have read: they must be done with it.
  ~id_node() { obsolete = true; }
  id_node(const id_node&) = delete;
  id_node& operator=(const id_node&) = delete;

  // Set before the object can be found.
  platform::variable<std::uint64_t> id{};
  // One for the table, while the object is in it, and one for each thread that waits for the lock.
  // Whoever drops the last one retires the object.
  platform::atomic<std::uint32_t> references{1};
  Mutex lock;
  // Accessed while holding the lock: the object has been taken out.
  platform::variable<bool> obsolete{};
};

// How a thread locks an object.
struct exclusive_hold {
  template <class Mutex>
  static void lock(Mutex& of) {
    of.lock();
  }
  template <class Mutex>
  static bool try_lock(Mutex& of) {
    return of.try_lock();
  }
  template <class Mutex>
  static void unlock(Mutex& of) {
    of.unlock();
  }
};
struct shared_hold {
  template <class Mutex>
  static void lock(Mutex& of) {
    of.lock_shared();
  }
  template <class Mutex>
  static bool try_lock(Mutex& of) {
    return of.try_lock_shared();
  }
  template <class Mutex>
  static void unlock(Mutex& of) {
    of.unlock_shared();
  }
};

// Slots for objects, and their number. They follow this object in memory, so that a lookup has one
// cache line less to fetch; behind them is what writers note of slots without an object.
template <class Node>
class id_array : public retired {
 public:
  using slot = platform::atomic<Node*>;
  struct free_slot {
    // Of the next object in this slot; above the last one if all are used up.
    platform::variable<std::uint64_t> generation{};
    platform::variable<std::uint64_t> next{};  // the next free slot
  };

  // All slots are empty. Null: no memory.
  static id_array* make(std::size_t slots) noexcept {
    constexpr std::size_t most = SIZE_MAX / 2 / (sizeof(slot) + sizeof(free_slot));
    if (slots > most) return nullptr;
    void* const memory = Node::allocate(bytes(slots));
    return memory != nullptr ? new (memory) id_array(slots) : nullptr;
  }
  void destroy() noexcept {
    const std::size_t all = bytes(size);
    std::destroy_n(&free_at(0), size);
    std::destroy_n(&slot_at(0), size);
    std::destroy_at(this);
    Node::deallocate(this, all);
  }
  // When no reader uses it any more.
  void retire(domain& d) noexcept {
    schedule_call(
        d, *this, [](retired* old) { static_cast<id_array*>(old)->destroy(); }, bytes(size));
  }

  slot& slot_at(std::size_t index) noexcept {
    return std::launder(reinterpret_cast<slot*>(this + 1))[index];
  }
  free_slot& free_at(std::size_t index) noexcept {
    return std::launder(reinterpret_cast<free_slot*>(&slot_at(0) + size))[index];
  }

  // For readers: the object in the slot, or null.
  Node* follow(std::size_t index) const noexcept {
    // (RT3) Pairs with (RT4): sees the object complete.
    return const_cast<id_array*>(this)->slot_at(index).load(at(letter::RT3, platform::acquire));
  }

  const platform::variable<std::size_t> size;

 private:
  explicit id_array(std::size_t slots) noexcept : size(slots) {
    std::uninitialized_value_construct_n(&slot_at(0), slots);
    std::uninitialized_value_construct_n(&free_at(0), slots);
  }

  static std::size_t bytes(std::size_t slots) noexcept {
    static_assert(sizeof(id_array) % alignof(slot) == 0);
    static_assert(alignof(free_slot) <= alignof(slot));
    return sizeof(id_array) + slots * (sizeof(slot) + sizeof(free_slot));
  }
};

// Why an object was not put in.
enum class id_refusal : std::uint8_t {
  none,
  full,       // there are as many objects as may be
  used_up,    // the generations of all free slots are
  no_memory,  // for a larger array
};

// Node derives from id_node and has
//   index_bits: the lower bits of an id, which are the number of its slot; generation_bits: the
//   bits above them, from 1, one higher for each object in the slot;
//   allocate(bytes), null without memory, and deallocate(memory, bytes): for arrays;
//   retire(domain), which has the object deleted after a grace period; destroy(), which does so
//   now.
template <class Node>
class id_slots {
 public:
  using array = id_array<Node>;

  static constexpr unsigned index_bits = Node::index_bits;
  static_assert(index_bits >= 1 && Node::generation_bits >= 1);
  static_assert(index_bits + Node::generation_bits <= 64);
  static constexpr std::uint64_t most_slots = std::uint64_t{1} << index_bits;
  static constexpr std::uint64_t last_generation = ~std::uint64_t{0} >>
                                                   (64 - Node::generation_bits);

  // `most`: objects at a time. `first`: an array from array::make(fewest_slots).
  static constexpr std::size_t fewest_slots = std::min<std::uint64_t>(4, most_slots);
  id_slots(std::uint64_t most, array& first, domain& d) noexcept
      : domain_(number_of(d)), most_(most) {
    array_.store(&first, platform::relaxed);
  }
  id_slots(const id_slots&) = delete;
  id_slots& operator=(const id_slots&) = delete;
  // Deletes all objects at once.
  ~id_slots() {
    array* const last = newest();
    for (std::size_t i = 0; i < last->size; ++i) {
      if (Node* const each = last->slot_at(i).load(platform::relaxed)) each->destroy();
    }
    last->destroy();
  }

  domain& home() const noexcept { return domains[domain_]; }
  std::uint64_t size() const noexcept { return count_.load(platform::relaxed); }
  std::uint64_t most() const noexcept { return most_; }
  std::size_t capacity() const noexcept {
    const section_scope inside(domain_);
    return present()->size;
  }

  section_scope open_section() const noexcept { return section_scope(domain_); }

  // --- Readers -----------------------------------------------------------------------------------

  // Null: no object has that id any more. Precondition: the caller is inside a section.
  Node* find(std::uint64_t id) const noexcept {
    const array* const now = present();
    const std::uint64_t index = id & (most_slots - 1);
    if (index >= now->size) return nullptr;
    Node* const found = now->follow(static_cast<std::size_t>(index));
    return found != nullptr && found->id == id ? found : nullptr;
  }

  // Calls f(node) for each object, inside a section.
  template <class F>
  void for_each(F f) const {
    const section_scope inside(domain_);
    const array* const now = present();
    for (std::size_t i = 0; i < now->size; ++i) {
      if (Node* const each = now->follow(i)) f(*each);
    }
  }

  // The id of the object in that slot at present, or 0; `index` below capacity() of some time.
  std::uint64_t id_at(std::size_t index) const noexcept {
    const section_scope inside(domain_);
    const array* const now = present();
    const Node* const found = index < now->size ? now->follow(index) : nullptr;
    return found != nullptr ? std::uint64_t{found->id} : 0;
  }

  // --- Locks of objects. Way: exclusive_hold or shared_hold --------------------------------------

  // Locks the object; null: no object has that id any more. A thread that has to wait keeps the
  // object by a reference instead of its section, so that the owner of the lock may wait for grace
  // periods, and these not for the lock.
  template <class Way>
  Node* lock(std::uint64_t id) const {
    Node* found = nullptr;
    {
      const section_scope inside(domain_);
      found = find(id);
      if (found == nullptr) return nullptr;
      if (Way::try_lock(found->lock)) [[likely]] {
        return keep_unless_obsolete<Way>(*found);
      }
      if (!refer_to(*found)) return nullptr;
    }
    return lock_referred<Way>(*found);
  }

  // The same without waiting; `busy`: another thread has the lock.
  template <class Way>
  Node* try_lock(std::uint64_t id, bool& busy) const {
    const section_scope inside(domain_);
    Node* const found = find(id);
    busy = found != nullptr && !Way::try_lock(found->lock);
    return found == nullptr || busy ? nullptr : keep_unless_obsolete<Way>(*found);
  }

  // --- Writers -----------------------------------------------------------------------------------

  // Puts an object in; returns its id, or 0 and the reason: then nothing has changed.
  std::uint64_t insert(Node& fresh, id_refusal& why) noexcept {
    array* replaced = nullptr;
    std::uint64_t id = 0;
    {
      const std::scoped_lock changing(changes_);
      why = make_room(replaced);
      if (why != id_refusal::none) return 0;
      std::uint64_t generation = 0;
      const std::size_t index = take_slot(generation);
      id = generation << index_bits | index;
      fresh.id = id;
      // (RT4) Pairs with (RT3).
      newest()->slot_at(index).store(&fresh, at(letter::RT4, platform::release));
      count_.store(size() + 1, platform::relaxed);
    }
    // After the mutex is released: retiring may wait, and call deleters.
    if (replaced != nullptr) replaced->retire(home());
    return id;
  }

  // Takes an object out and releases its lock, which the caller holds exclusively.
  void erase(Node& held) noexcept {
    if (!is_mutant(mutant::erases_unmarked)) held.obsolete = true;
    {
      const std::scoped_lock changing(changes_);
      const std::uint64_t id = held.id;
      const auto index = static_cast<std::size_t>(id & (most_slots - 1));
      newest()->slot_at(index).store(nullptr, platform::relaxed);
      count_.store(size() - 1, platform::relaxed);
      give_slot_back(index, (id >> index_bits) + (is_mutant(mutant::ids_come_back) ? 0 : 1));
    }
    held.lock.unlock();
    drop(held);
  }

  // An array with at least so many slots, from now on. False: no memory.
  bool reserve(std::uint64_t slots) noexcept {
    array* replaced = nullptr;
    {
      const std::scoped_lock changing(changes_);
      if (slots <= newest()->size) return true;
      if (!replace_by(std::bit_ceil(std::min(slots, most_slots)), replaced)) return false;
    }
    replaced->retire(home());
    return true;
  }

  // The smallest array that has all objects. Slots whose generations are used up stay, so that none
  // is used twice. False: no memory.
  bool shrink() noexcept {
    array* replaced = nullptr;
    {
      const std::scoped_lock changing(changes_);
      array& now = *newest();
      auto needed = static_cast<std::size_t>(unused_);
      while (needed != 0 && is_free(now, needed - 1)) --needed;
      const std::size_t slots = std::max(std::bit_ceil(needed), fewest_slots);
      if (slots >= now.size) return true;
      if (!replace_by(slots, replaced)) return false;
      for (std::size_t i = slots; i < unused_; ++i) {
        first_generation_ = std::max<std::uint64_t>(first_generation_, now.free_at(i).generation);
      }
      unused_ = std::min<std::size_t>(unused_, slots);
      list_free_slots();
    }
    replaced->retire(home());
    return true;
  }

 private:
  static constexpr std::uint64_t none = ~std::uint64_t{0};

  const array* present() const noexcept {
    // (RT1) Pairs with (RT2): the array is complete, and so are its objects.
    return array_.load(at(letter::RT1, platform::acquire));
  }

  // --- The objects' locks

  // Precondition: the caller holds the lock, and is inside a section or has a reference.
  template <class Way>
  static Node* keep_unless_obsolete(Node& held) {
    if (!held.obsolete) [[likely]] {
      return &held;
    }
    Way::unlock(held.lock);
    return nullptr;
  }

  // Inside the section in which the object was found. False: it is retired already.
  static bool refer_to(Node& found) noexcept {
    if (is_mutant(mutant::waits_without_reference)) return true;
    std::uint32_t references = found.references.load(platform::relaxed);
    do {
      if (references == 0) return false;
    } while (!found.references.compare_exchange_weak(references, references + 1, platform::relaxed,
                                                     platform::relaxed));
    return true;
  }

  template <class Way>
  [[gnu::noinline]] Node* lock_referred(Node& found) const {
    const reference mine(*this, found);
    Way::lock(found.lock);
    return keep_unless_obsolete<Way>(found);
  }
  struct reference {
    const id_slots& in;
    Node& to;
    reference(const id_slots& slots, Node& node) noexcept : in(slots), to(node) {}
    ~reference() {
      if (!is_mutant(mutant::waits_without_reference)) in.drop(to);
    }
    reference(const reference&) = delete;
    reference& operator=(const reference&) = delete;
  };

  void drop(Node& of) const noexcept {
    // (RT5) Pairs with itself: whoever drops the last reference retires the object after all that
    // others did to it.
    if (of.references.fetch_sub(1, at(letter::RT5, platform::release)) != 1) return;
    // Acquire: what the others did to the object happens before its deleter. The grace period in
    // between orders the two as well, so the checker does not find this one needed, and it has no
    // letter.
    static_cast<void>(of.references.load(platform::acquire));
    of.retire(home());
  }

  // --- Slots. Precondition of all members below: the caller holds `changes_`.

  // Sees earlier changes through the mutex.
  array* newest() const noexcept { return array_.load(platform::relaxed); }

  id_refusal make_room(array*& replaced) noexcept {
    if (size() == most_) return id_refusal::full;
    const std::size_t slots = newest()->size;
    if (free_ != none || unused_ < slots) return id_refusal::none;
    if (slots >= most_slots) return id_refusal::used_up;
    return replace_by(2 * slots, replaced) ? id_refusal::none : id_refusal::no_memory;
  }

  std::size_t take_slot(std::uint64_t& generation) noexcept {
    if (free_ == none) {
      generation = first_generation_;
      const std::uint64_t first = unused_;
      ++unused_;
      return static_cast<std::size_t>(first);
    }
    const auto index = static_cast<std::size_t>(free_);
    typename array::free_slot& taken = newest()->free_at(index);
    generation = taken.generation;
    free_ = taken.next;
    return index;
  }
  void give_slot_back(std::size_t index, std::uint64_t generation) noexcept {
    typename array::free_slot& given = newest()->free_at(index);
    given.generation = generation;
    if (generation > last_generation) return;
    given.next = free_;
    free_ = index;
  }

  static bool is_free(array& in, std::size_t index) noexcept {
    return in.slot_at(index).load(platform::relaxed) == nullptr &&
           in.free_at(index).generation <= last_generation;
  }
  // The lowest first, so that the array can shrink.
  void list_free_slots() noexcept {
    array& now = *newest();
    free_ = none;
    for (std::size_t i = static_cast<std::size_t>(unused_); i-- != 0;) {
      if (!is_free(now, i)) continue;
      now.free_at(i).next = free_;
      free_ = i;
    }
  }

  // Shows readers an array with another number of slots. Those of the old one still find all
  // objects that are in the table throughout. False: no memory.
  bool replace_by(std::uint64_t slots, array*& replaced) noexcept {
    array* const fresh = array::make(static_cast<std::size_t>(slots));
    if (fresh == nullptr) return false;
    replaced = newest();
    const std::size_t kept = std::min<std::size_t>(replaced->size, fresh->size);
    for (std::size_t i = 0; i < kept; ++i) {
      fresh->slot_at(i).store(replaced->slot_at(i).load(platform::relaxed), platform::relaxed);
      fresh->free_at(i) = replaced->free_at(i);
    }
    // (RT2) Pairs with (RT1).
    array_.store(fresh, at(letter::RT2, platform::release));
    return true;
  }

  // For readers.
  alignas(platform::cache_line) platform::atomic<array*> array_{nullptr};
  const unsigned domain_;
  const std::uint64_t most_;

  // For writers.
  alignas(platform::cache_line) mutex changes_;
  platform::atomic<std::uint64_t> count_{0};
  platform::variable<std::uint64_t> free_{none};  // the first free slot that was used before
  platform::variable<std::uint64_t> unused_{};    // from here on slots were not used before
  platform::variable<std::uint64_t> first_generation_{1};  // of such a slot
};

}  // namespace readmost::detail

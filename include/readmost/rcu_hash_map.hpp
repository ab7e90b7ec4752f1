// SPDX-License-Identifier: Apache-2.0
// A concurrent hash map whose lookups run at the speed of a plain one, also while it is resized:
// they write nothing shared, wait for nothing, never start again, and find every element that is in
// the map throughout the lookup.
//
//   readmost::rcu_hash_map<std::string, session> sessions;
//
//   sessions.visit("alice", [](const session& s) { use(s); });
//   {
//     readmost::rcu_reader section;
//     if (auto found = sessions.find("alice"); found != sessions.end()) use(found->second);
//   }
//   sessions.insert_or_assign("bob", session(...));
//   sessions.update("bob", [](session& copy) { ++copy.requests; });
//   sessions.upsert("eve", [](session& copy) { ++copy.requests; }, first_request);
//
// An element never changes while it is in the map: writers put another one in its place, and a
// reader finds the old one or the new one. Elements taken out are retired; retire() in rcu.hpp says
// when they are deleted, and how many may wait.
//
// Readers: members that return something inside the map (find(), begin(), iterators) require a
// section of the map's domain, which must last until the caller is done with the result. All other
// readers' members open a section themselves. Thread safety: any thread, at any time. Progress:
// wait-free if Hash and Equal are; the number of steps is bounded by the length of the chain.
// Signal safety: as Hash and Equal, except for get(), visit() and for_each(), which copy and call.
//
// Writers: any number of threads at once. Each takes one of 16 mutexes, by the hash of the key, so
// writers of different keys mostly run in parallel. Hash, constructors of elements, and the
// functions that callers pass may throw, and then the map is unchanged, except for the elements
// that erase_if(), clear() and the insertion of ranges have already dealt with. Equal, constructors
// and these functions run with the mutex held: they must not write to the same map nor wait for
// grace periods. No writer waits for a reader, except while the backlog is above its limit. A
// writer may be inside a section. Not signal-safe. The child of a fork must not write if another
// thread may have been writing.
//
// Resizing. When there are more elements than max_load_factor() times the buckets, or fewer than an
// eighth of that, the writer that notices begins to double or halve the table while all readers and
// other writers go on. That takes a few steps with a grace period between each two. A writer takes
// those steps whose grace period is over when it comes by, and waits for none; so a reader that
// stays inside for long delays the resize but no writer. Until the last step the map keeps both
// tables; poll_resizing() takes steps where there are no more writers. rehash() and reserve() wait.
// A resize holds each writers' mutex for at most a 16th of the time that one walk over the table
// takes. Without memory for another table the map keeps its size. In a program that is compiled
// without exceptions, what would throw ends the program.
//
// Memory. Elements and tables come from the allocator, which allocates with plain pointers and does
// not throw when it is copied. What is allocated has a copy of it, unless it is an empty class; any
// thread may give memory back, at any time until the domain has reclaimed all that the map has
// retired (rcu_barrier()), so what a stateful allocator refers to must allow that and last as long:
// std::pmr::synchronized_pool_resource does, unsynchronized_pool_resource does not.
//
// Hash values are spread over all bits before use, unless Hash has a member type is_avalanching.
//
// Source: J. Triplett, P. McKenney, J. Walpole, "Resizable, Scalable, Concurrent Hash Tables via
// Relativistic Programming", USENIX ATC 2011.
#pragma once

#include <readmost/detail/platform/cpp20.h>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <readmost/detail/platform/exceptions.hpp>
#include <readmost/detail/platform/heap.hpp>
#include <readmost/detail/rcu/hash_finalizer.hpp>
#include <readmost/detail/rcu/map_element.hpp>
#include <readmost/detail/rcu/resizable_hash_table.hpp>
#include <readmost/rcu_in_domain.hpp>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>

namespace readmost {

namespace detail {

template <class Function>
concept transparent = requires { typename Function::is_transparent; };

// The type of a lookup's argument: any where Hash and Equal are transparent, otherwise the key's.
template <bool any>
struct lookup_key {
  template <class K, class Key>
  using type = Key;
};
template <>
struct lookup_key<true> {
  template <class K, class Key>
  using type = K;
};

}  // namespace detail

// Of one map, by rcu_hash_map::statistics().
struct rcu_hash_map_statistics {
  std::size_t elements;
  std::size_t buckets;
  std::size_t longest_chain;  // the most elements in a bucket
  std::uint64_t resizes;      // doublings and halvings so far
  bool resizing;              // one is in progress
};

template <class Key, class T, class Hash = std::hash<Key>, class Equal = std::equal_to<Key>,
          class Allocator = detail::platform::allocator<std::pair<const Key, T>>>
class rcu_hash_map {
  using node = detail::map_element<std::pair<const Key, T>, Allocator>;
  using node_owner = typename node::owner;
  using hash_table = detail::resizable_hash_table<node>;
  using buckets = typename hash_table::buckets;
  template <class K>
  using any_key = typename detail::lookup_key<detail::transparent<Hash> &&
                                              detail::transparent<Equal>>::template type<K, Key>;

  // Another type than Key, of which one can be made.
  template <class K>
  static constexpr bool inserted_as_key =
      detail::transparent<Hash> && detail::transparent<Equal> &&
      !std::is_same_v<std::remove_cvref_t<K>, Key> && std::is_constructible_v<Key, K>;
  // Returns the argument if lookups take it, otherwise the Key that is made of it.
  template <class K>
  static decltype(auto) as_key(K&& key) {
    if constexpr (inserted_as_key<K> || std::is_same_v<std::remove_cvref_t<K>, Key>) {
      return std::forward<K>(key);
    } else {
      return Key(std::forward<K>(key));
    }
  }
  template <class K>
  static constexpr bool makes_key = inserted_as_key<K> || std::is_convertible_v<K, Key>;

 public:
  // What upsert() has done.
  using upserted = detail::upserted;
  using key_type = Key;
  using mapped_type = T;
  using value_type = std::pair<const Key, T>;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using hasher = Hash;
  using key_equal = Equal;
  using allocator_type = Allocator;
  using const_reference = const value_type&;
  using reference = const_reference;
  using const_pointer = typename std::allocator_traits<Allocator>::const_pointer;
  using pointer = const_pointer;
  static_assert(std::is_same_v<typename std::allocator_traits<Allocator>::value_type, value_type>,
                "the allocator of an rcu_hash_map is one of its value_type");

  // `buckets`: the least number of buckets, now and later; never less than 16. The domain must
  // outlive the map. Throws std::bad_alloc, and std::length_error for a number that no memory could
  // hold.
  explicit rcu_hash_map(size_type buckets = 0, rcu_domain& dom = rcu_default_domain(),
                        Hash hash = Hash(), Equal equal = Equal(),
                        const Allocator& allocator = Allocator())
      : table_(first_table(buckets, allocator), dom.core()),
        domain_(&dom),
        hash_(std::move(hash)),
        equal_(std::move(equal)),
        allocator_(allocator) {}
  explicit rcu_hash_map(const Allocator& allocator, rcu_domain& dom = rcu_default_domain())
      : rcu_hash_map(0, dom, Hash(), Equal(), allocator) {}
  // Inserts the elements of the range.
  template <std::input_iterator Iterator>
  rcu_hash_map(Iterator first, Iterator last, size_type buckets = 0,
               rcu_domain& dom = rcu_default_domain(), Hash hash = Hash(), Equal equal = Equal(),
               const Allocator& allocator = Allocator())
      : rcu_hash_map(buckets, dom, std::move(hash), std::move(equal), allocator) {
    insert(first, last);
  }
  rcu_hash_map(std::initializer_list<value_type> elements, size_type buckets = 0,
               rcu_domain& dom = rcu_default_domain(), Hash hash = Hash(), Equal equal = Equal(),
               const Allocator& allocator = Allocator())
      : rcu_hash_map(elements.begin(), elements.end(), buckets, dom, std::move(hash),
                     std::move(equal), allocator) {}
  rcu_hash_map(const rcu_hash_map&) = delete;
  rcu_hash_map& operator=(const rcu_hash_map&) = delete;
  // Move and swap the elements, the settings, the domain and the allocator. Precondition: no other
  // thread uses either map. What is moved from is empty and can be used. Iterators and elements
  // stay valid. May throw std::bad_alloc (for the other table) and what copying Hash and Equal
  // throws.
  rcu_hash_map(rcu_hash_map&& other)
      : rcu_hash_map(0, other.domain(), other.hash_, other.equal_, other.allocator_) {
    table_.swap(other.table_);
  }
  // Precondition of the destructor for the elements that were here.
  rcu_hash_map& operator=(rcu_hash_map&& other) {
    rcu_hash_map moved(std::move(other));
    swap(moved);
    return *this;
  }
  void swap(rcu_hash_map& other) noexcept(std::is_nothrow_swappable_v<Hash> &&
                                          std::is_nothrow_swappable_v<Equal>) {
    using std::swap;
    swap(hash_, other.hash_);
    swap(equal_, other.equal_);
    swap_allocators(allocator_, other.allocator_);
    swap(domain_, other.domain_);
    table_.swap(other.table_);
  }
  friend void swap(rcu_hash_map& a, rcu_hash_map& b) noexcept(noexcept(a.swap(b))) { a.swap(b); }
  // Deletes the elements at once. Precondition: no thread uses the map, and no reader still uses an
  // element.
  ~rcu_hash_map() = default;

  // --- Readers -----------------------------------------------------------------------------------

  // Walks over the table that was present when it began. It meets each element that is in the map
  // throughout exactly once, also during a resize, and each key that is inserted, replaced or
  // erased meanwhile at most once. In no particular order. Valid until the section ends.
  class const_iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = rcu_hash_map::value_type;
    using difference_type = std::ptrdiff_t;
    using pointer = const value_type*;
    using reference = const value_type&;

    const_iterator() noexcept = default;
    reference operator*() const noexcept { return at_->value; }
    pointer operator->() const noexcept { return &at_->value; }
    const_iterator& operator++() noexcept {
      at_ = hash_table::after(*table_, *at_);
      return *this;
    }
    const_iterator operator++(int) noexcept {
      const const_iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const const_iterator& other) const noexcept { return at_ == other.at_; }

   private:
    friend class rcu_hash_map;
    const_iterator(const buckets* of, const node* at) noexcept : table_(of), at_(at) {}

    const buckets* table_ = nullptr;
    const node* at_ = nullptr;
  };
  using iterator = const_iterator;

  // Precondition: the caller is inside a section.
  const_iterator begin() const noexcept {
    detail::check_reader(domain());
    const buckets* const now = table_.present();
    return const_iterator(now, hash_table::first_of(*now));
  }
  const_iterator end() const noexcept { return const_iterator(); }
  const_iterator cbegin() const noexcept { return begin(); }
  const_iterator cend() const noexcept { return end(); }

  // Returns the element, or end(). Precondition: the caller is inside a section.
  template <class K = Key>
  const_iterator find(const any_key<K>& key) const {
    detail::check_reader(domain());
    const size_type hash = hash_of(key);
    const buckets* const now = table_.present();
    return const_iterator(now, hash_table::find(*now, hash, matcher(hash, key)));
  }

  // The key's mapped value; throws std::out_of_range if there is none. Precondition as of find().
  template <class K = Key>
  const T& at(const any_key<K>& key) const {
    const const_iterator found = find<K>(key);
    if (found == end()) READMOST_THROW(std::out_of_range("rcu_hash_map::at: no such key"));
    return found->second;
  }

  // An element, or none, together with a section that keeps it: for a result that is used beyond
  // the caller's sections, or returned. It is used and destroyed by the thread that got it, which
  // must not wait for grace periods of the domain meanwhile.
  class guarded_element {
   public:
    guarded_element(guarded_element&& other) noexcept
        : domain_(std::exchange(other.domain_, nullptr)),
          element_(std::exchange(other.element_, nullptr)) {}
    guarded_element& operator=(guarded_element&& other) noexcept {
      guarded_element moved(std::move(other));
      std::swap(domain_, moved.domain_);
      std::swap(element_, moved.element_);
      return *this;
    }
    ~guarded_element() { reset(); }

    explicit operator bool() const noexcept { return element_ != nullptr; }
    // Precondition of these: there is an element.
    const_reference operator*() const noexcept { return *element_; }
    const value_type* operator->() const noexcept { return element_; }
    // Gives up the element and ends the section.
    void reset() noexcept {
      element_ = nullptr;
      if (rcu_domain* const left = std::exchange(domain_, nullptr)) left->unlock();
    }

   private:
    friend class rcu_hash_map;
    explicit guarded_element(rcu_domain& dom) noexcept : domain_(&dom) { dom.lock(); }

    rcu_domain* domain_;
    const value_type* element_ = nullptr;
  };

  // Needs no section: the result has one. An empty result has none.
  template <class K = Key>
  [[nodiscard]] guarded_element find_guarded(const any_key<K>& key) const {
    guarded_element result(domain());
    const const_iterator found = find<K>(key);
    if (found != end()) {
      result.element_ = &*found;
    } else {
      result.reset();
    }
    return result;
  }

  template <class K = Key>
  bool contains(const any_key<K>& key) const {
    const std::scoped_lock section(domain());
    return find<K>(key) != end();
  }
  template <class K = Key>
  size_type count(const any_key<K>& key) const {
    return contains<K>(key) ? 1 : 0;
  }

  // Calls f(const T&) inside a section if there is such an element; returns whether there is.
  template <class K = Key, class F>
  bool visit(const any_key<K>& key, F&& f) const {
    const std::scoped_lock section(domain());
    const const_iterator found = find<K>(key);
    if (found == end()) return false;
    std::forward<F>(f)(found->second);
    return true;
  }

  // Returns a copy of the key's mapped value.
  template <class K = Key>
  std::optional<T> get(const any_key<K>& key) const {
    std::optional<T> copy;
    visit<K>(key, [&](const T& found) { copy.emplace(found); });
    return copy;
  }

  // Calls f(const value_type&) for each element, inside one section: see const_iterator.
  template <class F>
  void for_each(F f) const {
    const std::scoped_lock section(domain());
    for (const value_type& each : *this) f(each);
  }

  // Exact while there is no writer.
  size_type size() const noexcept { return table_.size(); }
  bool empty() const noexcept { return size() == 0; }
  size_type bucket_count() const noexcept { return table_.bucket_count(); }
  // What no memory could exceed.
  static constexpr size_type max_size() noexcept {
    return static_cast<size_type>(std::numeric_limits<difference_type>::max()) / sizeof(node);
  }
  static constexpr size_type max_bucket_count() noexcept { return hash_table::most_buckets; }
  // The number of the bucket that the key belongs to at present.
  template <class K = Key>
  size_type bucket(const any_key<K>& key) const {
    return hash_of(key) & (bucket_count() - 1);
  }
  float load_factor() const noexcept {
    return static_cast<float>(size()) / static_cast<float>(bucket_count());
  }
  // The number of elements in the bucket at present, and in the fullest one.
  size_type bucket_size(size_type number) const {
    const std::scoped_lock section(domain());
    const buckets& now = *table_.present();
    return number <= now.mask ? elements_in(now, number) : 0;
  }
  rcu_hash_map_statistics statistics() const {
    const std::scoped_lock section(domain());
    const buckets& now = *table_.present();
    size_type longest = 0;
    for (size_type bucket = 0; bucket <= now.mask; ++bucket) {
      longest = std::max(longest, elements_in(now, bucket));
    }
    return {size(), now.mask + 1, longest, table_.resizes_done(), table_.resize_in_progress()};
  }
  hasher hash_function() const { return hash_; }
  key_equal key_eq() const { return equal_; }
  allocator_type get_allocator() const noexcept { return allocator_; }
  rcu_domain& domain() const noexcept { return *domain_; }

  // --- Writers -----------------------------------------------------------------------------------

  // Insert unless the key is there; return whether they did. As with std::unordered_map,
  // try_emplace() leaves its arguments alone if it does not insert.
  template <class... Args>
  bool try_emplace(const Key& key, Args&&... arguments) {
    return emplace_if_new(key, std::forward<Args>(arguments)...);
  }
  template <class... Args>
  bool try_emplace(Key&& key, Args&&... arguments) {
    return emplace_if_new(std::move(key), std::forward<Args>(arguments)...);
  }
  // With transparent Hash and Equal: makes a Key only if it inserts.
  template <class K, class... Args>
    requires inserted_as_key<K>
  bool try_emplace(K&& key, Args&&... arguments) {
    return emplace_if_new(std::forward<K>(key), std::forward<Args>(arguments)...);
  }
  bool insert(const value_type& value) { return emplace_if_new(value.first, value.second); }
  bool insert(value_type&& value) { return emplace_if_new(value.first, std::move(value.second)); }
  // Makes the element first, as std::unordered_map may.
  template <class... Args>
  bool emplace(Args&&... arguments) {
    return insert_made(make_node(std::forward<Args>(arguments)...), [](const node&) {});
  }
  // One element at a time; returns how many it has inserted.
  template <std::input_iterator Iterator>
  size_type insert(Iterator first, Iterator last) {
    size_type inserted = 0;
    for (; first != last; ++first) inserted += emplace(*first) ? 1 : 0;
    return inserted;
  }
  size_type insert(std::initializer_list<value_type> elements) {
    return insert(elements.begin(), elements.end());
  }
  template <class Range>
  size_type insert_range(Range&& elements) {
    return insert(std::begin(elements), std::end(elements));
  }

  // Inserts, or calls f(const T&) for the element that is there; returns whether it inserted.
  template <class F>
  bool insert_or_visit(value_type value, F&& f) {
    return insert_made(make_node(std::move(value)),
                       [&](const node& old) { std::forward<F>(f)(old.value.second); });
  }

  // Inserts, or puts a new element in the place of the one that is there; returns whether it
  // inserted. The new element has the key that is given: where Equal takes different keys for one,
  // the map's changes, too.
  template <class M>
  bool insert_or_assign(const Key& key, M&& value) {
    return put(key, std::forward<M>(value));
  }
  template <class M>
  bool insert_or_assign(Key&& key, M&& value) {
    return put(std::move(key), std::forward<M>(value));
  }
  template <class K, class M>
    requires inserted_as_key<K>
  bool insert_or_assign(K&& key, M&& value) {
    return put(std::forward<K>(key), std::forward<M>(value));
  }

  // Inserts, or does so if f(const T&) is true of the element; returns which.
  template <class K, class M, class F>
    requires makes_key<K>
  upserted insert_or_assign_if(K&& key, M&& value, F&& f) {
    auto&& own = as_key(std::forward<K>(key));
    const size_type hash = hash_of(own);
    const auto make = [&] {
      return make_element(hash, std::forward<decltype(own)>(own), std::forward<M>(value)).release();
    };
    return table_.insert_or_replace(hash, matcher(hash, own), make, [&](const node& old) -> node* {
      return f(old.value.second) ? make() : nullptr;
    });
  }

  // Puts a new element in the place of the one that is there; returns whether there was one.
  // Leaves its arguments alone if there is none. T need not be copied, other than by update().
  template <class K, class M>
    requires makes_key<K>
  bool assign(K&& key, M&& value) {
    return assign_if(std::forward<K>(key), std::forward<M>(value), [](const T&) { return true; });
  }
  // The same if f(const T&) is true of the element; returns whether it was replaced.
  template <class K, class M, class F>
    requires makes_key<K>
  bool assign_if(K&& key, M&& value, F&& f) {
    auto&& own = as_key(std::forward<K>(key));
    const size_type hash = hash_of(own);
    return table_.replace(hash, matcher(hash, own), [&](const node& old) -> node* {
      if (!f(old.value.second)) return nullptr;
      return make_element(hash, std::forward<decltype(own)>(own), std::forward<M>(value)).release();
    });
  }
  // The same if the mapped value is equal to `expected`: compare and exchange.
  template <class K, class M>
    requires makes_key<K>
  bool assign_if_equal(K&& key, const T& expected, M&& value) {
    return assign_if(std::forward<K>(key), std::forward<M>(value),
                     [&](const T& found) { return found == expected; });
  }

  // Calls f(T&) for a copy of the key's mapped value and puts the copy in its place; f may return
  // false to leave the element alone. Returns whether it was replaced; false if there is none. Runs
  // one at a time for a key.
  template <class K = Key, class F>
  bool update(const any_key<K>& key, F&& f) {
    const size_type hash = hash_of(key);
    return table_.replace(hash, matcher(hash, key),
                          [&](const node& old) { return changed_copy(old, f); });
  }

  // Inserts T(arguments...) or, if the key is there, does as update(key, f). Returns which.
  template <class F, class... Args>
  upserted upsert(const Key& key, F&& f, Args&&... arguments) {
    return insert_or_update(key, f, std::forward<Args>(arguments)...);
  }
  template <class F, class... Args>
  upserted upsert(Key&& key, F&& f, Args&&... arguments) {
    return insert_or_update(std::move(key), f, std::forward<Args>(arguments)...);
  }
  template <class K, class F, class... Args>
    requires inserted_as_key<K>
  upserted upsert(K&& key, F&& f, Args&&... arguments) {
    return insert_or_update(std::forward<K>(key), f, std::forward<Args>(arguments)...);
  }

  // Returns whether there was such an element.
  template <class K = Key>
    requires std::invocable<const Hash&, const any_key<K>&>
  bool erase(const any_key<K>& key) {
    const size_type hash = hash_of(key);
    return table_.erase(hash, matcher(hash, key), [](const node&) { return true; });
  }

  // The same if f(const T&) is true of the element.
  template <class K = Key, class F>
  bool erase_if(const any_key<K>& key, F&& f) {
    const size_type hash = hash_of(key);
    return table_.erase(hash, matcher(hash, key),
                        [&](const node& found) { return f(found.value.second); });
  }

  // The same if the mapped value is equal to `expected`.
  template <class K = Key>
  bool erase_if_equal(const any_key<K>& key, const T& expected) {
    return erase_if<K>(key, [&](const T& found) { return found == expected; });
  }

  // Erases the elements for which f(const value_type&) is true; returns how many. Calls f once for
  // each element that is in the map throughout. Retires them in batches, between which it may wait
  // for the backlog to become smaller, unless the caller is inside a section.
  template <class F>
  size_type erase_if(F f) {
    return table_.erase_if([&](const node& each) { return f(each.value); });
  }

  // Erases all elements; some of those inserted at the same time may stay.
  void clear() {
    erase_if([](const value_type&) { return true; });
  }

  float max_load_factor() const noexcept { return table_.max_load_factor(); }
  // Takes effect when the next writer notices. Precondition: `most` is above 0.
  void max_load_factor(float most) noexcept { table_.max_load_factor(most); }

  // Whether writers resize the map by themselves; true at first.
  bool automatic_resizing() const noexcept { return table_.automatic_resizing(); }
  void automatic_resizing(bool wanted) noexcept { table_.automatic_resizing(wanted); }

  // Gives the map at least so many buckets from now on, and no more than it needs at present. Waits
  // for grace periods, so the caller must hold no lock that is also taken inside sections of the
  // domain; inside a section it begins the resize and does not wait. Throws std::length_error as
  // the constructor does.
  void rehash(size_type buckets) {
    check_size(buckets);
    table_.rehash(buckets);
  }
  // The same with buckets for so many elements.
  void reserve(size_type elements) { rehash(table_.buckets_for(elements)); }
  // Takes the steps of a resize in progress that need not wait; returns whether none is left.
  bool poll_resizing() { return table_.poll_resizing(); }

 private:
  static void check_size(size_type buckets) {
    if (buckets > hash_table::most_buckets) {
      READMOST_THROW(std::length_error("rcu_hash_map: too many buckets"));
    }
  }
  static typename buckets::owner first_table(size_type number, const Allocator& allocator) {
    check_size(number);
    auto made = buckets::make(hash_table::rounded(number), typename node::memory(allocator));
    if (made == nullptr) READMOST_THROW(std::bad_alloc());
    return made;
  }
  // Allocators need not be assignable.
  static void swap_allocators(Allocator& a, Allocator& b) noexcept {
    const Allocator of_a(a);
    std::destroy_at(&a);
    std::construct_at(&a, b);
    std::destroy_at(&b);
    std::construct_at(&b, of_a);
  }

  template <class K>
  size_type hash_of(const K& key) const {
    if constexpr (detail::avalanching<Hash>) {
      return static_cast<size_type>(hash_(key));
    } else {
      return static_cast<size_type>(detail::finalize(static_cast<std::uint64_t>(hash_(key))));
    }
  }

  static size_type elements_in(const buckets& table, size_type bucket) noexcept {
    size_type count = 0;
    for (const node* each = table.head(bucket).follow(); each != nullptr;
         each = each->next.follow()) {
      count += table.is_in_bucket(*each, bucket) ? 1 : 0;
    }
    return count;
  }

  // Says whether an element has the key.
  template <class K>
  auto matcher(size_type hash, const K& key) const {
    return [this, hash, &key](const node& candidate) {
      return candidate.hash == hash && equal_(candidate.value.first, key);
    };
  }

  template <class K, class... Args>
  node_owner make_element(size_type hash, K&& key, Args&&... arguments) const {
    auto fresh = node::make(allocator_, std::piecewise_construct,
                            std::forward_as_tuple(std::forward<K>(key)),
                            std::forward_as_tuple(std::forward<Args>(arguments)...));
    fresh->hash = hash;
    return fresh;
  }

  template <class K, class... Args>
  bool emplace_if_new(K&& key, Args&&... arguments) {
    const size_type hash = hash_of(key);
    return table_.insert(hash, matcher(hash, key), [&] {
      return make_element(hash, std::forward<K>(key), std::forward<Args>(arguments)...).release();
    });
  }

  template <class... Args>
  node_owner make_node(Args&&... arguments) const {
    auto fresh = node::make(allocator_, std::forward<Args>(arguments)...);
    fresh->hash = hash_of(fresh->value.first);
    return fresh;
  }
  template <class Seen>
  bool insert_made(node_owner fresh, Seen seen) {
    if (!table_.insert_made(*fresh, matcher(fresh->hash, fresh->value.first), seen)) return false;
    fresh.release();
    return true;
  }

  // Null if f declines.
  template <class F>
  node* changed_copy(const node& old, F& f) const {
    auto fresh = make_element(old.hash, old.value.first, old.value.second);
    if constexpr (std::is_void_v<std::invoke_result_t<F&, T&>>) {
      f(fresh->value.second);
    } else {
      if (!f(fresh->value.second)) return nullptr;
    }
    return fresh.release();
  }

  template <class K, class F, class... Args>
  upserted insert_or_update(K&& key, F& f, Args&&... arguments) {
    const size_type hash = hash_of(key);
    return table_.insert_or_replace(
        hash, matcher(hash, key),
        [&] {
          return make_element(hash, std::forward<K>(key), std::forward<Args>(arguments)...)
              .release();
        },
        [&](const node& old) { return changed_copy(old, f); });
  }

  template <class K, class M>
  bool put(K&& key, M&& value) {
    const size_type hash = hash_of(key);
    auto fresh = make_element(hash, std::forward<K>(key), std::forward<M>(value));
    const bool inserted = table_.put(*fresh, matcher(hash, fresh->value.first));
    fresh.release();
    return inserted;
  }

  hash_table table_;
  rcu_domain* domain_;
  [[no_unique_address]] Hash hash_;
  [[no_unique_address]] Equal equal_;
  Allocator allocator_;
};

template <std::input_iterator Iterator>
rcu_hash_map(Iterator, Iterator, std::size_t = 0, rcu_domain& = rcu_default_domain())
    -> rcu_hash_map<std::remove_const_t<typename std::iter_value_t<Iterator>::first_type>,
                    typename std::iter_value_t<Iterator>::second_type>;
template <class Key, class T>
rcu_hash_map(std::initializer_list<std::pair<Key, T>>, std::size_t = 0,
             rcu_domain& = rcu_default_domain()) -> rcu_hash_map<std::remove_const_t<Key>, T>;

}  // namespace readmost

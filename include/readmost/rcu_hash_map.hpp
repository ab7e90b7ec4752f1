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
// functions given to update() and erase_if() may throw, and then the map is unchanged, except for
// the elements that erase_if() has already erased. Equal, constructors and these functions run with
// the mutex held: they must not write to the same map nor wait for grace periods. A writer may be
// inside a section. Not signal-safe. The child of a fork must not write if another thread may have
// been writing.
//
// Resizing. When there are more elements than max_load_factor() times the buckets, or fewer than an
// eighth of that, the writer that notices doubles or halves the table while all readers and other
// writers go on. It waits for grace periods: one for halving, one and a few more for doubling. So a
// writer must not hold a lock that is also taken inside sections of the domain, unless
// automatic_resizing(false). A writer inside a section leaves resizing to the next writer. A resize
// holds each writers' mutex for at most a 16th of the time that one walk over the table takes.
// Without memory for another table the map keeps its size. In a program that is compiled without
// exceptions, what would throw ends the program.
//
// Source: J. Triplett, P. McKenney, J. Walpole, "Resizable, Scalable, Concurrent Hash Tables via
// Relativistic Programming", USENIX ATC 2011.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <readmost/detail/rcu/resizable_hash_table.hpp>
#include <readmost/rcu_pointer.hpp>
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

template <class Key, class T, class Hash = std::hash<Key>, class Equal = std::equal_to<Key>>
class rcu_hash_map {
  using hash_table = detail::resizable_hash_table<std::pair<const Key, T>, rcu_domain>;
  using buckets = typename hash_table::buckets;
  using node = typename hash_table::node;
  template <class K>
  using any_key = typename detail::lookup_key<detail::transparent<Hash> &&
                                              detail::transparent<Equal>>::template type<K, Key>;

 public:
  using key_type = Key;
  using mapped_type = T;
  using value_type = std::pair<const Key, T>;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using hasher = Hash;
  using key_equal = Equal;
  using const_reference = const value_type&;

  // `buckets`: the least number of buckets, now and later; never less than 16. The domain must
  // outlive the map. Throws std::bad_alloc, and std::length_error for a number that no memory could
  // hold.
  explicit rcu_hash_map(size_type buckets = 0, rcu_domain& dom = rcu_default_domain(),
                        Hash hash = Hash(), Equal equal = Equal())
      : table_(buckets, dom), hash_(std::move(hash)), equal_(std::move(equal)) {}
  rcu_hash_map(const rcu_hash_map&) = delete;
  rcu_hash_map& operator=(const rcu_hash_map&) = delete;
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
      at_ = table_->first_from(at_->hash & table_->mask, at_->next.follow());
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
    return const_iterator(now, now->first_from(0, now->head(0).follow()));
  }
  const_iterator end() const noexcept { return const_iterator(); }

  // Returns the element, or end(). Precondition: the caller is inside a section.
  template <class K = Key>
  const_iterator find(const any_key<K>& key) const {
    detail::check_reader(domain());
    const size_type hash = hash_of(key);
    const auto matches = matcher(hash, key);
    const buckets* const now = table_.present();
    const node* each = now->head(hash).follow();
    while (each != nullptr && !matches(*each)) each = each->next.follow();
    return const_iterator(now, each);
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
  // The number of the bucket that the key belongs to at present.
  template <class K = Key>
  size_type bucket(const any_key<K>& key) const {
    return hash_of(key) & (bucket_count() - 1);
  }
  float load_factor() const noexcept {
    return static_cast<float>(size()) / static_cast<float>(bucket_count());
  }
  hasher hash_function() const { return hash_; }
  key_equal key_eq() const { return equal_; }
  rcu_domain& domain() const noexcept { return table_.domain(); }

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
  bool insert(const value_type& value) { return emplace_if_new(value.first, value.second); }
  bool insert(value_type&& value) { return emplace_if_new(value.first, std::move(value.second)); }

  // Inserts, or puts a new element in the place of the one that is there; returns whether it
  // inserted.
  template <class M>
  bool insert_or_assign(const Key& key, M&& value) {
    return put(key, std::forward<M>(value));
  }
  template <class M>
  bool insert_or_assign(Key&& key, M&& value) {
    return put(std::move(key), std::forward<M>(value));
  }

  // Calls f(T&) for a copy of the key's mapped value and puts the copy in its place. Returns false
  // if there is no such element. Runs one at a time for a key.
  template <class K = Key, class F>
  bool update(const any_key<K>& key, F&& f) {
    const size_type hash = hash_of(key);
    return table_.replace(hash, matcher(hash, key), [&](const node& old) {
      auto fresh = std::make_unique<node>(hash, old.value.first, old.value.second);
      std::forward<F>(f)(fresh->value.second);
      return fresh;
    });
  }

  // Returns whether there was such an element.
  template <class K = Key>
  bool erase(const any_key<K>& key) {
    const size_type hash = hash_of(key);
    return table_.erase(hash, matcher(hash, key));
  }

  // Erases the elements for which f(const value_type&) is true; returns how many. Calls f inside a
  // section, once for each element that is in the map throughout.
  template <class F>
  size_type erase_if(F f) {
    return table_.erase_if(std::move(f));
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
  // for grace periods, and for a resize that is in progress. Inside a section it leaves the resize
  // to the next writer. Throws std::length_error as the constructor does.
  void rehash(size_type buckets) { table_.rehash(buckets); }
  // The same with buckets for so many elements.
  void reserve(size_type elements) { table_.reserve(elements); }

 private:
  // Masks take the lower bits, and std::hash of an integer is that integer.
  template <class K>
  size_type hash_of(const K& key) const {
    const std::uint64_t spread = static_cast<std::uint64_t>(hash_(key)) * 0x9E37'79B9'7F4A'7C15U;
    return static_cast<size_type>(spread ^ spread >> 32);
  }

  // Says whether an element has the key.
  template <class K>
  auto matcher(size_type hash, const K& key) const {
    return [this, hash, &key](const node& candidate) {
      return candidate.hash == hash && equal_(candidate.value.first, key);
    };
  }

  template <class K, class... Args>
  bool emplace_if_new(K&& key, Args&&... arguments) {
    const size_type hash = hash_of(key);
    return table_.insert(hash, matcher(hash, key), [&] {
      return std::make_unique<node>(hash, std::forward<K>(key), std::forward<Args>(arguments)...);
    });
  }

  template <class K, class M>
  bool put(K&& key, M&& value) {
    const size_type hash = hash_of(key);
    auto fresh = std::make_unique<node>(hash, std::forward<K>(key), std::forward<M>(value));
    const Key& own_key = fresh->value.first;
    return table_.put(std::move(fresh), matcher(hash, own_key));
  }

  hash_table table_;
  [[no_unique_address]] Hash hash_;
  [[no_unique_address]] Equal equal_;
};

}  // namespace readmost

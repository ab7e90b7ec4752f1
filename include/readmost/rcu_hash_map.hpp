// A concurrent hash map whose lookups run at the speed of a plain one, also while it is resized:
// they write nothing shared, wait for nothing, never start again, and find every element that is
// there throughout.
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
// reader finds the old one or the new one. Elements taken out are retired: retire() in rcu.hpp says
// when they are deleted, and how many may wait.
//
// Readers: what returns something inside the map, find(), begin() and iterators, needs a section of
// the map's domain around it and around the use of what it returns; all other readers' members open
// one themselves. Any thread, at any time. Progress: wait-free, if Hash and Equal are; the length
// of the chain bounds the steps. Signal-safe under the same condition, but for what copies and
// calls.
//
// Writers: any threads at once. Each takes one of 16 mutexes, by the hash of the key, so those of
// different keys mostly run in parallel. Hash, constructors of elements, and the functions given to
// update() and erase_if() may throw, and then the map is as it was (of erase_if: what is erased so
// far stays erased). Equal, constructors and these functions run with the mutex held, so they must
// not write to the same map, nor wait for grace periods. A writer may be inside a section. Not
// signal-safe; a fork's child must not write if another thread may have been writing.
//
// Resizing. When elements outnumber buckets by more than max_load_factor(), or are less than an
// eighth of that, the writer that notices doubles or halves the table, while other writers and all
// readers go on. It waits for grace periods meanwhile: one for halving, one and a few more for
// doubling. So writers must not hold a lock that is also taken inside sections of the domain,
// unless automatic_resizing(false). A writer that is inside a section leaves resizing to the next
// one. Each writers' mutex is held for at most a 16th of the time that one walk over the table
// takes. If there is no memory for another table, the map stays as it is.
//
// Source: J. Triplett, P. McKenney, J. Walpole, "Resizable, Scalable, Concurrent Hash Tables via
// Relativistic Programming", USENIX ATC 2011. What is added here: writers in parallel to resizing.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <readmost/rcu_pointer.hpp>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

namespace readmost {

namespace detail {

template <class Function>
concept transparent = requires { typename Function::is_transparent; };

// What a lookup takes: anything where Hash and Equal are transparent, otherwise the key.
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
  struct node;
  class table;
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

  // `buckets`: how many at least, now and later; never less than 16. The domain has to outlive the
  // map. Throws std::bad_alloc, and std::length_error where no memory could hold so many.
  explicit rcu_hash_map(size_type buckets = 0, rcu_domain& dom = rcu_default_domain(),
                        Hash hash = Hash(), Equal equal = Equal())
      : domain_(dom), hash_(std::move(hash)), equal_(std::move(equal)) {
    fewest_buckets_.store(rounded(buckets), std::memory_order_relaxed);
    table_.store(table::make(rounded(buckets)).release(), std::memory_order_relaxed);
    for (stripe& s : stripes_) s.newer = table_.load(std::memory_order_relaxed);
  }
  rcu_hash_map(const rcu_hash_map&) = delete;
  rcu_hash_map& operator=(const rcu_hash_map&) = delete;
  // Deletes the elements at once. Precondition: no thread uses the map, no reader is left in it.
  ~rcu_hash_map() {
    const owned_table last(table_.load(std::memory_order_relaxed));
    for (size_type bucket = 0; bucket <= last->mask; ++bucket) {
      for (node* each = peek(last->head(bucket)); each != nullptr;) {
        const std::unique_ptr<node> owner(each);
        each = peek(each->next);
      }
    }
  }

  // --- Readers -----------------------------------------------------------------------------------

  // Goes over the table that was the present one when it began. Each element that is in the map
  // throughout is met exactly once, also during a resize; of what is inserted, replaced or erased
  // meanwhile each key at most once. In no order. Valid until the section is closed.
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
      at_ = table_->first_from(at_->hash & table_->mask, follow(at_->next));
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
    const_iterator(const table* of, const node* at) noexcept : table_(of), at_(at) {}

    const table* table_ = nullptr;
    const node* at_ = nullptr;
  };
  using iterator = const_iterator;

  // Precondition: inside a section.
  const_iterator begin() const noexcept {
    detail::check_reader(domain_);
    const table* const now = present_table();
    return const_iterator(now, now->first_from(0, follow(now->head(0))));
  }
  const_iterator end() const noexcept { return const_iterator(); }

  // The element, or end(). Precondition: inside a section.
  template <class K = Key>
  const_iterator find(const any_key<K>& key) const {
    detail::check_reader(domain_);
    const size_type hash = hash_of(key);
    const table* const now = present_table();
    // In a table that is being resized, the chain leads past elements of another bucket.
    const node* each = follow(now->head(hash));
    while (each != nullptr && !is_it(*each, hash, key)) each = follow(each->next);
    return const_iterator(now, each);
  }

  template <class K = Key>
  bool contains(const any_key<K>& key) const {
    const std::scoped_lock section(domain_);
    return find<K>(key) != end();
  }
  template <class K = Key>
  size_type count(const any_key<K>& key) const {
    return contains<K>(key) ? 1 : 0;
  }

  // Calls f(const T&) inside a section, if there is such an element; whether there is.
  template <class K = Key, class F>
  bool visit(const any_key<K>& key, F&& f) const {
    const std::scoped_lock section(domain_);
    const const_iterator found = find<K>(key);
    if (found == end()) return false;
    std::forward<F>(f)(found->second);
    return true;
  }

  // A copy of what the key has.
  template <class K = Key>
  std::optional<T> get(const any_key<K>& key) const {
    std::optional<T> copy;
    visit<K>(key, [&](const T& found) { copy.emplace(found); });
    return copy;
  }

  // Calls f(const value_type&) for all, inside one section: see const_iterator.
  template <class F>
  void for_each(F f) const {
    const std::scoped_lock section(domain_);
    for (const value_type& each : *this) f(each);
  }

  // Exact while nobody writes.
  size_type size() const noexcept {
    size_type sum = 0;
    for (const stripe& s : stripes_) sum += s.count.load(std::memory_order_relaxed);
    return sum;
  }
  bool empty() const noexcept { return size() == 0; }
  size_type bucket_count() const noexcept {
    const std::scoped_lock section(domain_);
    return present_table()->mask + 1;
  }
  // The number of the bucket that the key belongs to, now.
  template <class K = Key>
  size_type bucket(const any_key<K>& key) const {
    const std::scoped_lock section(domain_);
    return hash_of(key) & present_table()->mask;
  }
  float load_factor() const noexcept {
    return static_cast<float>(size()) / static_cast<float>(bucket_count());
  }
  hasher hash_function() const { return hash_; }
  key_equal key_eq() const { return equal_; }
  rcu_domain& domain() const noexcept { return domain_; }

  // --- Writers -----------------------------------------------------------------------------------

  // Insert unless the key is there. True: inserted. As with std::unordered_map, the arguments of
  // try_emplace() are left alone otherwise.
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

  // Inserts, or puts a new element in the place of the one that is there. True: inserted.
  template <class M>
  bool insert_or_assign(const Key& key, M&& value) {
    return put(key, std::forward<M>(value));
  }
  template <class M>
  bool insert_or_assign(Key&& key, M&& value) {
    return put(std::move(key), std::forward<M>(value));
  }

  // Calls f(T&) for a copy of what the key has, and puts the copy in its place. False where there
  // is none. Of writers of this key one at a time.
  template <class K = Key, class F>
  bool update(const any_key<K>& key, F&& f) {
    const size_type hash = hash_of(key);
    stripe& s = stripe_of(hash);
    node* old = nullptr;
    {
      const std::scoped_lock writing(s.mutex);
      old = find_as_writer(s, hash, key);
      if (old == nullptr) return false;
      auto fresh = std::make_unique<node>(hash, old->value.first, old->value.second);
      std::forward<F>(f)(fresh->value.second);
      replace(s, *old, *fresh.release());
    }
    old->retire({}, domain_);
    return true;
  }

  // Whether there was such an element.
  template <class K = Key>
  bool erase(const any_key<K>& key) {
    const size_type hash = hash_of(key);
    stripe& s = stripe_of(hash);
    node* old = nullptr;
    bool sparse = false;
    {
      const std::scoped_lock writing(s.mutex);
      old = find_as_writer(s, hash, key);
      if (old == nullptr) return false;
      unlink(s, *old);
      sparse = seems_sparse(s);
    }
    // Not with the mutex held: it may wait, and call what deletes elements.
    old->retire({}, domain_);
    if (sparse) fit();
    return true;
  }

  // Erases those for which f(const value_type&) is true; how many. Calls f inside a section, once
  // for each element that is there throughout.
  template <class F>
  size_type erase_if(F f) {
    size_type erased = 0;
    for (stripe& s : stripes_) {
      const std::scoped_lock writing(s.mutex);
      // In a section retire() neither waits nor calls, and nothing here is deleted meanwhile.
      const std::scoped_lock section(domain_);
      const table& all = coarse(s);
      for (size_type bucket = number_of_stripe(s); bucket <= all.mask; bucket += stripe_count) {
        node* after = nullptr;
        for (node* each = peek(all.head(bucket)); each != nullptr; each = after) {
          after = peek(each->next);
          if ((each->hash & all.mask) != bucket || !f(std::as_const(each->value))) continue;
          unlink(s, *each);
          each->retire({}, domain_);
          ++erased;
        }
      }
    }
    if (erased != 0) fit();
    return erased;
  }

  // Erases what is there; of what is inserted at the same time some may stay.
  void clear() {
    erase_if([](const value_type&) { return true; });
  }

  float max_load_factor() const noexcept { return max_load_.load(std::memory_order_relaxed); }
  // Takes effect when the next writer notices. Precondition: it is above 0.
  void max_load_factor(float most) noexcept { max_load_.store(most, std::memory_order_relaxed); }

  // Whether writers resize the map by themselves; at first they do.
  bool automatic_resizing() const noexcept { return resizes_.load(std::memory_order_relaxed); }
  void automatic_resizing(bool wanted) noexcept {
    resizes_.store(wanted, std::memory_order_relaxed);
  }

  // Has at least so many buckets from now on, and no more than it needs now. Waits for grace
  // periods, and for the resize that is in progress. Inside a section it leaves all that to the
  // next writer. Throws std::length_error as the constructor does.
  void rehash(size_type buckets) {
    fewest_buckets_.store(rounded(buckets), std::memory_order_relaxed);
    if (!may_wait()) return;
    const std::scoped_lock resizing(resizing_);
    for (;;) {
      const size_type now = writers_table()->mask + 1;
      if (is_too_small(now)) {
        if (!grow()) return;
      } else if (now / 2 >= fewest_buckets() && !is_too_small(now / 2)) {
        if (!shrink()) return;
      } else {
        return;
      }
    }
  }
  // The same for so many elements.
  void reserve(size_type elements) {
    const double buckets = static_cast<double>(elements) / max_load_factor();
    rehash(buckets < static_cast<double>(most_buckets) ? static_cast<size_type>(buckets) + 1
                                                       : most_buckets + 1);
  }

 private:
  // The end of a chain, a bucket's head or an element's `next`, is null.
  using link = std::atomic<node*>;

  struct node : rcu_obj_base<node> {
    template <class K, class... Args>
    explicit node(size_type mixed_hash, K&& key, Args&&... arguments)
        : hash(mixed_hash),
          value(std::piecewise_construct, std::forward_as_tuple(std::forward<K>(key)),
                std::forward_as_tuple(std::forward<Args>(arguments)...)) {}

    link next{nullptr};
    const size_type hash;
    value_type value;
  };

  struct delete_table {
    void operator()(table* old) const noexcept {
      std::destroy_at(old);
      ::operator delete(old);
    }
  };
  using owned_table = std::unique_ptr<table, delete_table>;

  // Followed in memory by the heads of its buckets, so that a lookup has one line less to fetch.
  class table {
   public:
    static owned_table make(size_type buckets) {
      static_assert(sizeof(table) % alignof(link) == 0);
      void* const memory = ::operator new(sizeof(table) + buckets * sizeof(link));
      return owned_table(new (memory) table(buckets));
    }

    link& head(size_type hash) noexcept { return heads()[hash & mask]; }
    const link& head(size_type hash) const noexcept { return const_cast<table*>(this)->head(hash); }

    // The first of the elements of `bucket` from `from` on, or of the buckets after it. Passes over
    // elements of another bucket that is on the same chain.
    const node* first_from(size_type bucket, const node* from) const noexcept {
      for (;;) {
        while (from != nullptr && (from->hash & mask) != bucket) from = follow(from->next);
        if (from != nullptr || bucket == mask) return from;
        from = follow(head(++bucket));
      }
    }

    const size_type mask;

   private:
    explicit table(size_type buckets) noexcept : mask(buckets - 1) {
      std::uninitialized_value_construct_n(heads(), buckets);
    }
    link* heads() noexcept { return std::launder(reinterpret_cast<link*>(this + 1)); }
  };

  static constexpr size_type stripe_count = 16;  // a power of two
  static constexpr size_type most_buckets = std::bit_floor(
      static_cast<size_type>(std::numeric_limits<difference_type>::max()) / sizeof(link) / 2);

  // What belongs to the keys whose hashes end in the same four bits. No table has fewer buckets
  // than there are stripes, so a bucket, and the two that it is doubled into, belong to one stripe.
  //
  // A stripe passes through these states; readers may use any table that is named.
  //   at rest            newer
  //   being resized      newer, older, sibling: the chains of both tables are complete. Those of
  //   the
  //                      two buckets of the larger table that make up one of the smaller may share
  //                      their ends.
  //   being unzipped     newer, sibling: no reader has the older table any more; such chains are
  //                      being separated.
  struct alignas(detail::platform::cache_line) stripe {
    std::mutex mutex;
    std::atomic<size_type> count{0};  // elements; changed under the mutex
    table* newer = nullptr;
    table* older = nullptr;
    // The bit by which the numbers of such two buckets differ, thus also the number of buckets of
    // the smaller table; 0: at rest.
    size_type sibling = 0;
  };

  // --- Orders ------------------------------------------------------------------------------------

  // For readers. Acquire, with the release of publish(): an element is seen complete. So is what
  // has been linked, or separated, in a table before that table was published.
  static node* follow(const link& from) noexcept { return from.load(std::memory_order_acquire); }

  // For writers, who see each other's work by the mutex of the stripe.
  static node* peek(const link& from) noexcept { return from.load(std::memory_order_relaxed); }

  // Release, with the acquire of follow(). Also where an element is taken out: a reader must see
  // complete what comes after it, which another thread may have linked.
  static void publish(link& from, node* to) noexcept { from.store(to, std::memory_order_release); }

  // For readers. Acquire, with the release of publish_table().
  const table* present_table() const noexcept { return table_.load(std::memory_order_acquire); }

  // Release, with the acquire of present_table(): the chains of the table are complete.
  void publish_table(table& fresh) noexcept { table_.store(&fresh, std::memory_order_release); }

  // For who holds `resizing_`, by which it sees who has resized before.
  table* writers_table() const noexcept { return table_.load(std::memory_order_relaxed); }

  // --- Hashes ------------------------------------------------------------------------------------

  // Masks take the lower bits, and std::hash of an integer is that integer.
  template <class K>
  size_type hash_of(const K& key) const {
    const std::uint64_t spread = static_cast<std::uint64_t>(hash_(key)) * 0x9E37'79B9'7F4A'7C15U;
    return static_cast<size_type>(spread ^ spread >> 32);
  }

  template <class K>
  bool is_it(const node& candidate, size_type hash, const K& key) const {
    return candidate.hash == hash && equal_(candidate.value.first, key);
  }

  stripe& stripe_of(size_type hash) noexcept { return stripes_[hash & (stripe_count - 1)]; }
  size_type number_of_stripe(const stripe& s) const noexcept {
    return static_cast<size_type>(&s - stripes_);
  }

  // --- Changing chains, with the mutex of the stripe held
  // ------------------------------------------

  // The smaller of the two tables, whose chains have all elements of the stripe once.
  static table& coarse(const stripe& s) noexcept {
    return s.older != nullptr && s.older->mask < s.newer->mask ? *s.older : *s.newer;
  }

  template <class K>
  node* find_as_writer(const stripe& s, size_type hash, const K& key) const {
    node* each = peek(s.newer->head(hash));
    while (each != nullptr && !is_it(*each, hash, key)) each = peek(each->next);
    return each;
  }

  // In front of all: so it leads to everything that its bucket's chain led to, in either table. The
  // newer table first, as everywhere here: a reader may look into the older one and later, for the
  // next lookup, into the newer, and must not find undone what it has seen done.
  static void link_in(stripe& s, node& fresh) noexcept {
    fresh.next.store(peek(coarse(s).head(fresh.hash)), std::memory_order_relaxed);  // as `fresh`
    publish(s.newer->head(fresh.hash), &fresh);
    if (s.older != nullptr) publish(s.older->head(fresh.hash), &fresh);
    s.count.store(s.count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  static void redirect_in_chain(link& head, const node& from, node* to) noexcept {
    link* each = &head;
    while (node* const at = peek(*each)) {
      if (at == &from) {
        publish(*each, to);
        return;
      }
      each = &at->next;
    }
  }

  // Whatever leads to `from` leads to `to`: up to two links and two heads.
  static void redirect(stripe& s, const node& from, node* to) noexcept {
    for (table* const t : {s.newer, s.older}) {
      if (t == nullptr) continue;
      redirect_in_chain(t->head(from.hash), from, to);
      if ((t->mask & s.sibling) != 0) redirect_in_chain(t->head(from.hash ^ s.sibling), from, to);
    }
  }

  // A reader that stands on it goes on from there: what it leads to is retired later, if ever.
  static void unlink(stripe& s, node& old) noexcept {
    redirect(s, old, peek(old.next));
    s.count.store(s.count.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
  }

  static void replace(stripe& s, node& old, node& fresh) noexcept {
    fresh.next.store(peek(old.next), std::memory_order_relaxed);  // published by the next
    redirect(s, old, &fresh);
  }

  template <class K, class... Args>
  bool emplace_if_new(K&& key, Args&&... arguments) {
    const size_type hash = hash_of(key);
    stripe& s = stripe_of(hash);
    bool crowded = false;
    {
      const std::scoped_lock writing(s.mutex);
      if (find_as_writer(s, hash, key) != nullptr) return false;
      auto fresh =
          std::make_unique<node>(hash, std::forward<K>(key), std::forward<Args>(arguments)...);
      link_in(s, *fresh.release());
      crowded = seems_crowded(s);
    }
    if (crowded) fit();
    return true;
  }

  template <class K, class M>
  bool put(K&& key, M&& value) {
    const size_type hash = hash_of(key);
    auto fresh = std::make_unique<node>(hash, std::forward<K>(key), std::forward<M>(value));
    stripe& s = stripe_of(hash);
    node* old = nullptr;
    bool crowded = false;
    {
      const std::scoped_lock writing(s.mutex);
      old = find_as_writer(s, hash, fresh->value.first);
      if (old != nullptr) {
        replace(s, *old, *fresh.release());
      } else {
        link_in(s, *fresh.release());
        crowded = seems_crowded(s);
      }
    }
    if (old != nullptr) old->retire({}, domain_);
    if (crowded) fit();
    return old == nullptr;
  }

  // --- How large
  // -----------------------------------------------------------------------------------

  static size_type rounded(size_type buckets) {
    if (buckets > most_buckets) throw std::length_error("rcu_hash_map: too many buckets");
    return std::bit_ceil(std::max(buckets, stripe_count));
  }

  size_type fewest_buckets() const noexcept {
    return fewest_buckets_.load(std::memory_order_relaxed);
  }

  // How many elements so many buckets may have.
  double room(size_type buckets) const noexcept {
    return static_cast<double>(max_load_factor()) * static_cast<double>(buckets);
  }
  bool is_too_small(size_type buckets, size_type elements) const noexcept {
    return buckets < fewest_buckets() || static_cast<double>(elements) > room(buckets);
  }
  bool is_too_small(size_type buckets) const noexcept { return is_too_small(buckets, size()); }
  // Far from where it would have to grow again.
  bool is_too_large(size_type buckets, size_type elements) const noexcept {
    return buckets > fewest_buckets() && static_cast<double>(elements) < room(buckets) / 8;
  }

  // Judged by the stripe that the writer is in, with its mutex held; fit() then looks at all.
  bool seems_crowded(const stripe& s) const noexcept {
    return is_too_small(s.newer->mask + 1, s.count.load(std::memory_order_relaxed) * stripe_count);
  }
  bool seems_sparse(const stripe& s) const noexcept {
    return is_too_large(s.newer->mask + 1, s.count.load(std::memory_order_relaxed) * stripe_count);
  }

  // --- Resizing, with `resizing_` held
  // -------------------------------------------------------------

  bool may_wait() const noexcept {
    return !detail::is_in_section(readmost::detail::number_of(domain_.core()));
  }

  // Until it fits, unless somebody else is at it.
  void fit() {
    if (!automatic_resizing() || !may_wait()) return;
    const std::unique_lock resizing(resizing_, std::try_to_lock);
    if (!resizing.owns_lock()) return;
    for (;;) {
      const size_type buckets = writers_table()->mask + 1;
      const size_type elements = size();
      if (is_too_small(buckets, elements)) {
        if (!grow()) return;
      } else if (is_too_large(buckets, elements)) {
        if (!shrink()) return;
      } else {
        return;
      }
    }
  }

  // Calls work(stripe, number) for each, with its mutex held.
  template <class Work>
  void for_each_stripe(Work work) {
    for (size_type i = 0; i < stripe_count; ++i) {
      const std::scoped_lock writing(stripes_[i].mutex);
      work(stripes_[i], i);
    }
  }

  // From `s.newer` to `fresh`, once its chains in this stripe are complete.
  static void begin_resizing(stripe& s, table& fresh) noexcept {
    s.older = s.newer;
    s.newer = &fresh;
    s.sibling = std::min(s.newer->mask, s.older->mask) + 1;
  }

  // Twice as many buckets. False: no memory.
  bool grow() {
    table* const small = writers_table();
    const size_type buckets = small->mask + 1;
    owned_table large;
    std::vector<size_type> zipped;
    try {
      large = table::make(2 * buckets);
      zipped.reserve(buckets);
    } catch (const std::bad_alloc&) {
      return false;
    }
    for_each_stripe([&](stripe& s, size_type number) {
      for (size_type bucket = number; bucket < buckets; bucket += stripe_count) {
        zipped.push_back(bucket);
        for (const size_type half : {bucket, bucket + buckets}) {
          node* each = peek(small->head(bucket));
          while (each != nullptr && (each->hash & large->mask) != half) each = peek(each->next);
          publish(large->head(half), each);
        }
      }
      begin_resizing(s, *large);
    });
    publish_table(*large);
    rcu_synchronize(domain_);  // the readers of the small one
    for_each_stripe([](stripe& s, size_type) { s.older = nullptr; });
    const owned_table old(small);
    unzip(*large.release(), zipped);
    for_each_stripe([](stripe& s, size_type) { s.sibling = 0; });
    return true;
  }

  // Separates the chains of each two buckets: `zipped` has the lower one, those of one stripe
  // together. After the last step, too, readers have to be gone before chains are joined again.
  void unzip(table& large, std::vector<size_type>& zipped) {
    for (;;) {
      unzip_one_step(large, zipped);
      if (zipped.empty()) return;
      // A reader may stand among elements of the other bucket, and needs the link from there, which
      // is the next to change.
      if (!detail::is_mutant(detail::mutant::unzips_at_once)) rcu_synchronize(domain_);
    }
  }

  // One step of each; leaves those in `zipped` that took one.
  void unzip_one_step(table& large, std::vector<size_type>& zipped) {
    constexpr size_type at_once = 64;  // then writers may go in between
    std::unique_lock<std::mutex> writing;
    size_type left = 0;
    for (size_type i = 0; i < zipped.size(); ++i) {
      const size_type bucket = zipped[i];
      std::mutex& needed = stripe_of(bucket).mutex;
      if (writing.mutex() != &needed || i % at_once == 0) {
        if (writing.owns_lock()) writing.unlock();
        writing = std::unique_lock(needed);
      }
      if (unzip_step(large, bucket)) zipped[left++] = bucket;
    }
    zipped.resize(left);
  }

  // The first link of the chain of `bucket` that leads to an element of another bucket, or its end.
  static link& end_of_own(table& large, size_type bucket) noexcept {
    link* each = &large.head(bucket);
    for (node* at = peek(*each); at != nullptr && (at->hash & large.mask) == bucket;
         at = peek(*each)) {
      each = &at->next;
    }
    return *each;
  }

  // Whether `other` is among the elements of `bucket` at the front of its chain.
  static bool is_at_front(table& large, size_type bucket, const node* other) noexcept {
    for (const node* at = peek(large.head(bucket));
         at != nullptr && (at->hash & large.mask) == bucket; at = peek(at->next)) {
      if (at == other) return true;
    }
    return false;
  }

  // Two chains, A and B, share their end. All elements are in one order with which both agree. A's
  // link `a` leads to the first element f of B on it, B's link `b` to the first g of A.
  //
  // One step makes `a` pass over f and what follows of B. That is right if nobody gets to `a` in
  // search of B: if f is among the elements at the front of B's chain, before `b`. Readers in
  // search of A that have passed `a` already go on from B's elements by `b`, so `b` may change only
  // when they are gone. Otherwise f comes after g; then g is at the front of A's chain, since all
  // of A is on it, and it is `b` that may pass over g.
  //
  // The links are looked up anew for each step: meanwhile writers may have changed the chains. What
  // they take out keeps its link. A reader that stands on it may have read the link just before,
  // so this is nothing new.
  static bool unzip_step(table& large, size_type lower) noexcept {
    const size_type upper = lower + (large.mask + 1) / 2;
    link& a = end_of_own(large, lower);
    link& b = end_of_own(large, upper);
    if (peek(a) == nullptr && peek(b) == nullptr) return false;
    const bool is_a = peek(a) != nullptr && is_at_front(large, upper, peek(a));
    link& changed = is_a ? a : b;
    const size_type bucket = is_a ? lower : upper;
    node* next = peek(changed);
    while (next != nullptr && (next->hash & large.mask) != bucket) next = peek(next->next);
    publish(changed, next);
    return true;
  }

  // Half as many buckets: the chains of each two become one, behind one another. Readers of the
  // large table who are on the former then meet the latter's elements at its end. False: no memory.
  bool shrink() {
    table* const large = writers_table();
    const size_type buckets = (large->mask + 1) / 2;
    owned_table small;
    try {
      small = table::make(buckets);
    } catch (const std::bad_alloc&) {
      return false;
    }
    for_each_stripe([&](stripe& s, size_type number) {
      for (size_type bucket = number; bucket < buckets; bucket += stripe_count) {
        node* const latter = peek(large->head(bucket + buckets));
        node* first = peek(large->head(bucket));
        if (first == nullptr) {
          first = latter;
        } else if (latter != nullptr) {
          link* end = &first->next;
          while (node* const at = peek(*end)) end = &at->next;
          publish(*end, latter);
        }
        publish(small->head(bucket), first);
      }
      begin_resizing(s, *small);
    });
    publish_table(*small.release());
    rcu_synchronize(domain_);  // the readers of the large one
    for_each_stripe([](stripe& s, size_type) {
      s.older = nullptr;
      s.sibling = 0;
    });
    const owned_table old(large);
    return true;
  }

  // Readers use these.
  alignas(detail::platform::cache_line) std::atomic<table*> table_{nullptr};
  rcu_domain& domain_;
  [[no_unique_address]] Hash hash_;
  [[no_unique_address]] Equal equal_;

  alignas(detail::platform::cache_line) std::atomic<float> max_load_{1.0F};
  std::atomic<size_type> fewest_buckets_{0};
  std::atomic<bool> resizes_{true};
  std::mutex resizing_;
  stripe stripes_[stripe_count];
};

}  // namespace readmost

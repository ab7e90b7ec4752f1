// The hash table of rcu_hash_map, without its hash function: writers, the stripes that they lock,
// and resizing.
//
// Source: J. Triplett, P. McKenney, J. Walpole, "Resizable, Scalable, Concurrent Hash Tables via
// Relativistic Programming", USENIX ATC 2011. Added here: writers that run in parallel to resizing.
#pragma once

#include <bit>
#include <limits>
#include <mutex>
#include <readmost/detail/platform/exceptions.hpp>
#include <readmost/detail/rcu/hash_chains.hpp>
#include <stdexcept>
#include <vector>

namespace readmost::detail {

// Domain is rcu_domain, which this room must not include.
template <class Value, class Domain>
class resizable_hash_table {
 public:
  using node = hash_node<Value>;
  using buckets = bucket_array<node>;

  resizable_hash_table(std::size_t fewest, Domain& dom) : domain_(dom) {
    fewest_buckets_.store(rounded(fewest), platform::relaxed);
    buckets* const first = buckets::make(rounded(fewest)).release();
    table_.store(first, platform::relaxed);
    for (stripe& s : stripes_) s.newer = first;
  }
  resizable_hash_table(const resizable_hash_table&) = delete;
  resizable_hash_table& operator=(const resizable_hash_table&) = delete;
  ~resizable_hash_table() {
    const owned_buckets last(newest());
    for (std::size_t bucket = 0; bucket <= last->mask; ++bucket) {
      for (node* each = last->head(bucket).peek(); each != nullptr;) {
        const std::unique_ptr<node> owner(each);
        each = each->next.peek();
      }
    }
  }

  Domain& domain() const noexcept { return domain_; }

  // The table for readers. Precondition: the caller is inside a section.
  const buckets* present() const noexcept {
    // (RH7) Pairs with (RH8): the table's chains are complete.
    return table_.load(at(letter::RH7, platform::acquire));
  }
  std::size_t bucket_count() const noexcept {
    const std::scoped_lock section(domain_);
    return present()->mask + 1;
  }
  std::size_t size() const noexcept {
    std::size_t sum = 0;
    for (const stripe& s : stripes_) sum += s.count.load(platform::relaxed);
    return sum;
  }

  // --- Writers; matches(element) says whether an element has the requested key.

  // Calls make() for the element unless the key is there. True: inserted.
  template <class Matches, class Make>
  bool insert(std::size_t hash, Matches matches, Make make) {
    stripe& s = stripe_of(hash);
    bool crowded = false;
    {
      const std::scoped_lock lock(s.writing);
      if (s.find(hash, matches) != nullptr) return false;
      s.link_in(*make().release());
      crowded = seems_crowded(s);
    }
    if (crowded) fit();
    return true;
  }

  // Inserts `fresh`, or puts it in the place of the element that is there. True: inserted.
  template <class Matches>
  bool put(std::unique_ptr<node> fresh, Matches matches) {
    stripe& s = stripe_of(fresh->hash);
    node* old = nullptr;
    bool crowded = false;
    {
      const std::scoped_lock lock(s.writing);
      old = s.find(fresh->hash, matches);
      if (old != nullptr) {
        s.replace(*old, *fresh.release());
      } else {
        s.link_in(*fresh.release());
        crowded = seems_crowded(s);
      }
    }
    if (old != nullptr) retire(*old);
    if (crowded) fit();
    return old == nullptr;
  }

  // Puts make(old element) in the place of the element; false if there is none.
  template <class Matches, class Make>
  bool replace(std::size_t hash, Matches matches, Make make) {
    stripe& s = stripe_of(hash);
    node* old = nullptr;
    {
      const std::scoped_lock lock(s.writing);
      old = s.find(hash, matches);
      if (old == nullptr) return false;
      s.replace(*old, *make(std::as_const(*old)).release());
    }
    retire(*old);
    return true;
  }

  // False: there is no such element.
  template <class Matches>
  bool erase(std::size_t hash, Matches matches) {
    stripe& s = stripe_of(hash);
    node* old = nullptr;
    bool sparse = false;
    {
      const std::scoped_lock lock(s.writing);
      old = s.find(hash, matches);
      if (old == nullptr) return false;
      s.unlink(*old);
      sparse = seems_sparse(s);
    }
    // After the mutex is released: retiring may wait, and call deleters.
    retire(*old);
    if (sparse) fit();
    return true;
  }

  // Erases the elements for which f(value) is true; returns their number.
  template <class F>
  std::size_t erase_if(F f) {
    std::size_t erased = 0;
    for (stripe& s : stripes_) {
      const std::scoped_lock lock(s.writing);
      // Inside a section retiring neither waits nor calls deleters, and nothing that this loop
      // walks over is deleted.
      const std::scoped_lock section(domain_);
      const buckets& all = s.coarse();
      for (std::size_t bucket = number_of_stripe(s); bucket <= all.mask; bucket += stripe_count) {
        node* after = nullptr;
        for (node* each = all.head(bucket).peek(); each != nullptr; each = after) {
          after = each->next.peek();
          if (!all.is_in_bucket(*each, bucket) || !f(std::as_const(each->value))) continue;
          s.unlink(*each);
          retire(*each);
          ++erased;
        }
      }
    }
    if (erased != 0) fit();
    return erased;
  }

  // --- Size

  float max_load_factor() const noexcept { return max_load_.load(platform::relaxed); }
  void max_load_factor(float most) noexcept { max_load_.store(most, platform::relaxed); }
  bool automatic_resizing() const noexcept { return resizes_.load(platform::relaxed); }
  void automatic_resizing(bool wanted) noexcept { resizes_.store(wanted, platform::relaxed); }

  void rehash(std::size_t fewest) {
    fewest_buckets_.store(rounded(fewest), platform::relaxed);
    if (!may_wait()) return;
    const std::scoped_lock resizing(resizing_);
    for (;;) {
      const std::size_t now = newest()->mask + 1;
      if (is_too_small(now, size())) {
        if (!grow()) return;
      } else if (now / 2 >= fewest_buckets() && !is_too_small(now / 2, size())) {
        if (!shrink()) return;
      } else {
        return;
      }
    }
  }
  void reserve(std::size_t elements) {
    const double wanted = static_cast<double>(elements) / max_load_factor();
    rehash(wanted < static_cast<double>(most_buckets) ? static_cast<std::size_t>(wanted) + 1
                                                      : most_buckets + 1);
  }

 private:
  using stripe = hash_stripe<node>;
  using owned_buckets = typename buckets::owner;
  using numbers = std::vector<std::size_t, platform::allocator<std::size_t>>;

  static constexpr std::size_t stripe_count = 16;  // a power of two
  static constexpr std::size_t most_buckets = std::bit_floor(
      static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) / sizeof(void*) / 2);

  stripe& stripe_of(std::size_t hash) noexcept { return stripes_[hash & (stripe_count - 1)]; }
  std::size_t number_of_stripe(const stripe& s) const noexcept {
    return static_cast<std::size_t>(&s - stripes_);
  }

  void retire(node& old) noexcept { schedule(domain_.core(), old, kind_of_hash_node<Value>); }

  // --- How large

  static std::size_t rounded(std::size_t fewest) {
    if (fewest > most_buckets) {
      READMOST_THROW(std::length_error("rcu_hash_map: too many buckets"));
    }
    return std::bit_ceil(std::max(fewest, stripe_count));
  }
  std::size_t fewest_buckets() const noexcept { return fewest_buckets_.load(platform::relaxed); }

  // The number of elements that this number of buckets may have.
  double room(std::size_t count) const noexcept {
    return static_cast<double>(max_load_factor()) * static_cast<double>(count);
  }
  bool is_too_small(std::size_t count, std::size_t elements) const noexcept {
    return count < fewest_buckets() || static_cast<double>(elements) > room(count);
  }
  // Far below the size at which the table would have to grow again.
  bool is_too_large(std::size_t count, std::size_t elements) const noexcept {
    return count > fewest_buckets() && static_cast<double>(elements) < room(count) / 8;
  }

  // An estimate from one stripe, while holding its mutex; fit() then checks all stripes.
  bool seems_crowded(const stripe& s) const noexcept {
    return is_too_small(s.newer->mask + 1, s.count.load(platform::relaxed) * stripe_count);
  }
  bool seems_sparse(const stripe& s) const noexcept {
    return is_too_large(s.newer->mask + 1, s.count.load(platform::relaxed) * stripe_count);
  }

  // --- Resizing

  bool may_wait() const noexcept { return !is_in_section(number_of(domain_.core())); }

  // Resizes until the number of buckets fits, unless another thread is resizing.
  void fit() {
    if (!automatic_resizing() || !may_wait()) return;
    const std::unique_lock resizing(resizing_, std::try_to_lock);
    if (!resizing.owns_lock()) return;
    for (;;) {
      const std::size_t count = newest()->mask + 1;
      const std::size_t elements = size();
      if (is_too_small(count, elements)) {
        if (!grow()) return;
      } else if (is_too_large(count, elements)) {
        if (!shrink()) return;
      } else {
        return;
      }
    }
  }

  // Precondition of all members below: the caller holds `resizing_`.

  // Sees the changes of earlier resizes, through the mutex.
  buckets* newest() const noexcept { return table_.load(platform::relaxed); }

  // Calls work(stripe, number) for each while holding its mutex.
  template <class Work>
  void for_each_stripe(Work work) {
    for (std::size_t i = 0; i < stripe_count; ++i) {
      const std::scoped_lock lock(stripes_[i].writing);
      work(stripes_[i], i);
    }
  }

  // Shows readers `fresh`, whose chains are complete, and waits until none uses the older table.
  void publish(buckets& fresh) noexcept {
    // (RH8) Pairs with (RH7).
    table_.store(&fresh, at(letter::RH8, platform::release));
    synchronize(domain_.core(), urgency::normal);
  }

  // Doubles the number of buckets. False: no memory.
  bool grow() {
    buckets* const small = newest();
    const std::size_t count = small->mask + 1;
    owned_buckets large;
    numbers zipped;
    READMOST_TRY {
      large = buckets::make(2 * count);
      zipped.reserve(count);
    }
    READMOST_CATCH(const std::bad_alloc&) {
      return false;
    }
    for_each_stripe([&](stripe& s, std::size_t number) {
      for (std::size_t bucket = number; bucket < count; bucket += stripe_count) {
        zipped.push_back(bucket);
        node* const first = small->head(bucket).peek();
        for (const std::size_t half : {bucket, bucket + count}) {
          large->head(half).prepare(large->first_in_bucket(half, first));
        }
      }
      s.begin_resizing(*large);
    });
    publish(*large);
    for_each_stripe([](stripe& s, std::size_t) { s.older = nullptr; });
    const owned_buckets old(small);
    unzip(*large.release(), zipped);
    for_each_stripe([](stripe& s, std::size_t) { s.sibling = 0; });
    return true;
  }

  // Separates the chains of each pair of buckets. `zipped` has the lower ones, those of one stripe
  // next to each other. Waits after the last step too: chains must not be joined again before.
  void unzip(buckets& large, numbers& zipped) {
    for (;;) {
      unzip_one_step(large, zipped);
      if (zipped.empty()) return;
      // A reader may be among the elements of the other bucket and needs the link that leads out of
      // there, which is the next one to change.
      if (!is_mutant(mutant::unzips_at_once)) synchronize(domain_.core(), urgency::normal);
    }
  }

  // Takes one step for each bucket in `zipped`; those that needed one stay there.
  void unzip_one_step(buckets& large, numbers& zipped) {
    constexpr std::size_t at_once = 64;  // then other writers get the mutex
    std::unique_lock<mutex> lock;
    std::size_t left = 0;
    for (std::size_t i = 0; i < zipped.size(); ++i) {
      const std::size_t bucket = zipped[i];
      mutex& needed = stripe_of(bucket).writing;
      if (lock.mutex() != &needed || i % at_once == 0) {
        if (lock.owns_lock()) lock.unlock();
        lock = std::unique_lock(needed);
      }
      if (large.unzip_step(bucket)) zipped[left++] = bucket;
    }
    zipped.resize(left);
  }

  // Halves the number of buckets: appends the chain of the upper bucket to that of the lower one.
  // Readers of the large table that search the lower bucket then pass over the upper one's
  // elements. False: no memory.
  bool shrink() {
    buckets* const large = newest();
    const std::size_t count = (large->mask + 1) / 2;
    owned_buckets small;
    READMOST_TRY {
      small = buckets::make(count);
    }
    READMOST_CATCH(const std::bad_alloc&) {
      return false;
    }
    for_each_stripe([&](stripe& s, std::size_t number) {
      for (std::size_t bucket = number; bucket < count; bucket += stripe_count) {
        node* const upper = large->head(bucket + count).peek();
        node* const lower = large->head(bucket).peek();
        if (lower != nullptr && upper != nullptr) append(*lower, *upper);
        small->head(bucket).prepare(lower != nullptr ? lower : upper);
      }
      s.begin_resizing(*small);
    });
    publish(*small.release());
    for_each_stripe([](stripe& s, std::size_t) {
      s.older = nullptr;
      s.sibling = 0;
    });
    const owned_buckets old(large);
    return true;
  }

  static void append(node& to, node& chain) noexcept {
    node* last = &to;
    while (node* const next = last->next.peek()) last = next;
    // (RH6) Pairs with (RH1).
    last->next.publish(&chain, letter::RH6);
  }

  // For readers.
  alignas(platform::cache_line) platform::atomic<buckets*> table_{nullptr};
  Domain& domain_;

  alignas(platform::cache_line) platform::atomic<float> max_load_{1.0F};
  platform::atomic<std::size_t> fewest_buckets_{0};
  platform::atomic<bool> resizes_{true};
  mutex resizing_;
  stripe stripes_[stripe_count];
};

}  // namespace readmost::detail

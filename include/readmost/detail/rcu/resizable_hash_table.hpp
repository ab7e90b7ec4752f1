// SPDX-License-Identifier: Apache-2.0
// The hash table of rcu_hash_map and of readmost_rcu_table, without its hash function and without
// the type of its elements: writers, the stripes that they lock, and resizing.
//
// A resize is a sequence of steps with a grace period between each two. Writers take those steps
// whose grace period is over when they come by, and wait for none; rehash() waits. Whoever takes a
// step holds `resizing_`, but nobody holds that mutex while waiting for a grace period, so a thread
// inside a section may take it.
//
// Source: J. Triplett, P. McKenney, J. Walpole, "Resizable, Scalable, Concurrent Hash Tables via
// Relativistic Programming", USENIX ATC 2011. Added here: writers that run in parallel to resizing.
#pragma once

#include <bit>
#include <limits>
#include <mutex>
#include <readmost/detail/rcu/hash_chains.hpp>

namespace readmost::detail {

// What insert_or_replace() has done.
enum class upserted : std::uint8_t { nothing, inserted, replaced };

// Node derives from hash_node.
template <class Node>
class resizable_hash_table {
 public:
  using node = Node;
  using buckets = bucket_array<node>;

  static constexpr std::size_t most_buckets = std::bit_floor(
      static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) / sizeof(void*) / 2);
  // Precondition: `fewest` is at most most_buckets.
  static std::size_t rounded(std::size_t fewest) noexcept {
    return std::bit_ceil(std::max(fewest, hash_stripes));
  }

  // `first`: with the least number of buckets.
  resizable_hash_table(typename buckets::owner first, domain& d) noexcept : domain_(&d) {
    fewest_buckets_.store(first->mask + 1, platform::relaxed);
    for (stripe& s : stripes_) s.newer = first.get();
    table_.store(first.release(), platform::relaxed);
  }
  resizable_hash_table(const resizable_hash_table&) = delete;
  resizable_hash_table& operator=(const resizable_hash_table&) = delete;
  // Precondition: no other thread uses the table, no reader one of its elements.
  ~resizable_hash_table() {
    while (phase_ != phase::at_rest) take_step();  // no chain shares its end with another one then
    const owned_buckets last(newest());
    for (std::size_t bucket = 0; bucket <= last->mask; ++bucket) {
      for (node* each = last->head(bucket).peek(); each != nullptr;) {
        node& old = *each;
        each = old.next.peek();
        old.destroy();
      }
    }
  }

  // Precondition: no other thread uses either table.
  void swap(resizable_hash_table& other) noexcept {
    swap_values(table_, other.table_);
    std::swap(domain_, other.domain_);
    swap_values(max_load_, other.max_load_);
    swap_values(fewest_buckets_, other.fewest_buckets_);
    swap_values(resizes_, other.resizes_);
    swap_values(resize_in_progress_, other.resize_in_progress_);
    swap_values(resizes_done_, other.resizes_done_);
    std::swap(phase_, other.phase_);
    std::swap(grace_period_, other.grace_period_);
    std::swap(before_, other.before_);
    for (std::size_t i = 0; i < hash_stripes; ++i) stripes_[i].swap(other.stripes_[i]);
  }

  domain& home() const noexcept { return *domain_; }

  // The table for readers. Precondition: the caller is inside a section.
  const buckets* present() const noexcept {
    // (RH7) Pairs with (RH8): the table's chains are complete.
    return table_.load(at(letter::RH7, platform::acquire));
  }
  std::size_t bucket_count() const noexcept {
    const section_scope inside(number_of(*domain_));
    return present()->mask + 1;
  }
  std::size_t size() const noexcept {
    std::size_t sum = 0;
    for (const stripe& s : stripes_) sum += s.count.load(platform::relaxed);
    return sum;
  }

  // --- Readers. Precondition: the caller is inside a section.

  // matches(element) says whether it has the requested key; also below. Null: there is none.
  template <class Matches>
  static const node* find(const buckets& in, std::size_t hash, Matches matches) {
    const node* each = in.head(hash).follow();
    while (each != nullptr && !matches(*each)) each = each->next.follow();
    return each;
  }
  // Each element that is in the table throughout comes once; null at the end.
  static const node* first_of(const buckets& in) noexcept {
    return in.first_from(0, in.head(0).follow());
  }
  static const node* after(const buckets& in, const node& each) noexcept {
    return in.first_from(each.hash & in.mask, each.next.follow());
  }

  // --- Writers. The table owns the elements that it is given, unless the member says that it does
  // not insert, or throws what a function throws that it was given.

  // Inserts make() unless the key is there. True: inserted.
  template <class Matches, class Make>
  bool insert(std::size_t hash, Matches matches, Make make) {
    return insert_unless_there(hash, matches, make, [](const node&) {});
  }
  // The same for an element that is made already; seen(element) is called with the one that is
  // there, while the mutex is held.
  template <class Matches, class Seen>
  bool insert_made(node& fresh, Matches matches, Seen seen) {
    return insert_unless_there(fresh.hash, matches, [&] { return &fresh; }, seen);
  }

  // Inserts make_new(), or puts renew(old element), unless that is null, in the place of the
  // element that is there.
  template <class Matches, class Make, class Renew>
  upserted insert_or_replace(std::size_t hash, Matches matches, Make make_new, Renew renew) {
    stripe& s = stripe_of(hash);
    node* old = nullptr;
    bool crowded = false;
    {
      const std::scoped_lock lock(s.writing);
      old = s.find(hash, matches);
      if (old != nullptr) {
        node* const fresh = renew(std::as_const(*old));
        if (fresh == nullptr) return upserted::nothing;
        s.replace(*old, *fresh);
      } else {
        s.link_in(*make_new());
        crowded = seems_crowded(s);
      }
    }
    if (old != nullptr) old->retire(*domain_);
    resize_after_change(crowded);
    return old == nullptr ? upserted::inserted : upserted::replaced;
  }

  // Inserts `fresh`, or puts it in the place of the element that is there. True: inserted.
  template <class Matches>
  bool put(node& fresh, Matches matches) {
    const auto given = [&](const auto&...) { return &fresh; };
    return insert_or_replace(fresh.hash, matches, given, given) == upserted::inserted;
  }

  // Puts make(old element), unless that is null, in the place of the element. False: there is no
  // such element, or it stays.
  template <class Matches, class Make>
  bool replace(std::size_t hash, Matches matches, Make make) {
    stripe& s = stripe_of(hash);
    node* old = nullptr;
    {
      const std::scoped_lock lock(s.writing);
      old = s.find(hash, matches);
      if (old == nullptr) return false;
      node* const fresh = make(std::as_const(*old));
      if (fresh == nullptr) return false;
      s.replace(*old, *fresh);
    }
    old->retire(*domain_);
    resize_after_change(false);
    return true;
  }

  // Erases the element if chosen(element); false if it does not, or there is none.
  template <class Matches, class Chosen>
  bool erase(std::size_t hash, Matches matches, Chosen chosen) {
    stripe& s = stripe_of(hash);
    node* old = nullptr;
    bool sparse = false;
    {
      const std::scoped_lock lock(s.writing);
      old = s.find(hash, matches);
      if (old == nullptr || !chosen(std::as_const(*old))) return false;
      s.unlink(*old);
      sparse = seems_sparse(s);
    }
    // After the mutex is released: retiring may wait, and call deleters.
    old->retire(*domain_);
    resize_after_change(sparse);
    return true;
  }

  // Erases the elements for which f(element) is true; returns their number. Retires them in
  // batches, without the mutex, so that the limit of the backlog holds. Other threads may resize
  // the table between two batches: the walk goes by the hashes with their bits in reverse order, in
  // which the elements of a bucket stay next to each other in tables of all sizes.
  template <class F>
  std::size_t erase_if(F f) {
    std::size_t erased = 0;
    for (stripe& s : stripes_) {
      std::uint64_t from = reversed(number_of_stripe(s));
      for (bool is_done = false; !is_done;) {
        batch old(*this);  // ends after the lock
        const std::scoped_lock lock(s.writing);
        while (!is_done && old.size() < batch_size) {
          buckets& all = s.coarse();
          const std::uint64_t bucket_width = reversed(all.mask) & (~reversed(all.mask) + 1);
          const std::size_t bucket = static_cast<std::size_t>(reversed(from)) & all.mask;
          erase_in_bucket(s, all, bucket, from, f, old);
          from = (from & ~(bucket_width - 1)) + bucket_width;
          is_done = (reversed(from) & (hash_stripes - 1)) != number_of_stripe(s);
        }
        erased += old.size();
      }
    }
    resize_after_change(erased != 0);
    return erased;
  }

  // --- Size

  float max_load_factor() const noexcept { return max_load_.load(platform::relaxed); }
  void max_load_factor(float most) noexcept { max_load_.store(most, platform::relaxed); }
  bool automatic_resizing() const noexcept { return resizes_.load(platform::relaxed); }
  void automatic_resizing(bool wanted) noexcept { resizes_.store(wanted, platform::relaxed); }

  // Waits for grace periods, unless the caller is inside a section. Precondition: `fewest` is at
  // most most_buckets.
  void rehash(std::size_t fewest) {
    fewest_buckets_.store(rounded(fewest), platform::relaxed);
    for (;;) {
      std::uint64_t needed = 0;
      {
        const std::scoped_lock resizing(resizing_);
        if (take_steps([this] { return begin_resize(false); })) return;
        needed = grace_period_;
      }
      if (!may_wait()) return;
      await_grace_period(*domain_, needed, urgency::normal);
    }
  }

  // Takes the steps of a resize in progress that need not wait; returns whether none is left.
  bool poll_resizing() {
    if (!resize_in_progress_.load(platform::relaxed)) return true;
    if (!resizing_.try_lock()) return false;
    const std::scoped_lock resizing(std::adopt_lock, resizing_);
    return take_steps([this] { return automatic_resizing() && begin_resize(true); });
  }

  // The number of doublings and halvings since the table was made.
  std::uint64_t resizes_done() const noexcept { return resizes_done_.load(platform::relaxed); }
  bool resize_in_progress() const noexcept { return resize_in_progress_.load(platform::relaxed); }

  // The number of buckets for so many elements; above most_buckets if there is none.
  std::size_t buckets_for(std::size_t elements) const noexcept {
    const double wanted = static_cast<double>(elements) / max_load_factor();
    return wanted < static_cast<double>(most_buckets) ? static_cast<std::size_t>(wanted) + 1
                                                      : most_buckets + 1;
  }

 private:
  using stripe = hash_stripe<node>;
  using owned_buckets = typename buckets::owner;

  static constexpr std::size_t batch_size = 64;     // of elements that are retired together
  static constexpr std::size_t groups_at_once = 8;  // of pairs that are unzipped under one lock

  stripe& stripe_of(std::size_t hash) noexcept { return stripes_[hash & (hash_stripes - 1)]; }
  std::size_t number_of_stripe(const stripe& s) const noexcept {
    return static_cast<std::size_t>(&s - stripes_);
  }

  // Inserts make() unless the key is there; seen(element) is called with that one.
  template <class Matches, class Make, class Seen>
  bool insert_unless_there(std::size_t hash, Matches matches, Make make, Seen seen) {
    stripe& s = stripe_of(hash);
    bool crowded = false;
    {
      const std::scoped_lock lock(s.writing);
      if (const node* const old = s.find(hash, matches)) {
        seen(*old);
        return false;
      }
      s.link_in(*make());
      crowded = seems_crowded(s);
    }
    resize_after_change(crowded);
    return true;
  }

  template <class Atomic>
  static void swap_values(Atomic& a, Atomic& b) noexcept {
    const auto of_a = a.load(platform::relaxed);
    a.store(b.load(platform::relaxed), platform::relaxed);
    b.store(of_a, platform::relaxed);
  }

  // --- Erasing many

  // Elements that have been taken out; retires them at its end.
  class batch {
   public:
    explicit batch(resizable_hash_table& of) noexcept : of_(of) {}
    batch(const batch&) = delete;
    batch& operator=(const batch&) = delete;
    ~batch() {
      while (retired* const each = first_) {
        first_ = each->next;
        static_cast<node&>(*each).retire(*of_.domain_);
      }
    }
    void add(node& old) noexcept {
      old.retired::next = first_;
      first_ = &old;
      ++size_;
    }
    std::size_t size() const noexcept { return size_; }

   private:
    resizable_hash_table& of_;
    retired* first_ = nullptr;
    std::size_t size_ = 0;
  };

  static constexpr std::uint64_t reversed(std::uint64_t bits) noexcept {
    bits = (bits >> 1 & 0x5555'5555'5555'5555) | (bits & 0x5555'5555'5555'5555) << 1;
    bits = (bits >> 2 & 0x3333'3333'3333'3333) | (bits & 0x3333'3333'3333'3333) << 2;
    bits = (bits >> 4 & 0x0F0F'0F0F'0F0F'0F0F) | (bits & 0x0F0F'0F0F'0F0F'0F0F) << 4;
    return __builtin_bswap64(bits);
  }

  // Passes over elements whose reversed hash is below `from`: the walk has met them in a larger
  // table.
  template <class F>
  void erase_in_bucket(stripe& s, buckets& all, std::size_t bucket, std::uint64_t from, F& f,
                       batch& old) {
    node* after = nullptr;
    for (node* each = all.head(bucket).peek(); each != nullptr; each = after) {
      after = each->next.peek();
      if (!all.is_in_bucket(*each, bucket) || reversed(each->hash) < from) continue;
      if (!f(std::as_const(*each))) continue;
      s.unlink(*each);
      old.add(*each);
    }
  }

  // --- How large

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
    return is_too_small(s.newer->mask + 1, s.count.load(platform::relaxed) * hash_stripes);
  }
  bool seems_sparse(const stripe& s) const noexcept {
    return is_too_large(s.newer->mask + 1, s.count.load(platform::relaxed) * hash_stripes);
  }

  // --- Resizing

  bool may_wait() const noexcept { return !is_in_section(number_of(*domain_)); }

  // After a change: begins a resize if the caller's stripe seems to need one, and takes the steps
  // of the one in progress that need not wait; does nothing if another thread does it already.
  void resize_after_change(bool needed) {
    if (!needed && !resize_in_progress_.load(platform::relaxed)) return;
    if (!automatic_resizing()) return;
    if (!resizing_.try_lock()) return;
    const std::scoped_lock resizing(std::adopt_lock, resizing_);
    take_steps([this] { return begin_resize(true); });
  }

  // Precondition of all members below: the caller holds `resizing_`.

  enum class phase : std::uint8_t {
    at_rest,
    published,  // until no reader uses the table `before_`
    unzipping,  // until no reader is between the chains that the last step has separated
  };

  // Sees the changes of earlier resizes, through the mutex.
  buckets* newest() const noexcept { return table_.load(platform::relaxed); }

  // Calls work(stripe, number) for each while holding its mutex.
  template <class Work>
  void for_each_stripe(Work work) {
    for (std::size_t i = 0; i < hash_stripes; ++i) {
      const std::scoped_lock lock(stripes_[i].writing);
      work(stripes_[i], i);
    }
  }

  // Begins a resize if the number of buckets does not fit. False: it does, or there is no memory.
  // `lazily`: keeps a table that is a little too large.
  bool begin_resize(bool lazily) {
    const std::size_t count = newest()->mask + 1;
    const std::size_t elements = size();
    if (is_too_small(count, elements)) return begin_growing();
    const bool shrinks = lazily
                             ? is_too_large(count, elements)
                             : count / 2 >= fewest_buckets() && !is_too_small(count / 2, elements);
    return shrinks && begin_shrinking();
  }

  // Takes steps as long as none has to wait; calls begin(), which may begin another resize, at the
  // end of each. True: the table is at rest.
  template <class Begin>
  bool take_steps(Begin begin) {
    for (;;) {
      if (phase_ == phase::at_rest && !begin()) return true;
      if (!may_take_step()) return false;
      take_step();
    }
  }
  bool may_take_step() noexcept {
    // A reader may be among the elements of the other bucket and needs the link that leads out of
    // there, which is the next one to change.
    if (phase_ == phase::unzipping && is_mutant(mutant::unzips_at_once)) return true;
    return try_advance(*domain_, grace_period_);
  }

  // Precondition: a resize is in progress, and its grace period is over.
  void take_step() noexcept {
    if (phase_ == phase::published) {
      const bool grows = before_->mask < newest()->mask;
      for_each_stripe([&](stripe& s, std::size_t) {
        s.older = nullptr;
        if (!grows) s.sibling = 0;
      });
      before_.reset();
      if (!grows) return end_resize();
      phase_ = phase::unzipping;
    }
    if (unzip_one_step(*newest())) {
      grace_period_ = grace_period_from_now(*domain_);
      return;
    }
    for_each_stripe([](stripe& s, std::size_t) { s.sibling = 0; });
    end_resize();
  }

  void end_resize() noexcept {
    phase_ = phase::at_rest;
    resize_in_progress_.store(false, platform::relaxed);
    resizes_done_.store(resizes_done_.load(platform::relaxed) + 1, platform::relaxed);
  }

  // Shows readers `fresh`, whose chains are complete.
  void publish(buckets& fresh) noexcept {
    before_.reset(newest());
    // (RH8) Pairs with (RH7).
    table_.store(&fresh, at(letter::RH8, platform::release));
    phase_ = phase::published;
    resize_in_progress_.store(true, platform::relaxed);
    grace_period_ = grace_period_from_now(*domain_);
  }

  // Doubles the number of buckets. False: no memory.
  bool begin_growing() {
    buckets* const small = newest();
    const std::size_t count = small->mask + 1;
    owned_buckets large = buckets::make(2 * count, small->from);
    if (large == nullptr) return false;
    for_each_stripe([&](stripe& s, std::size_t number) {
      for (std::size_t bucket = number; bucket < count; bucket += hash_stripes) {
        node* const first = small->head(bucket).peek();
        for (const std::size_t half : {bucket, bucket + count}) {
          large->head(half).prepare(large->first_in_bucket(half, first));
        }
        large->mark_if_zipped(bucket);
      }
      s.begin_resizing(*large);
    });
    publish(*large.release());
    return true;
  }

  // Takes one step to separate the chains of each pair of buckets that may be zipped; false if
  // there is none. Pairs that needed the step stay marked, also after their last one: chains must
  // not be joined again before its readers are gone.
  bool unzip_one_step(buckets& large) noexcept {
    bool any = false;
    const std::size_t groups = large.groups_of_stripe();
    for (std::size_t number = 0; number < hash_stripes; ++number) {
      for (std::size_t i = 0; i < groups; i += groups_at_once) {
        any = unzip_groups(large, number, i, std::min(i + groups_at_once, groups)) || any;
      }
    }
    return any;
  }

  // Of one stripe, from group `i` on.
  bool unzip_groups(buckets& large, std::size_t number, std::size_t i, std::size_t end) noexcept {
    const auto skip = [&] {
      while (i != end && large.group(number, i) == 0) ++i;
    };
    skip();
    if (i == end) return false;
    bool any = false;
    // For a few groups at a time, so that other writers get the mutex.
    const std::scoped_lock lock(stripes_[number].writing);
    for (; i != end; ++i, skip()) {
      typename buckets::pair_group& zipped = large.group(number, i);
      unsigned left = 0;
      for (std::size_t pair = 0; pair < buckets::pairs_in_group; ++pair) {
        const std::size_t lower = (i * buckets::pairs_in_group + pair) * hash_stripes + number;
        if ((zipped >> pair & 1) != 0 && large.unzip_step(lower)) left |= 1U << pair;
      }
      zipped = static_cast<std::uint8_t>(left);
      any = any || left != 0;
    }
    return any;
  }

  // Halves the number of buckets: appends the chain of the upper bucket to that of the lower one.
  // Readers of the large table that search the lower bucket then pass over the upper one's
  // elements. False: no memory.
  bool begin_shrinking() {
    buckets* const large = newest();
    const std::size_t count = (large->mask + 1) / 2;
    owned_buckets small = buckets::make(count, large->from);
    if (small == nullptr) return false;
    for_each_stripe([&](stripe& s, std::size_t number) {
      for (std::size_t bucket = number; bucket < count; bucket += hash_stripes) {
        node* const upper = large->head(bucket + count).peek();
        node* const lower = large->head(bucket).peek();
        if (lower != nullptr && upper != nullptr) append(*lower, *upper);
        small->head(bucket).prepare(lower != nullptr ? lower : upper);
      }
      s.begin_resizing(*small);
    });
    publish(*small.release());
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
  domain* domain_;

  alignas(platform::cache_line) platform::atomic<float> max_load_{1.0F};
  platform::atomic<std::size_t> fewest_buckets_{0};
  platform::atomic<bool> resizes_{true};
  platform::atomic<bool> resize_in_progress_{false};  // a hint, without the mutex
  platform::atomic<std::uint64_t> resizes_done_{0};

  mutex resizing_;
  platform::variable<phase> phase_{phase::at_rest};
  platform::variable<std::uint64_t> grace_period_{};  // that has to pass before the next step
  owned_buckets before_;                              // that readers may still use

  stripe stripes_[hash_stripes];
};

}  // namespace readmost::detail

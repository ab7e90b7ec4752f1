// SPDX-License-Identifier: Apache-2.0
// The chains of rcu_hash_map, of which a resize shows readers two tables at a time.
//
// Two neighbouring buckets of a large table make up one of the table half as large. While a map is
// resized, the chains of such two buckets may share their ends ("zipped"): a lookup passes over
// elements of the other bucket. All of a stripe's chains agree on one order of the elements.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <readmost/detail/rcu/retired.hpp>
#include <readmost/detail/threads/mutex.hpp>
#include <utility>

namespace readmost::detail {

// Elements belong to stripes, by the lower bits of their hashes; each has a mutex for writers.
inline constexpr std::size_t hash_stripes = 16;  // a power of two

// A bucket's head, or an element's link to the next one; null at the end of the chain.
template <class Node>
class chain_link {
 public:
  // For readers.
  Node* follow() const noexcept {
    // (RH1) Pairs with (RH2) to (RH6): sees the element complete.
    return to_.load(at(letter::RH1, platform::acquire));
  }
  // For writers, which see each other's changes through the mutex of the stripe.
  Node* peek() const noexcept { return to_.load(platform::relaxed); }

  // For a link that readers cannot reach before something else is published.
  void prepare(Node* to) noexcept { to_.store(to, platform::relaxed); }
  // Pairs with (RH1): release, so that readers see every element reached from here on complete.
  // That includes elements which another writer has linked.
  void publish(Node* to, letter which) noexcept { to_.store(to, at(which, platform::release)); }

 private:
  platform::atomic<Node*> to_{nullptr};
};

// What the table keeps of an element. Node derives from it and has
//   memory: where the table's own memory comes from; copyable, with
//     void* allocate(std::size_t bytes) const noexcept, null if there is none
//     void deallocate(void*, std::size_t bytes) const noexcept
//   retire(domain&) noexcept: destroys the element after a grace period
//   destroy() noexcept: at once
template <class Node>
struct hash_node : retired {
  hash_node() = default;
  explicit hash_node(std::size_t mixed_hash) noexcept : hash(mixed_hash) {}

  chain_link<Node> next;
  // Set before the element is linked.
  platform::variable<std::size_t> hash{};
};

// The heads of `mask + 1` buckets, a power of two. They follow this object in memory, so that a
// lookup has one cache line less to fetch; behind them is what a resize notes of them.
template <class Node>
class bucket_array {
  using link = chain_link<Node>;
  using memory = typename Node::memory;

 public:
  // A bit for each of eight pairs of buckets of one stripe: whether the pair may be zipped. A pair
  // is a bucket of the lower half and the one in the upper half that was split off from it. Changed
  // while holding the stripe's mutex.
  using pair_group = platform::variable<std::uint8_t>;
  static constexpr std::size_t pairs_in_group = 8;

  struct deleter {
    void operator()(bucket_array* old) const noexcept {
      const memory from = old->from;
      const std::size_t buckets = old->mask + 1;
      std::destroy_n(old->first_group(), groups(buckets));
      std::destroy_n(&old->head(0), buckets);
      std::destroy_at(old);
      from.deallocate(old, bytes(buckets));
    }
  };
  using owner = std::unique_ptr<bucket_array, deleter>;

  // Null: no memory.
  static owner make(std::size_t buckets, const memory& from) noexcept {
    void* const place = from.allocate(bytes(buckets));
    return owner(place != nullptr ? new (place) bucket_array(buckets, from) : nullptr);
  }

  link& head(std::size_t hash) noexcept {
    return std::launder(reinterpret_cast<link*>(this + 1))[hash & mask];
  }
  const link& head(std::size_t hash) const noexcept {
    return const_cast<bucket_array*>(this)->head(hash);
  }
  // For the thread that resizes.
  std::size_t groups_of_stripe() const noexcept { return groups(mask + 1) / hash_stripes; }
  pair_group& group(std::size_t stripe, std::size_t number) noexcept {
    return first_group()[stripe * groups_of_stripe() + number];
  }
  // If both have elements, one of the chains leads to all of them. If one is empty there is nothing
  // to separate.
  void mark_if_zipped(std::size_t lower) noexcept {
    if (head(lower).peek() == nullptr || head(lower + (mask + 1) / 2).peek() == nullptr) return;
    const std::size_t in_stripe = lower / hash_stripes;
    pair_group& of = group(lower % hash_stripes, in_stripe / pairs_in_group);
    of = static_cast<std::uint8_t>(of | 1U << in_stripe % pairs_in_group);
  }
  bool is_in_bucket(const Node& element, std::size_t bucket) const noexcept {
    return (element.hash & mask) == bucket;
  }

  // The first of the elements of `bucket` from `from` on, or of the buckets after it.
  const Node* first_from(std::size_t bucket, const Node* from) const noexcept {
    for (;;) {
      while (from != nullptr && !is_in_bucket(*from, bucket)) from = from->next.follow();
      if (from != nullptr || bucket == mask) return from;
      from = head(++bucket).follow();
    }
  }

  // Splits the chains of two buckets one step further; false when they share no element any more.
  // `lower` is a bucket of the lower half. Before the next step, all readers of this one must be
  // gone.
  //
  // The two chains, A and B, share their end. A's link `a` leads to the first element f of B on it,
  // B's link `b` to the first element g of A. The step makes `a` pass over f and the elements of B
  // behind it. No reader that looks for elements of B misses one if f is among those at the front
  // of B's chain, before `b`. Readers that look for elements of A and have passed `a` go on by `b`,
  // so `b` may change only when they are gone. Otherwise f comes after g; then g is at the front of
  // A's chain, since all of A is on it, and `b` may pass over g.
  //
  // Each step looks up both links anew, because writers may have changed the chains. An element
  // that they take out keeps its link. A reader on it may have followed the link just before the
  // change, so it can find the same elements either way.
  bool unzip_step(std::size_t lower) noexcept {
    const std::size_t upper = lower + (mask + 1) / 2;
    link& a = end_of_own(lower);
    link& b = end_of_own(upper);
    if (a.peek() == nullptr && b.peek() == nullptr) return false;
    const bool is_a = a.peek() != nullptr && is_at_front(upper, a.peek());
    link& changed = is_a ? a : b;
    // (RH5) Pairs with (RH1).
    changed.publish(first_in_bucket(is_a ? lower : upper, changed.peek()), letter::RH5);
    return true;
  }

  // For writers: the first element of the bucket from `from` on.
  Node* first_in_bucket(std::size_t bucket, Node* from) const noexcept {
    while (from != nullptr && !is_in_bucket(*from, bucket)) from = from->next.peek();
    return from;
  }

  const platform::variable<std::size_t> mask;
  [[no_unique_address]] const memory from;

 private:
  bucket_array(std::size_t buckets, const memory& its_memory) noexcept
      : mask(buckets - 1), from(its_memory) {
    std::uninitialized_value_construct_n(&head(0), buckets);
    std::uninitialized_value_construct_n(first_group(), groups(buckets));
  }

  pair_group* first_group() noexcept {
    return std::launder(reinterpret_cast<pair_group*>(&head(0) + mask + 1));
  }
  static std::size_t groups(std::size_t buckets) noexcept {
    return std::max(hash_stripes, buckets / 2 / pairs_in_group);
  }
  static std::size_t bytes(std::size_t buckets) noexcept {
    static_assert(sizeof(bucket_array) % alignof(link) == 0);
    static_assert(alignof(pair_group) <= alignof(link));
    return sizeof(bucket_array) + buckets * sizeof(link) + groups(buckets) * sizeof(pair_group);
  }

  // The first link of the bucket's chain that leads to an element of another bucket, or its end.
  link& end_of_own(std::size_t bucket) noexcept {
    link* each = &head(bucket);
    for (Node* at = each->peek(); at != nullptr && is_in_bucket(*at, bucket); at = each->peek()) {
      each = &at->next;
    }
    return *each;
  }

  // Whether `other` is among the elements of `bucket` at the front of its chain.
  bool is_at_front(std::size_t bucket, const Node* other) noexcept {
    const link& end = end_of_own(bucket);
    for (const link* each = &head(bucket); each != &end; each = &each->peek()->next) {
      if (each->peek() == other) return true;
    }
    return false;
  }
};

// The elements of a stripe and the mutex of the writers that change them. A bucket, and the two
// into which it is doubled, belong to one stripe.
//
// A stripe is in one of these states; readers may use any table that is named.
//   at rest        newer
//   being resized  newer, older, sibling: the chains of both tables are complete. Those of the two
//                  buckets of the larger table that make up one of the smaller may be zipped.
//   being unzipped newer, sibling: no reader uses the older table any more; zipped chains are being
//                  separated.
template <class Node>
struct alignas(platform::cache_line) hash_stripe {
  using buckets = bucket_array<Node>;

  mutex writing;
  // Of elements. Changed while holding the mutex.
  platform::atomic<std::size_t> count{0};
  platform::variable<buckets*> newer{};
  platform::variable<buckets*> older{};
  // The bit by which the numbers of two such buckets differ, which is also the number of buckets of
  // the smaller table; 0 at rest.
  platform::variable<std::size_t> sibling{};

  // --- Precondition of all members below: the caller holds the mutex.

  // The smaller of the two tables, whose chains have each element of the stripe once.
  buckets& coarse() const noexcept { return is_growing() ? *older : *newer; }

  // matches(element)
  template <class Matches>
  Node* find(std::size_t hash, Matches matches) const {
    Node* each = newer->head(hash).peek();
    while (each != nullptr && !matches(std::as_const(*each))) each = each->next.peek();
    return each;
  }

  // Puts an element in front of all others, so that it leads to every element that its bucket's
  // chain leads to in either table. The newer table comes first, here and below: a reader that uses
  // the older one, and the newer one for its next lookup, must not see a change undone that it has
  // seen done.
  void link_in(Node& fresh) noexcept {
    fresh.next.prepare(coarse().head(fresh.hash).peek());
    // (RH2) Pairs with (RH1).
    newer->head(fresh.hash).publish(&fresh, letter::RH2);
    if (keeps_older_table()) older->head(fresh.hash).publish(&fresh, letter::RH2);
    // The element leads to those of both halves.
    if (is_growing() && !is_mutant(mutant::leaves_fresh_pair_zipped)) {
      newer->mark_if_zipped(fresh.hash & older->mask);
    }
    count.store(count.load(platform::relaxed) + 1, platform::relaxed);
  }

  // Takes an element out. Readers on it go on by its link: the elements behind that link are
  // retired later.
  void unlink(Node& old) noexcept {
    // (RH3) Pairs with (RH1).
    redirect(old, old.next.peek(), letter::RH3);
    count.store(count.load(platform::relaxed) - 1, platform::relaxed);
  }

  void replace(Node& old, Node& fresh) noexcept {
    fresh.next.prepare(old.next.peek());
    // (RH4) Pairs with (RH1).
    redirect(old, &fresh, letter::RH4);
  }

  // Precondition: the chains of `fresh` are complete in this stripe, and the stripe is at rest.
  void begin_resizing(buckets& fresh) noexcept {
    older = static_cast<buckets*>(newer);
    newer = &fresh;
    sibling = std::min<std::size_t>(newer->mask, older->mask) + 1;
  }

  // Precondition: no other thread uses either stripe.
  void swap(hash_stripe& other) noexcept {
    const std::size_t own_count = count.load(platform::relaxed);
    count.store(other.count.load(platform::relaxed), platform::relaxed);
    other.count.store(own_count, platform::relaxed);
    std::swap(newer, other.newer);
    std::swap(older, other.older);
    std::swap(sibling, other.sibling);
  }

 private:
  bool is_growing() const noexcept { return older != nullptr && older->mask < newer->mask; }
  bool keeps_older_table() const noexcept {
    return older != nullptr && !is_mutant(mutant::changes_newer_table_alone);
  }

  // Makes every link that leads to `from` lead to `to`: up to two links and two heads.
  void redirect(const Node& from, Node* to, letter which) noexcept {
    redirect_in(*newer, from, to, which);
    if (keeps_older_table()) redirect_in(*older, from, to, which);
  }
  void redirect_in(buckets& in, const Node& from, Node* to, letter which) noexcept {
    redirect_in_chain(in.head(from.hash), from, to, which);
    if ((in.mask & sibling) != 0 && !is_mutant(mutant::forgets_sibling_chain)) {
      redirect_in_chain(in.head(from.hash ^ sibling), from, to, which);
    }
  }
  static void redirect_in_chain(chain_link<Node>& head, const Node& from, Node* to,
                                letter which) noexcept {
    chain_link<Node>* each = &head;
    while (Node* const at = each->peek()) {
      if (at == &from) {
        each->publish(to, which);
        return;
      }
      each = &at->next;
    }
  }
};

}  // namespace readmost::detail

// SPDX-License-Identifier: Apache-2.0
#include "lock/lock_order.hpp"

#include <bit>
#include <initializer_list>

namespace readmost::detail::lock_check {

namespace {

using index = std::uint32_t;  // 0: none
constexpr index most_locks = 1U << 13;
constexpr index most_edges = 1U << 15;
constexpr index buckets = 1U << 15;

// One bit for each kind of hold and of wait.
constexpr std::uint8_t kind_bit(hold_kind held, wait_kind wanted) noexcept {
  return static_cast<std::uint8_t>(
      1U << (static_cast<unsigned>(held) * wait_kinds + static_cast<unsigned>(wanted)));
}

struct node {
  std::uintptr_t lock;
  index next_in_bucket;
  index first_out;
  index first_in;
  // Of the search: when the node was reached last, by a wait of each kind, and by which edge.
  std::uint32_t reached[wait_kinds];
  index reached_by[wait_kinds];
  wait_kind reached_after[wait_kinds];  // how the edge's first node had been reached
};

struct edge {
  index from;
  index to;
  index next_in_bucket;
  index next_out;
  index next_in;
  std::uint8_t kinds;
  order_edge last;  // as noted for the latest of its kinds
};

struct state {
  index node;
  wait_kind wanted;
};

struct graph {
  node nodes[most_locks + 1];
  edge edges[most_edges + 1];
  index node_buckets[buckets];
  index edge_buckets[buckets];
  state queue[most_locks * wait_kinds];
  index free_nodes;
  index free_edges;
  index nodes_used;
  index edges_used;
  std::uint32_t search;
  bool told_of_fullness;
};

constinit platform::atomic<graph*> the_graph{nullptr};
constinit platform::atomic<std::uint64_t> version{1};
// Held for a bounded time, by a thread that calls nothing.
constinit platform::atomic<std::uint32_t> guard{0};

class guarded {
 public:
  guarded() noexcept {
    while (guard.exchange(1, platform::acquire) != 0) platform::yield();
  }
  ~guarded() { guard.store(0, platform::release); }
  guarded(const guarded&) = delete;
  guarded& operator=(const guarded&) = delete;
};

graph* get() noexcept {
  graph* known = the_graph.load(platform::acquire);
  if (known != nullptr) return known;
  auto* const fresh = static_cast<graph*>(platform::map_pages(sizeof(graph)));
  if (fresh == nullptr) return nullptr;
  return the_graph.compare_exchange_strong(known, fresh, platform::acq_rel) ? fresh : known;
}

index bucket_of(std::uintptr_t lock) noexcept {
  return static_cast<index>(scattered(lock) >> (64 - std::bit_width(buckets - 1)));
}
index bucket_of(index from, index to) noexcept {
  return bucket_of(std::uintptr_t{from} << 32 | to);
}

index find_node(const graph& g, std::uintptr_t lock) noexcept {
  index n = g.node_buckets[bucket_of(lock)];
  while (n != 0 && g.nodes[n].lock != lock) n = g.nodes[n].next_in_bucket;
  return n;
}

index make_node(graph& g, std::uintptr_t lock) noexcept {
  index n = g.free_nodes;
  if (n != 0) {
    g.free_nodes = g.nodes[n].next_in_bucket;
  } else {
    if (g.nodes_used == most_locks) return 0;
    n = ++g.nodes_used;
  }
  index& bucket = g.node_buckets[bucket_of(lock)];
  g.nodes[n] = {};
  g.nodes[n].lock = lock;
  g.nodes[n].next_in_bucket = bucket;
  bucket = n;
  return n;
}

index find_edge(const graph& g, index from, index to) noexcept {
  index e = g.edge_buckets[bucket_of(from, to)];
  while (e != 0 && (g.edges[e].from != from || g.edges[e].to != to)) e = g.edges[e].next_in_bucket;
  return e;
}

index make_edge(graph& g, index from, index to) noexcept {
  index e = g.free_edges;
  if (e != 0) {
    g.free_edges = g.edges[e].next_in_bucket;
  } else {
    if (g.edges_used == most_edges) return 0;
    e = ++g.edges_used;
  }
  index& bucket = g.edge_buckets[bucket_of(from, to)];
  edge& made = g.edges[e];
  made.from = from;
  made.to = to;
  made.kinds = 0;
  made.next_in_bucket = bucket;
  made.next_out = g.nodes[from].first_out;
  made.next_in = g.nodes[to].first_in;
  bucket = g.nodes[from].first_out = g.nodes[to].first_in = e;
  return e;
}

// Takes an element out of a list that is linked by `next`.
template <class Element>
void unlink(index& first, index gone, Element* elements, index Element::* next) noexcept {
  index* link = &first;
  while (*link != gone) link = &(elements[*link].*next);
  *link = elements[gone].*next;
}

void remove_edge(graph& g, index e) noexcept {
  const edge& gone = g.edges[e];
  unlink(g.nodes[gone.from].first_out, e, g.edges, &edge::next_out);
  unlink(g.nodes[gone.to].first_in, e, g.edges, &edge::next_in);
  unlink(g.edge_buckets[bucket_of(gone.from, gone.to)], e, g.edges, &edge::next_in_bucket);
  g.edges[e].next_in_bucket = g.free_edges;
  g.free_edges = e;
}

constexpr bool keeps_out(hold_kind held, wait_kind wanted) noexcept {
  return held == hold_kind::write || wanted != wait_kind::weak_read;
}

// Calls visit(held, wanted) for each kind of an edge.
template <class Visit>
void for_each_kind(std::uint8_t kinds, Visit visit) noexcept {
  for (const hold_kind held : {hold_kind::read, hold_kind::write}) {
    for (const wait_kind wanted : {wait_kind::weak_read, wait_kind::read, wait_kind::write}) {
      if ((kinds & kind_bit(held, wanted)) != 0) visit(held, wanted);
    }
  }
}

bool reach(graph& g, state what, index by, wait_kind after) noexcept {
  node& n = g.nodes[what.node];
  const auto k = static_cast<std::size_t>(what.wanted);
  if (n.reached[k] == g.search) return false;
  n.reached[k] = g.search;
  n.reached_by[k] = by;
  n.reached_after[k] = after;
  return true;
}

// Looks for the shortest way from the end of `closing` back to its beginning.
void find_cycle(graph& g, const order_edge& closing, index from, index to,
                order_cycle& found) noexcept {
  ++g.search;
  std::size_t head = 0;
  std::size_t tail = 0;
  reach(g, {to, closing.wanted}, 0, closing.wanted);
  g.queue[tail++] = {to, closing.wanted};
  state last{};
  index last_edge = 0;
  while (head != tail && last_edge == 0) {
    const state at = g.queue[head++];
    for (index e = g.nodes[at.node].first_out; e != 0 && last_edge == 0; e = g.edges[e].next_out) {
      for_each_kind(g.edges[e].kinds, [&](hold_kind held, wait_kind wanted) {
        if (last_edge != 0 || !keeps_out(held, at.wanted)) return;
        if (g.edges[e].to == from) {
          if (!keeps_out(closing.held, wanted)) return;
          last = at;
          last_edge = e;
        } else if (reach(g, {g.edges[e].to, wanted}, e, at.wanted)) {
          g.queue[tail++] = {g.edges[e].to, wanted};
        }
      });
    }
  }
  if (last_edge == 0) return;
  // Backwards, from the last edge to the one after the closing one.
  std::size_t length = 2;
  for (state at = last;;) {
    const auto k = static_cast<std::size_t>(at.wanted);
    const node& n = g.nodes[at.node];
    if (n.reached_by[k] == 0) break;
    at = {g.edges[n.reached_by[k]].from, n.reached_after[k]};
    ++length;
  }
  found.length = length;
  found.edges[0] = closing;
  std::size_t place = length - 1;
  const auto put = [&](index e) {
    if (place < order_cycle::most) found.edges[place] = g.edges[e].last;
    --place;
  };
  put(last_edge);
  for (state at = last;;) {
    const auto k = static_cast<std::size_t>(at.wanted);
    const node& n = g.nodes[at.node];
    if (n.reached_by[k] == 0) break;
    put(n.reached_by[k]);
    at = {g.edges[n.reached_by[k]].from, n.reached_after[k]};
  }
}

}  // namespace

std::uint64_t version_of_order() noexcept {
  return version.load(platform::relaxed);
}

bool add_to_order(const order_edge& added, order_cycle& found) noexcept {
  found.length = 0;
  graph* const g = get();
  if (g == nullptr) return true;
  const guarded now;
  index from = find_node(*g, added.from);
  if (from == 0) from = make_node(*g, added.from);
  index to = find_node(*g, added.to);
  if (to == 0 && from != 0) to = make_node(*g, added.to);
  index e = from != 0 && to != 0 ? find_edge(*g, from, to) : 0;
  if (e == 0 && from != 0 && to != 0) e = make_edge(*g, from, to);
  if (e == 0) {
    const bool told = g->told_of_fullness;
    g->told_of_fullness = true;
    return told;
  }
  edge& known = g->edges[e];
  const std::uint8_t kind = kind_bit(added.held, added.wanted);
  if ((known.kinds & kind) != 0) return true;
  known.kinds |= kind;
  known.last = added;
  find_cycle(*g, added, from, to, found);
  return true;
}

void forget_in_order(std::uintptr_t lock) noexcept {
  graph* const g = the_graph.load(platform::acquire);
  if (g == nullptr) return;
  const guarded now;
  const index n = find_node(*g, lock);
  if (n == 0) return;
  version.fetch_add(1, platform::relaxed);
  node& gone = g->nodes[n];
  while (gone.first_out != 0) remove_edge(*g, gone.first_out);
  while (gone.first_in != 0) remove_edge(*g, gone.first_in);
  unlink(g->node_buckets[bucket_of(lock)], n, g->nodes, &node::next_in_bucket);
  gone.lock = 0;
  gone.next_in_bucket = g->free_nodes;
  g->free_nodes = n;
}

void forget_order() noexcept {
  // The old one's pages stay; another one is made when it is needed.
  the_graph.store(nullptr, platform::relaxed);
  version.fetch_add(1, platform::relaxed);
  guard.store(0, platform::relaxed);
}

}  // namespace readmost::detail::lock_check

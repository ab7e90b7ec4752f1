// SPDX-License-Identifier: Apache-2.0
// Implements mixed_table for a `Table` with inline functions, and such a table under RCU.
#pragma once

#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "contenders/rcu/chains.hpp"
#include "contenders/rcu/mixed_tables.hpp"
#include "harness/random_numbers.hpp"

namespace bench {

// Random numbers of searches between two updates that result in the given share of updates. Drawn
// beforehand: a logarithm would cost more than the measured operations.
class run_lengths {
 public:
  static constexpr std::uint64_t endless = std::numeric_limits<std::uint64_t>::max();

  run_lengths(double updates, std::uint64_t seed) {
    random_numbers random(seed);
    for (std::uint64_t& length : lengths_) {
      const double uniform = (static_cast<double>(random()) + 0.5) / 0x1p32;
      length = updates <= 0 ? endless
               : updates >= 1
                   ? 0
                   : static_cast<std::uint64_t>(std::log(uniform) / std::log1p(-updates));
    }
  }
  std::uint64_t next() { return lengths_[at_++ % lengths_.size()]; }

 private:
  std::array<std::uint64_t, 4096> lengths_{};
  std::size_t at_ = 0;
};

// Each thread has a Table::user. Its find(key, missed) returns false if it found a wrong element;
// take_out(key) and put_in(element) are updates; discard(element) deletes the element when no
// reader can have it; quiescent() is called after each batch.
template <class Table>
class mixed_table_of final : public mixed_table {
 public:
  explicit mixed_table_of(std::size_t buckets) : mask_(buckets - 1), table_(buckets) {}
  ~mixed_table_of() override { Table::settle(); }

  mixed_result use(const std::atomic<bool>& stopped, std::uint64_t seed, double updates,
                   std::atomic<std::uint64_t>& operations) override {
    constexpr unsigned batch = 64;
    typename Table::user me(table_);
    random_numbers random(seed);
    run_lengths runs(updates, seed);
    mixed_result result;
    std::uint64_t left = runs.next();
    for (std::uint64_t done = 0; !stopped.load(std::memory_order_relaxed);) {
      for (unsigned i = 0; i < batch; ++i) {
        const std::uint64_t key = random() & mask_;
        if (left == 0) {
          update(me, key);
          ++result.updates;
          left = runs.next();
        } else {
          --left;
          if (!me.find(key, result.misses)) ++result.wrong;
        }
      }
      me.quiescent();
      operations.store(done += batch, std::memory_order_relaxed);
    }
    result.searches = operations.load(std::memory_order_relaxed) - result.updates;
    return result;
  }
  void settle() override { Table::settle(); }
  std::string fault() const override { return table_.elements().fault(); }

 private:
  // Two operations, each synchronized by itself. Leaves an element that another thread has just
  // taken out to that thread.
  static void update(typename Table::user& me, std::uint64_t key) {
    auto* const old = me.take_out(key);
    if (old == nullptr) return;
    // In new memory, since the old element may still have readers.
    me.put_in(*new typename Table::element(key));
    me.discard(old);
  }

  std::uint64_t mask_;
  Table table_;
};

// Whether `found` is the right element for `key`; counts a search that found none.
template <class Element>
bool is_found(const Element* found, std::uint64_t key, std::uint64_t& missed) {
  if (found == nullptr) {
    ++missed;
    return true;
  }
  return found->key == key && found->is_right();
}

// A thread's use of a table whose updates take the spinlock of their bucket.
template <class Table>
class locked_chains_user {
 public:
  explicit locked_chains_user(Table& of) : of_(of) {}

  auto* take_out(std::uint64_t key) { return of_.chains_.take_out(key); }
  void put_in(typename Table::element& fresh) { of_.chains_.put_in(fresh); }
  void discard(typename Table::element* old) { delete old; }
  void quiescent() {}

 protected:
  Table& of_;
};

// Readers in sections of RCU. Rcu has element, section, thread, retire(element), quiescent() and
// settle().
template <class Rcu>
class rcu_table {
 public:
  using element = typename Rcu::element;

  explicit rcu_table(std::size_t buckets) : chains_(buckets) {}
  static void settle() { Rcu::settle(); }
  const chains<element>& elements() const { return chains_.all(); }

  class user : public locked_chains_user<rcu_table> {
   public:
    using locked_chains_user<rcu_table>::locked_chains_user;

    bool find(std::uint64_t key, std::uint64_t& missed) {
      const typename Rcu::section inside;
      return is_found(this->of_.chains_.all().find(key), key, missed);
    }
    void discard(element* old) { Rcu::retire(old); }
    void quiescent() { Rcu::quiescent(); }

   private:
    [[no_unique_address]] typename Rcu::thread member_;
  };

 private:
  friend class locked_chains_user<rcu_table>;

  locked_chains<element> chains_;
};

}  // namespace bench

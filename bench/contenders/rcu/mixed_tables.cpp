// SPDX-License-Identifier: Apache-2.0
// Without synchronization, under locks, under our RCU, and under hazard pointers.
#include "contenders/rcu/mixed_tables.hpp"

#include <readmost/hazard_pointer.hpp>
#include <readmost/rcu.hpp>
#include <readmost/shared_mutex.hpp>
#include <shared_mutex>

#include "contenders/rcu/big_reader_lock.hpp"
#include "contenders/rcu/hazard_slots.hpp"
#include "contenders/rcu/mixed_table_of.hpp"
#include "contenders/rcu/reader_writer_locks.hpp"

namespace bench {

namespace {

using plain_element = element<no_base>;

// One lock around everything.
template <class Lock>
class locked_table {
 public:
  using element = plain_element;

  explicit locked_table(std::size_t buckets) : chains_(buckets) {}
  static void settle() {}
  const chains<element>& elements() const { return chains_; }

  class user {
   public:
    explicit user(locked_table& of) : of_(of), reading_(of.lock_) {}

    bool find(std::uint64_t key, std::uint64_t& missed) {
      const std::shared_lock inside(reading_);
      return is_found(of_.chains_.find(key), key, missed);
    }
    element* take_out(std::uint64_t key) {
      const std::lock_guard inside(of_.lock_);
      return of_.chains_.take_out(key);
    }
    void put_in(element& fresh) {
      const std::lock_guard inside(of_.lock_);
      of_.chains_.put_in(fresh);
    }
    void discard(element* old) { delete old; }
    void quiescent() {}

   private:
    locked_table& of_;
    reader_of<Lock> reading_;
  };

 private:
  alignas(64) Lock lock_;
  alignas(64) chains<element> chains_;
};

// A spinlock for each bucket, also for searches.
class table_of_locked_buckets {
 public:
  using element = plain_element;

  explicit table_of_locked_buckets(std::size_t buckets) : chains_(buckets) {}
  static void settle() {}
  const chains<element>& elements() const { return chains_.all(); }

  class user : public locked_chains_user<table_of_locked_buckets> {
   public:
    using locked_chains_user::locked_chains_user;

    bool find(std::uint64_t key, std::uint64_t& missed) {
      const std::lock_guard inside(of_.chains_.lock_of(key));
      return is_found(of_.chains_.all().find(key), key, missed);
    }
  };

 private:
  friend class locked_chains_user<table_of_locked_buckets>;

  locked_chains<element> chains_;
};

struct our_rcu {
  using element = bench::element<readmost::rcu_obj_base>;
  using section = readmost::rcu_reader;
  struct thread {};
  static void retire(element* old) { old->retire(); }
  static void quiescent() {}
  static void settle() { readmost::rcu_barrier(); }
};

// Searches protect the elements by hazard pointers; updates take the bucket's spinlock.
template <class Hazards, class Element>
class hazard_table {
 public:
  using element = Element;

  explicit hazard_table(std::size_t buckets) : chains_(buckets) {}
  static void settle() { Hazards::settle(); }
  const chains<element>& elements() const { return chains_.all(); }

  class user : public locked_chains_user<hazard_table> {
   public:
    using locked_chains_user<hazard_table>::locked_chains_user;

    // Hand over hand: an element stays protected until the next one is.
    bool find(std::uint64_t key, std::uint64_t& missed) {
      const std::atomic<element*>* from = &this->of_.chains_.all().head_of(key);
      const element* before = nullptr;
      std::size_t hand = 0;
      for (;;) {
        element* const at = hazards_.protect(hand, *from);
        if (at != nullptr && at == before) {  // taken out meanwhile
          from = &this->of_.chains_.all().head_of(key);
          before = nullptr;
          continue;
        }
        if (at == nullptr || at->key == key) {
          const bool right = is_found(at, key, missed);
          hazards_.clear(hand);
          if (before != nullptr) hazards_.clear(hand ^ 1);
          return right;
        }
        from = &at->next;
        before = at;
        hand ^= 1;
      }
    }
    element* take_out(std::uint64_t key) {
      return this->of_.chains_.take_out(key, taken_out::ends_in_loop);
    }
    void discard(element* old) { hazards_.retire(old); }

   private:
    Hazards hazards_;
  };

 private:
  friend class locked_chains_user<hazard_table>;

  locked_chains<element> chains_;
};

using our_hazard_element = element<readmost::hazard_pointer_obj_base>;

class our_hazard_pointers {
 public:
  our_hazard_element* protect(std::size_t i, const std::atomic<our_hazard_element*>& source) {
    return mine_[i].protect(source);
  }
  void clear(std::size_t i) { mine_[i].reset_protection(); }
  void retire(our_hazard_element* old) { old->retire(); }
  static void settle() { readmost::hazard_pointer_clean_up(); }

 private:
  std::array<readmost::hazard_pointer, 2> mine_{readmost::make_hazard_pointer(),
                                                readmost::make_hazard_pointer()};
};

template <class Table>
std::unique_ptr<mixed_table> make(std::size_t buckets) {
  return std::make_unique<mixed_table_of<Table>>(buckets);
}

}  // namespace

std::vector<mixed_table_maker> all_mixed_tables() {
  return {
      {"readmost::rcu", make<rcu_table<our_rcu>>},
      {"ideal", make<locked_table<no_lock>>, true},
#if defined(BENCH_HAS_URCU)
      {"liburcu-memb", make_liburcu_mixed_table},
#endif
      {"readmost::hazard_pointer", make<hazard_table<our_hazard_pointers, our_hazard_element>>},
      {"hazard-fenced",
       make<hazard_table<hazard_slots<plain_element, hazard_fence::fenced>, plain_element>>},
      {"spinlock-per-bucket", make<table_of_locked_buckets>},
      {"prwlock", make<locked_table<readmost::shared_mutex>>},
      {"brlock", make<locked_table<big_reader_lock<spinlock>>>},
      {"pthread", make<locked_table<pthread_lock>>},
      {"global-lock", make<locked_table<exclusive_spinlock>>},
  };
}

}  // namespace bench

// SPDX-License-Identifier: Apache-2.0
// A reader-writer lock over a closable scalable non-zero indicator.
//
// Source: Lev, Luchangco, Olszewski, Scalable Reader-Writer Locks, SPAA 2009: the C-SNZI and
// the lock GOLL, made after the Solaris kernel's; SNZI: Ellen, Lev, Luchangco, Moir, PODC 2007.
//
// Readers arrive and depart; a writer need only know whether there is one. Under contention they
// arrive at leaves, of which only the first arrival and the last departure go on to the root. A
// writer closes the root: no reader arrives there any more, and the last to depart notices that and
// hands the lock over to the writer, which waits in a queue.
//
// Simplified: the tree has one level, a leaf per place (home.hpp); a reader goes to its leaf when
// others do, or once it has failed at the root. Its ticket is kept by the thread (note(),
// home.hpp), not by the caller. Of the queue's policies, the one of the Solaris lock: a
// writer lets in all readers that wait, or else the next writer; the last reader a writer. No
// priorities.
//
// Reader: alone, one compare-and-swap and one atomic subtraction at the root; among readers the
// same at its leaf. Writer: one compare-and-swap if no reader is inside. Preference: in turns.
// Recursive read locks: only while no writer waits. Size: two lines, and a line per CPU.
#pragma once

#include "rivals/home.hpp"

namespace rivals {

// Closable scalable non-zero indicator.
class closable_indicator {
 public:
  enum ticket : std::uintptr_t { none, at_root, at_leaf };

  // A reader goes to its leaf after so many failures at the root.
  explicit closable_indicator(unsigned patience) noexcept
      : patience_(patience), leaves_(places()) {}

  // Returns `none` while it is closed.
  ticket arrive() noexcept {
    unsigned failures = 0;
    for (std::uint64_t root = root_.load(platform::relaxed);;) {
      if ((root & closed) != 0) return none;
      if (root >= one_leaf || failures >= patience_) return arrive_at_leaf() ? at_leaf : none;
      if (root_.compare_exchange_strong(root, root + 1, platform::acquire, platform::relaxed)) {
        return at_root;
      }
      ++failures;
    }
  }

  // Returns false if it is closed and this was the last reader.
  bool depart(ticket where) noexcept {
    if (where == at_root) return depart_from_root(1);
    return leaves_[home()].fetch_sub(1, platform::acq_rel) != 1 || depart_from_root(one_leaf);
  }

  bool is_open() const noexcept { return (root_.load(platform::relaxed) & closed) == 0; }

  // Returns whether no reader was inside.
  bool close() noexcept { return root_.fetch_or(closed, platform::acq_rel) == 0; }
  bool close_if_empty() noexcept {
    std::uint64_t empty = 0;
    return root_.load(platform::relaxed) == 0 &&
           root_.compare_exchange_strong(empty, closed, platform::acquire, platform::relaxed);
  }

  // Opens it with so many arrivals at the root. Preconditions: closed, and no reader inside.
  void open(std::uint32_t arrivals, bool and_close) noexcept {
    root_.store(arrivals | (and_close ? closed : 0), platform::release);
  }

  static constexpr std::size_t footprint(unsigned cpus) noexcept {
    return sizeof(closable_indicator) + decltype(leaves_)::footprint(cpus);
  }

 private:
  // The root: arrivals at it, leaves that are not empty, closed.
  static constexpr std::uint64_t one_leaf = std::uint64_t{1} << 32;
  static constexpr std::uint64_t closed = std::uint64_t{1} << 63;

  bool arrive_at_leaf() noexcept {
    auto& leaf = leaves_[home()];
    bool counted = false;
    std::uint32_t here = leaf.load(platform::relaxed);
    do {
      if (here == 0 && !counted) {
        if (!count_leaf()) return false;
        counted = true;
      }
      // Acquire: everything that the first thread to arrive here saw at the root happens before.
    } while (!leaf.compare_exchange_strong(here, here + 1, platform::acq_rel, platform::relaxed));
    // Another thread has counted the leaf too. It is not empty, so this is not the last departure.
    if (counted && here != 0) depart_from_root(one_leaf);
    return true;
  }

  bool count_leaf() noexcept {
    std::uint64_t root = root_.load(platform::relaxed);
    do {
      if ((root & closed) != 0) return false;
    } while (!root_.compare_exchange_strong(root, root + one_leaf, platform::acquire,
                                            platform::relaxed));
    return true;
  }

  bool depart_from_root(std::uint64_t unit) noexcept {
    return root_.fetch_sub(unit, platform::acq_rel) - unit != closed;
  }

  alignas(platform::cache_line) platform::atomic<std::uint64_t> root_{0};
  const unsigned patience_;
  spread_array<platform::atomic<std::uint32_t>> leaves_;
};

class csnzi_rwlock : immovable<csnzi_rwlock> {
 public:
  csnzi_rwlock() noexcept : csnzi_rwlock(1) {}
  explicit csnzi_rwlock(unsigned patience) noexcept : readers_inside_(patience) {}

  void lock() noexcept {
    if (readers_inside_.close_if_empty()) return;
    waiter me{};
    {
      holding closing(queue_);
      if (readers_inside_.close()) return;
      *last_writer_ = &me;
      last_writer_ = &me.next;
    }
    me.await();
  }
  bool try_lock() noexcept { return readers_inside_.close_if_empty(); }
  void unlock() noexcept {
    queue_.lock();
    if (waiter* const all = waiting_readers_; all != nullptr) {
      readers_inside_.open(waiting_reader_count_, waiting_writers_ != nullptr);
      waiting_readers_ = nullptr;
      waiting_reader_count_ = 0;
      queue_.unlock();
      for (waiter* one = all; one != nullptr;) {
        waiter* const next = one->next;
        one->let_in();
        one = next;
      }
    } else if (waiting_writers_ != nullptr) {
      let_writer_in();
    } else {
      readers_inside_.open(0, false);
      queue_.unlock();
    }
  }

  void lock_shared() noexcept {
    while (!try_lock_shared()) {
      queue_.lock();
      if (readers_inside_.is_open()) {
        queue_.unlock();
        continue;
      }
      waiter me{.next = waiting_readers_};
      waiting_readers_ = &me;
      waiting_reader_count_ = waiting_reader_count_ + 1;
      queue_.unlock();
      me.await();
      note(this, closable_indicator::at_root);  // where the writer that let it in has counted it
      return;
    }
  }
  bool try_lock_shared() noexcept {
    const closable_indicator::ticket ticket = readers_inside_.arrive();
    if (ticket != closable_indicator::none) note(this, ticket);
    return ticket != closable_indicator::none;
  }
  void unlock_shared() noexcept {
    const auto ticket = static_cast<closable_indicator::ticket>(take_note(this));
    if (readers_inside_.depart(ticket)) return;
    // The writer that has closed it waits.
    queue_.lock();
    let_writer_in();
  }

  static constexpr std::size_t footprint(unsigned cpus) noexcept {
    return sizeof(csnzi_rwlock) - sizeof(closable_indicator) + closable_indicator::footprint(cpus);
  }

 private:
  // On the stack of a waiting thread.
  struct waiter {
    platform::variable<waiter*> next{};
    platform::atomic<std::uint32_t> is_in{0};

    void await() const noexcept {
      wait_until([this] { return is_in.load(platform::acquire) != 0; });
    }
    // Its last access.
    void let_in() noexcept { is_in.store(1, platform::release); }
  };

  // Lets the first writer in, with the indicator still closed, and unlocks the queue.
  void let_writer_in() noexcept {
    waiter* const first = waiting_writers_;
    waiting_writers_ = first->next;
    if (first->next == nullptr) last_writer_ = &waiting_writers_;
    queue_.unlock();
    first->let_in();
  }

  closable_indicator readers_inside_;
  // Protected by queue_:
  spin_mutex queue_;
  platform::variable<std::uint32_t> waiting_reader_count_{0};
  platform::variable<waiter*> waiting_readers_{nullptr};
  platform::variable<waiter*> waiting_writers_{nullptr};
  platform::variable<platform::variable<waiter*>*> last_writer_{&waiting_writers_};
};

}  // namespace rivals

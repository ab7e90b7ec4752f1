// SPDX-License-Identifier: Apache-2.0
// The read-mostly lock of FreeBSD: readers leave a tracker on a list of their CPU's, and a writer
// collects the lists by interrupting the CPUs.
//
// Source: FreeBSD 9 sys/kern/kern_rmlock.c (S. Uphoff, 2007), rmlock(9); Chen et al., FCP (IEEE
// TPDS 27(10), 2016), section 2.
//
// A CPU has a token for the lock or has not. A reader puts its tracker on its list and, with the
// token, is inside: no atomic, no fence. A writer takes the mutex and all tokens, interrupts the
// CPUs that had one, and waits for the readers whose trackers it finds; a reader without a token
// gets it back under the mutex.
//
// Simplified: lists belong to threads by their number (home.hpp), not to CPUs, and are arrays of
// eight, for all locks together; the interrupt is a membarrier, after which the writer reads the
// lists itself, because no handler can be made to run in the thread. The writer polls instead of
// being woken by the last reader. Readers beyond the lists are counted in the lock. Turnstiles and
// priorities are left out. Readers are thus cheaper than in FreeBSD, where they link a list and pin
// the thread.
//
// Reader with the token: two plain stores and three loads. Without: the mutex. Writer: the mutex,
// and if tokens are out, a membarrier and a scan of their owners' lists; after another writer with
// no reader in between, the mutex alone. Preference: none; the next thread to get the mutex enters.
// Recursive read locks: yes (RM_RECURSE), where the hold is on a list. Size: 56 bytes, and 64 per
// thread for all locks together.
#pragma once

#include "rivals/fences.hpp"
#include "rivals/home.hpp"

namespace rivals {

namespace detail {

// The locks that one thread reads, or is about to read.
struct alignas(platform::cache_line) tracker_list {
  static constexpr std::size_t capacity = 8;
  static constexpr unsigned lists = 384;

  platform::atomic<const void*> trackers[capacity]{};
};
inline constinit tracker_list tracker_lists[tracker_list::lists]{};

}  // namespace detail

class rmlock : immovable<rmlock> {
 public:
  void lock() noexcept {
    mutex_.lock();
    std::uint64_t had[words];
    if (take_tokens(had)) {
      for_each(had, [this](const list& its) { wait_until([&] { return !is_on(its); }); });
    }
    wait_until([this] { return counted_.load(platform::acquire) == 0; });
  }
  // Takes the tokens and, if a reader is inside, gives them back.
  bool try_lock() noexcept {
    if (!mutex_.try_lock()) return false;
    bool is_read = counted_.load(platform::acquire) != 0;
    std::uint64_t had[words];
    if (!is_read && take_tokens(had)) {
      for_each(had, [&](const list& its) { is_read = is_read || is_on(its); });
      if (is_read) {
        for (unsigned i = 0; i < words; ++i) tokens_[i].fetch_or(had[i], platform::relaxed);
      }
    }
    if (is_read) mutex_.unlock();
    return !is_read;
  }
  void unlock() noexcept { mutex_.unlock(); }

  void lock_shared() noexcept {
    if (lock_on_list()) return;
    mutex_.lock();
    lock_with_mutex();
    mutex_.unlock();
  }
  bool try_lock_shared() noexcept {
    if (lock_on_list()) return true;
    if (!mutex_.try_lock()) return false;
    lock_with_mutex();
    mutex_.unlock();
    return true;
  }
  void unlock_shared() noexcept {
    const unsigned number = my_number();
    if (number < list::lists) {
      for (auto& tracker : detail::tracker_lists[number].trackers) {
        if (tracker.load(platform::relaxed) != this) continue;
        tracker.store(nullptr, platform::release);
        return;
      }
    }
    counted_.fetch_sub(1, platform::release);
  }

 private:
  using list = detail::tracker_list;
  static constexpr unsigned words = list::lists / 64;

  bool is_on(const list& its) const noexcept {
    for (const auto& tracker : its.trackers) {
      if (tracker.load(platform::acquire) == this) return true;
    }
    return false;
  }

  // The fast path: it stores the tracker, then reads the token. A writer that takes the token
  // either finds the tracker or is seen here, by its heavy fence between the two. All stores of
  // trackers are releases: whichever a writer reads, the reads before it are over.
  bool lock_on_list() noexcept {
    const unsigned number = my_number();
    if (number >= list::lists) return false;
    platform::atomic<const void*>* const own = free_tracker(detail::tracker_lists[number]);
    if (own == nullptr) return false;
    own->store(this, platform::release);
    light_fence();
    if ((tokens_[number / 64].load(platform::acquire) >> number % 64 & 1) != 0) return true;
    own->store(nullptr, platform::release);
    if (!is_on(detail::tracker_lists[number])) return false;
    // Inside already: the writer waits for the other tracker, and so for this one.
    own->store(this, platform::release);
    return true;
  }

  static platform::atomic<const void*>* free_tracker(list& its) noexcept {
    for (auto& tracker : its.trackers) {
      if (tracker.load(platform::relaxed) == nullptr) return &tracker;
    }
    return nullptr;
  }

  // Precondition: no writer. Takes the token if this thread can use the fast path; otherwise counts
  // the reader in the lock.
  void lock_with_mutex() noexcept {
    const unsigned number = my_number();
    if (number < list::lists && has_heavy_fence()) {
      if (auto* const own = free_tracker(detail::tracker_lists[number]); own != nullptr) {
        own->store(this, platform::release);
        tokens_[number / 64].fetch_or(std::uint64_t{1} << number % 64, platform::relaxed);
        return;
      }
    }
    counted_.fetch_add(1, platform::relaxed);
  }

  // Returns false if no thread had a token.
  bool take_tokens(std::uint64_t* had) noexcept {
    std::uint64_t any = 0;
    for (unsigned i = 0; i < words; ++i) {
      had[i] = tokens_[i].load(platform::relaxed);
      tokens_[i].store(0, platform::relaxed);
      any |= had[i];
    }
    if (any == 0) return false;
    heavy_fence_or_time();
    return true;
  }

  template <class Visit>
  static void for_each(const std::uint64_t* had, Visit visit) noexcept {
    for (unsigned i = 0; i < words; ++i) {
      for (std::uint64_t left = had[i]; left != 0; left &= left - 1) {
        visit(detail::tracker_lists[64 * i + static_cast<unsigned>(__builtin_ctzll(left))]);
      }
    }
  }

  spin_mutex mutex_;
  // Readers that are on no list. More come only with the mutex held.
  platform::atomic<std::uint32_t> counted_{0};
  // By number. Written with the mutex held.
  platform::atomic<std::uint64_t> tokens_[words]{};
};

}  // namespace rivals

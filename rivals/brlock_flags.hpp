// brlock2: a flag per reader and one for the writer; each raises its own and looks at the other's.
//
// Source: Chen et al., FCP (IEEE TPDS 27(10), 2016), section 2 "brlock2"; Linux 2.4
// include/linux/brlock.h and lib/brlock.c without __BRLOCK_USE_ATOMICS.
//
// A reader raises its flag by a plain store and a full fence, and enters unless it then sees a
// writer; if it does it lowers the flag and waits. A writer takes the writers' lock and waits until
// all flags are down.
//
// Simplified: a kernel's CPU owns its flag because nobody is preempted inside; here the flag is a
// thread's, by its number (home.hpp). Threads beyond the flags share a counter and pay for an
// atomic. Linux's writer steps back when it sees a flag; then a reader and a writer can step back
// from each other for ever, as the checker finds, so here the writer stays, and a flag that is up
// already is raised without a look.
//
// Reader: one store with a full fence to lock, one store to unlock, on a line of its own. Writer:
// one read-modify-write and a look at all flags, two for each CPU. Preference: writers. Recursive
// read locks: yes, for those with a flag. Size: one line, and a line per flag.
#pragma once

#include "rivals/home.hpp"

namespace rivals {

class brlock_flags : immovable<brlock_flags> {
 public:
  brlock_flags() noexcept : brlock_flags(seats()) {}
  // For so many threads with flags of their own.
  explicit brlock_flags(unsigned flags) noexcept : flags_(flags) {}

  void lock() noexcept {
    wait_until([this] { return begin_writing(); });
    for (unsigned i = 0; i < flags_.size(); ++i) {
      wait_until([&] { return flags_[i].load(platform::seq_cst) == 0; });
    }
    wait_until([this] { return others_.load(platform::seq_cst) == 0; });
  }
  bool try_lock() noexcept {
    if (!begin_writing()) return false;
    bool is_read = others_.load(platform::seq_cst) != 0;
    for (unsigned i = 0; i < flags_.size(); ++i) {
      is_read = is_read || flags_[i].load(platform::seq_cst) != 0;
    }
    if (is_read) unlock();
    return !is_read;
  }
  void unlock() noexcept { writing_.store(0, platform::release); }

  void lock_shared() noexcept {
    retry([this] { return try_lock_shared(); },
          [this] { return writing_.load(platform::relaxed) != 0; });
  }
  // Whoever is seen by the other stays out: the flag's store and the load of the writer's, and the
  // writer's in the other order, are all in the single order of sequential consistency.
  bool try_lock_shared() noexcept {
    const unsigned number = my_number();
    if (number < flags_.size()) {
      flag& own = flags_[number];
      if (const std::uint32_t depth = own.load(platform::relaxed); depth != 0) {
        own.store(depth + 1, platform::relaxed);
        return true;
      }
      own.store(1, platform::seq_cst);
    } else {
      others_.fetch_add(1, platform::seq_cst);
    }
    if (writing_.load(platform::seq_cst) == 0) return true;
    unlock_shared();
    return false;
  }
  void unlock_shared() noexcept {
    const unsigned number = my_number();
    if (number < flags_.size()) {
      flag& own = flags_[number];
      own.store(own.load(platform::relaxed) - 1, platform::release);
    } else {
      others_.fetch_sub(1, platform::release);
    }
  }

  static constexpr std::size_t footprint(unsigned cpus) noexcept {
    return sizeof(brlock_flags) + decltype(flags_)::footprint(seats_for(cpus));
  }

 private:
  // So deep is its thread inside; written by that thread alone.
  using flag = platform::atomic<std::uint32_t>;

  bool begin_writing() noexcept {
    std::uint32_t free = 0;
    return writing_.load(platform::relaxed) == 0 &&
           writing_.compare_exchange_strong(free, 1, platform::seq_cst, platform::relaxed);
  }

  alignas(platform::cache_line) platform::atomic<std::uint32_t> writing_{0};
  platform::atomic<std::uint32_t> others_{0};
  spread_array<flag> flags_;
};

}  // namespace rivals

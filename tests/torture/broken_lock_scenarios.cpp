// SPDX-License-Identifier: Apache-2.0
// Deliberately broken locks, which show that the torture detects faults.
#include <condition_variable>
#include <mutex>

#include "catalogue.hpp"
#include "scenarios.hpp"

namespace torture {

namespace {

struct no_promises {
  static constexpr bool prefers_readers = false;
  static constexpr bool recursive_reads = false;
  static constexpr bool timed = false;
  static constexpr bool any_thread_unlocks = false;
  static constexpr bool upgrades = false;
  static constexpr bool survives_fork = false;
};

class lock_that_does_nothing : public no_promises {
 public:
  void lock() {}
  void unlock() {}
  void lock_shared() {}
  void unlock_shared() {}
  bool try_lock() { return true; }
  bool try_lock_shared() { return true; }
};

// Writers exclude one another and readers wait for writers, but no writer waits for a reader.
class lock_whose_writer_does_not_wait : public no_promises {
 public:
  void lock() {
    writers_.lock();
    writing_.store(true);
  }
  void unlock() {
    writing_.store(false);
    writers_.unlock();
  }
  void lock_shared() {
    while (!try_lock_shared()) std::this_thread::yield();
  }
  void unlock_shared() {}
  bool try_lock() {
    if (!writers_.try_lock()) return false;
    writing_.store(true);
    return true;
  }
  bool try_lock_shared() { return !writing_.load(); }

 private:
  std::mutex writers_;
  std::atomic<bool> writing_{false};
};

// Excludes correctly, but loses one wake-up in 32.
class lock_that_forgets_to_wake : public no_promises {
 public:
  void lock() {
    std::unique_lock guard(inside_);
    changed_.wait(guard, [this] { return !writing_ && readers_ == 0; });
    writing_ = true;
  }
  void unlock() {
    const std::lock_guard guard(inside_);
    writing_ = false;
    wake();
  }
  void lock_shared() {
    std::unique_lock guard(inside_);
    changed_.wait(guard, [this] { return !writing_; });
    ++readers_;
  }
  void unlock_shared() {
    const std::lock_guard guard(inside_);
    --readers_;
    wake();
  }
  bool try_lock() {
    const std::lock_guard guard(inside_);
    if (writing_ || readers_ != 0) return false;
    return writing_ = true;
  }
  bool try_lock_shared() {
    const std::lock_guard guard(inside_);
    if (writing_) return false;
    ++readers_;
    return true;
  }

 private:
  void wake() {
    if (++unlocks_ % 4 != 0) changed_.notify_all();
  }

  std::mutex inside_;
  std::condition_variable changed_;
  unsigned readers_ = 0;
  unsigned unlocks_ = 0;
  bool writing_ = false;
};

}  // namespace

void add_broken_lock_scenarios(catalogue& all) {
  add_scenarios<lock_that_does_nothing>(all, "broken-nothing");
  add_scenarios<lock_whose_writer_does_not_wait>(all, "broken-deaf");
  add_scenarios<lock_that_forgets_to_wake>(all, "broken-forgetful");
}

}  // namespace torture

// The big-reader lock that the papers compare with: a mutex for each reader, on a cache line of its
// own; a writer takes all of them.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace bench {

// Lets others run when it has spun for a while: there may be more threads than CPUs.
class spinlock {
 public:
  void lock() noexcept {
    for (unsigned turn = 1; locked_.exchange(true, std::memory_order_acquire); ++turn) {
      while (locked_.load(std::memory_order_relaxed)) {
        if (turn++ % 256 == 0) std::this_thread::yield();
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
      }
    }
  }
  void unlock() noexcept { locked_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> locked_{false};
};

template <class Mutex>
class big_reader_lock {
 public:
  static constexpr std::size_t most_readers = 128;

  // A reader's own mutex, for as long as this exists.
  class membership {
   public:
    explicit membership(big_reader_lock& of) : of_(of), mine_(of.join()) {}
    ~membership() { of_.leave(mine_); }
    membership(const membership&) = delete;
    membership& operator=(const membership&) = delete;
    Mutex& mutex() { return of_.lines_[mine_].mutex; }

   private:
    big_reader_lock& of_;
    std::size_t mine_;
  };

  // Of all that ever were members at once, in the same order.
  void lock() {
    joining_.lock();
    for (std::size_t i = 0; i < used_; ++i) lines_[i].mutex.lock();
  }
  void unlock() {
    for (std::size_t i = 0; i < used_; ++i) lines_[i].mutex.unlock();
    joining_.unlock();
  }

 private:
  struct alignas(64) line {
    Mutex mutex;
    bool taken = false;
  };

  std::size_t join() {
    const std::lock_guard guard(joining_);
    for (std::size_t i = 0; i < most_readers; ++i) {
      if (lines_[i].taken) continue;
      lines_[i].taken = true;
      if (i >= used_) used_ = i + 1;
      return i;
    }
    throw std::runtime_error("too many readers for a big_reader_lock");
  }
  void leave(std::size_t i) {
    const std::lock_guard guard(joining_);
    lines_[i].taken = false;
  }

  std::mutex joining_;  // also keeps writers from one another
  std::size_t used_ = 0;
  std::array<line, most_readers> lines_{};
};

}  // namespace bench

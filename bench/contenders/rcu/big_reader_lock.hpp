// SPDX-License-Identifier: Apache-2.0
// The big-reader lock of the papers: a mutex for each reader, on a cache line of its own; a writer
// takes all of them.
#pragma once

#include <array>
#include <cstddef>
#include <mutex>
#include <rivals/spin.hpp>
#include <stdexcept>

namespace bench {

using spinlock = rivals::spin_mutex;

template <class Mutex>
class big_reader_lock {
 public:
  static constexpr std::size_t most_readers = 128;

  // A reader's own mutex, during the lifetime of the object.
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

  // Takes the mutexes in order, as many as there ever were members at once.
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

  std::mutex joining_;  // also excludes writers from one another
  std::size_t used_ = 0;
  std::array<line, most_readers> lines_{};
};

}  // namespace bench

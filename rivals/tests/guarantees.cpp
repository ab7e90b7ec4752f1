// SPDX-License-Identifier: Apache-2.0
#include "guarantees.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <latch>
#include <mutex>
#include <numeric>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "rivals/home.hpp"

namespace rivals::test {

namespace {

using std::chrono::milliseconds;
using clock = std::chrono::steady_clock;

// Whether the condition becomes true in that time.
template <class Condition>
bool comes_true(Condition condition, milliseconds within) {
  for (const auto until = clock::now() + within; !condition();) {
    if (clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return true;
}
template <class Condition>
bool comes_true(Condition condition) {
  return comes_true(condition, std::chrono::seconds(20));
}
template <class Condition>
bool stays_false(Condition condition, patience how_long) {
  return !comes_true(condition, milliseconds(how_long.milliseconds));
}

// Calls the function in another thread and waits for it.
template <class Function>
bool elsewhere(Function function) {
  bool result = false;
  std::jthread([&] { result = function(); }).join();
  return result;
}

bool can_be_read(lock_under_test& lock) {
  return elsewhere([&] {
    if (!lock.try_lock_shared()) return false;
    lock.unlock_shared();
    return true;
  });
}
bool can_be_written(lock_under_test& lock) {
  return elsewhere([&] {
    if (!lock.try_lock()) return false;
    lock.unlock();
    return true;
  });
}

void read(lock_under_test& lock) {
  lock.lock_shared();
  lock.unlock_shared();
}
void write(lock_under_test& lock) {
  lock.lock();
  lock.unlock();
}

// A thread that performs an operation, and tells when it has.
class visitor {
 public:
  template <class Operation>
  explicit visitor(Operation operation)
      : thread_([this, operation] {
          operation();
          done_ = true;
        }) {}
  bool is_done() const { return done_; }
  bool waits(patience how_long) const {
    return stays_false([this] { return is_done(); }, how_long);
  }
  bool gets_done() const {
    return comes_true([this] { return is_done(); });
  }

 private:
  std::atomic<bool> done_{false};
  std::jthread thread_;
};

// Two numbers that a writer raises one after the other.
class twins {
 public:
  void raise() {
    const unsigned before = first_.load(std::memory_order_relaxed);
    if (before != second_.load(std::memory_order_relaxed)) ++violations_;
    first_.store(before + 1, std::memory_order_relaxed);
    if (before % 4 == 0) std::this_thread::yield();
    second_.store(before + 1, std::memory_order_relaxed);
  }
  void compare() {
    const unsigned first = first_.load(std::memory_order_relaxed);
    if (first % 4 == 0) std::this_thread::yield();
    if (first != second_.load(std::memory_order_relaxed)) ++violations_;
  }
  unsigned value() const { return second_; }
  bool is_violated() const { return violations_ != 0; }
  void violate() { ++violations_; }

 private:
  std::atomic<unsigned> first_{0};
  std::atomic<unsigned> second_{0};
  std::atomic<int> violations_{0};
};

unsigned more_than_cpus() {
  return 2 * std::thread::hardware_concurrency() + 2;
}

}  // namespace

bool keeps_writers_apart(const lock_maker& make, patience how_long) {
  const auto lock = make();
  twins data;
  std::atomic<unsigned> written{0};
  std::atomic<bool> over{false};
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < more_than_cpus(); ++i) {
      threads.emplace_back([&, i] {
        for (unsigned round = i; !over; ++round) {
          const bool writes = round % 4 == 0 || round % 16 == 1;
          if (round % 16 == 1 || round % 16 == 2) {
            if (!(writes ? lock->try_lock() : lock->try_lock_shared())) continue;
          } else {
            writes ? lock->lock() : lock->lock_shared();
          }
          if (writes) {
            data.raise();
            lock->unlock();
            ++written;
          } else {
            data.compare();
            lock->unlock_shared();
          }
        }
      });
    }
    // Waits for some writes first, however busy the machine is.
    comes_true([&] { return data.is_violated() || written > 200; });
    comes_true([&] { return data.is_violated(); }, milliseconds(how_long.milliseconds));
    over = true;
  }
  return !data.is_violated() && data.value() == written;
}

bool lets_readers_in_together(const lock_maker& make) {
  const auto lock = make();
  const unsigned count = seats() + 3;
  std::atomic<unsigned> inside{0};
  std::atomic<bool> met{true};
  {
    std::vector<std::jthread> readers;
    for (unsigned i = 0; i < count; ++i) {
      readers.emplace_back([&] {
        lock->lock_shared();
        ++inside;
        if (!comes_true([&] { return inside == count || !met; }, std::chrono::seconds(5))) {
          met = false;
        }
        lock->unlock_shared();
      });
    }
  }
  return met;
}

bool writer_waits_for_the_last_reader(const lock_maker& make, patience how_long) {
  const auto lock = make();
  const unsigned count = seats() + 3;
  std::vector<std::atomic<bool>> may_leave(count);
  std::vector<std::jthread> readers;
  std::latch all_in(count);
  for (unsigned i = 0; i < count; ++i) {
    readers.emplace_back([&, i] {
      lock->lock_shared();
      all_in.count_down();
      comes_true([&] { return may_leave[i].load(); }, std::chrono::seconds(60));
      lock->unlock_shared();
    });
  }
  all_in.wait();
  const visitor writer([&] { write(*lock); });
  // One after the other, from both ends, and the last is one in the middle.
  bool waited = true;
  std::vector<unsigned> order(count);
  std::iota(order.begin(), order.end(), 0U);
  std::rotate(order.begin(), order.begin() + count / 2 + 1, order.end());
  for (unsigned i = 0; i + 1 < count; ++i) {
    may_leave[order[i]] = true;
    readers[order[i]].join();
    waited = waited && !writer.is_done();
  }
  waited = waited && writer.waits(how_long);
  may_leave[order[count - 1]] = true;
  return writer.gets_done() && waited;
}

// Whether the operation waits for a writer that is inside.
static bool waits_for_writer(const lock_maker& make, patience how_long,
                             void (*operation)(lock_under_test&)) {
  const auto lock = make();
  lock->lock();
  const visitor other([&] { operation(*lock); });
  const bool waited = other.waits(how_long);
  lock->unlock();
  return other.gets_done() && waited;
}

bool reader_waits_for_writer(const lock_maker& make, patience how_long) {
  return waits_for_writer(make, how_long, read);
}

bool writer_waits_for_writer(const lock_maker& make, patience how_long) {
  return waits_for_writer(make, how_long, write);
}

bool trying_tells(const lock_maker& make) {
  const auto made = make();
  lock_under_test& lock = *made;
  // Two passes: the second detects state that a failure in the first has left behind.
  for (int i = 0; i < 2; ++i) {
    if (!can_be_read(lock) || !can_be_written(lock)) return false;

    lock.lock_shared();
    const bool while_read = can_be_read(lock) && !can_be_written(lock) && can_be_read(lock);
    lock.unlock_shared();
    if (!while_read || !can_be_read(lock) || !can_be_written(lock)) return false;

    lock.lock();
    const bool while_written = !can_be_read(lock) && !can_be_written(lock);
    lock.unlock();
    if (!while_written || !can_be_read(lock) || !can_be_written(lock)) return false;

    if (!lock.try_lock_shared()) return false;
    const bool tried_to_read = can_be_read(lock) && !can_be_written(lock);
    lock.unlock_shared();
    if (!tried_to_read || !lock.try_lock()) return false;
    const bool tried_to_write = !can_be_read(lock) && !can_be_written(lock);
    lock.unlock();
    if (!tried_to_write) return false;
  }
  return true;
}

bool trying_does_not_wait(const lock_maker& make) {
  const auto lock = make();
  lock->lock_shared();
  const visitor writer([&] {
    if (lock->try_lock()) lock->unlock();
  });
  const bool at_once = comes_true([&] { return writer.is_done(); }, std::chrono::seconds(5));
  lock->unlock_shared();
  return at_once;
}

bool are_held_and_left_in_any_order(const lock_maker& make) {
  constexpr unsigned count = 20;
  std::array<std::unique_ptr<lock_under_test>, count> locks;
  for (auto& lock : locks) lock = make();
  for (unsigned step : {1U, 3U, 7U, count - 1}) {  // none has a factor in common with 20
    std::array<bool, count> held{};
    const auto all_are_as_held = [&] {
      return elsewhere([&] {
        for (unsigned i = 0; i < count; ++i) {
          const bool written = locks[i]->try_lock();
          if (written) locks[i]->unlock();
          if (written == held[i]) return false;
        }
        return true;
      });
    };
    for (unsigned i = 0; i < count; ++i) {
      if (i % 5 != 4) {
        locks[i]->lock_shared();
      } else if (!locks[i]->try_lock()) {
        return false;  // the locks interfere with each other
      }
      held[i] = true;
    }
    bool right = all_are_as_held();
    for (unsigned i = 0; i < count; ++i) {
      const unsigned which = i * step % count;
      if (which % 5 == 4) {
        locks[which]->unlock();
      } else {
        locks[which]->unlock_shared();
      }
      held[which] = false;
      if (i % 4 == 0) right = right && all_are_as_held();
    }
    if (!right || !all_are_as_held()) return false;
  }
  return true;
}

bool serves_threads_that_come_and_go(const lock_maker& make) {
  const auto lock = make();
  twins data;
  unsigned written = 0;
  const auto come_and_go = [&] {
    lock->lock_shared();
    data.compare();
    lock->unlock_shared();
    lock->lock();
    data.raise();
    lock->unlock();
  };
  for (unsigned i = 0; i < 4 * seats(); ++i) {
    std::jthread(come_and_go).join();
    ++written;
  }
  for (int i = 0; i < 3; ++i) {
    std::latch all_there(static_cast<std::ptrdiff_t>(2 * seats()));
    std::vector<std::jthread> threads;
    for (unsigned k = 0; k < 2 * seats(); ++k) {
      threads.emplace_back([&] {
        // Takes a number, which threads that exit early leave to others.
        read(*lock);
        all_there.arrive_and_wait();
        come_and_go();
      });
      ++written;
    }
  }
  if (data.is_violated() || data.value() != written) return false;
  // A reader that comes late, beside many threads, keeps a writer out as well.
  bool kept_out = true;
  std::latch all_there(static_cast<std::ptrdiff_t>(2 * seats() + 1));
  std::latch over(1);
  std::vector<std::jthread> threads;
  for (unsigned k = 0; k < 2 * seats(); ++k) {
    threads.emplace_back([&] {
      read(*lock);
      all_there.arrive_and_wait();
      over.wait();
    });
  }
  all_there.arrive_and_wait();
  for (int i = 0; i < 3; ++i) {
    std::jthread([&] {
      lock->lock_shared();
      kept_out = kept_out && !can_be_written(*lock);
      lock->unlock_shared();
      kept_out = kept_out && can_be_written(*lock);
    }).join();
  }
  over.count_down();
  return kept_out;
}

bool lets_a_reader_in_again(const lock_maker& make) {
  // Shared with the threads, which never end if reader and writer block each other.
  const std::shared_ptr<lock_under_test> lock = make();
  struct progress {
    std::atomic<bool> reads{false};
    std::atomic<bool> reads_again{false};
  };
  const auto come = std::make_shared<progress>();
  std::thread reader([lock, come] {
    lock->lock_shared();
    come->reads = true;
    // Waits for the writer, if it makes the lock refuse new readers.
    comes_true([&] { return !can_be_read(*lock); }, milliseconds(500));
    lock->lock_shared();
    come->reads_again = true;
    lock->unlock_shared();
    lock->unlock_shared();
  });
  comes_true([&] { return come->reads.load(); });
  std::thread writer([lock] { write(*lock); });
  const bool let_in = comes_true([&] { return come->reads_again.load(); }, std::chrono::seconds(5));
  if (let_in) {
    reader.join();
    writer.join();
  } else {
    reader.detach();
    writer.detach();
  }
  return let_in;
}

}  // namespace rivals::test

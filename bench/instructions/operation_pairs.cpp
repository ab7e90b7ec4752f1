// SPDX-License-Identifier: Apache-2.0
// Does one pair of operations on a lock so many times. scripts/check-instructions runs it under
// valgrind, twice with different TIMES, and counts what the pairs add: instructions in the
// functions that begin with `counted_`, and in what these call.
#include <errno.h>
#include <pthread.h>
#include <readmost.h>
#include <sys/mman.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <readmost/detail/threads/thread_record.hpp>
#include <readmost/shared_timed_mutex.hpp>
#include <thread>

namespace {

// --- The locks: each function returns zero when the operation succeeded --------------------------

constexpr timespec far_away{std::int64_t{1} << 32, 0};

struct posix_lock {
  static constexpr const char* name = "pthread";
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

  // A process-shared lock, which stays the C library's.
  int make_shared() {
    pthread_rwlockattr_t attributes;
    return pthread_rwlockattr_init(&attributes) |
           pthread_rwlockattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) |
           pthread_rwlock_init(&lock, &attributes) | pthread_rwlockattr_destroy(&attributes);
  }
  int read() { return pthread_rwlock_rdlock(&lock); }
  int try_read() { return pthread_rwlock_tryrdlock(&lock); }
  int timed_read() { return pthread_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC, &far_away); }
  int end_read() { return pthread_rwlock_unlock(&lock); }
  int write() { return pthread_rwlock_wrlock(&lock); }
  int try_write() { return pthread_rwlock_trywrlock(&lock); }
  int timed_write() { return pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &far_away); }
  int end_write() { return pthread_rwlock_unlock(&lock); }
};

struct c_lock {
  static constexpr const char* name = "c";
  readmost_rwlock_t lock = READMOST_RWLOCK_INITIALIZER;

  int read() { return readmost_rwlock_rdlock(&lock); }
  int try_read() { return readmost_rwlock_tryrdlock(&lock); }
  int timed_read() { return readmost_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC, &far_away); }
  int end_read() { return readmost_rwlock_rdunlock(&lock); }
  int write() { return readmost_rwlock_wrlock(&lock); }
  int try_write() { return readmost_rwlock_trywrlock(&lock); }
  int timed_write() { return readmost_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &far_away); }
  int end_write() { return readmost_rwlock_wrunlock(&lock); }
};

// shared_mutex with the timed members, which change nothing about the others.
struct class_lock {
  static constexpr const char* name = "class";
  readmost::shared_timed_mutex lock;

  static auto far_away_too() {
    return std::chrono::steady_clock::time_point(std::chrono::seconds(far_away.tv_sec));
  }

  int read() { return lock.lock_shared(), 0; }
  int try_read() { return lock.try_lock_shared() ? 0 : EBUSY; }
  int timed_read() { return lock.try_lock_shared_until(far_away_too()) ? 0 : ETIMEDOUT; }
  int end_read() { return lock.unlock_shared(), 0; }
  int write() { return lock.lock(), 0; }
  int try_write() { return lock.try_lock() ? 0 : EBUSY; }
  int timed_write() { return lock.try_lock_until(far_away_too()) ? 0 : ETIMEDOUT; }
  int end_write() { return lock.unlock(), 0; }
};

// --- Where the locks lie: at the same addresses in every run
// --------------------------------------

constexpr std::uintptr_t memory_address = 0x10'0000'0000;
constexpr std::size_t memory_size = std::size_t{1} << 20;
constexpr std::size_t spacing = 64;

// The home slots of a lock at `address`, for each place inside the program's lock at which the
// library may keep its own.
using slots = std::array<std::size_t, sizeof(pthread_rwlock_t) / 8>;
slots slots_at(std::uintptr_t address) {
  slots found{};
  for (std::size_t i = 0; i < found.size(); ++i) {
    found[i] = readmost::detail::home_slot(address + 8 * i);
  }
  return found;
}

bool all_differ(const slots& a, const slots& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) return false;
  }
  return true;
}

// The first place after `from` whose slots are right.
template <class Right>
std::uintptr_t place_after(std::uintptr_t from, Right right) {
  for (std::uintptr_t place = from + spacing; place < memory_address + memory_size;
       place += spacing) {
    if (right(slots_at(place))) return place;
  }
  std::fputs("operation_pairs: no place for a lock has the slots that are wanted\n", stderr);
  std::exit(1);
}

template <class Lock>
Lock& make_at(std::uintptr_t place) {
  return *new (reinterpret_cast<void*>(place)) Lock;
}

// --- What is counted
// ------------------------------------------------------------------------------

// The compiler may not know that it is the same lock each time: a program's is in some object, and
// its slot is computed anew at each lock. Costs no instruction.
template <class Lock>
Lock& any(Lock& lock) {
  Lock* hidden = &lock;
  asm volatile("" : "+r"(hidden) : : "memory");
  return *hidden;
}

template <class Pair>
[[gnu::noinline]] int counted_loop(std::uint64_t times, Pair pair) {
  int failed = 0;
  for (; times != 0; --times) failed |= pair();
  return failed;
}

// The loop alone.
template <class Lock>
[[gnu::noinline]] int counted_control(std::uint64_t times, Lock& lock) {
  int failed = 0;
  for (; times != 0; --times) any(lock);
  return failed;
}

template <class Lock>
int read_pair(Lock& lock) {
  return lock.read() | lock.end_read();
}

// Enough reads to earn the bias, if the lock may have it.
template <class Lock>
[[gnu::noinline]] void make_biased(Lock& lock) {
  for (int i = 0; i < 10'000; ++i) {
    if (read_pair(any(lock)) != 0) std::abort();
  }
}

// A lock that has had a hold released by another thread is never biased again.
template <class Lock>
[[gnu::noinline]] void make_active(Lock& lock) {
  make_biased(lock);
  if (lock.read() != 0) std::abort();
  std::thread([&lock] {
    if (lock.end_read() != 0) std::abort();
  }).join();
}

template <class Lock>
int run(const char* operation, std::uint64_t times) {
  const auto is = [&operation](const char* name) { return std::strcmp(operation, name) == 0; };
  const bool active = is("active-read");
  // pthread's lock is never biased in memory that other processes may share.
  const int sharing = active && std::is_same_v<Lock, posix_lock> ? MAP_SHARED : MAP_PRIVATE;
  void* const wanted = reinterpret_cast<void*>(memory_address);
  if (mmap(wanted, memory_size, PROT_READ | PROT_WRITE,
           sharing | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != wanted) {
    std::perror("operation_pairs: cannot map memory for the locks");
    std::exit(1);
  }
  Lock& lock = make_at<Lock>(memory_address);
  const slots of_lock = slots_at(memory_address);

  if (is("control")) return counted_control(times, lock);
  if constexpr (std::is_same_v<Lock, posix_lock>) {
    const bool reads = is("shared-read");
    if (reads || is("shared-write")) {
      if (const int failed = lock.make_shared(); failed != 0) return failed;
      operation = reads ? "passive-read" : "write";
    }
  }
  if (is("write")) {
    return counted_loop(times, [&lock] {
      Lock& it = any(lock);
      return it.write() | it.end_write();
    });
  }
  if (is("try-write")) {
    return counted_loop(times, [&lock] {
      Lock& it = any(lock);
      return it.try_write() | it.end_write();
    });
  }
  if (is("timed-write")) {
    return counted_loop(times, [&lock] {
      Lock& it = any(lock);
      return it.timed_write() | it.end_write();
    });
  }
  if (is("three-reads-one-write")) {
    return counted_loop(times, [&lock] {
      Lock& it = any(lock);
      const int failed = read_pair(it) | read_pair(any(lock)) | read_pair(any(lock));
      Lock& last = any(lock);
      return failed | last.write() | last.end_write();
    });
  }

  if (is("49-reads-one-write")) {
    make_biased(lock);
    return counted_loop(times, [&lock] {
      int failed = 0;
#pragma GCC unroll 49
      for (int i = 0; i < 49; ++i) failed |= read_pair(any(lock));
      Lock& last = any(lock);
      return failed | last.write() | last.end_write();
    });
  }

  if (active && !std::is_same_v<Lock, posix_lock>) {
    make_active(lock);
  } else {
    make_biased(lock);
  }
  if (is("passive-read") || active)
    return counted_loop(times, [&lock] {
      Lock& it = any(lock);
      return it.read() | it.end_read();
    });
  if (is("try-read")) {
    return counted_loop(times, [&lock] {
      Lock& it = any(lock);
      return it.try_read() | it.end_read();
    });
  }
  if (is("timed-read")) {
    return counted_loop(times, [&lock] {
      Lock& it = any(lock);
      return it.timed_read() | it.end_read();
    });
  }
  if (is("recursive-read")) {
    if (lock.read() != 0) return 1;
    const int failed = counted_loop(times, [&lock] { return read_pair(any(lock)); });
    return failed | lock.end_read();
  }
  if (is("colliding-read")) {
    Lock& inner = make_at<Lock>(
        place_after(memory_address, [&](const slots& others) { return others == of_lock; }));
    make_biased(inner);
    make_biased(lock);
    if (lock.read() != 0) return 1;
    const int failed = counted_loop(times, [&inner] { return read_pair(any(inner)); });
    return failed | lock.end_read();
  }
  if (is("rotating-reads")) {
    const std::uintptr_t second_place = place_after(
        memory_address, [&](const slots& others) { return all_differ(others, of_lock); });
    const slots of_second = slots_at(second_place);
    Lock& second = make_at<Lock>(second_place);
    Lock& third = make_at<Lock>(place_after(second_place, [&](const slots& others) {
      return all_differ(others, of_lock) && all_differ(others, of_second);
    }));
    make_biased(second);
    make_biased(third);
    return counted_loop(times, [&lock, &second, &third] {
      return read_pair(any(lock)) | read_pair(any(second)) | read_pair(any(third));
    });
  }
  std::fprintf(stderr, "operation_pairs: unknown operation '%s'\n", operation);
  std::exit(2);
}

}  // namespace

int main(int count, char** words) {
  char* end = nullptr;
  const std::uint64_t times = count == 4 ? std::strtoull(words[3], &end, 10) : 0;
  if (times == 0 || *end != '\0') {
    std::fputs(
        "usage: operation_pairs pthread|class|c OPERATION TIMES\n"
        "The operations are listed in scripts/check-instructions.\n",
        stderr);
    return 2;
  }
  // A program of one thread might be spared atomic instructions by its C library.
  pthread_t other;
  if (pthread_create(
          &other, nullptr,
          [](void*) -> void* {
            for (;;) pause();
          },
          nullptr) != 0) {
    std::fputs("operation_pairs: cannot start a thread\n", stderr);
    return 1;
  }
  int failed = 0;
  if (std::strcmp(words[1], posix_lock::name) == 0) {
    failed = run<posix_lock>(words[2], times);
  } else if (std::strcmp(words[1], class_lock::name) == 0) {
    failed = run<class_lock>(words[2], times);
  } else if (std::strcmp(words[1], c_lock::name) == 0) {
    failed = run<c_lock>(words[2], times);
  } else {
    std::fprintf(stderr, "operation_pairs: unknown lock '%s'\n", words[1]);
    return 2;
  }
  if (failed != 0) {
    std::fprintf(stderr, "operation_pairs: an operation failed: %s\n", std::strerror(failed));
    return 1;
  }
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// The checker's version of include/readmost/detail/platform/platform.hpp, with a simulated machine
// behind it: the checker's (model/platform/platform.cpp), or the one that counts time
// (simulation/platform.cpp). It comes first in the include path, so that the library's own sources
// use it.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <engine/sleep_end.hpp>
#include <readmost/detail/platform/letters.hpp>
#include <source_location>
#include <type_traits>

namespace readmost::detail::platform {

inline constexpr std::memory_order relaxed = std::memory_order_relaxed;
inline constexpr std::memory_order acquire = std::memory_order_acquire;
inline constexpr std::memory_order release = std::memory_order_release;
inline constexpr std::memory_order acq_rel = std::memory_order_acq_rel;
inline constexpr std::memory_order seq_cst = std::memory_order_seq_cst;

inline constexpr std::size_t cache_line = 64;

// Exchanged at each switch to another simulated thread (model/engine/own_variables.hpp).
#define READMOST_THREAD_LOCAL __attribute__((section("readmost_own")))

using place = std::source_location;

// --- Into the simulated machine ------------------------------------------------------------------

namespace simulated {

std::uint64_t load(const void* address, std::uint32_t size, std::memory_order order, place at);
void store(void* address, std::uint32_t size, std::uint64_t value, std::memory_order order,
           place at);
enum class arithmetic { exchange, add, subtract, bit_or, bit_and };
std::uint64_t update(void* address, std::uint32_t size, arithmetic how, std::uint64_t operand,
                     std::memory_order order, place at);
bool compare(void* address, std::uint32_t size, std::uint64_t& expected, std::uint64_t desired,
             std::memory_order success, std::memory_order failure, place at);
void begin_life(void* address, std::uint32_t size, std::uint64_t value);
void end_life(void* address, std::uint32_t size);
std::uint64_t load_plain(const void* address, std::uint32_t size, place at);
void store_plain(void* address, std::uint32_t size, std::uint64_t value, place at);
bool guesses() noexcept;  // see likely_value()

template <class T>
constexpr std::uint64_t bits(T value) noexcept {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t));
  std::uint64_t made = 0;
  std::memcpy(&made, &value, sizeof value);
  return made;
}
template <class T>
T value_of(std::uint64_t bits) noexcept {
  T made;
  std::memcpy(&made, &bits, sizeof made);
  return made;
}

}  // namespace simulated

// --- Variables -----------------------------------------------------------------------------------

// Has the size and layout of a T. Under the checker its memory holds the value from before the
// execution.
template <class T>
class atomic {
 public:
  using value_type = T;

  constexpr atomic() noexcept : atomic(T{}) {}
  constexpr atomic(T value) noexcept : initial_(value) {
    if (!std::is_constant_evaluated()) {
      simulated::begin_life(this, sizeof(T), simulated::bits(value));
    }
  }
  constexpr ~atomic() {
    if (!std::is_constant_evaluated()) simulated::end_life(this, sizeof(T));
  }
  atomic(const atomic&) = delete;
  atomic& operator=(const atomic&) = delete;

  T load(std::memory_order order = seq_cst, place at = place::current()) const noexcept {
    return simulated::value_of<T>(simulated::load(this, sizeof(T), order, at));
  }
  void store(T value, std::memory_order order = seq_cst, place at = place::current()) noexcept {
    simulated::store(this, sizeof(T), simulated::bits(value), order, at);
  }
  T exchange(T value, std::memory_order order = seq_cst, place at = place::current()) noexcept {
    return update(simulated::arithmetic::exchange, value, order, at);
  }
  T fetch_add(T value, std::memory_order order = seq_cst, place at = place::current()) noexcept {
    return update(simulated::arithmetic::add, value, order, at);
  }
  T fetch_sub(T value, std::memory_order order = seq_cst, place at = place::current()) noexcept {
    return update(simulated::arithmetic::subtract, value, order, at);
  }
  T fetch_or(T value, std::memory_order order = seq_cst, place at = place::current()) noexcept {
    return update(simulated::arithmetic::bit_or, value, order, at);
  }
  T fetch_and(T value, std::memory_order order = seq_cst, place at = place::current()) noexcept {
    return update(simulated::arithmetic::bit_and, value, order, at);
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order success,
                               std::memory_order failure, place at = place::current()) noexcept {
    std::uint64_t known = simulated::bits(expected);
    const bool changed =
        simulated::compare(this, sizeof(T), known, simulated::bits(desired), success, failure, at);
    if (!changed) expected = simulated::value_of<T>(known);
    return changed;
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order order = seq_cst,
                               place at = place::current()) noexcept {
    return compare_exchange_strong(expected, desired, order, weakest_failure(order), at);
  }
  // Does not fail spuriously, since callers then try again, as they do after a change.
  bool compare_exchange_weak(T& expected, T desired, std::memory_order success,
                             std::memory_order failure, place at = place::current()) noexcept {
    return compare_exchange_strong(expected, desired, success, failure, at);
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order order = seq_cst,
                             place at = place::current()) noexcept {
    return compare_exchange_strong(expected, desired, order, weakest_failure(order), at);
  }

 private:
  static constexpr std::memory_order weakest_failure(std::memory_order order) noexcept {
    return order == acq_rel ? acquire : order == release ? relaxed : order;
  }
  T update(simulated::arithmetic how, T operand, std::memory_order order, place at) noexcept {
    return simulated::value_of<T>(
        simulated::update(this, sizeof(T), how, simulated::bits(operand), order, at));
  }

  T initial_;
};

// Plain data. The checker finds two accesses at once of which one is a write.
template <class T>
class variable {
 public:
  constexpr variable() noexcept : variable(T{}) {}
  constexpr variable(T value) noexcept : initial_(value) {
    if (!std::is_constant_evaluated()) write(value, place::current());
  }
  variable(const variable& other) noexcept : variable(static_cast<T>(other)) {}
  variable& operator=(const variable& other) noexcept { return *this = static_cast<T>(other); }

  operator T() const noexcept { return get(); }
  variable& operator=(T value) noexcept {
    write(value, place::current());
    return *this;
  }
  T operator->() const noexcept
    requires std::is_pointer_v<T>
  {
    return get();
  }
  variable& operator++() noexcept { return *this = static_cast<T>(get() + 1); }
  variable& operator--() noexcept { return *this = static_cast<T>(get() - 1); }
  variable& operator+=(T by) noexcept { return *this = static_cast<T>(get() + by); }
  variable& operator-=(T by) noexcept { return *this = static_cast<T>(get() - by); }

  T get(place at = place::current()) const noexcept {
    return simulated::value_of<T>(simulated::load_plain(this, sizeof(T), at));
  }
  void write(T value, place at = place::current()) noexcept {
    simulated::store_plain(this, sizeof(T), simulated::bits(value), at);
  }

 private:
  T initial_;
};

// --- Counters of the calling thread -------------------------------------------------------------

inline bool add_one(atomic<std::uint64_t>& counter) noexcept {
  const std::uint64_t sum = counter.load(relaxed) + 1;
  counter.store(sum, relaxed);
  return static_cast<std::int64_t>(sum) < 0;
}
inline void add_one(atomic<std::uint16_t>& counter) noexcept {
  counter.store(static_cast<std::uint16_t>(counter.load(relaxed) + 1), relaxed);
}
inline void take_one(atomic<std::uint16_t>& counter) noexcept {
  counter.store(static_cast<std::uint16_t>(counter.load(relaxed) - 1), relaxed);
}
inline bool take_one(atomic<std::int32_t>& counter) noexcept {
  const std::int32_t left = counter.load(relaxed) - 1;
  counter.store(left, relaxed);
  return left <= 0;
}

// Threads of the checker load what they guess natively: a wrong guess is as if the value changed
// afterwards. Where time is counted they guess, too.
template <class T>
T likely_value(const atomic<T>& word, T usual, place at = place::current()) noexcept {
  return simulated::guesses() ? usual : word.load(relaxed, at);
}
template <class T, class IsUsual>
T likely_value(const atomic<T>& word, T usual, IsUsual is_usual,
               place at = place::current()) noexcept {
  return simulated::guesses() && is_usual() ? usual : word.load(relaxed, at);
}

// --- Weakening -----------------------------------------------------------------------------------

// The order of the access with that letter, unless the checker has weakened it.
std::memory_order at(letter which, std::memory_order order, place in = place::current()) noexcept;

// --- Fences --------------------------------------------------------------------------------------

// The checker makes no reordering that this forbids to a compiler.
inline void signal_fence() noexcept {}
void light_fence(letter which, place in = place::current()) noexcept;
void full_fence(letter which, place in = place::current()) noexcept;
void acquire_fence(letter which, place in = place::current()) noexcept;
void release_fence(letter which, place in = place::current()) noexcept;
// No fence under sc and tso, where the read-modify-write is one; a full fence under ra.
void full_fence_after_rmw(letter which, place in = place::current()) noexcept;
bool enable_heavy_fence() noexcept;
bool heavy_fence(letter which, place in = place::current()) noexcept;

void prefetch(const void* address, place in = place::current()) noexcept;
void prefetch_for_write(const void* address, place in = place::current()) noexcept;

// --- Waiting -------------------------------------------------------------------------------------

// For spins that may end without success.
void relax() noexcept;
// For loops that may not. Returns after a variable that the loop has read has changed.
void yield(place in = place::current()) noexcept;
void sleep_for(std::uint64_t nanoseconds, place in = place::current()) noexcept;
std::uint32_t pauses(std::uint32_t units) noexcept;
std::uint32_t time_of_update() noexcept;
std::uint32_t spins(std::uint32_t most) noexcept;

struct deadline {
  clockid_t clock;
  timespec at;
};
std::uint64_t nanoseconds_of(const deadline& until) noexcept;
std::uint64_t time_left(const deadline& until) noexcept;
deadline in(std::uint64_t nanoseconds) noexcept;

using futex_word = const void*;
inline futex_word futex_of(const atomic<std::uint32_t>& word) noexcept {
  return &word;
}
inline futex_word futex_of_low_half(const atomic<std::uint64_t>& word) noexcept {
  return &word;
}
using wake_reason = model::sleep_end;
wake_reason futex_wait(futex_word word, std::uint32_t expected, std::uint32_t mask,
                       const deadline* until, place in = place::current()) noexcept;
void futex_nap(futex_word word, std::uint32_t expected, std::uint64_t nanoseconds,
               place in = place::current()) noexcept;
int futex_wake(futex_word word, int count, std::uint32_t mask,
               place in = place::current()) noexcept;

// --- Clock, threads, processes -------------------------------------------------------------------

std::uint64_t now() noexcept;
inline std::uint64_t coarse_now() noexcept {
  return now();
}
unsigned usable_cpus() noexcept;
unsigned current_cpu() noexcept;
void watch_thread_exit(void (*on_exit)()) noexcept;
// Succeeds only in scenarios that call scenario::starts_thread().
bool start_thread(void (*body)(void*), void* argument) noexcept;
std::int32_t thread_id() noexcept;
inline bool is_thread_asleep(std::int32_t) noexcept {
  return true;
}
inline bool at_process_exit(void (*)()) noexcept {
  return false;
}
inline constexpr bool forks = false;
// Processes are not simulated.
inline void watch_fork(void (*)(), void (*)(), void (*)()) noexcept {}
void* map_pages(std::size_t bytes) noexcept;
inline void* map_shared_pages(const char*, std::size_t) noexcept {
  return nullptr;
}
inline void remove_file(const char*) noexcept {}
enum class mapping_kind { private_memory, shared_memory, unknown, not_now };
inline mapping_kind kind_of_mapping(const void*) noexcept {
  return mapping_kind::private_memory;
}
inline mapping_kind kind_of_written_memory(const void*) noexcept {
  return mapping_kind::private_memory;
}
inline bool is_unmapped(const void*, std::size_t) noexcept {
  return false;
}
inline int process_id() noexcept {
  return 1;
}
inline std::uint64_t execution_id() noexcept {
  return 1;
}
inline bool environment(const char*, char*, std::size_t) noexcept {
  return false;
}
inline bool write_text(const char*, const char*, std::size_t) noexcept {
  return false;
}
struct file_content {
  const char* data;
  std::size_t size;
};
inline file_content content_of(const char*) noexcept {
  return {nullptr, 0};
}
inline void give_back(file_content) noexcept {}
inline std::size_t backtrace(std::uintptr_t*, std::size_t) noexcept {
  return 0;
}

}  // namespace readmost::detail::platform

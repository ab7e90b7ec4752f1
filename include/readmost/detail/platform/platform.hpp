// SPDX-License-Identifier: Apache-2.0
// The seam to the machine: atomics, fences, membarrier, futex, clock, threads, fork, memory. The
// rest of the library uses atomics and system calls through this header only, so the checker
// compiles the same sources against its own implementation. No function here changes errno.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <readmost/detail/platform/letters.hpp>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define READMOST_THREAD_SANITIZER
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define READMOST_THREAD_SANITIZER
#endif

namespace readmost::detail::platform {

template <class T>
using atomic = std::atomic<T>;

inline constexpr std::memory_order relaxed = std::memory_order_relaxed;
inline constexpr std::memory_order acquire = std::memory_order_acquire;
inline constexpr std::memory_order release = std::memory_order_release;
inline constexpr std::memory_order acq_rel = std::memory_order_acq_rel;
inline constexpr std::memory_order seq_cst = std::memory_order_seq_cst;

// The order of the access with that letter.
[[gnu::always_inline]] constexpr std::memory_order at(letter, std::memory_order order) noexcept {
  return order;
}

// Plain data that several threads access one after the other; the checker finds concurrent
// accesses.
template <class T>
using variable = T;

// Add to counters that only the calling thread writes: relaxed, and one instruction where the
// compiler would need several.

// The value itself, for an instruction that the compiler does not know: clang takes no object of a
// class such as libc++'s std::atomic for one.
template <class T>
[[gnu::always_inline]] inline T& value_in(atomic<T>& counter) noexcept {
  static_assert(sizeof(atomic<T>) == sizeof(T));
  return reinterpret_cast<T&>(counter);
}

// Adds one; returns the highest bit of the sum.
inline bool add_one(atomic<std::uint64_t>& counter) noexcept {
#if defined(__x86_64__) && !defined(READMOST_THREAD_SANITIZER)
  bool is_negative;
  asm("addq $1, %0" : "+m"(value_in(counter)), "=@ccs"(is_negative));
  return is_negative;
#else
  const std::uint64_t sum = counter.load(relaxed) + 1;
  counter.store(sum, relaxed);
  return static_cast<std::int64_t>(sum) < 0;
#endif
}
inline void add_one(atomic<std::uint16_t>& counter) noexcept {
#if defined(__x86_64__) && !defined(READMOST_THREAD_SANITIZER)
  asm("addw $1, %0" : "+m"(value_in(counter)) : : "cc");
#else
  counter.store(static_cast<std::uint16_t>(counter.load(relaxed) + 1), relaxed);
#endif
}

// Subtract one.
[[gnu::always_inline]] inline void take_one(atomic<std::uint16_t>& counter) noexcept {
#if defined(__x86_64__) && !defined(READMOST_THREAD_SANITIZER)
  asm("subw $1, %0" : "+m"(value_in(counter)) : : "cc");
#else
  counter.store(static_cast<std::uint16_t>(counter.load(relaxed) - 1), relaxed);
#endif
}
// Returns whether nothing is left.
inline bool take_one(atomic<std::int32_t>& counter) noexcept {
#if defined(__x86_64__) && !defined(READMOST_THREAD_SANITIZER)
  bool is_used_up;
  asm("subl $1, %0" : "+m"(value_in(counter)), "=@ccle"(is_used_up));
  return is_used_up;
#else
  const std::int32_t left = counter.load(relaxed) - 1;
  counter.store(left, relaxed);
  return left <= 0;
#endif
}

// For a compare-and-swap that is to find out whether `word` has its usual value. A load of the word
// in front of it would have to wait for a locked instruction before; so the value is guessed,
// unless `is_usual` says no, a function that does not look at the word.
template <class T>
[[gnu::always_inline]] inline T likely_value(const atomic<T>&, T usual) noexcept {
  return usual;
}
template <class T, class IsUsual>
[[gnu::always_inline]] inline T likely_value(const atomic<T>& word, T usual,
                                             IsUsual is_usual) noexcept {
  return is_usual() ? usual : word.load(relaxed);
}

// Two threads that write different cache lines do not disturb one another.
inline constexpr std::size_t cache_line = 64;

// Thread-local variables of the library. Initial-exec: one load, no call, no allocation.
#define READMOST_THREAD_LOCAL __thread __attribute__((tls_model("initial-exec")))

// --- Fences ------------------------------------------------------------------------------------

// Each has a letter. The overloads without one serve to measure the cost of a fence.

// Keeps the compiler from reordering, with regard to a signal handler of the same thread.
inline void signal_fence() noexcept {
  std::atomic_signal_fence(seq_cst);
}

// The reader's half of an asymmetric fence: keeps the compiler from reordering and costs nothing. A
// heavy_fence() makes every light_fence() of every thread a full one.
inline void light_fence() noexcept {
  std::atomic_signal_fence(seq_cst);
}
inline void light_fence(letter) noexcept {
  light_fence();
}

// A full fence of this thread alone.
inline void full_fence() noexcept {
#if defined(READMOST_THREAD_SANITIZER)
  // ThreadSanitizer does not model fences; a read-modify-write of one shared word orders at least
  // as much, in the hardware and in the tool.
  extern atomic<int> fence_for_sanitizer;
  fence_for_sanitizer.fetch_add(0, seq_cst);
#else
  std::atomic_thread_fence(seq_cst);
#endif
}
inline void full_fence(letter) noexcept {
  full_fence();
}

// Half fences: earlier loads stay before all later accesses; all earlier accesses stay before later
// stores. On x86 they keep only the compiler from reordering. The first without a letter makes
// vector loads, which have no order, acquire ones.
inline void acquire_fence() noexcept {
#if defined(READMOST_THREAD_SANITIZER)
  full_fence();
#else
  std::atomic_thread_fence(acquire);
#endif
}
inline void acquire_fence(letter) noexcept {
  acquire_fence();
}
inline void release_fence(letter) noexcept {
#if defined(READMOST_THREAD_SANITIZER)
  full_fence();
#else
  std::atomic_thread_fence(release);
#endif
}

// A full fence right after a read-modify-write, which on x86 is one already.
inline void full_fence_after_rmw(letter) noexcept {
#if defined(__x86_64__)
  light_fence();
#else
  full_fence();
#endif
}

// Registers the process for expedited private membarriers. False if the kernel has none (old
// kernel, seccomp): then heavy_fence() must not be relied on. Must be called again in a fork's
// child.
bool enable_heavy_fence() noexcept;

// The writer's half: between the call and the return every thread of the process executes a full
// fence (membarrier(2), PRIVATE_EXPEDITED). Cost: about 0.1 us if no other CPU runs this process,
// about 2 us otherwise. False if the kernel refused; then nothing is ordered.
bool heavy_fence() noexcept;
bool heavy_fence(letter) noexcept;

// --- Waiting -----------------------------------------------------------------------------------

// One iteration of a spin loop.
inline void relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

// How many calls of relax() take so many times 20 ns, one at least: the pause instruction takes
// from 4 to 50 ns. The first call measures it, which takes some microseconds.
std::uint32_t pauses(std::uint32_t units) noexcept;

// The picoseconds that a read-modify-write of a line takes which this core owns: from 2,000 to
// 8,000 on today's cores. The first call measures it, which takes some microseconds.
extern atomic<std::uint32_t> update_time;  // 0: not measured yet
std::uint32_t measure_update_time() noexcept;
inline std::uint32_t time_of_update() noexcept {
  const std::uint32_t known = update_time.load(relaxed);
  return known != 0 ? known : measure_update_time();
}

// The number of iterations that a bounded spin loop may take. One under the checker, which reaches
// the same states.
constexpr std::uint32_t spins(std::uint32_t most) noexcept {
  return most;
}

// Gives the CPU to another runnable thread.
void yield() noexcept;

void sleep_for(std::uint64_t nanoseconds) noexcept;

// A point in time on a clock of clock_gettime(2): CLOCK_REALTIME or CLOCK_MONOTONIC.
struct deadline {
  clockid_t clock;
  timespec at;
};

// Nanoseconds until then; 0 when it has passed.
std::uint64_t time_left(const deadline& until) noexcept;

// The point in time that many nanoseconds from now, CLOCK_MONOTONIC.
deadline in(std::uint64_t nanoseconds) noexcept;

// The address of 32 bits to sleep on.
using futex_word = const void*;

inline futex_word futex_of(const atomic<std::uint32_t>& word) noexcept {
  return &word;
}

inline futex_word futex_of_low_half(const atomic<std::uint64_t>& word) noexcept {
  static_assert(std::endian::native == std::endian::little);
  return &word;
}

enum class wake_reason {
  woken,
  timed_out,
  none,  // *word was not `expected`, or a signal came; no futex_wake has counted the caller
};

// Sleeps while *word == expected: until a futex_wake with a common bit in `mask`, until `until`
// (null: for ever), or until a signal. It may also be woken without reason, so the caller checks
// again.
wake_reason futex_wait(futex_word word, std::uint32_t expected, std::uint32_t mask,
                       const deadline* until) noexcept;

// The same, but for so many nanoseconds at most: for a sleeper whom the wake-up may miss.
void futex_nap(futex_word word, std::uint32_t expected, std::uint64_t nanoseconds) noexcept;

// Wakes up to `count` sleepers; returns their number. Does not access *word, which may be freed by
// then: at worst its address is another futex, whose users tolerate a spurious wake-up.
int futex_wake(futex_word word, int count, std::uint32_t mask) noexcept;

// Starts to fetch a cache line for reading.
[[gnu::always_inline]] inline void prefetch(const void* address) noexcept {
  __builtin_prefetch(address);
}

// Starts to fetch a cache line for writing. Before a load and a read-modify-write of a line that
// several CPUs want, which would else come twice. (gcc's built-in function fetches it for reading
// unless the processor is named. Older x86-64 processors ignore the instruction.)
[[gnu::always_inline]] inline void prefetch_for_write(const void* address) noexcept {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(address)));
#else
  __builtin_prefetch(address, 1);
#endif
}

// --- Clock -------------------------------------------------------------------------------------

// Monotonic nanoseconds; about 20 ns a call.
std::uint64_t now() noexcept;

// The same at the last tick of the system, up to 10 ms ago; about 5 ns a call.
std::uint64_t coarse_now() noexcept;

// CPUs that the calling thread may run on.
unsigned usable_cpus() noexcept;

// The CPU that it ran on a moment ago; 0 if unknown.
unsigned current_cpu() noexcept;

// --- Threads and processes ---------------------------------------------------------------------

// Calls `on_exit` in every thread that called watch_thread_exit(), as late in its exit as possible:
// after C++ thread_local destructors, in the last round of pthread keys. Where the program has
// taken all keys: among those destructors. Signal-safe, unless the program had taken 32 keys before
// it loaded this library: then the C library allocates memory.
void watch_thread_exit(void (*on_exit)()) noexcept;

// Starts a detached thread of the library's own: with ordinary priority, on the CPUs and with the
// nice value that the main thread had when the library was loaded, whatever the caller is confined
// to; but a higher nice value stays where the user may not lower it. No asynchronous signal is
// handled in it; those that its own instructions cause (SIGSEGV) are. False if the system refuses.
bool start_thread(void (*body)(void*), void* argument) noexcept;

// The calling thread's id in the kernel.
std::int32_t thread_id() noexcept;

// Whether the thread of this process sleeps in the kernel; also true if there is none. Cost: some
// microseconds (reads /proc).
bool is_thread_asleep(std::int32_t thread) noexcept;

// Calls `at_exit` when the process ends by exit(3) or by the return of main(). False if that cannot
// be arranged.
bool at_process_exit(void (*at_exit)()) noexcept;

// For the main thread: calls `at_end` when its thread_local objects are destroyed, which exit(3)
// and the return of main() do before they call anything else, and pthread_exit(3) too. False in
// other threads, and where that cannot be arranged.
bool at_main_thread_end(void (*at_end)()) noexcept;

// Whether a process can fork; the checker simulates no processes.
inline constexpr bool forks = true;

// At every fork(2) from now on: calls `before`, then in the parent `in_parent`, and in the child
// `in_child`. `before` and `in_parent` may be null.
void watch_fork(void (*before)(), void (*in_parent)(), void (*in_child)()) noexcept;

// Maps zeroed pages; null if there is no memory.
void* map_pages(std::size_t bytes) noexcept;

// The same for pages that a fork's children share: those of a new file, in which they outlive the
// process, or without a file if `path` is null. The file's room is reserved. Null if that failed.
void* map_shared_pages(const char* path, std::size_t bytes) noexcept;
void remove_file(const char* path) noexcept;

// Maps the file whose number is in an environment variable, which the program that started this one
// has left open. Null without one. The file stays open, for a program that is started in turn.
void* map_left_pages(const char* variable, std::size_t bytes) noexcept;
void unmap_pages(void* pages, std::size_t bytes) noexcept;

// The kind of mapping that holds `address`: the records of this process do not tell how another
// process uses shared memory. Cost: 1 us (Linux 6.11), else up to 1 us for each mapping of the
// process (reads /proc/self/maps).
enum class mapping_kind {
  private_memory,
  shared_memory,
  unknown,  // not mapped, or the kernel does not tell
  not_now,  // the process has no file descriptor or no memory left to ask with
};
mapping_kind kind_of_mapping(const void* address) noexcept;

// The same for memory that the caller has just written to. Cost: 1 us, whatever else is mapped.
mapping_kind kind_of_written_memory(const void* address) noexcept;

// Whether an access to the memory is certain to fault because nothing is mapped there.
bool is_unmapped(const void* memory, std::size_t bytes) noexcept;

int process_id() noexcept;
// Tells namespaces of process ids apart; 0 if unknown.
std::uint64_t pid_namespace() noexcept;
// Tells programs apart that one process executes one after the other. A fork's child has its
// parent's.
std::uint64_t execution_id() noexcept;

// The value of an environment variable, cut to `size` - 1 characters; false without one. Works
// before the C library has set up its environment, when getenv() finds nothing. A program that runs
// with more rights than its caller (AT_SECURE) has none.
bool environment(const char* name, char* value, std::size_t size) noexcept;

// Appends to a file, or writes to stderr if `path` is null. False if that failed.
bool write_text(const char* path, const char* text, std::size_t length) noexcept;

// The content of a file, also of one in /proc, until it is given back. Null if the file cannot be
// read.
struct file_content {
  const char* data;
  std::size_t size;
};
file_content content_of(const char* path) noexcept;
void give_back(file_content content) noexcept;

// Stores return addresses of the calling thread, innermost first; returns their number. Needs
// unwind tables, which compilers emit unless told otherwise.
std::size_t backtrace(std::uintptr_t* frames, std::size_t most) noexcept;

}  // namespace readmost::detail::platform

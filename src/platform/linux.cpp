// SPDX-License-Identifier: Apache-2.0
// The seam (detail/platform/platform.hpp) on Linux.
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <readmost/detail/platform/platform.hpp>

#include "platform/cpu_mask.hpp"
#include "platform/errno_kept.hpp"
#include "platform/tools.hpp"

// Null where the program has none: a statically linked one need not contain them.
#pragma weak dlsym
extern "C" {
[[gnu::weak]] int __cxa_thread_atexit_impl(void (*)(void*), void*, void*);
extern void* __dso_handle [[gnu::visibility("hidden")]];
}

namespace readmost::detail::platform {

namespace {

// open(), read(), write() and close() are cancellation points, which a lock operation must not be.
class not_cancelled {
 public:
  not_cancelled() noexcept { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~not_cancelled() { pthread_setcancelstate(before_, nullptr); }
  not_cancelled(const not_cancelled&) = delete;
  not_cancelled& operator=(const not_cancelled&) = delete;

 private:
  int before_ = 0;
};

std::size_t page_size() noexcept {
  return static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

long membarrier(int command) noexcept {
  return syscall(SYS_membarrier, command, 0, 0);
}

}  // namespace

// Also where the library is compiled without ThreadSanitizer: programs over it need not be.
constinit atomic<int> fence_for_sanitizer{0};

bool enable_heavy_fence() noexcept {
  errno_kept kept;
  const long offered = membarrier(MEMBARRIER_CMD_QUERY);
  if (offered < 0 || (offered & MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0) return false;
  return membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
}

bool heavy_fence() noexcept {
  errno_kept kept;
  return membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0;
}

bool heavy_fence(letter) noexcept {
  return heavy_fence();
}

void yield() noexcept {
  errno_kept kept;
  sched_yield();
}

void sleep_for(std::uint64_t nanoseconds) noexcept {
  errno_kept kept;
  timespec left{static_cast<time_t>(nanoseconds / 1'000'000'000),
                static_cast<long>(nanoseconds % 1'000'000'000)};
  // The raw call: nanosleep() of the C library is a cancellation point.
  while (syscall(SYS_nanosleep, &left, &left) != 0 && errno == EINTR) {
  }
}

std::uint64_t time_left(const deadline& until) noexcept {
  errno_kept kept;
  timespec t{};
  clock_gettime(until.clock, &t);
  if (until.at.tv_sec < t.tv_sec) return 0;
  const std::int64_t seconds = until.at.tv_sec - t.tv_sec;
  if (seconds > 3'000'000'000) return UINT64_MAX;  // a century; more would overflow
  const std::int64_t left = seconds * 1'000'000'000 + (until.at.tv_nsec - t.tv_nsec);
  return left < 0 ? 0 : static_cast<std::uint64_t>(left);
}

deadline in(std::uint64_t nanoseconds) noexcept {
  const std::uint64_t at = now() + nanoseconds;
  return {CLOCK_MONOTONIC,
          {static_cast<time_t>(at / 1'000'000'000), static_cast<long>(at % 1'000'000'000)}};
}

namespace {

constexpr std::uint32_t parts = 16;
// In so many times 20 ns; 0: not measured yet.
constinit atomic<std::uint32_t> pauses_in_parts{0};

std::uint64_t time_of_pauses(std::uint32_t count) noexcept {
  const std::uint64_t start = now();
  for (std::uint32_t i = 0; i < count; ++i) relax();
  return now() - start;
}

// The shortest of a few times that so many operations take: the thread may lose its CPU meanwhile.
std::uint64_t shortest_time(std::uint64_t (*time_of)(std::uint32_t), std::uint32_t count) noexcept {
  std::uint64_t least = time_of(count);
  for (int i = 0; i < 2; ++i) {
    const std::uint64_t time = time_of(count);
    if (time < least) least = time;
  }
  return least;
}

std::uint32_t measure_pauses() noexcept {
  constexpr std::uint32_t count = 64;
  const std::uint64_t least = shortest_time(time_of_pauses, count);
  constexpr std::uint64_t fewest = parts / 4;
  constexpr std::uint64_t most = parts * 8;
  const std::uint64_t measured = least == 0 ? most : parts * 20 * count / least;
  return static_cast<std::uint32_t>(measured < fewest ? fewest : measured > most ? most : measured);
}

}  // namespace

std::uint32_t pauses(std::uint32_t units) noexcept {
  std::uint32_t known = pauses_in_parts.load(relaxed);
  if (known == 0) [[unlikely]] {
    known = measure_pauses();
    pauses_in_parts.store(known, relaxed);
  }
  const std::uint32_t count = units * known / parts;
  return count == 0 ? 1 : count;
}

namespace {

std::uint64_t time_of_updates(std::uint32_t count) noexcept {
  atomic<std::uint32_t> updated{0};
  const std::uint64_t start = now();
  for (std::uint32_t i = 0; i < count; ++i) updated.fetch_add(1, relaxed);
  return now() - start;
}

}  // namespace

constinit atomic<std::uint32_t> update_time{0};

std::uint32_t measure_update_time() noexcept {
  constexpr std::uint32_t count = 128;
  constexpr std::uint64_t most = 100'000;
  const std::uint64_t measured = 1'000 * shortest_time(time_of_updates, count) / count;
  const std::uint64_t picoseconds = measured == 0 ? 1 : measured < most ? measured : most;
  update_time.store(static_cast<std::uint32_t>(picoseconds), relaxed);
  return static_cast<std::uint32_t>(picoseconds);
}

wake_reason futex_wait(futex_word word, std::uint32_t expected, std::uint32_t mask,
                       const deadline* until) noexcept {
  errno_kept kept;
  int operation = FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG;
  if (until != nullptr) {
    if (until->at.tv_sec < 0) return wake_reason::timed_out;  // the kernel answers EINVAL
    if (until->clock == CLOCK_REALTIME) operation |= FUTEX_CLOCK_REALTIME;
  }
  const long result = syscall(SYS_futex, word, operation, expected,
                              until != nullptr ? &until->at : nullptr, nullptr, mask);
  if (result == 0) return wake_reason::woken;
  return errno == ETIMEDOUT ? wake_reason::timed_out : wake_reason::none;
}

void futex_nap(futex_word word, std::uint32_t expected, std::uint64_t nanoseconds) noexcept {
  const deadline until = in(nanoseconds);
  futex_wait(word, expected, ~0U, &until);
}

int futex_wake(futex_word word, int count, std::uint32_t mask) noexcept {
  errno_kept kept;
  const long woken = syscall(SYS_futex, word, FUTEX_WAKE_BITSET | FUTEX_PRIVATE_FLAG, count,
                             nullptr, nullptr, mask);
  return woken < 0 ? 0 : static_cast<int>(woken);
}

std::uint64_t now() noexcept {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(t.tv_nsec);
}

std::uint64_t coarse_now() noexcept {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(t.tv_nsec);
}

unsigned usable_cpus() noexcept {
  errno_kept kept;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 2;  // more than 1024 CPUs
  return static_cast<unsigned>(CPU_COUNT(&set));
}

unsigned current_cpu() noexcept {
  errno_kept kept;
  const int cpu = sched_getcpu();
  return cpu < 0 ? 0 : static_cast<unsigned>(cpu);
}

// --- Thread exit -------------------------------------------------------------------------------

namespace {

pthread_key_t exit_key;
pthread_once_t exit_key_once = PTHREAD_ONCE_INIT;
bool exit_key_made = false;
atomic<void (*)()> exit_function{nullptr};

#if defined(READMOST_THREAD_SANITIZER)
// ThreadSanitizer finishes with a thread in the last round; instrumented code crashes after that.
constexpr std::uintptr_t last_round = PTHREAD_DESTRUCTOR_ITERATIONS - 1;
#else
constexpr std::uintptr_t last_round = PTHREAD_DESTRUCTOR_ITERATIONS;
#endif

// Other keys' destructors may still take locks, so this one asks to be called again until the
// last round that POSIX promises; the value counts the rounds.
void count_rounds_then_exit(void* value) {
  const auto round = reinterpret_cast<std::uintptr_t>(value);
  if (round < last_round) {
    pthread_setspecific(exit_key, reinterpret_cast<void*>(round + 1));
  } else {
    exit_function.load(acquire)();
  }
}

void make_exit_key() {
  exit_key_made = pthread_key_create(&exit_key, count_rounds_then_exit) == 0;
}

// Before the program makes keys of its own: a thread has room for the values of the first 32 keys,
// but glibc allocates memory for those of later ones, and a thread's first lock or section may be
// in a signal handler that has interrupted malloc().
__attribute__((constructor(101))) void make_exit_key_early() noexcept {
  pthread_once(&exit_key_once, make_exit_key);
}

bool set_exit_key() noexcept {
  return exit_key_made &&
         pthread_setspecific(exit_key, reinterpret_cast<void*>(std::uintptr_t{1})) == 0;
}

}  // namespace

void watch_thread_exit(void (*on_exit)()) noexcept {
  errno_kept kept;
  exit_function.store(on_exit, release);
  pthread_once(&exit_key_once, make_exit_key);
  if (set_exit_key() || __cxa_thread_atexit_impl == nullptr) return;
  // The program has taken all keys. This is called earlier, among the destructors of thread_local
  // objects.
  __cxa_thread_atexit_impl([](void*) { exit_function.load(acquire)(); }, nullptr, &__dso_handle);
}

namespace {

// The object of the program, executable or library, that this code is part of.
struct own_object {
  const char* name = nullptr;  // empty: the executable
  bool never_unloaded = false;
};

bool contains_this_code(const dl_phdr_info& object) noexcept {
  const std::uintptr_t here = reinterpret_cast<std::uintptr_t>(&exit_key_made) - object.dlpi_addr;
  for (unsigned i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object.dlpi_phdr[i];
    if (segment.p_type == PT_LOAD && here - segment.p_vaddr < segment.p_memsz) return true;
  }
  return false;
}

bool is_never_unloaded(const dl_phdr_info& object) noexcept {
  for (unsigned i = 0; i < object.dlpi_phnum; ++i) {
    if (object.dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const auto* entry =
        reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr + object.dlpi_phdr[i].p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag == DT_FLAGS_1) return (entry->d_un.d_val & DF_1_NODELETE) != 0;
    }
  }
  return false;
}

int find_own_object(dl_phdr_info* object, std::size_t, void* found) noexcept {
  if (!contains_this_code(*object)) return 0;
  *static_cast<own_object*>(found) = {object->dlpi_name, is_never_unloaded(*object)};
  return 1;
}

// A plug-in that was linked with the static library has this code too, and threads that have used
// it run it at their exit, as the reclaimer does all the time. So dlclose(3) must not unload it.
// Happens when it is loaded, because dlopen() allocates and waits for other threads that load.
__attribute__((constructor)) void stay_loaded() noexcept {
  errno_kept kept;
  own_object own;
  if (dl_iterate_phdr(find_own_object, &own) == 0 || own.never_unloaded || *own.name == '\0' ||
      dlsym == nullptr) {
    return;
  }
  // By name, because the linker would warn of dlopen() in every program that is linked statically.
  using opener = void* (*)(const char*, int);
  if (const auto open = reinterpret_cast<opener>(dlsym(RTLD_DEFAULT, "dlopen"))) {
    open(own.name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  }
}

}  // namespace

namespace {

// The CPUs of the main thread when this code was loaded; none: unknown. And its nice value. Read
// then, because programs later pin and renice their threads, also the main one.
constinit cpu_mask cpus_at_start;
constinit int nice_at_start = 0;

__attribute__((constructor)) void note_scheduling() noexcept {
  errno_kept kept;
  cpus_at_start.get(getpid());
  nice_at_start = getpriority(PRIO_PROCESS, static_cast<id_t>(getpid()));
}

// The thread inherits how its creator is scheduled: perhaps on one CPU, ahead of everybody else or
// behind. What the process may not undo stays, as for a creator with a higher nice value.
void schedule_ordinarily() noexcept {
  const sched_param none{};
  syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &none);
  setpriority(PRIO_PROCESS, 0, nice_at_start);
  if (cpus_at_start.size() != 0) cpus_at_start.set();
}

struct thread_start {
  void (*body)(void*);
  void* argument;
};

void* run_thread(void* start) {
  const thread_start taken = *static_cast<thread_start*>(start);
  std::free(start);
  schedule_ordinarily();
  prctl(PR_SET_NAME, "readmost-rcu");
  taken.body(taken.argument);
  return nullptr;
}

// All but those that the thread's own instructions cause. If one of them is blocked when that
// happens, the kernel ends the process without calling the program's handler.
sigset_t asynchronous_signals() noexcept {
  sigset_t signals;
  sigfillset(&signals);
  for (const int own : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS, SIGABRT}) {
    sigdelset(&signals, own);
  }
  return signals;
}

}  // namespace

bool start_thread(void (*body)(void*), void* argument) noexcept {
  errno_kept kept;
  auto* start = static_cast<thread_start*>(std::malloc(sizeof(thread_start)));
  if (start == nullptr) return false;
  *start = {body, argument};
  const sigset_t blocked = asynchronous_signals();
  sigset_t before;
  pthread_sigmask(SIG_SETMASK, &blocked, &before);
  pthread_t thread;
  const int failure = pthread_create(&thread, nullptr, run_thread, start);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (failure != 0) {
    std::free(start);
    return false;
  }
  pthread_detach(thread);
  return true;
}

std::int32_t thread_id() noexcept {
  return gettid();
}

bool is_thread_asleep(std::int32_t thread) noexcept {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
  const file_content stat = content_of(path);
  if (stat.data == nullptr) return true;
  // "4910 (name) R ...": the name may contain anything, the rest no parenthesis.
  const auto* const name_end = static_cast<const char*>(memrchr(stat.data, ')', stat.size));
  const auto length = static_cast<std::size_t>(name_end - stat.data);
  const bool runs = name_end != nullptr && length + 2 < stat.size && name_end[2] == 'R';
  give_back(stat);
  return !runs;
}

bool at_process_exit(void (*at_exit)()) noexcept {
  return std::atexit(at_exit) == 0;
}

bool at_main_thread_end(void (*at_end)()) noexcept {
  errno_kept kept;
  if (gettid() != getpid() || __cxa_thread_atexit_impl == nullptr) return false;
  return __cxa_thread_atexit_impl([](void* function) { reinterpret_cast<void (*)()>(function)(); },
                                  reinterpret_cast<void*>(at_end), &__dso_handle) == 0;
}

void watch_fork(void (*before)(), void (*in_parent)(), void (*in_child)()) noexcept {
  errno_kept kept;
  pthread_atfork(before, in_parent, in_child);
}

void* map_pages(std::size_t bytes) noexcept {
  errno_kept kept;
  constexpr int readable = PROT_READ | PROT_WRITE;
  constexpr int zeroed = MAP_PRIVATE | MAP_ANONYMOUS;
  // ThreadSanitizer takes mmap() for a write to all pages, with which no thread would have
  // synchronized: it does not see how the library passes them on.
  void* pages = reinterpret_cast<void*>(syscall(SYS_mmap, nullptr, bytes, readable, zeroed, -1, 0));
  if (pages == MAP_FAILED) return nullptr;
  tools::hide(pages, bytes);
  return pages;
}

void* map_shared_pages(const char* path, std::size_t bytes) noexcept {
  errno_kept kept;
  not_cancelled whole;
  constexpr int readable = PROT_READ | PROT_WRITE;
  if (path == nullptr) {
    void* pages = mmap(nullptr, bytes, readable, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return pages != MAP_FAILED ? pages : nullptr;
  }
  const int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOCTTY | O_CLOEXEC, 0600);
  if (file < 0) return nullptr;
  // Without its room an access would be SIGBUS once the file system is full.
  void* pages = MAP_FAILED;
  if (posix_fallocate(file, 0, static_cast<off_t>(bytes)) == 0) {
    pages = mmap(nullptr, bytes, readable, MAP_SHARED, file, 0);
  }
  close(file);
  if (pages != MAP_FAILED) return pages;
  unlink(path);
  return nullptr;
}

void remove_file(const char* path) noexcept {
  errno_kept kept;
  unlink(path);
}

void* map_left_pages(const char* variable, std::size_t bytes) noexcept {
  errno_kept kept;
  char number[16];
  if (!environment(variable, number, sizeof number)) return nullptr;
  char* end = nullptr;
  const long file = std::strtol(number, &end, 10);
  if (end == number || *end != '\0' || file <= STDERR_FILENO || file > INT_MAX) return nullptr;
  void* const pages =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, static_cast<int>(file), 0);
  // The file stays open also if this fails: the number may be one of the program's own files.
  return pages == MAP_FAILED ? nullptr : pages;
}

void unmap_pages(void* pages, std::size_t bytes) noexcept {
  errno_kept kept;
  munmap(pages, bytes);
}

std::uint64_t pid_namespace() noexcept {
  errno_kept kept;
  struct stat found{};
  return stat("/proc/self/ns/pid", &found) == 0 ? found.st_ino : 0;
}

int process_id() noexcept {
  return static_cast<int>(getpid());
}

// From the random bytes that the kernel gives to each program. The C library takes its own secrets
// from them, which the sum does not tell.
std::uint64_t execution_id() noexcept {
  std::uint64_t random[2] = {};
  const auto* const given = reinterpret_cast<const void*>(getauxval(AT_RANDOM));
  if (given != nullptr) std::memcpy(random, given, sizeof random);
  return random[0] + random[1];
}

// --- Mappings ----------------------------------------------------------------------------------

namespace {

// PROCMAP_QUERY of Linux 6.11, spelled out because Debian 12's headers are older.
struct procmap_query {
  std::uint64_t size;
  std::uint64_t query_flags;
  std::uint64_t query_addr;
  std::uint64_t vma_start;
  std::uint64_t vma_end;
  std::uint64_t vma_flags;
  std::uint64_t vma_page_size;
  std::uint64_t vma_offset;
  std::uint64_t inode;
  std::uint32_t dev_major;
  std::uint32_t dev_minor;
  std::uint32_t vma_name_size;
  std::uint32_t build_id_size;
  std::uint64_t vma_name_addr;
  std::uint64_t build_id_addr;
};
static_assert(sizeof(procmap_query) == 104);
constexpr std::uint64_t procmap_vma_shared = 0x08;

mapping_kind ask_kernel(int maps, std::uintptr_t address) noexcept {
  procmap_query query{};
  query.size = sizeof query;
  query.query_addr = address;
  // The raw call: musl's ioctl() takes the request as an int.
  if (syscall(SYS_ioctl, maps, _IOWR('f', 17, procmap_query), &query) != 0) {
    return mapping_kind::unknown;
  }
  return (query.vma_flags & procmap_vma_shared) != 0 ? mapping_kind::shared_memory
                                                     : mapping_kind::private_memory;
}

// A file of /proc as a stream of characters, without memory of its own.
class proc_file {
 public:
  explicit proc_file(const char* path) noexcept : file_(open(path, O_RDONLY | O_CLOEXEC)) {}
  ~proc_file() {
    if (file_ >= 0) close(file_);
  }
  proc_file(const proc_file&) = delete;
  proc_file& operator=(const proc_file&) = delete;

  int descriptor() const noexcept { return file_; }

  // -1 at the end, or without a file.
  int next() noexcept {
    if (position_ == filled_) {
      const ssize_t got = file_ >= 0 ? read(file_, buffer_, sizeof buffer_) : 0;
      if (got <= 0) return -1;
      filled_ = static_cast<std::size_t>(got);
      position_ = 0;
    }
    return static_cast<unsigned char>(buffer_[position_++]);
  }

 private:
  not_cancelled kept_;  // first, so that it covers the others
  int file_;
  std::size_t position_ = 0;
  std::size_t filled_ = 0;
  char buffer_[1024];
};

bool hexadecimal(proc_file& file, char terminator, std::uintptr_t& value) noexcept {
  for (;;) {
    const int c = file.next();
    if (c == terminator) return true;
    if (c >= '0' && c <= '9') {
      value = value << 4 | static_cast<std::uintptr_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      value = value << 4 | static_cast<std::uintptr_t>(c - 'a' + 10);
    } else {
      return false;
    }
  }
}

// Whether the last call failed for want of something that another moment may provide.
bool is_short_of_means() noexcept {
  return errno == EMFILE || errno == ENFILE || errno == ENOMEM;
}

// Lines "start-end perms ...".
mapping_kind search(proc_file& maps, std::uintptr_t address) noexcept {
  for (;;) {
    std::uintptr_t start = 0;
    std::uintptr_t end = 0;
    if (!hexadecimal(maps, '-', start) || !hexadecimal(maps, ' ', end)) {
      return mapping_kind::unknown;
    }
    char permissions[4];
    for (char& p : permissions) p = static_cast<char>(maps.next());
    if (address >= start && address < end) {
      return permissions[3] == 's' ? mapping_kind::shared_memory : mapping_kind::private_memory;
    }
    int c = 0;
    while ((c = maps.next()) != '\n') {
      if (c < 0) return mapping_kind::unknown;
    }
  }
}

}  // namespace

mapping_kind kind_of_mapping(const void* address) noexcept {
  errno_kept kept;
  proc_file maps("/proc/self/maps");
  if (maps.descriptor() < 0)
    return is_short_of_means() ? mapping_kind::not_now : mapping_kind::unknown;
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  const mapping_kind kind = ask_kernel(maps.descriptor(), wanted);
  return kind != mapping_kind::unknown ? kind : search(maps, wanted);
}

namespace {

// What /proc/self/pagemap says of a page.
constexpr std::uint64_t page_is_present = std::uint64_t{1} << 63;
constexpr std::uint64_t page_is_of_file = std::uint64_t{1} << 61;  // or of shared anonymous memory
constexpr std::uint64_t page_is_exclusive = std::uint64_t{1} << 56;

// 0 if it cannot be read.
std::uint64_t page_entry(const void* address) noexcept {
  not_cancelled whole;
  const int file = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const auto page = reinterpret_cast<std::uintptr_t>(address) / page_size();
  std::uint64_t entry = 0;
  const ssize_t got = pread(file, &entry, sizeof entry, static_cast<off_t>(page * sizeof entry));
  close(file);
  return got == sizeof entry ? entry : 0;
}

}  // namespace

// A write gives a private mapping a page of its own, which belongs to no file; a page of a shared
// mapping is always a file's. That the page is exclusive tells that the kernel knows the page at
// all and not, as for a device's memory, its absence from files alone.
mapping_kind kind_of_written_memory(const void* address) noexcept {
  errno_kept kept;
  const std::uint64_t entry = page_entry(address);
  if ((entry & page_is_present) != 0) {
    if ((entry & page_is_of_file) != 0) return mapping_kind::shared_memory;
    if ((entry & page_is_exclusive) != 0) return mapping_kind::private_memory;
  }
  return kind_of_mapping(address);
}

bool is_unmapped(const void* memory, std::size_t bytes) noexcept {
  errno_kept kept;
  const std::size_t page = page_size();
  auto start = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t end = start + bytes;
  for (start = start / page * page; start < end; start += page) {
    unsigned char resident = 0;
    if (mincore(reinterpret_cast<void*>(start), page, &resident) != 0 && errno == ENOMEM) {
      return true;
    }
  }
  return false;
}

namespace {

// Whether a filter of system calls may kill this process for a call that is not needed yet: true
// unless /proc/self/status has the line "Seccomp: 0".
bool may_be_filtered() noexcept {
  proc_file status("/proc/self/status");
  constexpr char wanted[] = "\nSeccomp:\t";
  std::size_t matched = 0;
  for (int c = status.next(); c >= 0; c = status.next()) {
    matched = c == wanted[matched] ? matched + 1 : c == wanted[0] ? 1 : 0;
    if (matched == sizeof wanted - 1) return status.next() != '0';
  }
  return true;
}

// The kernel registers a process in some 20 us while it has one thread, and in 10 ms once it has
// several, during which all its readers would wait. So this happens before main().
__attribute__((constructor)) void enable_heavy_fence_early() noexcept {
  errno_kept kept;
  if (!may_be_filtered()) enable_heavy_fence();
}

}  // namespace

bool environment(const char* name, char* value, std::size_t size) noexcept {
  errno_kept kept;
  // The caller of a program with more rights must not choose which files it writes.
  if (getauxval(AT_SECURE) != 0) return false;
  if (environ != nullptr) {
    const char* found = getenv(name);
    if (found == nullptr) return false;
    std::snprintf(value, size, "%s", found);
    return true;
  }
  // Entries "name=value", each ended by a zero.
  proc_file entries("/proc/self/environ");
  for (int c = entries.next(); c >= 0; c = entries.next()) {
    const char* expected = name;
    while (*expected != '\0' && c == *expected) {
      ++expected;
      c = entries.next();
    }
    if (*expected == '\0' && c == '=') {
      std::size_t length = 0;
      while ((c = entries.next()) > 0) {
        if (length + 1 < size) value[length++] = static_cast<char>(c);
      }
      value[length] = '\0';
      return true;
    }
    while (c > 0) c = entries.next();
  }
  return false;
}

bool write_text(const char* path, const char* text, std::size_t length) noexcept {
  errno_kept kept;
  not_cancelled whole;
  int file = STDERR_FILENO;
  // Does not wait for whoever may come to read from a pipe of that name.
  constexpr int how = O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  if (path != nullptr) file = open(path, how, 0666);
  if (file < 0) return false;
  const bool complete = write(file, text, length) == static_cast<ssize_t>(length);
  if (path != nullptr) close(file);
  return complete;
}

namespace {

std::size_t whole_pages(std::size_t bytes) noexcept {
  const std::size_t page = page_size();
  return (bytes + page - 1) / page * page;
}

// Files of /proc have no size and cannot be mapped. Memory is freed by munmap(2) only:
// ThreadSanitizer does not track the memory that mremap(2) frees, and would report the next owner's
// accesses as races.
file_content read_to_the_end(int file) noexcept {
  std::size_t room = 64 * 1024;
  auto* pages = static_cast<char*>(map_pages(room));
  std::size_t size = 0;
  while (pages != nullptr) {
    const ssize_t got = read(file, pages + size, room - size);
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
    if (size < room) continue;
    auto* const larger = static_cast<char*>(map_pages(2 * room));
    if (larger == nullptr) break;
    std::memcpy(larger, pages, size);
    munmap(pages, room);
    pages = larger;
    room *= 2;
  }
  if (pages == nullptr) return {nullptr, 0};
  const std::size_t used = whole_pages(size);
  if (used < room) munmap(pages + used, room - used);
  return {size != 0 ? pages : nullptr, size};
}

}  // namespace

file_content content_of(const char* path) noexcept {
  errno_kept kept;
  not_cancelled whole;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return {nullptr, 0};
  struct stat facts{};
  file_content content{nullptr, 0};
  if (fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size > 0) {
    content.size = static_cast<std::size_t>(facts.st_size);
    void* pages = mmap(nullptr, content.size, PROT_READ, MAP_PRIVATE, file, 0);
    if (pages != MAP_FAILED) content.data = static_cast<const char*>(pages);
  } else {
    content = read_to_the_end(file);
  }
  close(file);
  return content;
}

void give_back(file_content content) noexcept {
  errno_kept kept;
  if (content.data == nullptr) return;
  munmap(const_cast<char*>(content.data), whole_pages(content.size));
}

namespace {

struct frame_list {
  std::uintptr_t* frames;
  std::size_t most;
  std::size_t count;
};

_Unwind_Reason_Code add_frame(_Unwind_Context* context, void* data) {
  auto& list = *static_cast<frame_list*>(data);
  if (list.count == list.most) return _URC_END_OF_STACK;
  list.frames[list.count++] = _Unwind_GetIP(context);
  return _URC_NO_REASON;
}

}  // namespace

// Not backtrace(3), whose first call loads a library, which may be too early before main().
std::size_t backtrace(std::uintptr_t* frames, std::size_t most) noexcept {
  errno_kept kept;
  frame_list list{frames, most, 0};
  _Unwind_Backtrace(add_frame, &list);
  return list.count;
}

}  // namespace readmost::detail::platform

// SPDX-License-Identifier: Apache-2.0
// The seam to Linux: mappings, futexes, deadlines, files, thread exit.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <readmost/detail/platform/platform.hpp>
#include <string>
#include <thread>

#include "support/forbidden_calls.hpp"
#include "support/helper_thread.hpp"
#include "support/processes.hpp"

namespace {

using test::helper_thread;
using test::in_a_child;
using test::wait_until;
namespace platform = readmost::detail::platform;
using platform::deadline;
using platform::mapping_kind;
using platform::wake_reason;

constexpr std::uint64_t second = 1'000'000'000;
constexpr std::uint32_t any = ~0U;

int in_static_memory = 1;
int in_zeroed_memory;

// A file that is removed at the end of the test.
class temporary_file {
 public:
  temporary_file() : file_(mkstemp(path_)) {}
  temporary_file(const temporary_file&) = delete;
  temporary_file& operator=(const temporary_file&) = delete;
  ~temporary_file() {
    close(file_);
    unlink(path_);
  }
  int descriptor() const { return file_; }
  const char* path() const { return path_; }

 private:
  char path_[32] = "/tmp/readmost-unit-XXXXXX";
  int file_;
};

class mapping {
 public:
  explicit mapping(int flags, int file = -1)
      : pages_(mmap(nullptr, size, PROT_READ | PROT_WRITE, flags, file, 0)) {}
  mapping(const mapping&) = delete;
  mapping& operator=(const mapping&) = delete;
  ~mapping() { munmap(pages_, size); }
  const char* at(std::size_t offset) const { return static_cast<const char*>(pages_) + offset; }
  bool failed() const { return pages_ == MAP_FAILED; }

  static constexpr std::size_t size = 3 * 4096;

 private:
  void* pages_;
};

TEST(platform, knows_private_memory) {
  const auto on_the_heap = std::make_unique<int>();
  const int on_the_stack = 0;
  const mapping anonymous(MAP_PRIVATE | MAP_ANONYMOUS);
  ASSERT_FALSE(anonymous.failed());
  EXPECT_EQ(platform::kind_of_mapping(on_the_heap.get()), mapping_kind::private_memory);
  EXPECT_EQ(platform::kind_of_mapping(&on_the_stack), mapping_kind::private_memory);
  EXPECT_EQ(platform::kind_of_mapping(&in_static_memory), mapping_kind::private_memory);
  EXPECT_EQ(platform::kind_of_mapping(anonymous.at(4096)), mapping_kind::private_memory);
}

TEST(platform, knows_shared_memory_from_its_first_byte_to_its_last) {
  const mapping anonymous(MAP_SHARED | MAP_ANONYMOUS);
  ASSERT_FALSE(anonymous.failed());
  for (const std::size_t offset : {std::size_t{0}, std::size_t{4097}, mapping::size - 1}) {
    EXPECT_EQ(platform::kind_of_mapping(anonymous.at(offset)), mapping_kind::shared_memory);
  }
}

TEST(platform, knows_how_a_file_is_mapped) {
  const temporary_file file;
  ASSERT_GE(file.descriptor(), 0);
  ASSERT_EQ(ftruncate(file.descriptor(), mapping::size), 0);
  const mapping shared(MAP_SHARED, file.descriptor());
  const mapping copied(MAP_PRIVATE, file.descriptor());
  ASSERT_FALSE(shared.failed() || copied.failed());
  EXPECT_EQ(platform::kind_of_mapping(shared.at(100)), mapping_kind::shared_memory);
  EXPECT_EQ(platform::kind_of_mapping(copied.at(100)), mapping_kind::private_memory);
}

// Of memory that has been written to.
template <class Check>
void for_each_kind_of_memory(Check check) {
  const auto on_the_heap = std::make_unique<int>();
  int on_the_stack = 0;
  const temporary_file file;
  ASSERT_EQ(ftruncate(file.descriptor(), mapping::size), 0);
  const int in_memory = memfd_create("readmost", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(in_memory, mapping::size), 0);
  const mapping anonymous(MAP_PRIVATE | MAP_ANONYMOUS);
  const mapping shared_anonymous(MAP_SHARED | MAP_ANONYMOUS);
  const mapping copied_file(MAP_PRIVATE, file.descriptor());
  const mapping shared_file(MAP_SHARED, file.descriptor());
  const mapping copied_memory_file(MAP_PRIVATE, in_memory);
  const mapping shared_memory_file(MAP_SHARED, in_memory);
  const int segment = shmget(IPC_PRIVATE, mapping::size, 0600);
  void* const attached = shmat(segment, nullptr, 0);
  shmctl(segment, IPC_RMID, nullptr);
  const struct {
    const char* name;
    const void* at;
    mapping_kind expected;
  } kinds[] = {
      {"heap", on_the_heap.get(), mapping_kind::private_memory},
      {"stack", &on_the_stack, mapping_kind::private_memory},
      {"static memory", &in_static_memory, mapping_kind::private_memory},
      {"zeroed static memory", &in_zeroed_memory, mapping_kind::private_memory},
      {"anonymous memory", anonymous.at(4096), mapping_kind::private_memory},
      {"a private file", copied_file.at(4200), mapping_kind::private_memory},
      {"a private memory file", copied_memory_file.at(4200), mapping_kind::private_memory},
      {"shared anonymous memory", shared_anonymous.at(4096), mapping_kind::shared_memory},
      {"a shared file", shared_file.at(4200), mapping_kind::shared_memory},
      {"a shared memory file", shared_memory_file.at(4200), mapping_kind::shared_memory},
      {"a segment of System V", attached, mapping_kind::shared_memory},
  };
  const auto check_each = [&] {
    for (const auto& kind : kinds) {
      SCOPED_TRACE(kind.name);
      auto& byte = *static_cast<volatile char*>(const_cast<void*>(kind.at));
      byte = static_cast<char>(byte + 1);
      check(kind.at, kind.expected);
    }
  };
  check_each();
  test::child_process child(check_each);
  check_each();  // beside it
  child.wait();
  shmdt(attached);
  close(in_memory);
}

TEST(platform, knows_what_memory_it_has_written_to) {
  for_each_kind_of_memory([](const void* at, mapping_kind expected) {
    EXPECT_EQ(platform::kind_of_written_memory(at), expected);
  });
}

// Without the list of mappings, which is long.
TEST(platform, knows_what_memory_it_has_written_to_by_the_page_alone) {
  in_a_child([] {
    if (!test::forbid_calls({SYS_read, SYS_ioctl}, EIO)) return;  // as under qemu-user
    for_each_kind_of_memory([](const void* at, mapping_kind expected) {
      EXPECT_EQ(platform::kind_of_written_memory(at), expected);
    });
  });
}

TEST(platform, says_when_it_cannot_find_out_now) {
  in_a_child([] {
    rlimit limit{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
    const rlimit none{0, limit.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    EXPECT_EQ(platform::kind_of_mapping(&in_static_memory), mapping_kind::not_now);
    EXPECT_EQ(platform::kind_of_written_memory(&in_static_memory), mapping_kind::not_now);
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    EXPECT_EQ(platform::kind_of_written_memory(&in_static_memory), mapping_kind::private_memory);
  });
}

TEST(platform, does_not_guess_about_memory_that_is_not_mapped) {
  EXPECT_EQ(platform::kind_of_mapping(nullptr), mapping_kind::unknown);
  EXPECT_EQ(platform::kind_of_written_memory(nullptr), mapping_kind::unknown);
}

TEST(platform, knows_what_is_not_mapped) {
  const mapping pages(MAP_PRIVATE | MAP_ANONYMOUS);
  EXPECT_FALSE(platform::is_unmapped(pages.at(0), mapping::size));
  EXPECT_FALSE(platform::is_unmapped(&in_static_memory, sizeof in_static_memory));
  EXPECT_TRUE(platform::is_unmapped(nullptr, 1));
  munmap(const_cast<char*>(pages.at(4096)), 4096);
  EXPECT_FALSE(platform::is_unmapped(pages.at(4080), 16));
  EXPECT_TRUE(platform::is_unmapped(pages.at(4088), 16)) << "the second half";
  EXPECT_TRUE(platform::is_unmapped(pages.at(8184), 16)) << "the first half";
  EXPECT_FALSE(platform::is_unmapped(pages.at(8192), 16));
}

TEST(platform, maps_zeroed_private_pages) {
  constexpr std::size_t bytes = 64 * 1024;
  const auto* pages = static_cast<const unsigned char*>(platform::map_pages(bytes));
  ASSERT_NE(pages, nullptr);
  for (std::size_t i = 0; i < bytes; ++i) ASSERT_EQ(pages[i], 0);
  EXPECT_EQ(platform::kind_of_mapping(pages), mapping_kind::private_memory);
  EXPECT_EQ(platform::map_pages(~std::size_t{0} / 2), nullptr);
}

TEST(platform, time_left_is_nothing_when_the_time_has_passed) {
  EXPECT_EQ(platform::time_left({CLOCK_MONOTONIC, {0, 0}}), 0U);
  EXPECT_EQ(platform::time_left({CLOCK_REALTIME, {0, 0}}), 0U);
  EXPECT_EQ(platform::time_left({CLOCK_REALTIME, {-1, 0}}), 0U);
  EXPECT_EQ(platform::time_left(platform::in(0)), 0U);
}

TEST(platform, time_left_counts_down_on_either_clock) {
  const std::uint64_t hour = 3600 * second;
  EXPECT_LE(platform::time_left(platform::in(hour)), hour);
  EXPECT_GT(platform::time_left(platform::in(hour)), hour / 2);
  deadline until{CLOCK_REALTIME, {}};
  clock_gettime(CLOCK_REALTIME, &until.at);
  until.at.tv_sec += 3600;
  EXPECT_LE(platform::time_left(until), hour);
  EXPECT_GT(platform::time_left(until), hour / 2);
}

TEST(platform, time_left_is_right_across_the_borders_of_seconds) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const std::uint64_t left = platform::time_left({CLOCK_REALTIME, {now.tv_sec + 1000, 0}});
  EXPECT_LE(left, 1000 * second);
  EXPECT_GT(left, 500 * second);
}

TEST(platform, time_left_of_the_end_of_time_does_not_overflow) {
  constexpr time_t last = 0x7FFF'FFFF'FFFF'FFFF;
  EXPECT_GT(platform::time_left({CLOCK_REALTIME, {last, 999'999'999}}), 1'000'000'000 * second);
  EXPECT_GT(platform::time_left({CLOCK_MONOTONIC, {last, 0}}), 1'000'000'000 * second);
}

TEST(platform, the_clock_does_not_run_backwards_and_sleep_takes_its_time) {
  const std::uint64_t start = platform::now();
  platform::sleep_for(2'000'000);
  EXPECT_GE(platform::now(), start + 2'000'000);
}

TEST(platform, pauses_are_as_many_as_was_measured_once) {
  const std::uint32_t many = platform::pauses(512);
  EXPECT_EQ(platform::pauses(512), many);
  EXPECT_GE(platform::pauses(1), 1U);
  EXPECT_LT(platform::pauses(32), many);
  EXPECT_GE(many, 512U / 4);
  EXPECT_LE(many, 512U * 8);
}

TEST(platform, the_time_of_an_update_is_measured_once) {
  const std::uint32_t time = platform::time_of_update();
  EXPECT_EQ(platform::time_of_update(), time);
  EXPECT_GT(time, 0U);
  EXPECT_LE(time, 100'000U);
}

TEST(platform, futex_wait_returns_at_once_when_the_value_differs) {
  const platform::atomic<std::uint32_t> word{1};
  EXPECT_EQ(platform::futex_wait(platform::futex_of(word), 2, any, nullptr), wake_reason::none);
}

TEST(platform, futex_wait_ends_at_the_deadline_of_either_clock) {
  const platform::atomic<std::uint32_t> word{1};
  const platform::futex_word at = platform::futex_of(word);
  const deadline soon = platform::in(2'000'000);
  EXPECT_EQ(platform::futex_wait(at, 1, any, &soon), wake_reason::timed_out);
  EXPECT_EQ(platform::time_left(soon), 0U);

  deadline real{CLOCK_REALTIME, {}};
  clock_gettime(CLOCK_REALTIME, &real.at);
  EXPECT_EQ(platform::futex_wait(at, 1, any, &real), wake_reason::timed_out);
  const deadline long_ago{CLOCK_REALTIME, {-5, 0}};
  EXPECT_EQ(platform::futex_wait(at, 1, any, &long_ago), wake_reason::timed_out);
}

TEST(platform, futex_wake_wakes_whom_the_mask_names_and_says_how_many) {
  const platform::atomic<std::uint32_t> word{1};
  const platform::futex_word at = platform::futex_of(word);
  EXPECT_EQ(platform::futex_wake(at, 10, any), 0);

  helper_thread sleeper;
  sleeper.begin([&] { return static_cast<int>(platform::futex_wait(at, 1, 2, nullptr)); });
  ASSERT_TRUE(sleeper.falls_asleep());
  EXPECT_EQ(platform::futex_wake(at, 10, 1), 0);
  EXPECT_EQ(platform::futex_wake(at, 10, 2), 1);
  EXPECT_EQ(sleeper.end(), static_cast<int>(wake_reason::woken));
}

TEST(platform, futex_wake_wakes_no_more_than_it_is_told) {
  const platform::atomic<std::uint64_t> word{std::uint64_t{7} << 32 | 1};
  const platform::futex_word at = platform::futex_of_low_half(word);
  helper_thread one, two;
  const auto sleep = [&] { return static_cast<int>(platform::futex_wait(at, 1, any, nullptr)); };
  one.begin(sleep);
  two.begin(sleep);
  ASSERT_TRUE(one.falls_asleep());
  ASSERT_TRUE(two.falls_asleep());
  EXPECT_EQ(platform::futex_wake(at, 1, any), 1);
  EXPECT_TRUE(wait_until([&] { return one.in_call() != two.in_call(); }));
  EXPECT_EQ(platform::futex_wake(at, 10, any), 1);
  EXPECT_EQ(one.end(), static_cast<int>(wake_reason::woken));
  EXPECT_EQ(two.end(), static_cast<int>(wake_reason::woken));
}

TEST(platform, writes_text_behind_what_a_file_has) {
  const temporary_file file;
  EXPECT_TRUE(platform::write_text(file.path(), "one\n", 4));
  EXPECT_TRUE(platform::write_text(file.path(), "two\n", 4));
  std::ifstream stream(file.path());
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(stream), {}), "one\ntwo\n");
  EXPECT_FALSE(platform::write_text("/nonexistent/file", "x", 1));
}

TEST(platform, keeps_errno) {
  const platform::atomic<std::uint32_t> word{1};
  const deadline past{CLOCK_MONOTONIC, {0, 0}};
  constexpr int mark = 123;
  const auto expect_kept = [&](const char* what) {
    EXPECT_EQ(errno, mark) << what;
    errno = mark;
  };
  errno = mark;
  platform::futex_wait(platform::futex_of(word), 1, any, &past);
  expect_kept("a futex_wait that timed out");
  platform::futex_wait(platform::futex_of(word), 2, any, nullptr);
  expect_kept("a futex_wait with another value");
  platform::futex_wake(nullptr, 1, any);
  expect_kept("futex_wake");
  platform::kind_of_mapping(nullptr);
  expect_kept("kind_of_mapping of nothing");
  platform::kind_of_mapping(&word);
  expect_kept("kind_of_mapping");
  platform::kind_of_written_memory(nullptr);
  expect_kept("kind_of_written_memory of nothing");
  platform::is_unmapped(nullptr, 1);
  expect_kept("is_unmapped");
  platform::map_pages(~std::size_t{0} / 2);
  expect_kept("map_pages without memory");
  platform::write_text("/nonexistent/file", "x", 1);
  expect_kept("write_text");
  platform::time_left({static_cast<clockid_t>(12345), {0, 0}});
  expect_kept("time_left of no clock");
  platform::enable_heavy_fence();
  expect_kept("enable_heavy_fence");
  platform::heavy_fence();
  expect_kept("heavy_fence");
}

// The kernel takes 10 ms for it once there are several threads.
TEST(platform, the_heavy_fence_is_enabled_before_main_where_no_filter_may_forbid_it) {
  std::ifstream status("/proc/self/status");
  const std::string text{std::istreambuf_iterator<char>(status), {}};
  const bool filtered = text.find("\nSeccomp:\t0") == std::string::npos;
  const bool before = platform::heavy_fence();
  EXPECT_TRUE(filtered || before == platform::enable_heavy_fence());
}

TEST(platform, the_heavy_fence_works_once_it_is_enabled) {
  ASSERT_TRUE(platform::enable_heavy_fence());
  EXPECT_TRUE(platform::heavy_fence());
}

// The order of what happens at the end of a thread, one decimal digit each. Atomic for the thread
// sanitizer, which takes a thread for finished before its last destructor has run.
std::atomic<int> order{0};
constexpr int of_thread_local = 1;
constexpr int of_key = 2;
constexpr int of_watcher = 3;
pthread_key_t other_key;

void happens(int what) {
  order = order * 10 + what;
}

struct says_when_destroyed {
  ~says_when_destroyed() { happens(of_thread_local); }
  bool used = false;
};
thread_local says_when_destroyed local;

// Like the destructor of a key that needs a second round.
void at_end_of_key(void* value) {
  happens(of_key);
  if (value == &order) pthread_setspecific(other_key, &other_key);
}

// In a child, because the library itself watches threads exit here.
TEST(platform, calls_the_exit_watcher_after_thread_locals_and_other_keys) {
  test::in_a_child([] {
    ASSERT_EQ(pthread_key_create(&other_key, at_end_of_key), 0);
    std::thread([] {
      platform::watch_thread_exit([] { happens(of_watcher); });
      pthread_setspecific(other_key, &order);
      local.used = true;
    }).join();
    EXPECT_EQ(order, 1223);

    order = 0;
    std::thread([] {}).join();
    EXPECT_EQ(order, 0) << "a thread that did not ask";
  });
}

}  // namespace

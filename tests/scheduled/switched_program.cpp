// SPDX-License-Identifier: Apache-2.0
// What the kernel notes of this program's switches, beside what the kernel itself counts:
//   switched_program holding|nested|inside|nothing SWITCHES
//       in a thread that holds so: "A of B switches noted, C with a passive hold of the lock, D in
//       a section"
//   switched_program watched    whether another thread is seen as switched out, in some situations
//   switched_program killed     the same after the end of the process that holds the notes
//   switched_program exec PROGRAM ARGUMENT...   another program in the same process
#include <linux/futex.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <readmost/detail/rcu/read_section.hpp>
#include <readmost/rcu.hpp>
#include <string>
#include <thread>

#include "support/surface.hpp"
#include "threads/switch_notes.hpp"

namespace {

using namespace readmost::detail;

constexpr const char* own_status = "/proc/thread-self/status";

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "switched_program: %s\n", what);
  std::exit(1);
}

// The calling thread's, as the kernel counts them.
std::uint64_t switches_by_kernel() {
  std::FILE* const file = std::fopen(own_status, "r");
  if (file == nullptr) fail("no /proc/thread-self/status");
  std::uint64_t sum = 0;
  char line[256];
  while (std::fgets(line, sizeof line, file) != nullptr) {
    unsigned long long count = 0;
    if (std::sscanf(line, "voluntary_ctxt_switches: %llu", &count) == 1 ||
        std::sscanf(line, "nonvoluntary_ctxt_switches: %llu", &count) == 1) {
      sum += count;
    }
  }
  std::fclose(file);
  return sum;
}

struct counts {
  std::uint64_t by_kernel;
  std::uint64_t noted;
  std::uint64_t holding;
  std::uint64_t inside;
};

// All at one time: repeated if the thread was switched meanwhile.
counts counts_now(const switch_note& note) {
  for (;;) {
    const std::uint64_t before = switches_by_kernel();
    const counts found{before, note.switches.load(), note.holding.load(), note.inside.load()};
    if (switches_by_kernel() == before) return found;
  }
}

void sleep_briefly() {
  const timespec shortly{0, 1000};
  nanosleep(&shortly, nullptr);
}

// The calling thread's, which is made known to the kernel's half by its first switch.
const switch_note& own_note() {
  const thread_record* const me = enlist();
  const switch_note* const note = me == nullptr ? nullptr : note_of_switches(*me);
  if (note == nullptr) {
    std::puts("no notes");
    std::exit(3);
  }
  return *note;
}

int count_switches(const std::string& how, std::uint64_t wanted) {
  const switch_note& note = own_note();
  rwlock lock;
  rwlock others[64];
  rwlock* other_held = nullptr;
  if (!test::earn_bias(lock)) fail("the lock is not biased");
  if (how == "nested") {
    // Has the home slot of the lock, so that the lock's hold is on the stack, and is then released.
    for (rwlock& other : others) {
      if (home_slot(&other) != home_slot(&lock)) continue;
      if (!test::earn_bias(other)) fail("another lock is not biased");
      test::lock_shared(other);
      other_held = &other;
      break;
    }
    if (other_held == nullptr) fail("no lock with that home slot");
  }
  if (how == "holding" || how == "nested") {
    if (test::lock_shared(lock) != test::acquired || !test::holds_passively(lock)) {
      fail("the hold is not passive");
    }
  }
  if (other_held != nullptr) test::unlock_shared(*other_held);
  if (how == "inside") readmost::rcu_default_domain().lock();
  const counts before = counts_now(note);
  counts after = before;
  while (after.by_kernel - before.by_kernel < wanted) {
    for (std::uint64_t i = after.by_kernel - before.by_kernel; i < wanted; ++i) sleep_briefly();
    after = counts_now(note);
  }
  std::printf("%llu of %llu switches noted, %llu with a passive hold, %llu in a section\n",
              static_cast<unsigned long long>(after.noted - before.noted),
              static_cast<unsigned long long>(after.by_kernel - before.by_kernel),
              static_cast<unsigned long long>(after.holding - before.holding),
              static_cast<unsigned long long>(after.inside - before.inside));
  if ((how == "holding" || how == "nested") && note.lock.load() != address(lock))
    fail("another lock was noted");
  return 0;
}

// A thread that sleeps, runs, and ends when it is told.
class watched_thread {
 public:
  watched_thread() {
    while (record_.load() == nullptr) sleep_briefly();
  }
  ~watched_thread() {
    task_.store(end);
    thread_.join();
  }

  const thread_record& record() const { return *record_.load(); }
  void run() {
    task_.store(running);
    while (turns_.load() < 1000) sleep_briefly();
  }
  void sleep() {
    task_.store(asleep);
    task_.notify_all();
  }
  std::uint64_t turns() const { return turns_.load(); }

 private:
  enum task { asleep, running, end };

  void live() {
    enlist();
    record_.store(&my_record());
    for (;;) {
      switch (task_.load()) {
        case asleep:
          sleep_briefly();
          break;
        case running:
          turns_.fetch_add(1);
          // A running thread sees itself running, whenever it looks.
          if (is_switched_out(my_record())) fail("a thread that runs is taken for switched out");
          break;
        case end:
          return;
      }
    }
  }

  std::atomic<task> task_{asleep};
  std::atomic<const thread_record*> record_{};
  std::atomic<std::uint64_t> turns_{0};
  std::thread thread_{[this] { live(); }};
};

int watch() {
  own_note();
  watched_thread other;
  while (!is_switched_out(other.record())) sleep_briefly();
  std::puts("a thread that sleeps is seen");
  other.run();
  std::puts("a thread that runs is not");
  return 0;
}

int kill_holder() {
  own_note();
  watched_thread other;
  while (!is_switched_out(other.record())) sleep_briefly();
  const std::uint32_t holder = notes_of_switches.load()->holder().load();
  if (kill(static_cast<pid_t>(holder), SIGKILL) != 0) fail("cannot kill the holder");
  while ((notes_of_switches.load()->holder().load() & FUTEX_OWNER_DIED) == 0) sleep_briefly();
  for (int i = 0; i < 1000; ++i) {
    sleep_briefly();
    if (is_switched_out(other.record())) fail("a note is believed although nobody holds the notes");
  }
  std::puts("nothing is believed any more");
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string what = count > 1 ? arguments[1] : "";
  if (what == "watched") return watch();
  if (what == "killed") return kill_holder();
  if (what == "exec" && count > 2) {
    enlist();
    execvp(arguments[2], arguments + 2);
    fail("cannot run the program");
  }
  if (count == 3) return count_switches(what, std::strtoull(arguments[2], nullptr, 10));
  fail("wrong arguments");
}

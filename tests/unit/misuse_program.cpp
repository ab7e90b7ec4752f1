// SPDX-License-Identifier: Apache-2.0
// The program that misuse_test.cpp runs in various environments: each scenario uses RCU in one way,
// mostly a wrong one. Ends with status 0 unless the library ends it, or something does not work.
#include <pthread.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <readmost/rcu.hpp>
#include <readmost/rcu_pointer.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "support/helper_thread.hpp"

namespace {

using std::chrono::milliseconds;
using test::helper_thread;
using test::wait_until;

struct object : readmost::rcu_obj_base<object> {
  explicit object(int v = 0) : value(v) {}
  ~object() { value = -1; }
  int value;
};

std::atomic<object*> current{nullptr};

void name_this_thread(const char* name) {
  pthread_setname_np(pthread_self(), name);
}

// Keeps the call before it from being the function's last, which would take the function out of the
// backtrace.
void not_last() {
  asm volatile("" ::: "memory");
}

// --- The functions that reports have to name -----------------------------------------------------

[[gnu::noinline]] void enter_the_section() {
  readmost::rcu_default_domain().lock();
  not_last();
}

[[gnu::noinline]] void synchronize_here() {
  readmost::rcu_synchronize();
  not_last();
}

[[gnu::noinline]] void synchronize_since_here(readmost::rcu_ticket ticket) {
  readmost::rcu_synchronize_since(ticket);
  not_last();
}

[[gnu::noinline]] void barrier_here() {
  readmost::rcu_barrier();
  not_last();
}

[[gnu::noinline]] void destroy_here(std::optional<readmost::separate_rcu_domain>& domain) {
  domain.reset();
  not_last();
}

[[gnu::noinline]] void unlock_here() {
  readmost::rcu_default_domain().unlock();
  not_last();
}

[[gnu::noinline]] void dereference_here() {
  // READMOST_RCU_CHECK is defined for this program, whatever the library is built with.
  if (readmost::rcu_dereference(current) != nullptr) std::abort();
  not_last();
}

[[gnu::noinline]] void retire_here(object& o) {
  o.retire();
  not_last();
}

[[gnu::noinline]] void stay_for(milliseconds time) {
  enter_the_section();
  std::this_thread::sleep_for(time);
  unlock_here();
}

// --- Scenarios -----------------------------------------------------------------------------------

// Two threads that hang at the same place.
template <class Wait>
int hang(Wait wait) {
  // Never joined: they hang.
  auto* const threads = new std::array<helper_thread, 2>;
  for (helper_thread& thread : *threads) {
    thread.begin([wait] {
      name_this_thread("stuck");
      enter_the_section();
      wait();
    });
    if (!wait_until([&] { return thread.falls_asleep(); })) return 1;
    if (!wait_until([&] { return readmost::rcu_statistics_of().waits_for != 0; })) return 2;
  }
  // The second thread waits for the first to lead its grace period, or leads one itself.
  _exit((*threads)[0].in_call() && (*threads)[1].in_call() ? 0 : 3);
}

int synchronize_inside() {
  return hang(synchronize_here);
}

int synchronize_since_inside() {
  // A grace period that the thread's own section keeps from ending.
  return hang([] { synchronize_since_here(readmost::rcu_ticket{UINT64_MAX / 16 * 8}); });
}

int ticket_of_the_past() {
  const readmost::rcu_ticket ticket = readmost::rcu_start_poll();
  readmost::rcu_synchronize();
  enter_the_section();
  synchronize_since_here(ticket);
  unlock_here();
  return 0;
}

int barrier_inside() {
  for (int i = 0; i < 3; ++i) {
    enter_the_section();
    barrier_here();
    unlock_here();
  }
  return 0;
}

int destroy_inside() {
  std::optional<readmost::separate_rcu_domain> domain;
  domain.emplace();
  domain->lock();
  destroy_here(domain);
  return 0;
}

// A section of another domain has no influence.
int wait_inside_another() {
  readmost::separate_rcu_domain domain;
  const std::scoped_lock section(domain);
  (new object)->retire();
  synchronize_here();
  barrier_here();
  return 0;
}

int barrier_in_deleter() {
  const auto deleter = [](object* o) {
    delete o;
    for (int i = 0; i < 3; ++i) barrier_here();
  };
  readmost::rcu_retire(new object, deleter);
  readmost::rcu_barrier();
  return 0;
}

int unlock_without_lock() {
  unlock_here();  // no record yet
  for (int i = 0; i < 3; ++i) unlock_here();
  {
    const readmost::rcu_reader section;
    if (!readmost::detail::is_in_section(0)) return 1;
  }
  if (readmost::detail::is_in_section(0)) return 2;
  readmost::rcu_synchronize();
  return 0;
}

// The grace period that waits for the long section reports it.
int long_section_waited_for() {
  std::atomic<bool> inside{false};
  std::thread reader([&] {
    name_this_thread("sleeper");
    enter_the_section();
    inside = true;
    std::this_thread::sleep_for(milliseconds(400));
    unlock_here();
  });
  while (!inside) std::this_thread::yield();
  readmost::rcu_synchronize();
  reader.join();
  return 0;
}

// The same while other readers keep waking the waiting thread.
int long_section_among_short_ones() {
  std::atomic<bool> inside{false};
  std::atomic<bool> over{false};
  std::thread others([&] {
    while (!over) {
      const readmost::rcu_reader section;
    }
  });
  std::thread reader([&] {
    name_this_thread("sleeper");
    enter_the_section();
    inside = true;
    std::this_thread::sleep_for(milliseconds(400));
    // It ends with the process, so its end reports nothing.
    _exit(0);
  });
  while (!inside) std::this_thread::yield();
  readmost::rcu_synchronize();
  return 1;
}

// A polled grace period reports it too.
int long_section_polled() {
  std::atomic<bool> inside{false};
  std::thread reader([&] {
    name_this_thread("sleeper");
    enter_the_section();
    inside = true;
    std::this_thread::sleep_for(milliseconds(400));
    _exit(0);
  });
  while (!inside) std::this_thread::yield();
  const readmost::rcu_ticket ticket = readmost::rcu_start_poll();
  while (!readmost::rcu_poll(ticket)) std::this_thread::sleep_for(milliseconds(1));
  return 1;
}

// Nothing waits for the section, so its end reports it.
int long_section_alone() {
  name_this_thread("sleeper");
  for (int i = 0; i < 3; ++i) stay_for(milliseconds(30));
  return 0;
}

int dereference_outside() {
  for (int i = 0; i < 3; ++i) dereference_here();
  const readmost::rcu_reader section;
  dereference_here();
  return 0;
}

int retire_twice() {
  auto* const o = new object;
  {
    const readmost::rcu_reader section;  // so that it cannot be gone
    for (int i = 0; i < 3; ++i) retire_here(*o);
  }
  readmost::rcu_barrier();
  const readmost::rcu_statistics figures = readmost::rcu_statistics_of();
  return figures.reclaimed == 1 && figures.waiting == 0 ? 0 : 1;
}

// As a writer does that replaces an object which another one has just retired.
int retire_a_copy_of_a_retired_one() {
  // So that no other thread queues the original while it is copied.
  readmost::rcu_reclaim_by(readmost::reclaiming::on_request);
  auto* const original = new object;
  object* copy = nullptr;
  {
    const readmost::rcu_reader section;  // so that it cannot be gone
    retire_here(*original);
    copy = new object(*original);
  }
  retire_here(*copy);
  readmost::rcu_barrier();
  const readmost::rcu_statistics figures = readmost::rcu_statistics_of();
  return figures.reclaimed == 2 && figures.waiting == 0 ? 0 : 1;
}

// Objects whose deleter puts them back for reuse.
struct kept : readmost::rcu_obj_base<kept, void (*)(kept*)> {};

int retire_again_after_the_deleter() {
  static std::atomic<int> reclaimed{0};
  kept o;
  for (int i = 0; i < 3; ++i) {
    o.retire([](kept*) { ++reclaimed; });
    readmost::rcu_barrier();
  }
  return reclaimed == 3 ? 0 : 1;
}

int exit_inside() {
  for (int i = 0; i < 2; ++i) {
    std::thread([] {
      name_this_thread("leaver");
      enter_the_section();
    }).join();
  }
  readmost::rcu_synchronize();
  return 0;
}

// Misuses at distinct call sites, all at once.
template <int N>
[[gnu::noinline]] void misuse_number() {
  readmost::rcu_default_domain().unlock();
  asm volatile("" ::"i"(N) : "memory");  // no two of them are the same code
}

template <int... N>
int at_once(std::integer_sequence<int, N...>) {
  std::atomic<int> ready{0};
  std::vector<std::thread> threads;
  const auto start = [&](void (*misuse)()) {
    threads.emplace_back([&ready, misuse] {
      ++ready;
      while (ready != sizeof...(N)) std::this_thread::yield();
      misuse();
    });
  };
  (start(misuse_number<N>), ...);
  for (std::thread& thread : threads) thread.join();
  return 0;
}

int many_at_once() {
  return at_once(std::make_integer_sequence<int, 16>{});
}

// --- What keeps objects from being reclaimed
// ---------------------------------------------------------

// A reader stays; the grace period is led by the reclaimer.
int reader_stays() {
  std::atomic<bool> over{false};
  helper_thread reader;
  reader.begin([&] {
    name_this_thread("worker-3");
    enter_the_section();
    while (!over) std::this_thread::yield();
    readmost::rcu_default_domain().unlock();
  });
  while (!readmost::rcu_statistics_of().waits_for) {
    (new object)->retire();
    std::this_thread::sleep_for(milliseconds(1));
  }
  std::this_thread::sleep_for(milliseconds(500));
  over = true;
  reader.end();
  readmost::rcu_barrier();
  return 0;
}

// The same; a call forbids the warnings.
int reader_stays_unreported() {
  readmost::rcu_warn_of_stalls_after({});
  return reader_stays();
}

[[gnu::noinline]] void delete_slowly(object* o) {
  std::this_thread::sleep_for(milliseconds(1100));
  delete o;
}

// Two of them: one warning.
int deleter_takes_long() {
  for (int i = 0; i < 2; ++i) {
    readmost::rcu_retire(new object, [](object* o) { delete_slowly(o); });
  }
  readmost::rcu_barrier();
  return 0;
}

int backlog_above_its_limit() {
  readmost::rcu_limit_backlog({.objects = 64, .policy = readmost::backlog_policy::warn});
  readmost::rcu_default_domain().lock();
  for (int i = 0; i < 100; ++i) (new object)->retire();
  readmost::rcu_default_domain().unlock();
  helper_thread reader;
  reader.call([] { return readmost::rcu_default_domain().lock(), 0; });
  for (int i = 0; i < 1000; ++i) (new object)->retire();
  reader.call([] { return readmost::rcu_default_domain().unlock(), 0; });
  readmost::rcu_barrier();
  return 0;
}

// --- Right use -----------------------------------------------------------------------------------

int read_once() {
  const readmost::rcu_reader section;
  const std::scoped_lock nested(readmost::rcu_default_domain());
  return readmost::rcu_dereference(current)->value;
}

int right_use() {
  constexpr int threads = 4;
  constexpr int rounds = 30'000;
  current = new object(1);
  static std::atomic<bool> wrong{false};
  // Sections also in signal handlers, whatever they interrupt.
  std::signal(SIGALRM, [](int) { wrong = wrong || read_once() < 0; });
  const itimerval often{{0, 500}, {0, 500}};
  setitimer(ITIMER_REAL, &often, nullptr);
  readmost::separate_rcu_domain separate;
  const auto work = [&](int number) {
    for (int i = 1; i <= rounds; ++i) {
      if (read_once() < 0) wrong = true;
      {
        const std::scoped_lock section(separate);
        if (i % 16 == 0) readmost::rcu_synchronize();
      }
      current.exchange(new object(i))->retire();
      if (i % 64 == number) readmost::rcu_barrier();
      if (i % 32 == number) readmost::rcu_synchronize(separate);
      if (i % 128 == number) readmost::rcu_retire(new int(i));
      if (i % 256 == number) {
        std::thread([&] { wrong = wrong || read_once() < 0; }).join();
        const readmost::rcu_ticket ticket = readmost::rcu_start_poll();
        while (!readmost::rcu_poll(ticket)) std::this_thread::yield();
      }
    }
  };
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) workers.emplace_back(work, t);
  for (std::thread& worker : workers) worker.join();
  const itimerval never{};
  setitimer(ITIMER_REAL, &never, nullptr);
  readmost::rcu_barrier();
  current.exchange(nullptr)->retire();
  readmost::rcu_barrier();
  return wrong ? 1 : 0;
}

struct scenario {
  const char* name;
  int (*run)();
};

constexpr scenario scenarios[] = {
    {"synchronize_inside", synchronize_inside},
    {"synchronize_since_inside", synchronize_since_inside},
    {"ticket_of_the_past", ticket_of_the_past},
    {"barrier_inside", barrier_inside},
    {"destroy_inside", destroy_inside},
    {"wait_inside_another", wait_inside_another},
    {"barrier_in_deleter", barrier_in_deleter},
    {"unlock_without_lock", unlock_without_lock},
    {"long_section_waited_for", long_section_waited_for},
    {"long_section_among_short_ones", long_section_among_short_ones},
    {"long_section_polled", long_section_polled},
    {"long_section_alone", long_section_alone},
    {"dereference_outside", dereference_outside},
    {"retire_twice", retire_twice},
    {"retire_a_copy_of_a_retired_one", retire_a_copy_of_a_retired_one},
    {"retire_again_after_the_deleter", retire_again_after_the_deleter},
    {"exit_inside", exit_inside},
    {"many_at_once", many_at_once},
    {"reader_stays", reader_stays},
    {"reader_stays_unreported", reader_stays_unreported},
    {"deleter_takes_long", deleter_takes_long},
    {"backlog_above_its_limit", backlog_above_its_limit},
    {"right_use", right_use},
};

}  // namespace

int main(int, char** arguments) {
  alarm(50);  // a scenario that hangs
  for (const scenario& s : scenarios) {
    if (arguments[1] != nullptr && std::strcmp(s.name, arguments[1]) == 0) return s.run();
  }
  return 100;
}

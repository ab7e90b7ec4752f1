// SPDX-License-Identifier: Apache-2.0
// A correct program over each of the library's means, or the same with a data race in what those
// protect: for tools that find races.
//   observed_program [WHAT [race]]       without WHAT: every lock
#include <pthread.h>
#include <readmost.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <readmost/asymmetric_thread_fence.hpp>
#include <readmost/bravo.hpp>
#include <readmost/hazard_pointer.hpp>
#include <readmost/id_table.hpp>
#include <readmost/rcu.hpp>
#include <readmost/rcu_hash_map.hpp>
#include <readmost/rcu_hlist.hpp>
#include <readmost/rcu_list.hpp>
#include <readmost/rcu_pointer.hpp>
#include <readmost/rcu_stack.hpp>
#include <readmost/rcu_version.hpp>
#include <readmost/shared_timed_mutex.hpp>
#include <shared_mutex>
#include <string_view>
#include <thread>
#include <vector>

namespace {

constexpr int readers = 3;
constexpr int rounds = 300;

// What the locks protect, as plain variables; and what nothing protects.
long guarded = 0;
long other = 0;
long unguarded = 0;
bool races = false;

void touch_unguarded() {
  if (races) unguarded = unguarded + 1;
}

template <class Read, class Write>
int run(Read read, Write write) {
  std::vector<std::thread> threads;
  for (int i = 0; i < readers; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < rounds; ++j) read(j);
    });
  }
  threads.emplace_back([&] {
    for (int j = 0; j < rounds; ++j) {
      write(j);
      if (j % 64 == 0) std::this_thread::yield();
    }
  });
  for (std::thread& each : threads) each.join();
  return 0;
}

template <class Lock>
void write_first(Lock& lock) {
  const std::lock_guard hold(lock);
  guarded = guarded + 1;
}

int with_class() {
  static readmost::shared_timed_mutex lock;
  // A lock's first use takes the slow path, where debuggers stop (docs/sanitizers.md).
  write_first(lock);
  return run(
      [](int round) {
        if (round % 8 == 7) {  // upgrades, and downgrades again
          lock.lock_shared();
          if (lock.upgrade()) {
            guarded = guarded + 1;
            lock.downgrade();
          }
          lock.unlock_shared();
          return;
        }
        const std::shared_lock hold(lock);
        const std::shared_lock nested(lock);
        if (guarded < 0) std::abort();
        touch_unguarded();
      },
      [](int round) {
        if (round % 16 == 3) {
          if (!lock.try_lock_for(std::chrono::seconds(100))) std::abort();
        } else {
          lock.lock();
        }
        guarded = guarded + 1;
        lock.unlock();
        touch_unguarded();
      });
}

int with_c_api() {
  static readmost_rwlock_t lock = READMOST_RWLOCK_INITIALIZER;
  const int result = run(
      [](int) {
        readmost_rwlock_rdlock(&lock);
        if (guarded < 0) std::abort();
        touch_unguarded();
        readmost_rwlock_rdunlock(&lock);
      },
      [](int) {
        if (readmost_rwlock_trywrlock(&lock) != 0) readmost_rwlock_wrlock(&lock);
        guarded = guarded + 1;
        readmost_rwlock_wrunlock(&lock);
        touch_unguarded();
      });
  readmost_rwlock_destroy(&lock);
  return result;
}

int with_pthread() {
  static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  auto* const second = new pthread_rwlock_t;
  pthread_rwlock_init(second, nullptr);
  const int result = run(
      [second](int round) {
        pthread_rwlock_rdlock(&lock);
        if (guarded < 0) std::abort();
        touch_unguarded();
        if (round % 4 == 0) {
          pthread_rwlock_wrlock(second);
          other = other + 1;
          pthread_rwlock_unlock(second);
        }
        pthread_rwlock_unlock(&lock);
      },
      [second](int round) {
        if (pthread_rwlock_trywrlock(&lock) != 0) pthread_rwlock_wrlock(&lock);
        guarded = guarded + 1;
        if (round % 4 == 0) {
          pthread_rwlock_rdlock(second);
          if (other < 0) std::abort();
          pthread_rwlock_unlock(second);
        }
        pthread_rwlock_unlock(&lock);
        touch_unguarded();
      });
  pthread_rwlock_destroy(second);
  delete second;
  return result;
}

struct value : readmost::rcu_obj_base<value> {
  explicit value(long n) : number(n) {}
  long number;
};

// The race: an object is deleted that readers may still use.
int with_rcu() {
  static readmost::rcu_pointer<value> current(std::make_unique<value>(1));
  const int result = run(
      [](int) {
        const readmost::rcu_reader section;
        if (current.load()->number <= 0) std::abort();
      },
      [](int round) {
        value* const old = current.exchange(std::make_unique<value>(round + 1));
        if (races) {
          old->number = 1;
        } else if (round % 8 == 0) {
          readmost::rcu_synchronize();
          delete old;
          return;
        }
        old->retire();
      });
  readmost::rcu_barrier();
  return result;
}

// The domain's memory is mapped by another thread, and the program does nothing to order the two.
int with_domains() {
  std::atomic<bool> is_over{false};
  std::thread second([&] {
    while (!is_over.load(std::memory_order_relaxed)) std::this_thread::yield();
    touch_unguarded();
    readmost::separate_rcu_domain own;
    for (int i = 0; i < 2; ++i) const readmost::rcu_reader section(own);
  });
  std::thread first([&] {
    {
      const readmost::separate_rcu_domain own;
    }
    touch_unguarded();
    is_over.store(true, std::memory_order_relaxed);
  });
  first.join();
  second.join();
  return 0;
}

struct element : readmost::rcu_list_hook,
                 readmost::rcu_hlist_hook,
                 readmost::rcu_stack_hook,
                 readmost::rcu_obj_base<element> {
  explicit element(long n) : number(n) {}
  long number;
};

// One writer, which in the race also changes what it has taken out.
int with_containers() {
  static readmost::rcu_hash_map<int, long> map;
  static readmost::rcu_list<element> list;
  static readmost::rcu_hlist<element> chain;
  static readmost::rcu_stack<element> stack;
  static readmost::id_table<long> table;
  static std::atomic<readmost::object_id> id{table.emplace(1)};
  static readmost::rcu_versioned<std::array<std::atomic<long>, 2>> pair;
  const int result = run(
      [](int round) {
        long sum = 0;
        map.visit(round % 16, [&](long found) { sum += found; });
        if (const auto kept = map.find_guarded(round % 16)) sum += kept->second;
        {
          const readmost::rcu_reader section;
          for (const element& each : list) sum += each.number;
          for (const element& each : chain) sum += each.number;
          for (const element& each : stack) sum += each.number;
        }
        if (const auto held = table.lock(id.load(std::memory_order_relaxed))) sum += ++*held;
        sum += pair.read([](const auto& now) { return now[0].load() - now[1].load(); });
        readmost::asymmetric_thread_fence_light(std::memory_order_seq_cst);
        if (sum < 0) std::abort();
        touch_unguarded();
      },
      [](int round) {
        const auto take_out = [](element* old) {
          if (races) old->number = 1;
          old->retire();
        };
        map.insert_or_assign(round % 16, round);
        map.erase((round + 5) % 16);
        list.push_back(*new element(round));
        chain.push_front(*new element(round));
        stack.push(*new element(round));
        if (round > 2) {
          take_out(list.pop_front());
          take_out(chain.pop_front());
          take_out(stack.pop());
        }
        table.erase(id.exchange(table.emplace(round)));
        pair.update([&](auto& now) {
          for (auto& each : now) each = round;
        });
        readmost::asymmetric_thread_fence_heavy(std::memory_order_seq_cst);
      });
  list.clear();
  chain.clear();
  stack.clear([](element& old) { old.retire(); });
  readmost::rcu_barrier();
  return result;
}

struct hazardous : readmost::hazard_pointer_obj_base<hazardous> {
  explicit hazardous(long n) : number(n) {}
  long number;
};

int with_hazard_pointers() {
  static std::atomic<hazardous*> current{new hazardous(1)};
  const int result = run(
      [](int) {
        readmost::hazard_pointer guard = readmost::make_hazard_pointer();
        if (guard.protect(current)->number <= 0) std::abort();
      },
      [](int round) {
        hazardous* const old = current.exchange(new hazardous(round + 1));
        if (races) old->number = 1;
        old->retire();
      });
  readmost::hazard_pointer_clean_up();
  return result;
}

int with_bravo() {
  static readmost::bravo<std::shared_mutex> lock;
  return run(
      [](int round) {
        // Later, a thread may have seen another revoke the bias.
        if (round == 0) touch_unguarded();
        const std::shared_lock hold(lock);
        if (guarded < 0) std::abort();
      },
      [](int round) {
        if (round % 32 != 0) return;
        const std::scoped_lock hold(lock);
        guarded = guarded + 1;
      });
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  races = argc > 2 && std::string_view(argv[2]) == "race";
  if (what.empty()) return with_class() + with_c_api() + with_pthread();
  if (what == "class") return with_class();
  if (what == "c") return with_c_api();
  if (what == "pthread") return with_pthread();
  if (what == "rcu") return with_rcu();
  if (what == "domains") return with_domains();
  if (what == "containers") return with_containers();
  if (what == "hazard") return with_hazard_pointers();
  if (what == "bravo") return with_bravo();
  std::fprintf(stderr,
               "usage: observed_program "
               "[class|c|pthread|rcu|domains|containers|hazard|bravo [race]]\n");
  return 2;
}

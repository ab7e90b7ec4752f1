// SPDX-License-Identifier: Apache-2.0
// Plants one misuse of locks, for READMOST_LOCK_CHECK.
//   misused_program MISUSE
#include <pthread.h>
#include <readmost.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <readmost/shared_mutex.hpp>
#include <shared_mutex>
#include <string>
#include <thread>

#define STEP extern "C" [[gnu::noinline]]

using readmost::shared_mutex;

// Misuse that would never end is ended by this thread: the report is written by then.
void end_soon() {
  std::thread([] {
    ::sleep(2);
    ::_exit(0);
  }).detach();
}

shared_mutex first_lock;
shared_mutex second_lock;
shared_mutex third_lock;
pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
pthread_rwlock_t other_rwlock = PTHREAD_RWLOCK_INITIALIZER;

STEP void take_first() {
  first_lock.lock();
}
STEP void take_second() {
  second_lock.lock();
}
STEP void share_first() {
  first_lock.lock_shared();
}
STEP void share_second() {
  second_lock.lock_shared();
}
STEP void give_first() {
  first_lock.unlock();
}
STEP void stop_sharing_first() {
  first_lock.unlock_shared();
}

template <class F>
void in_a_thread(F f) {
  std::thread(f).join();
}

void unlock_without_hold() {
  share_first();
  stop_sharing_first();
  stop_sharing_first();
}
void unlock_of_others_hold() {
  share_first();
  in_a_thread(stop_sharing_first);
}
void write_unlock_without_hold() {
  give_first();
}
void unlock_of_other_kind() {
  take_first();
  stop_sharing_first();
}
void write_while_reading() {
  end_soon();
  share_first();
  take_first();
}
void write_while_writing() {
  end_soon();
  take_first();
  take_first();
}
void read_while_writing() {
  end_soon();
  take_first();
  share_first();
}
void upgrade_without_hold() {
  static_cast<void>(first_lock.try_upgrade());
}
void inversion() {
  in_a_thread([] {
    take_first();
    take_second();
    second_lock.unlock();
    give_first();
  });
  in_a_thread([] {
    take_second();
    take_first();
    give_first();
    second_lock.unlock();
  });
}
void inversion_of_readers() {
  in_a_thread([] {
    share_first();
    share_second();
    second_lock.unlock_shared();
    stop_sharing_first();
  });
  in_a_thread([] {
    share_second();
    share_first();
    stop_sharing_first();
    second_lock.unlock_shared();
  });
}
void inversion_of_three() {
  const auto both = [](shared_mutex& a, shared_mutex& b) {
    in_a_thread([&] {
      a.lock();
      b.lock();
      b.unlock();
      a.unlock();
    });
  };
  both(first_lock, second_lock);
  both(second_lock, third_lock);
  both(third_lock, first_lock);
}
void reuse_while_held() {
  alignas(shared_mutex) static std::byte memory[sizeof(shared_mutex)];
  auto* const lock = new (memory) shared_mutex;
  lock->lock_shared();
  auto* const fresh = new (memory) shared_mutex;
  fresh->lock_shared();
  fresh->unlock_shared();
}
void destroyed_while_held() {
  static readmost_rwlock_t lock = READMOST_RWLOCK_INITIALIZER;
  readmost_rwlock_rdlock(&lock);
  readmost_rwlock_destroy(&lock);
}
void unmapped_while_held() {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* const memory =
      ::mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  (new (memory) shared_mutex)->lock();
  ::munmap(memory, page);
  share_first();
  stop_sharing_first();
}
void exit_while_holding() {
  in_a_thread(share_first);
}
void refused_unlock() {
  static readmost_rwlock_t lock = READMOST_RWLOCK_INITIALIZER;
  if (readmost_rwlock_wrunlock(&lock) == 0) std::abort();
}

void pthread_unlock_without_hold() {
  pthread_rwlock_rdlock(&rwlock);
  pthread_rwlock_unlock(&rwlock);
  pthread_rwlock_unlock(&rwlock);
}
void pthread_self_deadlock() {
  pthread_rwlock_wrlock(&rwlock);
  if (pthread_rwlock_wrlock(&rwlock) == 0) std::abort();
  pthread_rwlock_unlock(&rwlock);
}
void pthread_nested_read() {
  pthread_rwlockattr_t attributes;
  pthread_rwlockattr_init(&attributes);
  pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
  pthread_rwlock_t lock;
  pthread_rwlock_init(&lock, &attributes);
  pthread_rwlock_rdlock(&lock);
  pthread_rwlock_rdlock(&lock);
  pthread_rwlock_unlock(&lock);
  pthread_rwlock_unlock(&lock);
  pthread_rwlock_destroy(&lock);
}
void pthread_inversion() {
  const auto both = [](pthread_rwlock_t& a, pthread_rwlock_t& b) {
    in_a_thread([&] {
      pthread_rwlock_wrlock(&a);
      pthread_rwlock_rdlock(&b);
      pthread_rwlock_unlock(&b);
      pthread_rwlock_unlock(&a);
    });
  };
  both(rwlock, other_rwlock);
  both(other_rwlock, rwlock);
}
void pthread_destroyed_while_held() {
  pthread_rwlock_rdlock(&rwlock);
  pthread_rwlock_destroy(&rwlock);
}

// --- Correct -------------------------------------------------------------------------------------

void correct() {
  // Nested and recursive holds, upgrades, tries against the order, deadlines, reuse after release.
  const auto work = [] {
    for (int i = 0; i < 200; ++i) {
      first_lock.lock_shared();
      first_lock.lock_shared();
      second_lock.lock();
      second_lock.downgrade();
      second_lock.unlock_shared();
      first_lock.unlock_shared();
      if (first_lock.upgrade()) first_lock.downgrade();
      first_lock.unlock_shared();
      second_lock.lock();
      if (first_lock.try_lock()) first_lock.unlock();
      second_lock.unlock();
    }
  };
  std::thread one(work);
  std::thread two(work);
  one.join();
  two.join();
  for (int i = 0; i < 1000; ++i) {
    auto* const pair = new std::pair<shared_mutex, shared_mutex>;
    shared_mutex& a = i % 2 == 0 ? pair->first : pair->second;
    shared_mutex& b = i % 2 == 0 ? pair->second : pair->first;
    a.lock();
    b.lock_shared();
    b.unlock_shared();
    a.unlock();
    delete pair;
  }
}
// Readers of locks that prefer readers keep each other out in no order.
void correct_readers() {
  const auto both = [](pthread_rwlock_t& a, pthread_rwlock_t& b) {
    in_a_thread([&] {
      pthread_rwlock_rdlock(&a);
      pthread_rwlock_rdlock(&b);
      pthread_rwlock_unlock(&b);
      pthread_rwlock_unlock(&a);
    });
  };
  both(rwlock, other_rwlock);
  both(other_rwlock, rwlock);
  pthread_rwlock_destroy(&rwlock);
  pthread_rwlock_init(&rwlock, nullptr);
  both(rwlock, other_rwlock);
}

int main(int argc, char** argv) {
  const std::map<std::string, void (*)()> all{
#define MISUSE(name) {#name, name}
      MISUSE(unlock_without_hold),
      MISUSE(unlock_of_others_hold),
      MISUSE(write_unlock_without_hold),
      MISUSE(unlock_of_other_kind),
      MISUSE(write_while_reading),
      MISUSE(write_while_writing),
      MISUSE(read_while_writing),
      MISUSE(upgrade_without_hold),
      MISUSE(inversion),
      MISUSE(inversion_of_readers),
      MISUSE(inversion_of_three),
      MISUSE(reuse_while_held),
      MISUSE(destroyed_while_held),
      MISUSE(unmapped_while_held),
      MISUSE(exit_while_holding),
      MISUSE(refused_unlock),
      MISUSE(pthread_unlock_without_hold),
      MISUSE(pthread_self_deadlock),
      MISUSE(pthread_nested_read),
      MISUSE(pthread_inversion),
      MISUSE(pthread_destroyed_while_held),
      MISUSE(correct),
      MISUSE(correct_readers),
#undef MISUSE
  };
  const auto chosen = all.find(argc > 1 ? argv[1] : "");
  if (chosen == all.end()) {
    for (const auto& each : all) std::fprintf(stderr, "%s\n", each.first.c_str());
    return 2;
  }
  chosen->second();
}

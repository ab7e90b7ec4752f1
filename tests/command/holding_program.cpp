// SPDX-License-Identifier: Apache-2.0
// Holds locks and waits for them, in threads with names, until it is killed; the first argument
// says how. With -DREADMOST_CLASSES the locks are of the C++ class, else pthread's.
#include <pthread.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#if defined(READMOST_CLASSES)
#include <readmost/rcu.hpp>
#include <readmost/shared_mutex.hpp>
#endif

namespace holding {

#if defined(READMOST_CLASSES)
using lock = readmost::shared_mutex;
void read(lock& l) {
  l.lock_shared();
}
void write(lock& l) {
  l.lock();
}
void end_read(lock& l) {
  l.unlock_shared();
}
void end_write(lock& l) {
  l.unlock();
}
lock left;
lock right;
lock fresh;
#else
using lock = pthread_rwlock_t;
void read(lock& l) {
  pthread_rwlock_rdlock(&l);
}
void write(lock& l) {
  pthread_rwlock_wrlock(&l);
}
void end_read(lock& l) {
  pthread_rwlock_unlock(&l);
}
void end_write(lock& l) {
  pthread_rwlock_unlock(&l);
}
lock left = PTHREAD_RWLOCK_INITIALIZER;
lock right = PTHREAD_RWLOCK_INITIALIZER;
lock fresh = PTHREAD_RWLOCK_INITIALIZER;
#endif

std::atomic<int> arrived{0};

// Whoever has taken what it is to hold waits for the others.
void meet(int threads) {
  ++arrived;
  while (arrived < threads) std::this_thread::yield();
}

[[gnu::noinline]] void stay() {
  for (;;) pause();
}

void take_name(const char* name) {
  pthread_setname_np(pthread_self(), name);
}

// So that the next read is passive.
void earn_bias(lock& l) {
  for (int i = 0; i < 200'000; ++i) {
    read(l);
    end_read(l);
  }
}

[[gnu::noinline]] void write_left_then_right() {
  take_name("left-first");
  write(left);
  meet(2);
  write(right);
}
[[gnu::noinline]] void write_right_then_left() {
  take_name("right-first");
  write(right);
  meet(2);
  write(left);
}

void deadlock() {
  std::thread one(write_left_then_right), other(write_right_then_left);
  one.join();
  other.join();
}

// Two readers, each of which wants to write what the other one reads.
void deadlock_of_readers() {
  earn_bias(left);
  earn_bias(right);
  const auto run = [](const char* name, lock& first, lock& second) {
    take_name(name);
    read(first);
    meet(2);
    write(second);
  };
  std::thread one([&] { run("left-first", left, right); });
  std::thread other([&] { run("right-first", right, left); });
  one.join();
  other.join();
}

// Nobody waits; with classes also inside a read section of RCU.
void inside() {
  take_name("inside");
  earn_bias(left);
  read(left);
#if defined(READMOST_CLASSES)
  readmost::rcu_domain& domain = readmost::rcu_default_domain();
  readmost::rcu_synchronize(domain);
  domain.lock();
  stay();
  domain.unlock();
#else
  stay();
#endif
}

void long_read() {
  earn_bias(left);
  std::thread reader([] {
    take_name("long-reader");
    earn_bias(left);
    read(left);
    meet(2);
    stay();
  });
  std::thread writer([] {
    take_name("late-writer");
    meet(2);
    write(left);
  });
  reader.join();
  writer.join();
}

// Too early for a bias.
void active_reads() {
  const auto read_for_ever = [] {
    read(fresh);
    meet(3);
    stay();
  };
  std::thread one(read_for_ever), other(read_for_ever);
  std::thread writer([] {
    take_name("late-writer");
    meet(3);
    write(fresh);
  });
  writer.join();
}

// The writer gets the lock after all; nobody waits any more.
void waited() {
  std::thread writer([] {
    take_name("late-writer");
    while (arrived == 0) std::this_thread::yield();
    write(left);
    end_write(left);
    ++arrived;
    stay();
  });
  write(left);
  ++arrived;
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  end_write(left);
  while (arrived < 2) std::this_thread::yield();
  read(right);
  std::puts("ready");
  std::fflush(stdout);
  stay();
}

// A child that is forked while a thread waits has no such thread, but others that may get its
// record.
void forked() {
  write(left);
  std::thread waiting([] { write(left); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  if (const pid_t child = fork(); child != 0) {
    std::printf("%d\n", child);
    std::fflush(stdout);
    stay();
  }
  std::thread reader([] {
    take_name("of-the-child");
    read(right);
    stay();
  });
  reader.join();
}

#if !defined(READMOST_CLASSES)
// Three threads: a reader that wants another lock, a writer that waits for the reader, and the
// holder of the other lock, who wants to read behind that writer.
void deadlock_behind_a_writer() {
  pthread_rwlockattr_t prefers_writers;
  pthread_rwlockattr_init(&prefers_writers);
  pthread_rwlockattr_setkind_np(&prefers_writers, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
  pthread_rwlock_init(&left, &prefers_writers);
  earn_bias(left);
  std::thread reader([] {
    take_name("reader");
    read(left);
    meet(2);
    write(right);
  });
  std::thread holder([] {
    take_name("holder");
    write(right);
    meet(2);
    while (arrived < 3) std::this_thread::yield();
    read(left);
  });
  while (arrived < 2) std::this_thread::yield();
  std::thread writer([] {
    take_name("writer");
    write(left);
  });
  // Once it is counted as waiting, no reader can get in.
  while (pthread_rwlock_tryrdlock(&left) == 0) pthread_rwlock_unlock(&left);
  ++arrived;
  reader.join();
  holder.join();
  writer.join();
}

// A wait that ends by itself is in no deadlock.
void timed_deadlock() {
  const auto run = [](lock& first, lock& second) {
    write(first);
    meet(2);
    timespec until{};
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1000;
    pthread_rwlock_timedwrlock(&second, &until);
  };
  std::thread one([&] { run(left, right); });
  std::thread other([&] { run(right, left); });
  one.join();
  other.join();
}
#endif

}  // namespace holding

int main(int argc, char** argv) {
  // Tests look at this process from their own children.
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  const std::string how = argc > 1 ? argv[1] : "";
#if !defined(READMOST_CLASSES)
  if (how == "deadlock-behind-a-writer") holding::deadlock_behind_a_writer();
  if (how == "timed-deadlock") holding::timed_deadlock();
#endif
  if (how == "deadlock") holding::deadlock();
  if (how == "deadlock-of-readers") holding::deadlock_of_readers();
  if (how == "inside") holding::inside();
  if (how == "long-read") holding::long_read();
  if (how == "active-reads") holding::active_reads();
  if (how == "forked") holding::forked();
  if (how == "waited") holding::waited();
  return 2;
}

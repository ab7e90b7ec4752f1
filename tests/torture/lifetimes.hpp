// SPDX-License-Identifier: Apache-2.0
// Scenarios in which threads, locks and processes start and end, or a signal handler interrupts.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>

#include "memory_fault.hpp"
#include "sections.hpp"

namespace torture {

// Threads that live for one read, for a burst of reads, or for a few reads and a write.
template <class Lock>
void thread_churn(session& run) {
  cell<Lock> guarded;
  run.repeat(run.threads_but(2), [&](worker& me) {
    std::thread([&] {
      const unsigned life = me.random.below(4);
      const unsigned reads = life == 0 ? me.random.between(100, 2000) : life;
      for (unsigned left = reads; left > 0; --left) read(me, guarded);
      if (life == 3) write(me, guarded);
    }).join();
  });
  run.repeat(1, [&](worker& me) { read(me, guarded); });
  run.repeat(1, [&](worker& me) {
    if (!run.read_only()) write(me, guarded);
    spin(me.random.below(50000));
  });
  run.join();
}

// A thread exits while it holds the lock for reading, and the hold outlives it. Writers are
// excluded until another thread releases the hold, or for ever if the lock does not allow that.
template <class Lock>
void orphaned_holds(session& run) {
  for (unsigned i = 0; i < run.threads(); ++i) {
    run.spawn([&](worker& me) {
      while (run.running()) {
        const auto guarded = std::make_unique<cell<Lock>>();
        const unsigned holds = me.random.between(1, 3);
        std::thread([&] {
          // After enough reads, the last ones are held on the lock's fast path.
          for (unsigned left = me.random.below(2000); left > 0; --left) read(me, *guarded);
          for (unsigned left = Lock::recursive_reads ? holds : 1; left > 0; --left)
            guarded->lock.lock_shared();
        }).join();
        for (unsigned left = Lock::recursive_reads ? holds : 1; left > 0; --left) {
          me.about_to_write();
          if (guarded->lock.try_lock()) {
            me.violation("a read hold vanished together with its thread");
            return;
          }
          me.done_trying();
          if constexpr (Lock::any_thread_unlocks) guarded->lock.unlock_shared();
        }
        if constexpr (Lock::any_thread_unlocks) write(me, *guarded);
      }
    });
  }
  run.join();
}

// Locks in memory that the last thread to release destroys at once: it unmaps the memory, makes it
// inaccessible, or fills it with a pattern that must stay intact until the next lock is built at
// the same address.
template <class Lock>
class short_lived_locks {
 public:
  explicit short_lived_locks(session& run) : run_(run), arena_(arena_bytes) {}

  // Called by one thread, the owner, which builds one lock after another.
  void build(worker& me, unsigned users) {
    for (std::uint64_t round = 1; run_.running(); ++round) {
      node* const one = new (arena_.at(me.random.below(arena_bytes - sizeof(node)) & ~63U)) node;
      const bool last_user_destroys = me.random.one_in(2);
      one->users = users;
      last_user_destroys_ = last_user_destroys;
      node_ = one;
      entered_.store(0);
      destroyed_.store(false);
      round_.store(round);
      if (last_user_destroys) {
        while (!destroyed_.load()) std::this_thread::yield();
      } else {
        for (unsigned left = me.random.below(4); left > 0; --left) write(me, one->guarded);
        while (entered_.load() != users) std::this_thread::yield();
        // All users have read-locked for the last time, so the thread that gets the write lock now
        // is alone.
        write(me, one->guarded);
        destroy(me, one);
      }
    }
    round_.store(over);
  }

  // Called by the `users` other threads.
  void use(worker& me) {
    for (std::uint64_t seen = 0;;) {
      std::uint64_t round;
      while ((round = round_.load()) == seen) std::this_thread::yield();
      if (round == over) return;
      seen = round;
      node* const one = node_;
      const unsigned reads = me.random.one_in(4) ? me.random.between(100, 1000) : 3;
      for (unsigned left = me.random.below(reads); left > 0; --left) read(me, one->guarded);
      if (!last_user_destroys_) {
        read(me, one->guarded, [&] { entered_.fetch_add(1); });
        continue;
      }
      bool last = false;
      write(me, one->guarded, [&] { last = --one->users == 0; });
      if (last) {
        destroy(me, one);
        destroyed_.store(true);
      }
    }
  }

 private:
  struct node {
    cell<Lock> guarded;
    unsigned users = 0;
  };

  static constexpr unsigned arena_bytes = 4096;
  static constexpr std::uint64_t over = ~std::uint64_t{0};

  void destroy(worker& me, node* one) {
    one->~node();
    switch (me.random.below(3)) {
      case 0:
        arena_.remap();
        break;
      case 1:
        arena_.close();
        spin(me.random.below(3000));
        arena_.open();
        break;
      default:
        std::memset(static_cast<void*>(one), poison, sizeof(node));
        spin(me.random.below(3000));
        const auto* bytes = reinterpret_cast<const volatile unsigned char*>(one);
        for (std::size_t i = 0; i < sizeof(node); ++i) {
          if (bytes[i] != poison) {
            me.violation("memory of a destroyed lock was written to");
            break;
          }
        }
    }
  }

  static constexpr unsigned char poison = 0xdb;

  session& run_;
  guarded_arena arena_;
  node* node_ = nullptr;
  bool last_user_destroys_ = false;
  alignas(64) std::atomic<std::uint64_t> round_{0};
  alignas(64) std::atomic<unsigned> entered_{0};
  std::atomic<bool> destroyed_{false};
};

template <class Lock>
void create_destroy(session& run) {
  const unsigned users = run.threads() > 1 ? run.threads() - 1 : 1;
  short_lived_locks<Lock> locks(run);
  run.spawn([&](worker& me) { locks.build(me, users); });
  for (unsigned i = 0; i < users; ++i) {
    run.spawn([&](worker& me) { locks.use(me); });
  }
  run.join();
}

// Signal handlers read at a high rate, through the same lock or another one, in threads that are
// about to lock, waiting, inside a section, or unlocking. They use try functions only, so nothing
// can deadlock.
template <class Lock>
class interrupted_sections {
 public:
  static void run(session& run) {
    const auto guarded = std::make_unique<std::array<cell<Lock>, 2>>();
    cells_ = guarded.get();
    struct sigaction action = {};
    struct sigaction old_first;
    struct sigaction old_second;
    action.sa_handler = interrupt;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(SIGUSR1, &action, &old_first);
    sigaction(SIGUSR2, &action, &old_second);

    // The threads to interrupt; they stay alive until the thread that sends the signals has
    // stopped.
    std::vector<std::atomic<pthread_t>> targets(run.threads());
    std::atomic<unsigned> ready{0};
    std::atomic<bool> stopped{false};
    for (unsigned i = 0; i < run.threads(); ++i) {
      run.spawn([&, i](worker& me) {
        me_ = &me;
        targets[i].store(pthread_self());
        ready.fetch_add(1);
        while (run.running()) {
          cell<Lock>& one = (*guarded)[me.random.below(2)];
          if (!run.read_only() && me.random.one_in(100)) {
            write(me, one);
          } else {
            read(me, one);
          }
        }
        while (!stopped.load()) std::this_thread::yield();
        me_ = nullptr;
      });
    }
    run.spawn([&](worker& me) {
      while (ready.load() != run.threads()) std::this_thread::yield();
      while (run.running()) {
        pthread_kill(targets[me.random.below(run.threads())].load(),
                     me.random.one_in(2) ? SIGUSR1 : SIGUSR2);
        spin(me.random.below(10000));
      }
      stopped.store(true);
    });
    run.join();
    sigaction(SIGUSR1, &old_first, nullptr);
    sigaction(SIGUSR2, &old_second, nullptr);
    cells_ = nullptr;
  }

 private:
  static void interrupt(int) {
    worker* const me = me_;
    if (me == nullptr) return;
    const int saved_errno = errno;
    for (cell<Lock>& one : *cells_) {
      if (!one.lock.try_lock_shared()) continue;
      one.data.examine(*me, [] { spin(50); });
      one.lock.unlock_shared();
    }
    errno = saved_errno;
  }

  static inline std::array<cell<Lock>, 2>* cells_ = nullptr;
  static inline thread_local worker* me_ = nullptr;
};

template <class Lock>
void signals(session& run) {
  interrupted_sections<Lock>::run(run);
}

// A thread forks while it holds locks that other threads also hold or wait for. The child continues
// with its holds, takes them again, and releases all of them.
template <class Lock>
void forks(session& run) {
  cell<Lock> shared;
  run.repeat(run.threads_but(1), [&](worker& me) {
    if (!run.read_only() && me.random.one_in(200)) {
      write(me, shared);
    } else {
      read(me, shared);
    }
  });
  run.spawn([&](worker& me) {
    // No other thread uses this lock, so it must work completely in the child.
    cell<Lock> own;
    const auto in_the_child = [&] {
      // Expires before the parent's watchdog, which could not report the cause.
      alarm(static_cast<unsigned>(run.chosen().stall / 2) + 1);
      // A first lock would hang, since a writer that waited at the fork waits for ever in the
      // child; a recursive read is allowed.
      if constexpr (Lock::recursive_reads) {
        shared.lock.lock_shared();
        shared.data.examine(me, [] {});
        shared.lock.unlock_shared();
      }
      shared.data.examine(me, [] {});
      shared.lock.unlock_shared();
      own.lock.unlock_shared();
      for (unsigned left = 3; left > 0; --left) {
        write(me, own);
        for (unsigned reads = 0; reads < 200; ++reads) read(me, own);
      }
    };
    while (run.running()) {
      for (unsigned left = me.random.below(500); left > 0; --left) {
        read(me, own);
        read(me, shared);
      }
      read(me, own, [&] {
        read(me, shared, [&] {
          const pid_t child = fork();
          if (child == 0) {
            const std::uint64_t before = run.violations();
            in_the_child();
            _exit(run.violations() == before ? 0 : exit_status::violated);
          }
          int status = -1;
          if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
            me.violation(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM
                             ? "a child hung at the locks it held when it was forked"
                             : "a child failed at the locks it held when it was forked");
          }
        });
      });
    }
  });
  run.join();
}

}  // namespace torture

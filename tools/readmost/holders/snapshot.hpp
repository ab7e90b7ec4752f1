// SPDX-License-Identifier: Apache-2.0
// Who holds and who waits for the locks of a process.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "holders/target.hpp"

namespace readmost::command {

enum class held_how { passively, actively, exclusively };
enum class waits_to { read, write, upgrade };

// Where and when the thread took the lock is known with READMOST_LOCK_CHECK only.
struct known_hold {
  pid_t thread;
  held_how how;
  std::uint64_t since = 0;              // nanoseconds; 0: not known
  std::vector<std::uintptr_t> frames;   // return addresses, of the library's functions too
  std::vector<std::string> taken_in{};  // the same in words, of the program's
};

struct known_wait {
  pid_t thread;
  waits_to what;
  std::uint64_t since = 0;  // since when it sleeps; 0: it does not, or has just begun
  bool has_deadline = false;
};

struct shown_lock {
  std::uintptr_t address;  // in the program
  bool is_pthread;
  bool is_there;  // false: its memory is no longer mapped, or not in the core file
  bool is_biased;
  std::vector<known_hold> holders;
  std::vector<known_wait> waiters;
  // Holds that are only counted, and waiters that no record names.
  std::uint64_t unknown_readers = 0;
  bool unknown_writer = false;
  std::uint64_t unknown_waiters = 0;
};

// Each thread waits for the next one, and the last for the first.
struct wait_cycle {
  struct link {
    pid_t thread;
    std::uintptr_t lock;  // the one it waits for
    waits_to what;
    std::uint64_t since;
    // How the next thread keeps it out: it holds the lock, or waits for it in front.
    bool next_holds;
    held_how next_how;
  };
  std::vector<link> links;
  friend bool operator==(const wait_cycle&, const wait_cycle&);
};

struct snapshot {
  std::vector<shown_lock> locks;
  std::vector<wait_cycle> deadlocks;
  std::map<pid_t, std::string> names;  // of threads; those without a name are missing
  std::size_t threads = 0;             // that have used the library's locks
  // Whether every lock is known that is held: by READMOST_LOCK_CHECK, or by statistics.
  bool all_held_are_known = false;
  bool is_checked = false;  // READMOST_LOCK_CHECK
  // Who serves pthread_rwlock_t instead of Readmost's own lock; empty: nobody.
  std::string server;
};

// Throws failure if the library is not in the process, or is not of this build.
snapshot take_snapshot(const holders_target& target);

// By what is known: holders that are not known may be in further cycles.
std::vector<wait_cycle> cycles_in(const std::vector<shown_lock>& locks);

}  // namespace readmost::command

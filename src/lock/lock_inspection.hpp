// SPDX-License-Identifier: Apache-2.0
// Where `readmost holders` and gdb find the library's records in a process or in a core file. Each
// copy of the core has one such object, in its writable data: there a search for the magic words
// finds it, also in a stripped program that the library is linked into.
#pragma once

#include <cstddef>
#include <cstring>

#include "lock/held_locks.hpp"
#include "lock/observation.hpp"
#include "statistics/lock_names.hpp"
#include "statistics/lock_table.hpp"

namespace readmost::detail {

struct inspection {
  static constexpr const char* symbol = "readmost_inspection";

  // gdb's script reads the members in this order, and the figures by it
  // (tools/gdb/readmost-gdb.py).
  char magic[16] = {'r', 'e', 'a', 'd', 'm', 'o', 's', 't', ' ', 'l', 'o', 'c', 'k', 's', ' ', '1'};
  const inspection* self{};  // tells the object from a copy of it
  char version[16]{};
  const domain* domains{};
  const thread_record* unregistered{};
  const platform::atomic<lock_check::held_locks*>* checked{};
  const lock_statistics_roots* statistics{};
  // The distance from the address of a program's lock up to that of the core's lock in it; 0 in a
  // library of classes.
  const std::size_t* core_offset{};

  // Sizes and offsets, for readers that do not know the types, and to tell builds apart.
  std::uint32_t figures[29] = {
      sizeof(inspection),
      max_domains,
      sizeof(domain),
      offsetof(domain, index),
      offsetof(domain, grace_periods),
      offsetof(domain, waits_for),
      offsetof(domain, waits_since),
      index_block::capacity,
      sizeof(index_entry),
      offsetof(index_entry, records),
      offsetof(index_block, next),
      chunk::capacity,
      offsetof(chunk, used),
      offsetof(chunk, records),
      sizeof(thread_record),
      offsetof(thread_record, held),
      home_slots,
      offsetof(thread_record, nested),
      offsetof(thread_record, nested_held),
      nested_slots,
      offsetof(thread_record, noted),
      noted_holds,
      offsetof(thread_record, unnoted),
      offsetof(thread_record, thread),
      offsetof(thread_record, section),
      offsetof(thread_record, sleeps_for),
      offsetof(thread_record, sleeps_since),
      sizeof(lock_check::held_locks),
      sizeof(lock_table),
  };

  // Whether pthread_rwlock_t is Readmost's own lock: of no other one there are records.
  platform::atomic<lock_choice> lock{lock_choice::prwlock};

  // `at`: of the library's own, null for the figures alone.
  constexpr inspection(const inspection* at, bool of_library, const char* of_version) noexcept
      : self(at),
        domains(of_library ? detail::domains : nullptr),
        unregistered(of_library ? &detail::unregistered : nullptr),
        checked(of_library ? &lock_check::first_table : nullptr),
        statistics(of_library ? &lock_statistics : nullptr),
        core_offset(of_library ? &offset_of_core : nullptr) {
    for (std::size_t i = 0; i + 1 < sizeof version && of_version[i] != '\0'; ++i) {
      version[i] = of_version[i];
    }
  }

  bool is_same_build(const inspection& other) const noexcept {
    return std::memcmp(version, other.version, sizeof version) == 0 &&
           std::memcmp(figures, other.figures, sizeof figures) == 0;
  }
};

}  // namespace readmost::detail

extern "C" readmost::detail::inspection readmost_inspection;

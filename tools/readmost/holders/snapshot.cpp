// SPDX-License-Identifier: Apache-2.0
#include "holders/snapshot.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <set>

#include "failure.hpp"
#include "lock/lock_inspection.hpp"
#include "process/preload.hpp"

namespace readmost::command {
namespace {

using namespace readmost::detail;

// --- The library in the process ------------------------------------------------------------------

const inspection& this_build() {
  static const inspection expected(nullptr, false, READMOST_VERSION);
  return expected;
}

template <class T>
std::uintptr_t number(T* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

// The magic words of every object in that memory that is not a copy of one.
void find_in(const holders_target& target, std::uintptr_t start, std::uintptr_t end,
             std::vector<std::uintptr_t>& found) {
  constexpr std::size_t piece = std::size_t{1} << 20;
  static_assert(alignof(inspection) == 8);
  std::vector<char> memory;
  for (std::uintptr_t at = start; at < end; at += piece) {
    // A little of the next piece, so that nothing lies across.
    memory.resize(std::min<std::size_t>(piece + sizeof inspection::magic, end - at));
    if (!target.read(at, memory.data(), memory.size())) return;
    for (std::size_t i = 0; i + sizeof inspection::magic <= memory.size(); i += 8) {
      if (std::memcmp(&memory[i], this_build().magic, sizeof inspection::magic) != 0) continue;
      std::uintptr_t self = 0;
      target.read(at + i + offsetof(inspection, self), self);
      if (self == at + i && std::ranges::find(found, self) == found.end()) found.push_back(self);
    }
  }
}

std::deque<inspection> libraries_in(const holders_target& target) {
  const auto mappings = target.mappings();
  std::set<std::string> modules;
  for (const auto& each : mappings) {
    if (each.is_executable && !each.file.empty()) modules.insert(each.file);
  }
  std::vector<std::uintptr_t> found;
  bool lacks_data = false;
  for (const auto& each : mappings) {
    if (!each.is_writable || !modules.contains(each.file)) continue;
    lacks_data = lacks_data || !target.is_kept(each.start);
    find_in(target, each.start, each.end, found);
  }
  if (found.empty() && lacks_data) {
    throw failure(
        "{} lacks the data of the program's modules; let the kernel write it, as by 'echo 0x33 > "
        "/proc/PID/coredump_filter'",
        target.title());
  }
  if (found.empty()) {
    throw failure("{} runs without Readmost's locks; start it with 'readmost run -- {}'",
                  target.title(), target.program());
  }
  std::deque<inspection> libraries;
  for (const std::uintptr_t at : found) {
    inspection& one = libraries.emplace_back(nullptr, false, "");
    target.read(at, one);
    if (!one.is_same_build(this_build())) {
      one.version[sizeof one.version - 1] = '\0';
      throw failure(
          "the library in {} is {}, not the {} of this build; use the 'readmost' that was built "
          "with it",
          target.title(), one.version, READMOST_VERSION);
    }
  }
  return libraries;
}

// --- Its records ---------------------------------------------------------------------------------

held_how how_of(hold_kind kind) {
  return kind == hold_kind::write ? held_how::exclusively : held_how::actively;
}

// Reads one copy of the library. Locks are known by the address of the core's lock.
class reading {
 public:
  reading(const holders_target& target, const inspection& library,
          const std::map<pid_t, pid_t>& ids)
      : target_(target), library_(library), ids_(ids) {
    target.read(number(library.core_offset), core_offset_);
    lock_check::held_locks* first = nullptr;
    target.read(number(library.checked), first);
    is_checked_ = first != nullptr;
    read_records();
    read_checked_holds(first);
    read_table();
  }

  bool is_checked() const { return is_checked_; }
  bool has_table() const { return has_table_; }
  const std::set<pid_t>& threads() const { return threads_; }

  std::vector<shown_lock> locks() {
    std::vector<shown_lock> all;
    for (auto& [address, lock] : locks_) {
      settle(address, lock);
      if (!lock.holders.empty() || !lock.waiters.empty() || lock.unknown_readers != 0 ||
          lock.unknown_writer || lock.unknown_waiters != 0) {
        all.push_back(std::move(lock));
      }
    }
    return all;
  }

 private:
  shown_lock& lock_at(std::uintptr_t address) {
    const auto [place, is_new] = locks_.try_emplace(address);
    if (is_new) place->second = {address - core_offset_, core_offset_ != 0, false, false, {}, {}};
    return place->second;
  }

  pid_t id_of(const thread_record& record) const {
    return id_of(record.thread.load(platform::relaxed));
  }
  pid_t id_of(pid_t own) const {
    const auto found = ids_.find(own);
    return found != ids_.end() ? found->second : own;
  }

  template <class T>
  std::unique_ptr<T> copy_of(const T* there) const {
    auto here = std::make_unique<T>();
    return target_.read(number(there), *here) ? std::move(here) : nullptr;
  }

  void read_records() {
    for (unsigned i = 0; i < max_domains; ++i) {
      const auto d = copy_of(library_.domains + i);
      if (d == nullptr) {
        throw failure("{} lacks the library's data; let the kernel write all of its memory",
                      target_.title());
      }
      for (const index_block* next = d->index.load(platform::relaxed); next != nullptr;) {
        const auto block = copy_of(next);
        if (block == nullptr) break;
        for (const index_entry& entry : block->entries) {
          const chunk* const records = entry.records.load(platform::relaxed);
          if (records == nullptr) break;
          read_chunk(records);
        }
        next = block->next.load(platform::relaxed);
      }
    }
  }

  void read_chunk(const chunk* there) {
    const auto records = copy_of(there);
    if (records == nullptr) return;
    const std::uint64_t used = records->used.load(platform::relaxed);
    for (std::size_t i = 0; i < chunk::capacity; ++i) {
      if ((used >> i & 1) == 0) continue;
      const thread_record& record = records->records[i];
      const pid_t thread = id_of(record);
      if (thread == 0) continue;  // it is just being taken
      threads_.insert(thread);
      owners_[number(&there->records[i])] = thread;
      read_record(record, thread);
    }
  }

  void read_record(const thread_record& record, pid_t thread) {
    const auto note = [&](std::uintptr_t lock, held_how how) {
      lock_at(lock).holders.push_back({thread, how, 0, {}});
    };
    for_each_slot(record, [&](const auto& slot, std::size_t) {
      const std::uintptr_t held = slot.load(platform::relaxed);
      if (is_passive_hold(held)) note(held, held_how::passively);
      // An active hold over a passive one, which locks that note holds note as well.
      if ((held & counted_hold) != 0) counted_[held & ~counted_hold].push_back(thread);
      return true;
    });
    for (const std::uintptr_t noted : record.noted) {
      if ((noted & ~held_again) != 0) note(noted & ~held_again, held_how::actively);
    }
    read_wait(record, thread);
  }

  void read_wait(const thread_record& record, pid_t thread) {
    constexpr std::uintptr_t tags = 7;
    const std::uintptr_t sleeps = record.sleeps_for;
    if (sleeps != 0) {
      const auto as = static_cast<sleeps_as>(sleeps & (tags & ~sleeps_until_deadline));
      const waits_to what = as == sleeps_as::reader   ? waits_to::read
                            : as == sleeps_as::writer ? waits_to::write
                                                      : waits_to::upgrade;
      lock_at(sleeps & ~tags)
          .waiters.push_back(
              {thread, what, record.sleeps_since, (sleeps & sleeps_until_deadline) != 0});
      return;
    }
    const std::uintptr_t counted = record.waiting_in.load(platform::relaxed);
    const std::uintptr_t claimed = record.deciding.load(platform::relaxed);
    if (counted != 0) {
      const auto as = static_cast<waits_as>(counted & tags);
      const waits_to what = as == waits_as::reader ? waits_to::read
                            : as == waits_as::upgrader || as == waits_as::counted_upgrader
                                ? waits_to::upgrade
                                : waits_to::write;
      lock_at(counted & ~tags).waiters.push_back({thread, what, 0, true});
    } else if (claimed != 0) {
      lock_at(claimed).waiters.push_back({thread, waits_to::write, 0, true});
    }
  }

  void read_checked_holds(const lock_check::held_locks* next) {
    while (next != nullptr) {
      const auto table = copy_of(next);
      if (table == nullptr) return;
      const pid_t thread = id_of(table->thread.load(platform::relaxed));
      const std::uint32_t used =
          std::min(table->used.load(platform::relaxed), lock_check::held_locks::most);
      for (std::uint32_t i = 0; i < used && table->owned.load(platform::relaxed) != 0; ++i) {
        const lock_check::hold& held = table->holds[i];
        const std::uintptr_t lock = held.lock.load(platform::relaxed);
        if (lock == 0) continue;
        const held_how how = how_of(held.kind.load(platform::relaxed));
        const std::size_t frames = std::min(held.where.count, most_frames);
        add_checked(lock_at(lock),
                    {thread, how, held.since, {held.where.frames, held.where.frames + frames}});
      }
      next = table->next.load(platform::relaxed);
    }
  }

  // The same hold may have been noted by the lock.
  static void add_checked(shown_lock& lock, known_hold checked) {
    for (known_hold& each : lock.holders) {
      if (each.thread == checked.thread && each.how == checked.how && each.since == 0) {
        each = std::move(checked);
        return;
      }
    }
    lock.holders.push_back(std::move(checked));
  }

  // Statistics know every lock that has been used, also those that are no longer there.
  void read_table() {
    lock_statistics_roots roots;
    if (!target_.read(number(library_.statistics), roots)) return;
    const lock_table* const there = roots.table.load(platform::relaxed);
    std::uint32_t used = 0;
    if (there == nullptr || !target_.read(number(&there->used), used)) return;
    std::vector<lock_entry> entries(std::min<std::size_t>(used, lock_table::capacity));
    has_table_ = target_.read(number(&there->entries[0]), entries.data(),
                              entries.size() * sizeof(lock_entry)) &&
                 used <= lock_table::capacity;
    for (const lock_entry& each : entries) {
      const std::uintptr_t address = each.lock.load(platform::relaxed);
      if (address != 0 && !locks_.contains(address) && is_plausible(address)) lock_at(address);
    }
  }

  // Whether memory that no thread's record names looks like a lock that is in use.
  bool is_plausible(std::uintptr_t address) const {
    rwlock lock;
    if (!target_.read(address, lock)) return false;
    const std::uint64_t state = lock.state.load(platform::relaxed);
    const bool written = (state & rwlock::writing) != 0;
    return (lock.traits.load(platform::relaxed) & rwlock::met) != 0 && lock.domain < max_domains &&
           !(written && rwlock::readers(state) != 0) &&
           rwlock::readers(state) <= 16 * threads_.size() + 16;
  }

  // Compares what records say with the state of the lock.
  void settle(std::uintptr_t address, shown_lock& lock) {
    rwlock now;
    lock.is_there = target_.read(address, now);
    if (!lock.is_there) return;
    const std::uint64_t state = now.state.load(platform::relaxed);
    lock.is_biased = (state & rwlock::any_bias) != 0;
    constexpr std::uint64_t passive = rwlock::any_bias | rwlock::draining | rwlock::claiming;
    if ((state & passive) == 0) {
      // Published too late, and about to be taken back.
      std::erase_if(lock.holders,
                    [](const known_hold& each) { return each.how == held_how::passively; });
    }
    if ((state & rwlock::unnoted) != 0) {
      for (const pid_t thread : counted_[address]) {
        lock.holders.push_back({thread, held_how::actively, 0, {}});
      }
    }
    settle_writer(address, state, lock);
    settle_readers(state, lock);
    settle_waiters(state, lock);
  }

  void settle_writer(std::uintptr_t address, std::uint64_t state, shown_lock& lock) {
    const auto is_writer = [](const known_hold& each) { return each.how == held_how::exclusively; };
    if ((state & rwlock::writing) == 0) {
      std::erase_if(lock.holders, is_writer);
      return;
    }
    if (std::ranges::any_of(lock.holders, is_writer)) return;
    // The owner of a pthread lock is known by the address of its array of records, of which the
    // first is that of the process's domain.
    std::uintptr_t owner = 0, record = 0;
    if (core_offset_ != 0 && target_.read(address - core_offset_, owner) && owner != 0 &&
        target_.read(owner, record)) {
      const auto found = owners_.find(record);
      if (found != owners_.end()) {
        lock.holders.push_back({found->second, held_how::exclusively, 0, {}});
        return;
      }
    }
    lock.unknown_writer = true;
  }

  static void settle_readers(std::uint64_t state, shown_lock& lock) {
    const auto known = static_cast<std::uint64_t>(std::ranges::count_if(
        lock.holders, [](const known_hold& each) { return each.how == held_how::actively; }));
    const std::uint64_t counted = rwlock::readers(state);
    if (counted == 0) {
      // Noted, but not yet inside.
      std::erase_if(lock.holders,
                    [](const known_hold& each) { return each.how == held_how::actively; });
    } else if (counted > known) {
      lock.unknown_readers = counted - known;
    }
  }

  static void settle_waiters(std::uint64_t state, shown_lock& lock) {
    const auto known = [&](bool reads) {
      return static_cast<std::uint64_t>(std::ranges::count_if(
          lock.waiters,
          [=](const known_wait& each) { return (each.what == waits_to::read) == reads; }));
    };
    const std::uint64_t writers = (state & rwlock::waiting_writers) / rwlock::one_writer;
    const std::uint64_t readers = (state & rwlock::waiting_readers) / rwlock::one_waiting_reader;
    if (writers > known(false)) lock.unknown_waiters += writers - known(false);
    if (readers > known(true)) lock.unknown_waiters += readers - known(true);
  }

  const holders_target& target_;
  const inspection& library_;
  const std::map<pid_t, pid_t>& ids_;
  std::size_t core_offset_ = 0;
  bool is_checked_ = false;
  bool has_table_ = false;
  std::set<pid_t> threads_;
  std::map<std::uintptr_t, pid_t> owners_;  // by record
  std::map<std::uintptr_t, std::vector<pid_t>> counted_;
  std::map<std::uintptr_t, shown_lock> locks_;
};

}  // namespace

snapshot take_snapshot(const holders_target& target) {
  snapshot found;
  std::map<pid_t, pid_t> ids;
  for (const auto& each : target.threads()) {
    ids[each.own_id] = each.id;
    if (!each.name.empty()) found.names[each.id] = each.name;
  }
  std::set<pid_t> threads;
  bool all_are_known = true;
  for (const inspection& library : libraries_in(target)) {
    reading one(target, library, ids);
    for (shown_lock& lock : one.locks()) found.locks.push_back(std::move(lock));
    threads.insert(one.threads().begin(), one.threads().end());
    found.is_checked = found.is_checked || one.is_checked();
    const lock_choice served = library.lock.load(platform::relaxed);
    if (served != lock_choice::prwlock) found.server = server_of(served);
    // A copy that nobody uses hides nothing.
    all_are_known = all_are_known && (one.is_checked() || one.has_table() || one.threads().empty());
  }
  found.all_held_are_known = all_are_known;
  found.threads = threads.size();
  found.deadlocks = cycles_in(found.locks);
  return found;
}

}  // namespace readmost::command

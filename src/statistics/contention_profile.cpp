// SPDX-License-Identifier: Apache-2.0
#include "statistics/contention_profile.hpp"

#include <cstdio>
#include <cstring>

#include "platform/memory_map.hpp"

namespace readmost::detail {

constinit platform::atomic<bool> lock_delays_noted_{false};

namespace {

constexpr std::uint64_t interval = 50'000;

char file_name[4200];

// Short delays of the calling thread since it last took a stack, and at how much it takes the next.
READMOST_THREAD_LOCAL std::uint64_t untold;
READMOST_THREAD_LOCAL std::uint64_t untold_events;
READMOST_THREAD_LOCAL std::uint64_t limit;

// --- Modules -------------------------------------------------------------------------------------

constinit platform::atomic<bool> modules_are_read{false};  // at present, by one thread
constinit platform::atomic<std::uint32_t> readings{0};
// Generated code lies in no module, and is not looked for again and again.
constexpr std::uint32_t most_readings = 64;

bool is_known(const profile_table& profile, std::uintptr_t start, std::uintptr_t end) noexcept {
  const std::uint32_t count = profile.modules_used.load(platform::acquire);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (profile.modules[i].start <= start && end <= profile.modules[i].end) return true;
  }
  return false;
}

void add_module(profile_table& profile, const mapping& m) noexcept {
  const std::uint32_t count = profile.modules_used.load(platform::relaxed);
  profile_module& to = profile.modules[count];
  if (count == profile_table::most_modules || m.name_length >= sizeof to.path) return;
  to.start = m.start;
  to.end = m.end;
  to.offset = m.file_offset;
  to.inode = m.inode;
  std::memcpy(to.path, m.name, m.name_length);
  profile.modules_used.store(count + 1, platform::release);
}

void read_modules(profile_table& profile) noexcept {
  if (modules_are_read.exchange(true, platform::acquire)) return;
  if (readings.load(platform::relaxed) < most_readings) {
    readings.fetch_add(1, platform::relaxed);
    const platform::file_content maps = platform::content_of("/proc/self/maps");
    mapping m;
    for (maps_reader lines(maps); lines.next(m);) {
      if (m.is_executable && m.is_file() && !is_known(profile, m.start, m.end)) {
        add_module(profile, m);
      }
    }
    platform::give_back(maps);
  }
  modules_are_read.store(false, platform::release);
}

// --- Stacks --------------------------------------------------------------------------------------

struct own_stack {
  std::uintptr_t frames[profile_stack::depth];
  std::uint32_t count;
};

std::uint64_t key_of(const own_stack& own, std::uintptr_t lock, delay_kind kind) noexcept {
  const auto with = [](std::uint64_t so_far, std::uintptr_t more) {
    const std::uint64_t both = scattered(so_far ^ more);
    return both ^ both >> 29;
  };
  std::uint64_t key = with(static_cast<std::uint64_t>(kind) + 1, lock);
  for (std::uint32_t i = 0; i < own.count; ++i) key = with(key, own.frames[i]);
  return key != 0 ? key : 1;
}

void fill(profile_table& profile, profile_stack& entry, const own_stack& own, std::uintptr_t lock,
          delay_kind kind) noexcept {
  bool all_known = true;
  for (std::uint32_t i = 0; i < own.count; ++i) {
    entry.frames[i] = own.frames[i];
    all_known = all_known && is_known(profile, own.frames[i] - 1, own.frames[i]);
  }
  entry.lock = lock;
  entry.kind = kind;
  entry.count.store(own.count, platform::release);
  if (!all_known) read_modules(profile);
}

// Another thread may still be filling the entry in; who reads the table sees that.
profile_stack* find(profile_table& profile, const own_stack& own, std::uintptr_t lock,
                    delay_kind kind) noexcept {
  constexpr std::size_t most_probes = 128;
  const std::uint64_t key = key_of(own, lock, kind);
  for (std::size_t probe = 0; probe < most_probes; ++probe) {
    profile_stack& entry = profile.stacks[(key + probe) % profile_table::capacity];
    std::uint64_t found = entry.key.load(platform::relaxed);
    if (found == 0 &&
        entry.key.compare_exchange_strong(found, key, platform::relaxed, platform::relaxed)) {
      profile.used.fetch_add(1, platform::relaxed);
      fill(profile, entry, own, lock, kind);
      return &entry;
    }
    if (found == key) return &entry;
  }
  return nullptr;
}

void add(profile_table& profile, delay_kind kind, profile_stack* stack, std::uint64_t nanoseconds,
         std::uint64_t events) noexcept {
  const auto which = static_cast<std::size_t>(kind);
  counter& sum = stack != nullptr ? stack->nanoseconds : profile.lost_nanoseconds[which];
  counter& count = stack != nullptr ? stack->events : profile.lost_events[which];
  sum.fetch_add(nanoseconds, platform::relaxed);
  count.fetch_add(events, platform::relaxed);
}

void note_fork() noexcept {
  if (profile_table* const profile = profile_in_force()) {
    profile->has_forked.store(1, platform::relaxed);
  }
}

}  // namespace

bool start_contention_profile(const char* folder, std::size_t core_offset) noexcept {
  if (folder != nullptr) {
    // The time distinguishes programs that a process executes one after the other, the address the
    // copies of the library in one of them.
    std::snprintf(file_name, sizeof file_name, "%s/%d-%llu-%zx.stacks", folder,
                  platform::process_id(), static_cast<unsigned long long>(platform::now()),
                  reinterpret_cast<std::uintptr_t>(&file_name));
  }
  auto* const profile = static_cast<profile_table*>(
      platform::map_shared_pages(folder != nullptr ? file_name : nullptr, sizeof(profile_table)));
  if (profile == nullptr) return false;
  profile->size = sizeof(profile_table);
  profile->execution = platform::execution_id();
  profile->process = platform::process_id();
  profile->core_offset = core_offset;
  read_modules(*profile);
  std::memcpy(profile->magic, profile_table::expected_magic, sizeof profile->magic);
  platform::watch_fork(note_fork, nullptr, nullptr);
  contention_profile.store(profile, platform::release);
  lock_delays_noted_.store(true, platform::relaxed);
  return true;
}

void end_contention_profile() noexcept {
  const profile_table* const profile = profile_in_force();
  if (profile == nullptr || *file_name == '\0') return;
  if (profile->process != platform::process_id()) return;
  if (profile->used.load(platform::relaxed) == 0 &&
      profile->has_forked.load(platform::relaxed) == 0) {
    platform::remove_file(file_name);
  }
}

profile_stack* profiled_stack(profile_table& profile, std::uintptr_t lock,
                              delay_kind kind) noexcept {
  own_stack own;
  own.count = static_cast<std::uint32_t>(platform::backtrace(own.frames, profile_stack::depth));
  while (own.count != 0 && own.frames[own.count - 1] == 0) --own.count;
  if (own.count == 0) own.frames[own.count++] = reinterpret_cast<std::uintptr_t>(&profiled_stack);
  // Many locks must not keep further stacks out.
  constexpr std::uint32_t room_for_locks = profile_table::capacity / 2;
  if (profile.used.load(platform::relaxed) >= room_for_locks) lock = 0;
  return find(profile, own, lock, kind);
}

void profile_delay(profile_table& profile, std::uintptr_t lock, delay_kind kind,
                   std::uint64_t nanoseconds, profile_stack* stack) noexcept {
  if (stack != nullptr) return add(profile, kind, stack, nanoseconds, 1);
  if (nanoseconds >= interval) {
    return add(profile, kind, profiled_stack(profile, lock, kind), nanoseconds, 1);
  }
  untold += nanoseconds;
  ++untold_events;
  if (untold <= limit) return;
  add(profile, kind, profiled_stack(profile, lock, kind), untold, untold_events);
  untold = untold_events = 0;
  // A thread that loses little is known all the same. Later the limit varies, so that delays which
  // take turns are all met.
  const std::uint64_t longer = 2 * limit + 500;
  limit = longer < interval ? longer : interval / 2 + scattered(platform::now()) % interval;
}

}  // namespace readmost::detail

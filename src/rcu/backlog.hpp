// SPDX-License-Identifier: Apache-2.0
// The backlog: the objects that are retired and not reclaimed yet. A thread that retires waits when
// the backlog is above its limit, as long as objects are being reclaimed: if a reader stays, or a
// deleter needs a lock that the thread holds, waiting would not help.
#pragma once

#include "rcu/reclamation.hpp"

namespace readmost::detail {

// The number of objects that a thread retires before it adds them to the shared account.
inline constexpr std::uint32_t objects_at_once = 64;
inline constexpr std::uint64_t bytes_at_once = 64 * 1024;

inline void add_to_backlog(reclamation& r, std::int64_t objects, std::uint64_t bytes) noexcept {
  r.objects.fetch_add(objects, platform::relaxed);
  r.bytes.fetch_add(static_cast<std::int64_t>(bytes), platform::relaxed);
}

// Adds the thread's uncounted objects to the shared account.
inline void count_now(reclamation& r, thread_record& me) noexcept {
  add_to_backlog(r, me.uncounted_objects.load(platform::relaxed),
                 me.uncounted_bytes.load(platform::relaxed));
  me.uncounted_objects.store(0, platform::relaxed);
  me.uncounted_bytes.store(0, platform::relaxed);
}

// Counts an object that `me`, or a thread without a record, has queued. Returns whether that
// updated the shared account.
inline bool count(reclamation& r, thread_record* me, std::uint64_t bytes) noexcept {
  if (me == nullptr) {
    add_to_backlog(r, 1, bytes);
    return true;
  }
  const std::uint32_t objects = me->uncounted_objects.load(platform::relaxed) + 1;
  const std::uint64_t all_bytes = me->uncounted_bytes.load(platform::relaxed) + bytes;
  me->uncounted_objects.store(objects, platform::relaxed);
  me->uncounted_bytes.store(all_bytes, platform::relaxed);
  if (objects < objects_at_once && all_bytes < bytes_at_once) return false;
  count_now(r, *me);
  return true;
}

inline bool is_above(const reclamation& r, std::uint64_t eighths) noexcept {
  const auto above = [&](std::int64_t value, std::uint64_t most) {
    return value > 0 &&
           static_cast<std::uint64_t>(value) > most / 8 * eighths + most % 8 * eighths / 8;
  };
  return above(r.objects.load(platform::relaxed), r.most_objects.load(platform::relaxed)) ||
         above(r.bytes.load(platform::relaxed), r.most_bytes.load(platform::relaxed));
}

inline bool is_above_limit(const reclamation& r) noexcept {
  return is_above(r, 8);
}
// A quarter of the limit is free: throttled threads go on.
inline bool is_well_below_limit(const reclamation& r) noexcept {
  return !is_above(r, 6);
}
// The reclaimer does not wait for more.
inline bool has_gathered(const reclamation& r) noexcept {
  return is_above(r, 1);
}

// For a thread that has retired above the limit: waits as the domain's policy says.
void throttle(domain& d, reclamation& r) noexcept;

}  // namespace readmost::detail

// SPDX-License-Identifier: Apache-2.0
#include "lock/company.hpp"

#include "lock/lock_places.hpp"

namespace readmost::detail::company {

namespace {

// In lock operations. Fewer say little: one long wait among them outweighs all others.
constexpr std::uint64_t enough = 48;
constexpr std::uint64_t enough_to_count_writes = 8;

// In nanoseconds. Passive reads are so quick that `enough` of them are no sign of a calm lock.
constexpr std::uint64_t long_without_wait = 4'000;
constexpr std::uint64_t surely_alone = 100'000;

// Values of `for_company`. Two threads that get on well may have a bad stretch now and then. Below
// `against`: so many absences are left until company is judged again, because it was so bad.
constexpr std::int32_t most_for = 3;
constexpr std::int32_t against = -1;
constexpr std::int32_t unjudged_absences = 4;

constinit lock_places<platform::atomic<std::uint32_t>> times_alone;

// The thread has waited for nobody for so many operations, which took so long. But others may have
// used the lock meanwhile: only after a long time without a wait may what is known have been too
// little.
void learn_time_alone(thread_record& me, const rwlock& lock, std::uint64_t operations,
                      std::uint64_t time) noexcept {
  const std::uint64_t each = time / operations + 1;
  const std::uint64_t before = me.time_alone;
  const std::uint64_t most = time > surely_alone ? before + before / 16 + 1 : before;
  const std::uint64_t alone = before == 0 ? each : std::min(each, most);
  me.time_alone = alone;
  auto& known = known_time_alone(lock);
  const std::uint64_t others = known.load(platform::relaxed);
  // All threads read that line: it is written only where there is news.
  const bool differs = alone < others - others / 8 || alone > others + others / 8;
  if (differs) {
    constexpr std::uint64_t highest = UINT32_MAX;
    known.store(static_cast<std::uint32_t>(std::min(alone, highest)), platform::relaxed);
  }
}

std::int32_t after_stretch(std::int32_t before, bool pays, bool far) noexcept {
  if (pays) return std::min(std::max(before, 0) + 1, most_for);
  if (before > 0) return before - 1;
  return far ? against - unjudged_absences : against;
}

}  // namespace

platform::atomic<std::uint32_t>& known_time_alone(const rwlock& lock) noexcept {
  return times_alone[lock];
}

void note_absence(thread_record& me) noexcept {
  if (me.for_company < against) me.for_company = me.for_company + 1;
}

pair_judgment judge_pair(thread_record& me, const rwlock& lock, std::uint64_t now) noexcept {
  const std::uint64_t all = operations_of(me, lock);
  const std::uint64_t operations = all - me.stretch_operations;
  const std::uint64_t time = now - me.stretch_began;
  // Many others may get nothing done beside one that does little but write.
  const std::uint64_t writes = me.writes.load(platform::relaxed) - me.stretch_writes;
  const bool mostly_writes = operations >= enough_to_count_writes && 4 * writes > 3 * operations;

  const std::uint64_t undisturbed = all - me.operations_at_wait;
  const std::uint64_t since_wait = now - me.wait_ended;
  if (undisturbed >= enough) learn_time_alone(me, lock, undisturbed, since_wait);
  const bool is_calm = undisturbed >= enough && since_wait > long_without_wait;
  if (is_calm || (mostly_writes && operations >= enough)) begin_stretch(me, lock, now);
  if (mostly_writes) return {};
  if (is_calm) return {benefit::some, true};

  if (me.time_alone == 0) me.time_alone = known_time_alone(lock).load(platform::relaxed);
  const std::uint64_t alone = me.time_alone;
  if (alone == 0 || me.for_company < against) return {};
  // Two threads get more done than one if each takes less than twice the time. Eight times is far
  // from it.
  const bool is_over = operations >= enough || time > 2 * enough * alone;
  const bool pays = time <= 2 * operations * alone;
  if (is_over) {
    me.for_company = after_stretch(me.for_company, pays, time > 8 * operations * alone);
    begin_stretch(me, lock, now);
  }
  const bool stays = !is_over || pays || has_paid(me);
  return {stays ? benefit::some : benefit::none, me.for_company >= against};
}

}  // namespace readmost::detail::company

// SPDX-License-Identifier: Apache-2.0
#include "lock/waiting.hpp"

#include <algorithm>
#include <climits>
#include <readmost/detail/threads/spinning.hpp>

#include "lock/absence.hpp"
#include "lock/company.hpp"
#include "platform/known_cpus.hpp"

namespace readmost::detail {

namespace {

// Whether as many threads as a chunk has records may run at a time.
bool run_many(const thread_record& me) noexcept {
  return threads_in(chunk_of(me)) == chunk::capacity && known_cpus() >= chunk::capacity;
}

// How many threads there are, or more than `most`.
unsigned count_threads(const domain& of, unsigned most) noexcept {
  unsigned threads = 0;
  for_each_chunk(of, [&](const chunk& records) {
    threads += threads_in(records);
    return threads <= most;
  });
  return threads;
}

}  // namespace

bool outnumber(const thread_record& me, unsigned cpus) noexcept {
  if (!run_many(me)) return threads_in(chunk_of(me)) > cpus;
  return count_threads(domain_of(me), cpus) > cpus;
}

void spinner::note_end_of_wait() const noexcept {
  const std::uint64_t now = platform::now();
  company::end_wait(*me_, lock_, wait_began_, now);
  if (has_waited_before() && since_last_wait(now) < 0) return;
  waited_until(now);
}

spinner::absence_kind spinner::stay_or_spin_away(bool bias_may_return) noexcept {
  if (how_.may_stay_away && how_.until != nullptr &&
      platform::time_left(*how_.until) <= absence::shortest) {
    how_.may_stay_away = false;
  }
  if (me_ == nullptr) return absence_kind::none;
  const bool crowded = is_crowded(*me_);
  if (crowded && !how_.may_stay_away) return absence_kind::none;
  waited_ = true;
  if (!has_waited_before()) return absence_kind::none;
  wait_began_ = platform::now();
  return crowded ? stay_away_among_many() : stay_away_beside_others(bias_may_return);
}

spinner::absence_kind spinner::stay_away_among_many() noexcept {
  if (how_.behind_writers &&
      company::has_hardly_run(*me_, wait_began_, count_threads(domain_of(*me_), UINT_MAX))) {
    return absence_kind::asleep;
  }
  const company::benefit together = company::judge_crowd(*me_, lock_, wait_began_);
  if (together == company::benefit::some) return absence_kind::none;
  if (together == company::benefit::unknown && !comes_back_at_once()) return absence_kind::none;
  return absence_kind::asleep;
}

spinner::absence_kind spinner::stay_away_beside_others(bool bias_may_return) noexcept {
  const company::pair_judgment judged = company::judge_pair(*me_, lock_, wait_began_);
  if (judged.looks_often) {
    first_ = first_of_often;
    longest_ = company::has_paid(*me_) ? longest_of_paid : longest_brief;
  }
  if (!how_.may_stay_away || bias_may_return) return absence_kind::none;
  if (judged.together == company::benefit::some && !is_mutant(mutant::company_unheeded)) {
    return absence_kind::none;
  }
  if (judged.together == company::benefit::none ? !comes_back_soon() : !comes_back_at_once()) {
    return absence_kind::none;
  }
  company::note_absence(*me_);
  if (spin_away()) return absence_kind::over;
  if (run_many(*me_)) return absence_kind::asleep;
  // A thread that has been away for all that time need not go again for as long: then those that
  // it keeps out stay away, so that threads of either kind use the lock in turns.
  waited_until(platform::now() + absence::shortest);
  return absence_kind::over;
}

bool spinner::is_within(std::int64_t time) const noexcept {
  // Where many threads run, an operation waits for the lock's line that much longer.
  const std::int64_t longer = run_many(*me_) ? 8 : 1;
  const std::int64_t since = since_last_wait(wait_began_);
  return since >= 0 && since < longer * time;
}

bool spinner::comes_back_at_once() noexcept {
  if (is_within(at_once)) return true;
  if (comes_back_soon()) pause_ = longest;
  return false;
}

bool spinner::spin(bool brief, std::uint32_t writers) noexcept {
  std::uint32_t& spent = brief ? spent_briefly_ : spent_;
  const std::uint32_t all = platform::spins(brief ? budget_of_brief : budget);
  if (how_.behind_writers && !brief && spent == 0)
    exits_seen_ = lock_.writer_exits.load(platform::relaxed);
  if (spent >= all && !(brief ? spent < budget_of_revocation() : goes_on(all))) return false;
  pause_ = pause_ == 0 ? 1 : 2 * pause_;
  if (!brief && pause_ < first_) pause_ = first_;
  const std::uint32_t most = brief ? longest_brief : std::max(longest_, writers * longest_of_each);
  if (pause_ > most) pause_ = most;
  pass(pause_);
  spent += pause_;
  return true;
}

std::uint32_t spinner::budget_of_revocation() const noexcept {
  constexpr std::uint32_t unit = 20;
  return platform::spins(budget_of_brief +
                         4 * domains[lock_.domain].round_cost.load(platform::relaxed) / unit);
}

bool spinner::goes_on(std::uint32_t usual) noexcept {
  constexpr unsigned threads_for_one_more = 32;
  if (spent_ < extended_) return true;
  if (!how_.behind_writers || how_.until != nullptr || me_ == nullptr || is_quiet(exits_seen_))
    return false;
  const unsigned cpus = platform::usable_cpus();
  const unsigned threads = count_threads(domain_of(*me_), cpus);
  if (threads > cpus || spent_ >= (1 + threads / threads_for_one_more) * usual) return false;
  extended_ = spent_ + usual;
  return true;
}

bool spinner::is_quiet(std::uint16_t& exits) const noexcept {
  const std::uint16_t before = exits;
  exits = lock_.writer_exits.load(platform::relaxed);
  return exits == before;
}

void spinner::sleep_away() const noexcept {
  constexpr unsigned looks = 2;
  // Whoever goes on alone is not to ask this thread as it takes the bias away, nor to expect that.
  if (!is_mutant(mutant::absent_in_the_index)) leave_index(*me_);
  std::uint64_t time = absence::begin(lock_);
  if (how_.until != nullptr) {
    const std::uint64_t left = platform::time_left(*how_.until);
    if (time > left / 2) time = left / 2;
  }
  std::uint16_t exits = lock_.writer_exits.load(platform::relaxed);
  for (unsigned look = 0; look < looks; ++look) {
    platform::sleep_for(time / looks);
    if (is_quiet(exits)) break;
  }
  absence::end(lock_);
}

bool spinner::spin_away() const noexcept {
  std::uint64_t next_look = platform::now() + between_looks;
  std::uint16_t exits = lock_.writer_exits.load(platform::relaxed);
  int free_looks = 0;
  const auto is_over = [&] {
    const std::uint64_t now = platform::now();
    if (now < next_look) return false;
    next_look = now + between_looks;
    if (is_quiet(exits)) return true;
    const std::uint64_t state = lock_.state.load(platform::relaxed);
    const bool free = (state & rwlock::writing) == 0 && rwlock::readers(state) == 0;
    free_looks = free ? free_looks + 1 : 0;
    if (free_looks < enough_free_looks) return false;
    waited_until(now + excused);
    return true;
  };
  return spin_for(absence::shortest, is_over, [](std::uint32_t) { pass(longest_brief); });
}

void spinner::waited_until(std::uint64_t end) const noexcept {
  me_->waited_for = address(lock_);
  me_->waited_until = end;
}

void spinner::pass(std::uint32_t units) noexcept {
  const std::uint32_t turns = platform::pauses(units);
  for (std::uint32_t i = 0; i < turns; ++i) {
    report_if_asked();
    platform::relax();
  }
}

}  // namespace readmost::detail

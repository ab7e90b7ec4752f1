// SPDX-License-Identifier: Apache-2.0
#include "lock/parking.hpp"

#include <readmost/detail/platform/mutant.hpp>
#include <readmost/detail/threads/thread_record.hpp>

namespace readmost::detail::parking {

namespace {

enum : std::uint32_t { undecided, broadcasts, relayed };
constinit platform::atomic<std::uint32_t> mode{undecided};
constinit platform::atomic<int> first_woken{woken_directly};

// How many readers sleep in a bucket, by the address of their lock. Locks that share a place cost
// each other a system call that wakes no thread.
struct alignas(platform::cache_line) place {
  platform::atomic<std::uint32_t> asleep{};
};
constexpr std::size_t place_count = 16;
constinit place places[place_count][buckets];

platform::atomic<std::uint32_t>& asleep_at(platform::futex_word word, unsigned bucket) noexcept {
  return places[scattered(word) >> 60][bucket].asleep;
}
static_assert(place_count == 1U << (64 - 60));

}  // namespace

bool relays() noexcept {
  std::uint32_t decided = mode.load(platform::relaxed);
  if (decided == undecided) [[unlikely]] {
    decided = platform::usable_cpus() >= cpus_that_pay ? relayed : broadcasts;
    mode.store(decided, platform::relaxed);
  }
  return decided == relayed;
}

void set_relay(bool on, int directly) noexcept {
  first_woken.store(directly, platform::relaxed);
  mode.store(on ? relayed : broadcasts, platform::relaxed);
}

platform::wake_reason sleep_as_reader(platform::futex_word word, std::uint32_t expected,
                                      const platform::deadline* until) noexcept {
  if (!relays()) return platform::futex_wait(word, expected, first_bucket, until);
  const unsigned bucket = platform::current_cpu() % buckets;
  const std::uint32_t mask = first_bucket << bucket;
  auto& asleep = asleep_at(word, bucket);
  asleep.fetch_add(1, platform::relaxed);
  const platform::wake_reason why = platform::futex_wait(word, expected, mask, until);
  // Only who was woken wakes others: where a lock changes all the time, most readers that want to
  // sleep find it changed, and would wake those who do sleep again and again.
  if (asleep.fetch_sub(1, platform::relaxed) != 1 && why == platform::wake_reason::woken &&
      !is_mutant(mutant::forgetful_relay)) {
    platform::futex_wake(word, INT32_MAX, mask);
  }
  return why;
}

int wake_readers(platform::futex_word word) noexcept {
  if (!relays()) return platform::futex_wake(word, INT32_MAX, readers);
  const int directly = first_woken.load(platform::relaxed);
  int woken = platform::futex_wake(word, directly, readers);
  if (woken < directly) return woken;
  // The caller wakes the readers of its own CPU itself: while it keeps that CPU busy, they could
  // not wake one another.
  const unsigned own = platform::current_cpu() % buckets;
  for (unsigned i = 1; i < buckets; ++i) {
    woken += platform::futex_wake(word, 1, first_bucket << (own + i) % buckets);
  }
  woken += platform::futex_wake(word, INT32_MAX, first_bucket << own);
  return woken;
}

}  // namespace readmost::detail::parking

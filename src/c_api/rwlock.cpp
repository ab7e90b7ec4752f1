// SPDX-License-Identifier: Apache-2.0
// readmost.h: the C API of the lock, over readmost::detail::rwlock.
#include <readmost.h>

#include <cstddef>
#include <new>
#include <readmost/lock_domain.hpp>
#include <readmost/shared_mutex.hpp>

#include "lock/observation.hpp"
#include "lock/posix_results.hpp"

// Storage of a domain. A program only knows its address.
struct readmost_domain {
  readmost::detail::platform::atomic<bool> taken;
  alignas(readmost::lock_domain) std::byte memory[sizeof(readmost::lock_domain)];

  readmost::lock_domain& inside() noexcept {
    return *std::launder(reinterpret_cast<readmost::lock_domain*>(memory));
  }
};

namespace readmost::detail {

namespace {

static_assert(sizeof(readmost_rwlock_t) == sizeof(rwlock));
static_assert(alignof(readmost_rwlock_t) == alignof(rwlock));
static_assert(offsetof(readmost_rwlock_t, readmost_state) == offsetof(rwlock, state));
static_assert(sizeof(readmost_rwlockattr_t) == 16);

constexpr std::uint8_t traits_in(readmost_rwlock_t initialiser) noexcept {
  return initialiser
      .readmost_rest[offsetof(rwlock, traits) - offsetof(readmost_rwlock_t, readmost_rest)];
}
static_assert(traits_in(READMOST_RWLOCK_INITIALIZER) == rwlock::trait_of(preference::writer));
static_assert(traits_in(READMOST_RWLOCK_INITIALIZER_READER) ==
              rwlock::trait_of(preference::reader));
static_assert(traits_in(READMOST_RWLOCK_INITIALIZER_PHASE_FAIR) ==
              rwlock::trait_of(preference::phase_fair));

static_assert(READMOST_PREFER_WRITER == static_cast<int>(preference::writer));
static_assert(READMOST_PREFER_READER == static_cast<int>(preference::reader));
static_assert(READMOST_PREFER_PHASE_FAIR == static_cast<int>(preference::phase_fair));

// The preference in destroyed attributes.
constexpr int no_preference = -1;

constexpr bool is_preference(int value) noexcept {
  return value >= READMOST_PREFER_WRITER && value <= READMOST_PREFER_PHASE_FAIR;
}

constinit readmost_domain places[max_domains] = {};

rwlock& of(readmost_rwlock_t* lock) noexcept {
  return *reinterpret_cast<rwlock*>(lock);
}

unsigned number_of(readmost_domain* domain) noexcept {
  return domain != nullptr ? domain->inside().number() : 0;
}

thread_record& me(const rwlock& lock) noexcept {
  return my_record(lock.domain);
}

// An upgrade that is refused because of another one cannot succeed later.
int as_errno_of_upgrade(outcome o) noexcept {
  return o == outcome::busy ? EDEADLK : as_errno(o);
}

const rwlock& of(const readmost_rwlock_t* lock) noexcept {
  return *reinterpret_cast<const rwlock*>(lock);
}

int active_holds(std::uint64_t state) noexcept {
  if ((state & rwlock::writing) != 0) return READMOST_HELD_FOR_WRITING;
  return rwlock::readers(state) != 0 ? READMOST_HELD_FOR_READING : READMOST_NOT_HELD;
}

// Whether passive holds may exist.
bool may_be_in_slots(std::uint64_t state) noexcept {
  return (state & (rwlock::any_bias | rwlock::draining | rwlock::claiming)) != 0;
}

bool is_written(const rwlock& lock) noexcept {
  return (lock.state.load(platform::relaxed) & rwlock::writing) != 0;
}

// Out of line, as read_lock.hpp says.
[[gnu::noinline]] int read_lock_at_last(rwlock& lock, passive_attempt attempt,
                                        bool try_only) noexcept {
  if (lock_shared_after(attempt, lock, me(lock), [&] { return lock.own_rules(); })) return 0;
  const rules how = lock.own_rules();
  return as_errno(lock_shared_slow(lock, try_only ? at_once(how) : how));
}

[[gnu::noinline]] int settle_account(rwlock& lock) noexcept {
  update_account(lock, lock.own_rules());
  return 0;
}

template <class Otherwise>
[[gnu::always_inline]] inline int read_lock_actively(rwlock& lock, Otherwise otherwise) noexcept {
  return detail::read_lock_actively<true>(
      lock, me(lock), [&] { return settle_account(lock); },
      [&] { return otherwise(passive_attempt::unavailable); });
}

[[gnu::noinline]] int read_lock_otherwise(rwlock& lock, bool try_only) noexcept {
  return read_lock_actively(
      lock, [&](passive_attempt attempt) { return read_lock_at_last(lock, attempt, try_only); });
}

[[gnu::always_inline]] inline int read_lock(rwlock& lock, bool try_only) noexcept {
  if (!is_biased(lock)) return read_lock_otherwise(lock, try_only);
  const passive_attempt attempt = lock_shared_passively(lock, me(lock));
  if (attempt == passive_attempt::acquired) [[likely]]
    return 0;
  return read_lock_at_last(lock, attempt, try_only);
}

[[gnu::noinline]] int read_lock_until(rwlock& lock, passive_attempt attempt, clockid_t clock,
                                      const timespec* until) noexcept {
  if (lock_shared_after(attempt, lock, me(lock), [&] { return lock.own_rules(); })) return 0;
  const platform::deadline end{clock, *until};
  return as_errno(lock_shared_slow(lock, before(lock.own_rules(), end)));
}

[[gnu::noinline]] int write_lock_slow(rwlock& lock, bool try_only) noexcept {
  const rules how = lock.own_rules();
  return as_errno(lock_exclusive_slow(lock, try_only ? at_once(how) : how));
}

[[gnu::noinline]] int write_lock_until(rwlock& lock, clockid_t clock,
                                       const timespec* until) noexcept {
  const platform::deadline end{clock, *until};
  return as_errno(lock_exclusive_slow(lock, before(lock.own_rules(), end)));
}

int refuse_release(const rwlock& lock) noexcept {
  if (is_observed()) observe_refused_release(lock, hold_kind::write);
  return EPERM;
}

[[gnu::noinline]] int write_unlock_slow(rwlock& lock) noexcept {
  if (!is_written(lock)) return refuse_release(lock);
  unlock_exclusive_slow(lock, lock.own_rules());
  return 0;
}

[[gnu::noinline]] int report_release(rwlock& lock, passive_release how) noexcept {
  after_passive_release(lock, me(lock), index_of_release(lock, how));
  return 0;
}

[[gnu::noinline]] int read_unlock_at_last(rwlock& lock) noexcept {
  return unlock_shared_slow(lock) ? 0 : EPERM;
}

[[gnu::noinline]] int read_unlock_otherwise(rwlock& lock) noexcept {
  return try_unlock_shared_active<true>(lock, me(lock)) ? 0 : read_unlock_at_last(lock);
}

}  // namespace

}  // namespace readmost::detail

using namespace readmost;
using namespace readmost::detail;

extern "C" {

// --- Attributes ----------------------------------------------------------------------------------

int readmost_rwlockattr_init(readmost_rwlockattr_t* attr) noexcept {
  *attr = {nullptr, READMOST_PREFER_WRITER, 0};
  return 0;
}

int readmost_rwlockattr_destroy(readmost_rwlockattr_t* attr) noexcept {
  attr->readmost_preference = no_preference;
  return 0;
}

int readmost_rwlockattr_setpreference(readmost_rwlockattr_t* attr, int preference) noexcept {
  if (!is_preference(preference)) return EINVAL;
  attr->readmost_preference = preference;
  return 0;
}

int readmost_rwlockattr_getpreference(const readmost_rwlockattr_t* attr, int* preference) noexcept {
  *preference = attr->readmost_preference;
  return 0;
}

int readmost_rwlockattr_setdomain(readmost_rwlockattr_t* attr, readmost_domain_t* domain) noexcept {
  attr->readmost_domain = domain;
  return 0;
}

int readmost_rwlockattr_getdomain(const readmost_rwlockattr_t* attr,
                                  readmost_domain_t** domain) noexcept {
  *domain = attr->readmost_domain;
  return 0;
}

// --- Making and ending a lock --------------------------------------------------------------------

int readmost_rwlock_init(readmost_rwlock_t* lock, const readmost_rwlockattr_t* attr) noexcept {
  const int prefers = attr != nullptr ? attr->readmost_preference : READMOST_PREFER_WRITER;
  if (!is_preference(prefers)) return EINVAL;
  const unsigned domain = attr != nullptr ? number_of(attr->readmost_domain) : 0;
  new (lock) rwlock{.domain = static_cast<std::uint8_t>(domain),
                    .traits = rwlock::trait_of(static_cast<preference>(prefers))};
  return 0;
}

int readmost_rwlock_destroy(readmost_rwlock_t* lock) noexcept {
  forget_holds_before_reuse(of(lock));
  return 0;
}

// --- Reading -------------------------------------------------------------------------------------

int readmost_rwlock_rdlock(readmost_rwlock_t* lock) noexcept {
  return read_lock(of(lock), false);
}

int readmost_rwlock_tryrdlock(readmost_rwlock_t* lock) noexcept {
  return read_lock(of(lock), true);
}

int readmost_rwlock_timedrdlock(readmost_rwlock_t* lock, const timespec* until) noexcept {
  return readmost_rwlock_clockrdlock(lock, CLOCK_REALTIME, until);
}

int readmost_rwlock_clockrdlock(readmost_rwlock_t* lock, clockid_t clock,
                                const timespec* until) noexcept {
  if (!is_valid(clock, until)) return EINVAL;
  rwlock& l = of(lock);
  const auto otherwise = [&](passive_attempt attempt) {
    return read_lock_until(l, attempt, clock, until);
  };
  if (!is_biased(l)) return read_lock_actively(l, otherwise);
  const passive_attempt attempt = lock_shared_passively(l, me(l));
  if (attempt == passive_attempt::acquired) [[likely]]
    return 0;
  return otherwise(attempt);
}

int readmost_rwlock_rdunlock(readmost_rwlock_t* lock) noexcept {
  rwlock& l = of(lock);
  const passive_release how =
      unlock_shared_passively(l, me(l), [&]() -> const domain& { return domains[l.domain]; });
  if (how == passive_release::done) [[likely]]
    return 0;
  if (how == passive_release::stacked) return read_unlock_at_last(l);
  return how == passive_release::unavailable ? read_unlock_otherwise(l) : report_release(l, how);
}

// --- Writing -------------------------------------------------------------------------------------

int readmost_rwlock_wrlock(readmost_rwlock_t* lock) noexcept {
  rwlock& l = of(lock);
  return try_lock_exclusive_fast(l, me(l), likely_free<true>(l)) ? 0 : write_lock_slow(l, false);
}

int readmost_rwlock_trywrlock(readmost_rwlock_t* lock) noexcept {
  rwlock& l = of(lock);
  const std::uint64_t state = l.state.load(platform::relaxed);
  return try_lock_exclusive_fast(l, me(l), state) ? 0 : write_lock_slow(l, true);
}

int readmost_rwlock_timedwrlock(readmost_rwlock_t* lock, const timespec* until) noexcept {
  return readmost_rwlock_clockwrlock(lock, CLOCK_REALTIME, until);
}

int readmost_rwlock_clockwrlock(readmost_rwlock_t* lock, clockid_t clock,
                                const timespec* until) noexcept {
  if (!is_valid(clock, until)) return EINVAL;
  rwlock& l = of(lock);
  return try_lock_exclusive_fast(l, me(l), likely_free<true>(l))
             ? 0
             : write_lock_until(l, clock, until);
}

int readmost_rwlock_wrunlock(readmost_rwlock_t* lock) noexcept {
  rwlock& l = of(lock);
  return try_unlock_exclusive_fast<true>(l) ? 0 : write_unlock_slow(l);
}

// --- From one to the other -----------------------------------------------------------------------

int readmost_rwlock_upgrade(readmost_rwlock_t* lock) noexcept {
  return as_errno_of_upgrade(upgrade(of(lock), of(lock).own_rules()));
}

int readmost_rwlock_tryupgrade(readmost_rwlock_t* lock) noexcept {
  return as_errno(upgrade(of(lock), at_once(of(lock).own_rules())));
}

int readmost_rwlock_clockupgrade(readmost_rwlock_t* lock, clockid_t clock,
                                 const timespec* until) noexcept {
  if (!is_valid(clock, until)) return EINVAL;
  const platform::deadline end{clock, *until};
  return as_errno_of_upgrade(upgrade(of(lock), before(of(lock).own_rules(), end)));
}

int readmost_rwlock_downgrade(readmost_rwlock_t* lock) noexcept {
  if (!is_written(of(lock))) return refuse_release(of(lock));
  downgrade(of(lock), of(lock).own_rules());
  return 0;
}

// --- State ---------------------------------------------------------------------------------------

int readmost_rwlock_held(const readmost_rwlock_t* lock) noexcept {
  const rwlock& l = of(lock);
  const std::uint64_t state = l.state.load(platform::relaxed);
  const int active = active_holds(state);
  if (active != READMOST_NOT_HELD || !may_be_in_slots(state)) return active;
  if (passive_holds(domains[l.domain], &l, nullptr, 0) != 0) return READMOST_HELD_FOR_READING;
  // A thread that exits, or another one for it, may have moved its hold from a slot to the count
  // meanwhile: it counts first, and (L) pairs with the (D) by which it then clears the slot.
  return active_holds(l.state.load(platform::relaxed));
}

// --- Hints and domains ---------------------------------------------------------------------------

void readmost_online() noexcept {
  online();
}

void readmost_offline() noexcept {
  offline();
}

int readmost_domain_create(readmost_domain_t** domain) noexcept {
  for (readmost_domain& place : places) {
    // Acquire pairs with the release in readmost_domain_destroy().
    if (place.taken.exchange(true, platform::acquire)) continue;
    auto* made = new (place.memory) lock_domain;
    if (made->is_separate()) {
      *domain = &place;
      return 0;
    }
    made->~lock_domain();
    place.taken.store(false, platform::release);
    return EAGAIN;
  }
  return EAGAIN;
}

int readmost_domain_destroy(readmost_domain_t* domain) noexcept {
  if (domain == nullptr) return EINVAL;
  domain->inside().~lock_domain();
  domain->taken.store(false, platform::release);
  return 0;
}

void readmost_domain_online(readmost_domain_t* domain) noexcept {
  domain != nullptr ? domain->inside().online() : online();
}

void readmost_domain_offline(readmost_domain_t* domain) noexcept {
  domain != nullptr ? domain->inside().offline() : offline();
}

const char* readmost_version() noexcept {
  return READMOST_VERSION;
}
}

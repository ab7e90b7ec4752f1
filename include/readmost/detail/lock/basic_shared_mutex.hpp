// SPDX-License-Identifier: Apache-2.0
// The common base of all C++ lock classes: the members of std::shared_mutex, upgrade and downgrade.
#pragma once

#include <readmost/detail/lock/read_lock.hpp>

namespace readmost::detail {

// Says which domain the locks of a class belong to.
struct in_default_domain {
  static constexpr unsigned number(const rwlock&) noexcept { return 0; }
};
struct in_own_domain {
  static unsigned number(const rwlock& lock) noexcept { return lock.domain; }
};

// A reader-writer lock. shared_mutex.hpp documents its guarantees and costs.
template <class Membership>
class basic_shared_mutex {
 public:
  basic_shared_mutex(const basic_shared_mutex&) = delete;
  basic_shared_mutex& operator=(const basic_shared_mutex&) = delete;

  // --- alone -----------------------------------------------------------------------------------

  // Blocks until the calling thread holds the lock alone.
  void lock() noexcept {
    if (!try_lock_exclusive_fast(core_, me(), likely_free<true>(core_))) {
      lock_exclusive_slow(core_, core_.own_rules());
    }
  }

  // Takes the lock alone if no thread holds it. Does not block. While another writer finds out
  // whether it may enter, this one spins for a bounded number of instructions, then fails.
  [[nodiscard]] bool try_lock() noexcept {
    return try_lock_fast() ||
           lock_exclusive_slow(core_, at_once(core_.own_rules())) == outcome::acquired;
  }

  // Precondition: the calling thread holds the lock alone.
  void unlock() noexcept {
    if (!try_unlock_exclusive_fast<true>(core_)) unlock_exclusive_slow(core_, core_.own_rules());
  }

  // --- shared ----------------------------------------------------------------------------------

  // Blocks until the calling thread shares the lock with other readers.
  void lock_shared() noexcept {
    if (!is_biased(core_)) [[unlikely]]
      return lock_shared_actively();
    const std::size_t home = home_slot(&core_);
    const passive_attempt attempt = lock_shared_at_home(core_, me(), home);
    if (attempt == passive_attempt::acquired) [[likely]]
      return;
    attempt == passive_attempt::unavailable ? lock_shared_nested(home)
                                            : lock_shared_at_last(attempt);
  }

  // Shares the lock if no writer holds it and no waiting writer is preferred.
  [[nodiscard]] bool try_lock_shared() noexcept {
    return try_lock_shared_fast() ||
           lock_shared_slow(core_, at_once(core_.own_rules())) == outcome::acquired;
  }

  // Precondition: the calling thread holds the lock shared.
  void unlock_shared() noexcept {
    if (has_nested_holds(me())) [[unlikely]]
      return unlock_shared_nested();
    const passive_release how =
        unlock_shared_at_home(core_, me(), [this]() -> const domain& { return mine(); });
    if (how == passive_release::done) [[likely]]
      return;
    how == passive_release::unavailable ? unlock_shared_actively() : report_release_at_home();
  }

  // --- from one to the other (FCP 7.2) -----------------------------------------------------------

  // Precondition of both: the calling thread holds the lock shared, once, and took it itself. True:
  // it now holds the lock alone instead, and no writer was inside in between. False: it holds the
  // lock shared as before.
  //
  // upgrade() waits until all other readers have left, ahead of every waiting writer; except under
  // reader preference it keeps new readers out meanwhile. False at once if another thread is
  // upgrading: each would wait for the other's hold, so the second has to release its own and start
  // again with lock(). Also false if the caller holds the lock more than once, which is known of a
  // thread that has at most 14 holds of all locks. Cost: about that of a write lock; without other
  // readers one compare-and-swap, or one consensus if the lock is biased.
  [[nodiscard]] bool upgrade() noexcept {
    return readmost::detail::upgrade(core_, core_.own_rules()) == outcome::acquired;
  }

  // The same without waiting: false also if other readers are inside.
  [[nodiscard]] bool try_upgrade() noexcept {
    return readmost::detail::upgrade(core_, at_once(core_.own_rules())) == outcome::acquired;
  }

  // Precondition: the calling thread holds the lock alone. Afterwards it holds it shared, and no
  // other writer was inside in between. Never blocks.
  void downgrade() noexcept { readmost::detail::downgrade(core_, core_.own_rules()); }

 protected:
  constexpr explicit basic_shared_mutex(preference prefers, unsigned domain = 0) noexcept
      : core_{.domain = static_cast<std::uint8_t>(domain), .traits = rwlock::trait_of(prefers)} {}
  ~basic_shared_mutex() = default;

  bool try_lock_fast() noexcept {
    return try_lock_exclusive_fast(core_, me(), core_.state.load(platform::relaxed));
  }
  bool try_lock_shared_fast() noexcept {
    passive_attempt attempt = passive_attempt::unavailable;
    if (is_biased(core_)) {
      attempt = lock_shared_at_home(core_, me(), home_slot(&core_));
      if (attempt == passive_attempt::acquired) return true;
    }
    return try_lock_shared_after(attempt);
  }

  rwlock core_;

 private:
  thread_record& me() const noexcept { return my_record(Membership::number(core_)); }
  const domain& mine() const noexcept { return domains[Membership::number(core_)]; }
  auto own_rules() const noexcept {
    return [this] { return core_.own_rules(); };
  }

  // Out of line, as read_lock.hpp says.
  [[gnu::noinline]] void lock_shared_actively() noexcept {
    switch (readmost::detail::lock_shared_actively<true>(core_, me())) {
      case active_attempt::acquired:
        return;
      case active_attempt::account_due:
        return update_account(core_, core_.own_rules());
      case active_attempt::unavailable:
        return lock_shared_at_last(passive_attempt::unavailable);
    }
  }
  [[gnu::noinline]] void lock_shared_nested(std::size_t home) noexcept {
    const passive_attempt attempt = lock_shared_in_first_nested(core_, me(), home);
    if (attempt != passive_attempt::acquired) lock_shared_at_last(attempt);
  }
  [[gnu::noinline]] void lock_shared_at_last(passive_attempt attempt) noexcept {
    if (lock_shared_after(attempt, core_, me(), own_rules())) return;
    while (lock_shared_slow(core_, core_.own_rules()) == outcome::overflow) platform::yield();
  }
  [[gnu::noinline]] bool try_lock_shared_after(passive_attempt attempt) noexcept {
    return lock_shared_after(attempt, core_, me(), own_rules());
  }

  [[gnu::noinline]] void unlock_shared_nested() noexcept {
    const passive_release how = unlock_shared_in_first_nested(core_, me(), mine());
    if (how == passive_release::stacked) return unlock_shared_at_last();
    if (how == passive_release::report_nested) {
      after_passive_release(core_, me(), index_of_release(core_, how));
    }
  }
  [[gnu::noinline]] void unlock_shared_actively() noexcept {
    if (!try_unlock_shared_active<true>(core_, me())) unlock_shared_at_last();
  }
  [[gnu::noinline]] void unlock_shared_at_last() noexcept { unlock_shared_slow(core_); }
  [[gnu::noinline]] void report_release_at_home() noexcept {
    after_passive_release(core_, me(), home_slot(&core_));
  }
};

}  // namespace readmost::detail

// SPDX-License-Identifier: Apache-2.0
// The implementation of bravo<Lock>: readers' slots, the bias, revocation. The contract is in
// bravo.hpp.
#pragma once

#include <chrono>
#include <readmost/detail/bravo/bias_policies.hpp>
#include <readmost/detail/bravo/visible_readers.hpp>
#include <readmost/detail/threads/mutex.hpp>
#include <type_traits>
#include <utility>

namespace readmost::detail {

template <class Lock>
concept has_shared_mode = requires(Lock& lock) {
  lock.lock_shared();
  lock.unlock_shared();
};

struct nothing {};

struct no_writers_queue {
  static void unlock() noexcept {}
};

// Policy: see bravo_policy in bravo.hpp.
template <class Lock, class Policy>
class basic_bravo {
  static constexpr bool over_mutex = !has_shared_mode<Lock>;

 public:
  constexpr basic_bravo() = default;
  template <class... Arguments>
    requires(sizeof...(Arguments) > 0)
  constexpr explicit basic_bravo(Arguments&&... arguments)
      : underlying_(std::forward<Arguments>(arguments)...) {}
  // Precondition: no thread holds the lock, and every call of unlock() has returned (readers may
  // enter through their slots before it returns).
  ~basic_bravo() = default;
  basic_bravo(const basic_bravo&) = delete;
  basic_bravo& operator=(const basic_bravo&) = delete;

  // --- alone -----------------------------------------------------------------------------------

  void lock() noexcept(noexcept(std::declval<Lock&>().lock())) {
    enter_alone(
        never,
        [](auto& queue) {
          queue.lock();
          return true;
        },
        [this] {
          underlying_.lock();
          return true;
        });
  }

  // False if a thread holds the lock; then the bias is as before.
  [[nodiscard]] bool try_lock() noexcept(noexcept(std::declval<Lock&>().try_lock())) {
    return enter_alone(
        at_once, [](auto& queue) { return queue.try_lock(); },
        [this] { return static_cast<bool>(underlying_.try_lock()); });
  }

  // Precondition: the calling thread holds the lock alone.
  void unlock() noexcept(noexcept(std::declval<Lock&>().unlock())) {
    if (word_.load(platform::relaxed) == barred) {
      // (BR12) Release as (BR8).
      word_.store(bias_.is_kept() ? biased : unbiased, at(letter::BR12, platform::release));
    }
    underlying_.unlock();
    queue_.unlock();
  }

  // --- shared ----------------------------------------------------------------------------------

  void lock_shared() {
    if (!enter_through_slot()) [[unlikely]] {
      lock_shared_otherwise();
    }
  }

  [[nodiscard]] bool try_lock_shared() {
    return enter_through_slot() ||
           share_otherwise([this] { return static_cast<bool>(try_lock_underlying_shared()); });
  }

  // Precondition: the calling thread holds the lock shared.
  void unlock_shared() {
    visible_reader* const reader = known_reader();
    if (reader == nullptr || reader->holds == 0 || !leave_through_slot(*reader)) [[unlikely]] {
      unlock_underlying_shared();
    }
  }

  // --- timed, if Lock is ------------------------------------------------------------------------

  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& wait)
    requires requires(Lock& lock) { lock.try_lock_for(wait); }
  {
    return try_lock_until(std::chrono::steady_clock::now() + wait);
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& end)
    requires requires(Lock& lock) { lock.try_lock_until(end); }
  {
    const auto late = [&] { return Clock::now() >= end; };
    return enter_alone(
        late, [&](auto& queue) { return queue.lock_unless(late, &slice); },
        [&] { return static_cast<bool>(underlying_.try_lock_until(end)); });
  }
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_shared_for(const std::chrono::duration<Rep, Period>& wait)
    requires requires(Lock& lock) { lock.try_lock_for(wait); }
  {
    return enter_through_slot() || try_lock_shared_until(std::chrono::steady_clock::now() + wait);
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration>& end)
    requires requires(Lock& lock) { lock.try_lock_until(end); }
  {
    return enter_through_slot() || share_otherwise([&] {
             if constexpr (over_mutex) {
               return static_cast<bool>(underlying_.try_lock_until(end));
             } else {
               return static_cast<bool>(underlying_.try_lock_shared_until(end));
             }
           });
  }

  // --- extensions ------------------------------------------------------------------------------

  // For members that only the underlying lock has. Readers do not notice its being locked.
  Lock& underlying() noexcept { return underlying_; }
  const Lock& underlying() const noexcept { return underlying_; }

  // A hint: whether the next reader would enter through a slot.
  bool is_biased() const noexcept { return word_.load(platform::relaxed) == biased; }

 private:
  // The values of `word_`.
  static constexpr std::uint32_t unbiased = 0;
  static constexpr std::uint32_t biased = 1;
  // Unbiased, and no reader may set the bias: the writer that revoked it has not left yet.
  static constexpr std::uint32_t barred = 2;

  static constexpr std::uint64_t slice = 1'000'000;
  static constexpr auto never = [] { return false; };
  static constexpr auto at_once = [] { return true; };

  // --- Contents of a slot ---
  static constexpr std::uint64_t one_hold =
      Policy::by_consensus ? std::uint64_t{1} << number_shift : 1;
  static constexpr std::uint64_t all_holds =
      Policy::by_consensus ? highest_number << number_shift : 7;

  std::uint64_t address() const noexcept {
    return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(this));
  }
  // Without the count of holds.
  std::uint64_t held_by(const visible_reader& reader) const noexcept {
    return Policy::by_consensus ? address() : reader.number | address();
  }
  // An address with more bits than a slot has would be taken for another one.
  bool may_be_biased() const noexcept { return (address() & ~lock_in_slot) == 0; }

  // --- The slots of a reader ---

  std::uint32_t hash(const visible_reader& reader) const noexcept {
    return mix32(Policy::spreads_threads ? address()
                                         : address() ^ std::uint64_t{reader.mixed_number} << 16);
  }
  static visible_slot& first_slot(slots_now in, std::uint32_t hash,
                                  const visible_reader& reader) noexcept {
    if constexpr (Policy::spreads_threads) {
      const auto number = static_cast<std::uint32_t>(reader.number >> number_shift);
      return in.slots[(number << 3 | hash >> 29) & in.mask];
    } else {
      return in.slots[hash & in.mask];
    }
  }
  static visible_slot& second_slot(slots_now in, std::uint32_t hash,
                                   const visible_reader& reader) noexcept {
    if constexpr (Policy::spreads_threads) {
      const auto number = static_cast<std::uint32_t>(reader.number >> number_shift);
      return in.slots[(number << 3 | (hash >> 29 ^ 1)) & in.mask];
    } else {
      return in.slots[hash >> 16 & in.mask];
    }
  }
  std::size_t eighth() const noexcept { return home_slot(this); }

  // Calls visit(slot) for each slot that may contain a hold of the reader, the likeliest first,
  // until it returns true.
  template <class Visit>
  bool any_slot(const visible_reader& reader, Visit visit) noexcept {
    if constexpr (Policy::by_consensus) {
      const std::size_t home = eighth();
      if (visit(reader.own->slot[home])) return true;
      if constexpr (Policy::second_probe) {
        for (std::size_t i = 1; i < slots_in_line; ++i) {
          if (visit(reader.own->slot[(home + i) % slots_in_line])) return true;
        }
      }
      return false;
    } else {
      const std::uint32_t hashed = hash(reader);
      return !table_.for_each_array([&](visible_slot* slots, std::uint32_t count) {
        const slots_now in{slots, count - 1};
        return !visit(first_slot(in, hashed, reader)) &&
               !(Policy::second_probe && visit(second_slot(in, hashed, reader)));
      });
    }
  }

  // --- Readers through slots ---

  bool enter_through_slot() noexcept {
    if (word_.load(platform::relaxed) != biased) return false;
    visible_reader* const reader = known_reader();
    if (reader == nullptr) return false;
    if constexpr (Policy::by_consensus) {
      return publish(reader->own->slot[eighth()], *reader) == attempt::entered;
    } else {
      return publish(first_slot(table_.newest(), hash(*reader), *reader), *reader) ==
             attempt::entered;
    }
  }

  enum class attempt { entered, slot_taken, too_late };

  attempt publish(visible_slot& slot, visible_reader& reader) noexcept {
    const std::uint64_t mine = held_by(reader);
    std::uint64_t found = 0;
    // Counted first: a signal handler that locks again finds this thread's hold in the slot and
    // releases its own there.
    ++reader.holds;
    platform::signal_fence();
    bool published = false;
    if constexpr (Policy::by_consensus) {
      found = slot.load(platform::relaxed);
      if (found == 0) {
        // (BR15) As (BR7), for the previous hold of the slot.
        slot.store(mine, at(letter::BR15, platform::release));
        // (BR16) Light fence: the slot before the looks at the bias and the own mode. Made a full
        // one by the heavy fence (H) in consensus.cpp, by a report (E1, E2) or by coming online
        // (F), whichever the revocation relied on.
        platform::light_fence(letter::BR16);
        published = true;
      }
    } else {
      // (BR1) Pairs with (BR7) of the slot's last reader: its section happens before whatever reads
      // a value that (BR5) or (BR6) stores here.
      published = slot.compare_exchange_strong(found, mine, at(letter::BR1, platform::acquire),
                                               platform::relaxed);
      // (BR2) The slot before the look at the bias. Pairs with (BR9).
      if (published) platform::full_fence_after_rmw(letter::BR2);
    }
    if (published) [[likely]] {
      if (may_stay()) [[likely]] {
        // (BR5) As in nest(). Up to here the slot had no hold, so that a signal handler that found
        // it did not rely on it.
        slot.store(mine + one_hold, at(letter::BR5, platform::release));
        if constexpr (Policy::bias::counts_reads) count_read(reader);
        return attempt::entered;
      }
      // (BR4) As (BR7), for the slot's last reader. A writer may have taken this for a hold.
      slot.store(0, at(letter::BR4, platform::release));
      platform::signal_fence();
      --reader.holds;
      return attempt::too_late;
    }
    platform::signal_fence();
    --reader.holds;
    return nest(slot, found, mine) ? attempt::entered : attempt::slot_taken;
  }

  void count_read(visible_reader& reader) const noexcept {
    const std::size_t mine = eighth();
    if (reader.lock_read[mine] != address()) [[unlikely]] {
      reader.lock_read[mine] = address();
      reader.reads[mine] = 0;
    }
    ++reader.reads[mine];
  }

  // Whether the bias is still set and, with own slots, writers include this thread in rounds.
  bool may_stay() const noexcept {
    if (is_mutant(mutant::bravo_without_recheck)) return true;
    // (BR3) Pairs with (BR8), (BR11), (BR12): the last writer's writes are visible.
    if (word_.load(at(letter::BR3, platform::acquire)) != biased) return false;
    return !Policy::by_consensus || is_online(my_record()) ||
           is_mutant(mutant::bravo_mode_unchecked);
  }

  // Adds a hold to a slot that already has one of this lock and thread.
  static bool nest(visible_slot& slot, std::uint64_t found, std::uint64_t mine) noexcept {
    if ((found & ~all_holds) != mine || (found & all_holds) == 0 || is_full(found)) return false;
    // (BR5) As (BR7), for the slot's last reader: a writer may read this store instead of that one.
    slot.store(found + one_hold, at(letter::BR5, platform::release));
    return true;
  }

  static constexpr bool is_full(std::uint64_t slot) noexcept {
    return (slot & all_holds) == all_holds;
  }

  // Removes one hold from the slot if it belongs to this lock and thread.
  bool unnest(visible_slot& slot, visible_reader& reader) noexcept {
    const std::uint64_t found = slot.load(platform::relaxed);
    if ((found & ~all_holds) != held_by(reader) || (found & all_holds) == 0) return false;
    if ((found & all_holds) != one_hold && !is_mutant(mutant::bravo_forgets_nesting)) {
      // (BR6) As (BR5).
      slot.store(found - one_hold, at(letter::BR6, platform::release));
      return true;
    }
    // (BR7) Pairs with (BR10): this section happens before a writer that finds the slot free.
    slot.store(0, at(letter::BR7, platform::release));
    platform::signal_fence();
    --reader.holds;
    if constexpr (Policy::by_consensus) report_when_asked();
    return true;
  }

  static void report_when_asked() noexcept {
    thread_record& me = my_record();
    if (default_domain.version.load(platform::relaxed) != me.seen.load(platform::relaxed))
        [[unlikely]] {
      report_after_release(me, nullptr);
    }
  }

  bool leave_through_slot(visible_reader& reader) noexcept {
    if constexpr (Policy::by_consensus) {
      if (unnest(reader.own->slot[eighth()], reader)) [[likely]]
        return true;
    } else {
      if (reader.holds_elsewhere == 0) [[likely]] {
        if (unnest(first_slot(table_.newest(), hash(reader), reader), reader)) [[likely]]
          return true;
      }
    }
    return leave_other_slot(reader);
  }

  [[gnu::noinline]] bool leave_other_slot(visible_reader& reader) noexcept {
    if (!Policy::by_consensus && reader.holds_elsewhere != 0 && unnest_elsewhere(reader)) {
      return true;
    }
    return any_slot(reader, [&](visible_slot& slot) { return unnest(slot, reader); });
  }

  // A thread that holds the lock through a slot may always share it again: no writer can be inside.
  bool nest_in_own_slot(visible_reader& reader) noexcept {
    if (reader.holds == 0 || is_mutant(mutant::bravo_blocks_recursion)) return false;
    const std::uint64_t mine = held_by(reader);
    bool full = false;
    const bool nested = any_slot(reader, [&](visible_slot& slot) {
      const std::uint64_t found = slot.load(platform::relaxed);
      full = full || ((found & ~all_holds) == mine && is_full(found));
      return nest(slot, found, mine);
    });
    if (nested) return true;
    if constexpr (Policy::by_consensus) return false;
    return full && nest_elsewhere(reader);
  }

  bool is_usual(const visible_slot& slot, const visible_reader& reader) noexcept {
    return any_slot(reader, [&](const visible_slot& usual) { return &usual == &slot; });
  }

  // A slot counts up to seven holds. Further holds go into any slot that is free or has been taken
  // for this purpose before. They are released first, by a search through all slots.
  [[gnu::noinline, gnu::cold]] bool nest_elsewhere(visible_reader& reader) noexcept {
    const std::uint64_t mine = held_by(reader);
    const slots_now in = table_.newest();
    for (std::uint64_t i = 0; i <= in.mask; ++i) {
      visible_slot& slot = in.slots[i];
      std::uint64_t found = slot.load(platform::relaxed);
      if (nest(slot, found, mine)) return true;
      if (found != 0 || is_usual(slot, reader)) continue;
      ++reader.holds;
      ++reader.holds_elsewhere;
      platform::signal_fence();
      if (slot.compare_exchange_strong(found, mine + one_hold, at(letter::BR1, platform::acquire),
                                       platform::relaxed)) {
        return true;
      }
      platform::signal_fence();
      --reader.holds_elsewhere;
      --reader.holds;
    }
    return false;
  }
  [[gnu::noinline, gnu::cold]] bool unnest_elsewhere(visible_reader& reader) noexcept {
    const std::uint64_t mine = held_by(reader);
    return !table_.for_each_array([&](visible_slot* slots, std::uint32_t count) {
      for (std::uint32_t i = 0; i < count; ++i) {
        if ((slots[i].load(platform::relaxed) & ~all_holds) != mine) continue;
        if (is_usual(slots[i], reader)) continue;
        const std::uint32_t before = reader.holds;
        unnest(slots[i], reader);
        if (reader.holds != before) --reader.holds_elsewhere;
        return false;
      }
      return true;
    });
  }

  // --- Slow readers ---

  [[gnu::noinline]] void lock_shared_otherwise() {
    share_otherwise([this] {
      if constexpr (over_mutex) {
        underlying_.lock();
      } else {
        underlying_.lock_shared();
      }
      return true;
    });
  }

  // Enters through another slot, or by take(), which takes the underlying lock.
  template <class Take>
  bool share_otherwise(Take take) {
    visible_reader* reader = known_reader();
    const bool is_new = reader == nullptr;
    if (is_new) reader = introduce_reader();
    if (reader != nullptr) {
      if (nest_in_own_slot(*reader)) return true;
      if (word_.load(platform::relaxed) == biased && enter_through_other_slot(*reader, is_new)) {
        return true;
      }
      if constexpr (Policy::by_consensus) report_if_asked();
    }
    if constexpr (over_mutex) {
      if (reader != nullptr && nest_in_mutex(*reader)) return true;
    }
    if (!READMOST_VARIANT(bravo_bias_without_hold, take(), (consider_bias(reader), take()))) {
      return false;
    }
    if constexpr (over_mutex) {
      // Written only by the thread that has the mutex. `mutex_reader_` comes last: from there on a
      // signal handler of this thread shares the mutex.
      mutex_holds_ = 1;
      platform::signal_fence();
      if (reader != nullptr) mutex_reader_.store(reader->record, platform::relaxed);
    }
    consider_bias(reader);
    return true;
  }

  // For a reader that has just become known, is not online, or whose first slot is taken.
  bool enter_through_other_slot(visible_reader& reader, bool is_new) noexcept {
    if constexpr (Policy::by_consensus) {
      if (!is_online(my_record())) {
        if (!come_online(my_record())) return false;
        is_new = true;
      }
      bool too_late = false;
      return any_slot(reader,
                      [&](visible_slot& slot) {
                        if (!is_new && &slot == &reader.own->slot[eighth()]) return false;
                        const attempt made = publish(slot, reader);
                        too_late = made == attempt::too_late;
                        return too_late || made == attempt::entered;
                      }) &&
             !too_late;
    } else {
      const slots_now in = table_.newest();
      const std::uint32_t hashed = hash(reader);
      visible_slot& first = first_slot(in, hashed, reader);
      attempt made = attempt::slot_taken;
      if (is_new || first.load(platform::relaxed) == 0) made = publish(first, reader);
      if (made == attempt::slot_taken) {
        table_.note_collision();
        if constexpr (Policy::second_probe) made = publish(second_slot(in, hashed, reader), reader);
      }
      return made == attempt::entered;
    }
  }

  asker asking(visible_reader* reader) const noexcept {
    // Over a mutex, a read through a slot also saves other threads the wait for the mutex.
    return {reader, address(), eighth(), over_mutex ? 5 * Policy::saved : Policy::saved};
  }

  // Precondition: the calling thread holds the underlying lock, at least for reading.
  void consider_bias(visible_reader* reader) noexcept {
    if (word_.load(platform::relaxed) != unbiased || !may_be_biased()) return;
    if (!bias_.is_due(asking(reader))) return;
    if constexpr (Policy::by_consensus) {
      if (reader == nullptr || !come_online(my_record())) return;
    }
    if constexpr (Policy::writers_queue) {
      // Not while a writer revokes, which may have begun already.
      std::uint32_t expected =
          READMOST_VARIANT(bravo_bias_while_barred, unbiased, word_.load(platform::relaxed));
      word_.compare_exchange_strong(expected, biased, at(letter::BR8, platform::release),
                                    platform::relaxed);
    } else {
      // (BR8) Pairs with (BR3): the last writer's writes happen before this hold.
      word_.store(biased, at(letter::BR8, platform::release));
    }
  }

  bool try_lock_underlying_shared() {
    if constexpr (over_mutex) {
      return underlying_.try_lock();
    } else {
      return underlying_.try_lock_shared();
    }
  }

  // A reader that has the mutex takes another hold of it.
  bool nest_in_mutex(const visible_reader& reader) noexcept {
    if (mutex_reader_.load(platform::relaxed) != reader.record ||
        is_mutant(mutant::bravo_blocks_recursion)) {
      return false;
    }
    ++mutex_holds_;
    return true;
  }

  void unlock_underlying_shared() {
    if constexpr (over_mutex) {
      if (mutex_holds_ != 1) {
        --mutex_holds_;
        return;
      }
      // First: from here on a signal handler of this thread no longer shares the mutex.
      mutex_reader_.store(nullptr, platform::relaxed);
      platform::signal_fence();
      mutex_holds_ = 0;
      underlying_.unlock();
    } else {
      underlying_.unlock_shared();
    }
  }

  // --- Writers ---

  // queue() takes the writers' queue, take() the underlying lock; each returns whether it did. If
  // one did not, this returns false and the lock is as before.
  template <class GivesUp, class Queue, class Take>
  bool enter_alone(GivesUp gives_up, [[maybe_unused]] Queue queue, Take take) {
    if constexpr (Policy::writers_queue) {
      if (!queue(queue_)) return false;
      backing_out undone(*this);
      const bool was_biased = word_.load(platform::relaxed) == biased;
      if (was_biased) {
        if (!revoke(gives_up)) return false;
        undone.give_back_bias = true;
      }
      if (!take()) return false;
      // A reader inside may have set the bias meanwhile.
      if (!was_biased && !find_nobody_in_slots(gives_up)) return false;
      undone.lock = nullptr;
      return true;
    } else {
      return take() && find_nobody_in_slots(gives_up);
    }
  }

  // Precondition: the calling thread has the underlying lock. If this returns false, it no longer
  // has.
  template <class GivesUp>
  bool find_nobody_in_slots(GivesUp gives_up) {
    if (word_.load(platform::relaxed) != biased) {
      bias_.wrote();
      return true;
    }
    if (revoke(gives_up)) return true;
    underlying_.unlock();
    return false;
  }

  // Undoes the steps of a writer that has the queue, also when the underlying lock throws.
  struct backing_out {
    explicit backing_out(basic_bravo& of) noexcept : lock(&of) {}
    ~backing_out() {
      if (lock == nullptr) return;
      // (BR11) As (BR8). No writer can be inside, since this one has the queue.
      if (give_back_bias) lock->word_.store(biased, at(letter::BR11, platform::release));
      lock->queue_.unlock();
    }
    backing_out(const backing_out&) = delete;
    backing_out& operator=(const backing_out&) = delete;

    basic_bravo* lock;  // null when there is nothing to undo
    bool give_back_bias = false;
  };

  // Revokes the bias and waits until no thread holds the lock through a slot. Returns false, with
  // the lock biased as before, when gives_up() returns true first. Precondition: no other writer is
  // here.
  template <class GivesUp>
  bool revoke(GivesUp gives_up) noexcept {
    const bool timed = bias_.times_next();
    const std::uint64_t began = timed ? platform::now() : 0;
    std::uint64_t waited = 0;
    word_.exchange(barred, platform::relaxed);
    const bool gone = is_mutant(mutant::bravo_without_scan) || await_departures(gives_up, waited);
    const std::uint64_t ended = timed ? platform::now() : 0;
    bias_.revoked(asking(known_reader()), {began, ended, waited});
    // (BR11) As (BR8): a reader may read this store instead of that one.
    if (!gone) word_.store(biased, at(letter::BR11, platform::release));
    return gone;
  }

  template <class GivesUp>
  bool await_departures(GivesUp gives_up, std::uint64_t& waited) noexcept {
    if constexpr (Policy::by_consensus) {
      waited += make_own_slots_visible();
      return for_each_own_slots([&](visible_slot* slots, std::size_t count) {
        return are_free(slots, count, gives_up, waited);
      });
    } else {
      // (BR9) The bias is cleared before the slots are read. Pairs with (BR2): either the reader
      // finds the bias cleared, or this thread finds its slot.
      platform::full_fence_after_rmw(letter::BR9);
      return table_.for_each_array([&](visible_slot* slots, std::size_t count) {
        return are_free(slots, count, gives_up, waited);
      });
    }
  }

  template <class GivesUp>
  bool are_free(visible_slot* slots, std::size_t count, GivesUp gives_up,
                std::uint64_t& waited) noexcept {
    const std::uint64_t lock = address();
    const scan_with kernel = Policy::vector_scan ? best_scan() : scan_with::scalar;
    for (std::size_t i = 0; (i = find_hold(slots, i, count, lock, kernel)) < count; ++i) {
      departure_wait wait;
      const std::uint64_t began = platform::now();
      // (BR10) As in find_hold().
      while (names(slots[i].load(at(letter::BR10, platform::acquire)), lock)) {
        if (gives_up()) return false;
        wait.turn();
      }
      waited += platform::now() - began;
    }
    return true;
  }

  // First the word that readers load; only writers and slow readers write the rest. A slot has no
  // room for the low bits of an address.
  alignas(8) platform::atomic<std::uint32_t> word_{unbiased};
  [[no_unique_address]] typename Policy::bias bias_;
  [[no_unique_address]] std::conditional_t<Policy::writers_queue, mutex, no_writers_queue> queue_;
  // Over a mutex: the reader that has it, and the number of its holds.
  [[no_unique_address]] std::conditional_t<over_mutex, platform::variable<std::uint32_t>, nothing>
      mutex_holds_{};
  [[no_unique_address]] std::conditional_t<over_mutex, platform::atomic<const thread_record*>,
                                           nothing> mutex_reader_{};
  Lock underlying_;
  [[no_unique_address]] typename Policy::table table_;
};

}  // namespace readmost::detail

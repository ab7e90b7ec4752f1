// SPDX-License-Identifier: Apache-2.0
// A minimal reader-writer lock, correct or with one defect: each guarantee that the tests and the
// checker's scenarios verify is missing in one of them.
#pragma once

#include "rivals/home.hpp"

namespace rivals::test {

enum class defect : std::uint8_t {
  none,
  reader_does_not_look,      // at the writer
  writer_does_not_wait,      // for readers
  writers_together,          // several may be inside
  readers_apart,             // only one may be inside
  first_to_leave_is_last,    // of the readers
  no_fence,                  // between a reader's mark and its check
  relaxed_unlock,            // of the writer
  relaxed_departure,         // of the reader
  try_goes_past_readers,     // a writer's
  try_goes_past_writer,      // a reader's
  failed_try_leaves_a_mark,  // a writer's
  try_waits,                 // a writer's
  one_for_all,               // all locks have one state
  early_threads_only,        // threads above a number are not counted
  seen_by_itself,            // a reader that comes in again waits for the writer that waits for it
};

// The state of one lock, and the state that all locks share under defect::one_for_all.
struct broken_state {
  platform::atomic<std::uint32_t> writing{0};
  platform::atomic<std::uint32_t> readers{0};
};
inline constinit broken_state common_state{};

template <defect Defect>
class small_rwlock : immovable<small_rwlock<Defect>> {
 public:
  void lock() noexcept {
    wait_until([this] { return begin_writing(); });
    if (Defect != defect::writer_does_not_wait) {
      wait_until([this] { return state().readers.load(platform::seq_cst) == 0; });
    }
  }
  bool try_lock() noexcept {
    if (Defect == defect::try_waits) {
      lock();
      return true;
    }
    if (!begin_writing()) return false;
    if (Defect == defect::try_goes_past_readers || state().readers.load(platform::seq_cst) == 0) {
      return true;
    }
    if (Defect != defect::failed_try_leaves_a_mark) unlock();
    return false;
  }
  void unlock() noexcept {
    state().writing.store(0,
                          Defect == defect::relaxed_unlock ? platform::relaxed : platform::release);
  }

  void lock_shared() noexcept {
    if (Defect == defect::readers_apart) {
      lock();
      return;
    }
    if (Defect != defect::seen_by_itself && has_note(this)) {
      arrive();
      note(this, 0);
      return;
    }
    retry([this] { return enter(); },
          [this] { return state().writing.load(platform::relaxed) != 0; });
    note(this, 0);
  }
  bool try_lock_shared() noexcept {
    if (Defect == defect::readers_apart) return try_lock();
    if (!enter()) {
      if (Defect != defect::try_goes_past_writer) return false;
      arrive();
    }
    note(this, 0);
    return true;
  }
  void unlock_shared() noexcept {
    if (Defect == defect::readers_apart) {
      unlock();
      return;
    }
    take_note(this);
    depart();
  }

 private:
  broken_state& state() noexcept { return Defect == defect::one_for_all ? common_state : own_; }

  bool begin_writing() noexcept {
    if (Defect == defect::writers_together) {
      state().writing.store(1, platform::seq_cst);
      return true;
    }
    std::uint32_t nobody = 0;
    return state().writing.load(platform::relaxed) == 0 &&
           state().writing.compare_exchange_strong(nobody, 1, platform::seq_cst, platform::relaxed);
  }

  bool enter() noexcept {
    arrive();
    if (Defect == defect::reader_does_not_look ||
        state().writing.load(Defect == defect::no_fence ? platform::acquire : platform::seq_cst) ==
            0) {
      return true;
    }
    depart();
    return false;
  }

  void arrive() noexcept {
    auto& readers = state().readers;
    if (Defect == defect::early_threads_only && my_number() >= 8) return;
    if (Defect == defect::first_to_leave_is_last) {
      readers.store(1, platform::seq_cst);
    } else if (Defect == defect::no_fence) {
      readers.store(readers.load(platform::relaxed) + 1, platform::release);
    } else {
      readers.fetch_add(1, platform::seq_cst);
    }
  }
  void depart() noexcept {
    auto& readers = state().readers;
    if (Defect == defect::early_threads_only && my_number() >= 8) return;
    if (Defect == defect::first_to_leave_is_last) {
      readers.store(0, platform::release);
    } else if (Defect == defect::no_fence) {
      readers.store(readers.load(platform::relaxed) - 1, platform::release);
    } else {
      readers.fetch_sub(
          1, Defect == defect::relaxed_departure ? platform::relaxed : platform::release);
    }
  }

  broken_state own_;
};

}  // namespace rivals::test

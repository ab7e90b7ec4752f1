// SPDX-License-Identifier: Apache-2.0
// Data that RCU's readers read in several steps without ever seeing half an update: the pattern
// Global Version Number, with Stall Updates (docs/patterns/).
//
//   struct directory {
//     readmost::rcu_pointer<const file> slots[8];
//   };
//   readmost::rcu_versioned<directory> files;
//
//   std::size_t total = files.read([](const directory& now) {
//     std::size_t sum = 0;
//     for (const auto& slot : now.slots) {
//       if (const file* found = slot.load()) sum += found->size;
//     }
//     return sum;
//   });
//   files.update([](directory& now) {
//     auto moved = std::unique_ptr<const file>(now.slots[0].exchange(nullptr));
//     now.slots[1].assign(std::move(moved));
//   });
//
// read(f) calls f in a read section, and again if an update has come in between; the result is that
// of a call that met none. It is fresh: an update that ended before the call of read() is seen.
//
// What update() changes in T must be what readers may read meanwhile: std::atomic (relaxed will
// do), rcu_pointer, rcu_list, rcu_hash_map, and what these lead to. f meets such data half updated,
// and must return all the same; what it returns or throws then is discarded. It must have no other
// effect, and not keep pointers into the data beyond its end. So an element must not be moved from
// one chain to another, which would lead a reader astray: put a copy into the other one.
//
// Stalls. A reader that fails `patience` times in a row holds updates off: none begins until it has
// succeeded, which its next call of f does. So a reader calls f at most `patience` + 1 times,
// however fast the writers are, and several such readers go on side by side.
//
// The child of a fork must not use the object if another thread may have been updating it.
//
// Source: RCU 4.2.4 (Global Version Number), 4.2.5 (Stall Updates). In the paper each element has a
// version too; here one number suffices, because it changes at both ends of an update.
#pragma once

#include <readmost/detail/platform/cpp20.h>

#include <concepts>
#include <limits>
#include <mutex>
#include <readmost/detail/platform/exceptions.hpp>
#include <readmost/detail/rcu/version.hpp>
#include <readmost/rcu_in_domain.hpp>
#include <type_traits>
#include <utility>

namespace readmost {

// `In`: the domain of the readers (rcu_in_domain.hpp), in which what T contains has its readers,
// too.
template <class T, class In = rcu_in_default_domain>
class rcu_versioned : private In {
 public:
  using value_type = T;

  // For the patience of readers: they retry for ever, and a writer without a pause starves them.
  static constexpr unsigned never_stall = std::numeric_limits<unsigned>::max();
  static constexpr unsigned usual_patience = 16;

  rcu_versioned()
    requires std::default_initializable<In>
  = default;
  explicit rcu_versioned(In in) : In(in) {}
  // Construct the data from `arguments`.
  template <class... Arguments>
    requires std::default_initializable<In>
  explicit rcu_versioned(std::in_place_t, Arguments&&... arguments)
      : data_(std::forward<Arguments>(arguments)...) {}
  template <class... Arguments>
  rcu_versioned(In in, std::in_place_t, Arguments&&... arguments)
      : In(in), data_(std::forward<Arguments>(arguments)...) {}
  rcu_versioned(const rcu_versioned&) = delete;
  rcu_versioned& operator=(const rcu_versioned&) = delete;
  // Precondition: no thread uses the data any more.
  ~rcu_versioned() = default;

  rcu_domain& domain() const noexcept { return In::domain(); }

  // Returns f(data) as of one moment between two updates; see above for what f may do. Rethrows
  // what f throws. Thread safety: any thread. Progress: waits for an update that is under way, but
  // not inside a section of its own; if the caller is inside one, no update may wait for a grace
  // period. Cost: a read section and two loads. Not signal-safe: a handler could wait for the
  // thread that it has interrupted.
  template <class F>
  std::invoke_result_t<F&, const T&> read(F f) const {
    return read(std::move(f), usual_patience);
  }
  // The same with a patience of its own, from 0.
  template <class F>
  std::invoke_result_t<F&, const T&> read(F f, unsigned patience) const {
    using result = std::invoke_result_t<F&, const T&>;
    static_assert(!std::is_reference_v<result>, "f returns a copy: the section is over by then");
    stall held(version_);
    for (unsigned failures = 0;; ++failures) {
      if (failures >= patience && patience != never_stall) [[unlikely]] {
        held.begin();
      }
      const std::uint64_t before = version_.number_at_rest();
      const std::scoped_lock section(domain());
      READMOST_TRY {
        if constexpr (std::is_void_v<result>) {
          f(std::as_const(data_));
          if (version_.is_still(before)) [[likely]] {
            return;
          }
        } else {
          result found = f(std::as_const(data_));
          if (version_.is_still(before)) [[likely]] {
            return found;
          }
        }
      }
      READMOST_CATCH(...) {
        if (version_.is_still(before)) READMOST_RETHROW();
      }
    }
  }

  // Returns f(data), during which no other update is under way and after which no reader has seen
  // a part of it. f leaves the data complete also where it throws. It must not call read() or
  // update() of the same object, nor wait for a thread that is in read(). Keep it short: readers
  // wait. Thread safety: any number of threads, one after the other. Waits for other updates and
  // for readers that hold updates off.
  template <class F>
  std::invoke_result_t<F&, T&> update(F f) {
    const change now(version_);
    return f(data_);
  }

 private:
  // The reader's wish that no update begins.
  class stall {
   public:
    explicit stall(detail::version& of) noexcept : of_(of) {}
    ~stall() {
      if (holds_) [[unlikely]] {
        of_.let_on();
      }
    }
    stall(const stall&) = delete;
    stall& operator=(const stall&) = delete;

    void begin() noexcept {
      if (holds_) return;
      holds_ = true;
      of_.hold_off();
    }

   private:
    detail::version& of_;
    bool holds_ = false;
  };

  class change {
   public:
    explicit change(detail::version& of) noexcept : of_(of) { of_.begin_update(); }
    ~change() { of_.end_update(); }
    change(const change&) = delete;
    change& operator=(const change&) = delete;

   private:
    detail::version& of_;
  };

  mutable detail::version version_;
  T data_{};
};

// Data whose readers are in a domain that is given to the constructor.
template <class T>
using domain_rcu_versioned = rcu_versioned<T, rcu_in_domain>;

}  // namespace readmost

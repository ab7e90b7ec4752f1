// SPDX-License-Identifier: Apache-2.0
// The threads that run deleters of a domain at present. Usually one does, the executor. If a
// deleter takes long, the relief (relief.cpp) takes the executor's place, and the thread that is
// replaced finishes its deleter. A deleter that waits for others (barrier(), the end of its domain)
// may run them on the same thread, in an inner run.
#pragma once

#include "rcu/reclamation.hpp"

namespace readmost::detail {

// A number that identifies the calling thread, not 0; the same in the child of its fork.
std::int32_t identity_of_thread() noexcept;

// A thread's way through objects whose grace period is over; on its stack. Linked in the domain
// from its first object to its last. The members are of the thread that runs it; those for which
// the gate is named, of whoever has closed the gate `moving` of the domain.
class deleter_run {
 public:
  deleter_run(domain& d, reclamation& r) noexcept;
  ~deleter_run();
  deleter_run(const deleter_run&) = delete;
  deleter_run& operator=(const deleter_run&) = delete;

  // The next object; null if there is none, or if the thread has been replaced.
  retired* next() noexcept;
  // Whether others wait behind the object that next() has returned.
  bool has_more() const noexcept { return has_more_; }
  void run(retired& object, const retired_kind* kind) noexcept;
  // When it looked at the clock last.
  std::uint64_t looked_at() const noexcept { return looked_at_; }
  // The clock costs a tenth of a short deleter, so it is read after some of them.
  void look_at_clock() noexcept;
  // To be called in the end, when the account tells of all objects. False if the thread has been
  // replaced: then it must not touch the domain any more, unless it closes it.
  bool end() noexcept;

  // Precondition of the following: the gate is closed.
  deleter_run* next_run() const noexcept { return outer_; }
  deleter_run* outer_of_thread() const noexcept { return outer_of_thread_; }
  bool is_in(const reclamation& r) const noexcept { return &r_ == &r; }
  bool is_of(std::int32_t thread) const noexcept { return thread_ == thread; }
  bool is_replaced() const noexcept { return is_replaced_; }
  std::uint32_t barriers_before() const noexcept { return barriers_before_; }
  // The deleter that runs, and since when.
  const retired_kind* kind() const noexcept { return kind_; }
  std::uint64_t since() const noexcept { return since_; }
  // `counts`: it stands for the thread in `replaced`.
  void replace(bool counts) noexcept {
    is_replaced_ = true;
    counts_ = counts;
  }

  // In the child of a fork, for the runs of its thread. `takes_its_place`: it is not replaced any
  // more.
  void survive_fork(bool takes_its_place) noexcept;
  void append_to(platform::variable<deleter_run*>*& end) noexcept;

  // Of the thread alone: one of its deleters has closed the domain.
  void close() noexcept { closes_ = true; }
  bool closes() const noexcept { return closes_; }

 private:
  static constexpr unsigned most = 8;

  void link() noexcept;
  void unlink() noexcept;

  domain& d_;
  reclamation& r_;
  const std::int32_t thread_ = identity_of_thread();
  deleter_run* const outer_of_thread_;  // of any domain
  bool is_linked_ = false;
  bool was_replaced_ = false;  // as the thread has noticed
  bool has_more_ = false;
  bool closes_ = false;
  const retired_kind* some_[most];
  unsigned count_ = 0;
  std::uint64_t looked_at_ = platform::coarse_now();
  // Of the gate.
  platform::variable<const retired_kind*> kind_{};
  platform::variable<std::uint64_t> since_{};
  platform::variable<deleter_run*> outer_{};
  platform::variable<bool> is_replaced_{};
  platform::variable<bool> counts_{};
  // The barriers that need not wait for this run.
  platform::variable<std::uint32_t> barriers_before_{};
};

// For each run of the domain, innermost first. Precondition: the gate is closed.
template <class Function>
void for_each_run(const reclamation& r, Function function) noexcept {
  for (deleter_run* run = r.running; run != nullptr; run = run->next_run()) function(*run);
}

}  // namespace readmost::detail

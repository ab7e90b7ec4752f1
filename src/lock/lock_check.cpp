// SPDX-License-Identifier: Apache-2.0
#include "lock/lock_check.hpp"

#include <cstdlib>

#include "lock/held_locks.hpp"
#include "platform/choice.hpp"
#include "platform/findings.hpp"
#include "threads/parts.hpp"

namespace readmost::detail::lock_check {

constinit platform::atomic<held_locks*> first_table{nullptr};

namespace {

// --- Settings ------------------------------------------------------------------------------------

enum class setting : std::uint8_t { unread, off, reports, aborts };
constinit platform::atomic<setting> in_force{setting::unread};

setting read_setting() noexcept {
  static constexpr std::string_view names[]{"0", "1", "abort"};
  static constexpr setting meanings[]{setting::off, setting::reports, setting::aborts};
  const setting found = meanings[chosen_among(names, "READMOST_LOCK_CHECK", 0)];
  setting expected = setting::unread;
  const bool is_first = in_force.compare_exchange_strong(expected, found, platform::relaxed);
  return is_first ? found : expected;
}

setting current_setting() noexcept {
  const setting known = in_force.load(platform::relaxed);
  return known != setting::unread ? known : read_setting();
}

// --- Holds of a thread ---------------------------------------------------------------------------

// Holds that a fork's child has inherited from threads that it does not have.
constinit platform::atomic<std::uint64_t> inherited{0};
constinit platform::atomic<bool> told_of_full_table{false};

READMOST_THREAD_LOCAL held_locks* mine;
// Inside the check, in code that a signal handler may have interrupted.
READMOST_THREAD_LOCAL bool busy;
READMOST_THREAD_LOCAL bool departed;

held_locks* take_table() noexcept {
  for (held_locks* each = first_table.load(platform::acquire); each != nullptr;
       each = each->next.load(platform::relaxed)) {
    if (each->owned.load(platform::relaxed) == 0 &&
        each->owned.exchange(1, platform::acquire) == 0) {
      return each;
    }
  }
  auto* const fresh = static_cast<held_locks*>(platform::map_pages(sizeof(held_locks)));
  if (fresh == nullptr) return nullptr;
  fresh->owned.store(1, platform::relaxed);
  held_locks* head = first_table.load(platform::acquire);
  do {
    fresh->next.store(head, platform::relaxed);
  } while (!first_table.compare_exchange_weak(head, fresh, platform::acq_rel, platform::acquire));
  return fresh;
}

// What the calling thread may use of the check.
class session {
 public:
  session() noexcept {
    if (!is_on() || departed || busy) return;
    busy = true;
    platform::signal_fence();
    if (mine == nullptr) {
      mine = take_table();
      if (mine != nullptr) mine->thread.store(platform::thread_id(), platform::relaxed);
    }
    open_ = true;
  }
  ~session() {
    if (!open_) return;
    platform::signal_fence();
    busy = false;
  }
  session(const session&) = delete;
  session& operator=(const session&) = delete;

  // Null: there is nothing to check.
  held_locks* table() const noexcept { return open_ ? mine : nullptr; }

 private:
  bool open_ = false;
};

// A signal handler has interrupted the check, so its holds are not noted.
bool is_nested() noexcept {
  return is_on() && !departed && busy && mine != nullptr;
}

template <class Visit>
void for_each_hold(held_locks& of, Visit visit) noexcept {
  for (std::uint32_t i = of.used.load(platform::acquire); i-- > 0;) {
    const std::uintptr_t lock = of.holds[i].lock.load(platform::acquire);
    if (lock != 0 && !visit(of.holds[i], lock)) return;
  }
}

// The latest hold of the lock, one of that kind if there is any.
hold* find(held_locks& of, std::uintptr_t lock, hold_kind kind) noexcept {
  hold* any = nullptr;
  hold* exact = nullptr;
  for_each_hold(of, [&](hold& each, std::uintptr_t held) {
    if (held != lock) return true;
    if (any == nullptr) any = &each;
    if (each.kind.load(platform::relaxed) == kind) exact = &each;
    return exact == nullptr;
  });
  return exact != nullptr ? exact : any;
}

void lower(held_locks& of) noexcept {
  std::uint32_t used = of.used.load(platform::relaxed);
  while (used != 0 && of.holds[used - 1].lock.load(platform::relaxed) == 0) --used;
  of.used.store(used, platform::release);
}

void tell_of_full_table(const char* what) noexcept {
  text_buffer t;
  t.add("readmost: READMOST_LOCK_CHECK: %s; what is beyond is not checked\n", what);
  platform::write_text(nullptr, t.data(), t.length());
}

void add(held_locks& to, std::uintptr_t lock, hold_kind kind) noexcept {
  const std::uint32_t used = to.used.load(platform::relaxed);
  std::uint32_t place = used;
  for (std::uint32_t i = 0; i < used && place == used; ++i) {
    if (to.holds[i].lock.load(platform::relaxed) == 0) place = i;
  }
  if (place == held_locks::most) {
    ++to.unknown;
    if (!told_of_full_table.exchange(true, platform::relaxed)) {
      tell_of_full_table("a thread holds more than 64 locks at once");
    }
    return;
  }
  hold& free = to.holds[place];
  free.kind.store(kind, platform::relaxed);
  free.since = platform::now();
  free.where = trace_from_here();
  free.lock.store(lock, platform::release);
  if (place == used) to.used.store(used + 1, platform::release);
}

// --- Reports -------------------------------------------------------------------------------------

const char* name_of(hold_kind kind) noexcept {
  return kind == hold_kind::write ? "for writing" : "for reading";
}
const char* name_of(wait_kind kind) noexcept {
  return kind == wait_kind::write ? "for writing" : "for reading";
}

class report {
 public:
  explicit report(const char* title) noexcept : space_("/proc/self", symbol_names::mangled) {
    text_.add("readmost: %s\n  ", title);
    add_thread(text_, platform::thread_id());
    text_.add(" of process %d, at ", platform::process_id());
    add_seconds(text_, platform::now());
    text_.add("\n");
  }
  report(const report&) = delete;
  report& operator=(const report&) = delete;
  ~report() { platform::write_text(nullptr, text_.data(), text_.length()); }

  // A line, in which the lock follows `what` and `rest` follows it, and a backtrace.
  void say(const char* what, std::uintptr_t lock, const char* rest, const char* frames,
           const trace& where, std::size_t most = most_frames) noexcept {
    char name[600];
    const std::uintptr_t address = lock - offset_of_core;
    describe(space_.place_of(address), name, sizeof name);
    text_.add("  %s the lock at 0x%llx, %s%s%s\n", what, static_cast<unsigned long long>(address),
              name, *rest != '\0' ? ", " : "", rest);
    add_frames(text_, frames, without_library(where, space_), space_, most);
  }
  void say_thread(const char* before, std::int32_t thread, const char* after) noexcept {
    text_.add("  %s", before);
    add_thread(text_, thread);
    text_.add("%s\n", after);
  }

 private:
  address_space space_;
  text_buffer text_;
};

void abort_if_asked() noexcept {
  if (current_setting() == setting::aborts) std::abort();
}

enum class finding : std::uint8_t {
  write_while_holding,
  read_while_writing,
  nested_read,
  unlock_without_hold,
  unlock_of_others_hold,
  unlock_of_other_kind,
  upgrade_without_hold,
  inversion,
  destroyed_while_held,
  unmapped_while_held,
  exit_while_holding,
};

const char* title_of(finding what) noexcept {
  switch (what) {
    case finding::write_while_holding:
      return "a write lock of a lock that the thread holds already: it waits for itself";
    case finding::read_while_writing:
      return "a read lock of a lock that the thread holds for writing: it waits for itself";
    case finding::nested_read:
      return "a nested read lock of a lock whose kind is not recursive: it waits for itself if a "
             "writer has come in between";
    case finding::unlock_without_hold:
      return "a lock is unlocked that nobody holds";
    case finding::unlock_of_others_hold:
      return "a lock is unlocked by a thread that does not hold it";
    case finding::unlock_of_other_kind:
      return "a lock is unlocked as if it were held otherwise";
    case finding::upgrade_without_hold:
      return "an upgrade by a thread that does not hold the lock for reading";
    case finding::inversion:
      return "locks are taken in opposite orders: threads that do so at once wait for each other";
    case finding::destroyed_while_held:
      return "a lock is destroyed, or made anew, while it is held";
    case finding::unmapped_while_held:
      return "the memory of a lock has been unmapped while it is held";
    case finding::exit_while_holding:
      return "a thread ends while it holds a lock";
  }
  return "";
}

bool is_new_finding(finding what, const trace& where) noexcept {
  std::uint64_t key = mixed(0x10C'C4EC, static_cast<std::uintptr_t>(what) + 1);
  for (std::size_t i = 0; i < where.count; ++i) key = mixed(key, where.frames[i]);
  return is_new(key);
}

// `held`: the hold that it is about, if there is one, of the calling thread or of `thread`.
void tell(finding what, std::uintptr_t lock, const char* deed, const trace& called,
          const hold* held, std::int32_t thread = 0) noexcept {
  const trace where = held != nullptr ? held->where : trace{};
  if (!is_new_finding(what, called.count != 0 ? called : where)) return;
  {
    report r(title_of(what));
    if (called.count != 0) r.say(deed, lock, "", "called in", called);
    if (held != nullptr) {
      if (thread != 0) r.say_thread("it is held by ", thread, "");
      r.say("holding", lock, name_of(held->kind.load(platform::relaxed)), "taken in", where);
    }
  }
  abort_if_asked();
}

void tell(const order_cycle& cycle) noexcept {
  // The same pieces of code may do it to many locks.
  std::uint64_t key = 0;
  const std::size_t shown = cycle.length < order_cycle::most ? cycle.length : order_cycle::most;
  for (std::size_t i = 0; i < shown; ++i) {
    std::uint64_t one = 0;
    for (std::size_t f = 0; f < cycle.edges[i].waiting.count; ++f) {
      one = mixed(one, cycle.edges[i].waiting.frames[f]);
    }
    key += one;
  }
  if (!is_new(mixed(key, cycle.length))) return;
  {
    constexpr std::size_t most = 6;
    report r(title_of(finding::inversion));
    for (std::size_t i = 0; i < shown; ++i) {
      const order_edge& each = cycle.edges[i];
      if (i != 0) {
        r.say_thread("before that, ", each.thread,
                     each.thread == cycle.edges[0].thread ? " itself" : "");
      }
      r.say("waiting for", each.to, name_of(each.wanted), "called in", each.waiting, most);
      r.say("while holding", each.from, name_of(each.held), "taken in", each.holding, most);
    }
  }
  abort_if_asked();
}

// --- Checks --------------------------------------------------------------------------------------

void look_for_unmapped(held_locks& own) noexcept {
  for_each_hold(own, [](hold& each, std::uintptr_t lock) {
    if (!platform::is_unmapped(reinterpret_cast<const void*>(lock), sizeof(rwlock))) return true;
    tell(finding::unmapped_while_held, lock, "", trace{}, &each);
    each.lock.store(0, platform::relaxed);
    return true;
  });
  lower(own);
}

bool is_known(const held_locks& own, const known_edge& added, known_edge*& place) noexcept {
  const std::uint64_t key = mixed(added.from, added.to);
  place = const_cast<known_edge*>(&own.edges[key >> 58]);
  return place->from == added.from && place->to == added.to && place->held == added.held &&
         place->wanted == added.wanted && place->version == added.version;
}
static_assert(held_locks::most_edges == 64);

void note_order(held_locks& own, std::uintptr_t lock, wait_kind wanted,
                const trace& called) noexcept {
  for_each_hold(own, [&](hold& each, std::uintptr_t held) {
    if (held == lock) return true;
    const hold_kind kind = each.kind.load(platform::relaxed);
    const known_edge one{held, lock, kind, wanted, version_of_order()};
    known_edge* place = nullptr;
    if (is_known(own, one, place)) return true;
    *place = one;
    if (!add_to_order(
            {held, lock, own.thread.load(platform::relaxed), kind, wanted, each.where, called},
            own.cycle)) {
      tell_of_full_table("the table of orders is full: 8192 locks or 32768 pairs");
    }
    if (own.cycle.length != 0) tell(own.cycle);
    return true;
  });
}

// Calls visit(table) for every thread's.
template <class Visit>
void for_each_table(Visit visit) noexcept {
  for (held_locks* each = first_table.load(platform::acquire); each != nullptr;
       each = each->next.load(platform::acquire)) {
    visit(*each);
  }
}

bool has_holder(const rwlock& lock) noexcept {
  const std::uint64_t state = lock.state.load(platform::acquire);
  return (state & rwlock::writing) != 0 || rwlock::readers(state) != 0;
}

// Whether the hold is not one of an earlier lock at this address: another thread that also uses the
// lock for the first time may have it already. Such a thread notes its hold after it has the lock,
// and takes the note away before it releases the lock. What stays through many looks is old.
bool is_of_this_life(const rwlock& lock, const hold& held) noexcept {
  constexpr int looks = 64;
  for (int look = 0; look < looks; ++look) {
    if (has_holder(lock) || held.lock.load(platform::acquire) != address(lock)) return true;
    platform::yield();
  }
  return false;
}

void look_for_holds(std::uintptr_t lock, const char* deed, const rwlock* begins) noexcept {
  for_each_table([&](held_locks& each) {
    for_each_hold(each, [&](hold& held, std::uintptr_t of) {
      if (of != lock) return true;
      if (begins != nullptr && is_of_this_life(*begins, held)) return true;
      tell(finding::destroyed_while_held, lock, deed, trace_from_here(), &held,
           each.thread.load(platform::relaxed));
      held.lock.store(0, platform::relaxed);
      return true;
    });
  });
}

// Precondition: the caller has no hold of the lock.
void find_others_hold(held_locks& own, std::uintptr_t lock, bool takes_off) noexcept {
  const trace called = trace_from_here();
  hold* others = nullptr;
  std::int32_t thread = 0;
  for_each_table([&](held_locks& each) {
    if (others != nullptr || &each == &own) return;
    others = find(each, lock, hold_kind::read);
    thread = each.thread.load(platform::relaxed);
  });
  if (others == nullptr) {
    std::uint64_t left = inherited.load(platform::relaxed);
    while (left != 0 && !inherited.compare_exchange_weak(left, left - 1, platform::relaxed)) {
    }
    if (left == 0) tell(finding::unlock_without_hold, lock, "unlocking", called, nullptr);
    return;
  }
  tell(finding::unlock_of_others_hold, lock, "unlocking", called, others, thread);
  if (takes_off) others->lock.store(0, platform::relaxed);
}

void check_release(held_locks& own, std::uintptr_t lock, hold_kind kind, bool takes_off) noexcept {
  hold* const held = find(own, lock, kind);
  if (held == nullptr) {
    if (own.unknown == 0) {
      find_others_hold(own, lock, takes_off);
    } else if (takes_off) {
      --own.unknown;
    }
    return;
  }
  if (held->kind.load(platform::relaxed) != kind) {
    tell(finding::unlock_of_other_kind, lock,
         kind == hold_kind::write ? "unlocking for writing" : "unlocking for reading",
         trace_from_here(), held);
  }
  if (!takes_off) return;
  held->lock.store(0, platform::relaxed);
  lower(own);
}

__attribute__((destructor)) void look_at_end() noexcept {
  const session now;
  if (held_locks* const own = now.table()) look_for_unmapped(*own);
}

}  // namespace

bool is_on() noexcept {
  return current_setting() > setting::off;
}

void begin_life(const rwlock& lock) noexcept {
  const session now;
  if (now.table() == nullptr) return;
  look_for_holds(address(lock), "first use of a new lock where", &lock);
  forget_in_order(address(lock));
}

void end_life(const rwlock& lock) noexcept {
  const session now;
  if (now.table() == nullptr) return;
  look_for_holds(address(lock), "destroying", nullptr);
  forget_in_order(address(lock));
}

void wait(const rwlock& lock, hold_kind kind, rules how) noexcept {
  const session now;
  held_locks* const own = now.table();
  if (own == nullptr || own->used.load(platform::relaxed) == 0) return;
  look_for_unmapped(*own);
  const hold* const held = find(*own, address(lock), hold_kind::write);
  if (how.try_only) return;
  const trace called = trace_from_here();
  if (held != nullptr) {
    if (kind == hold_kind::write) {
      tell(finding::write_while_holding, address(lock), "waiting for", called, held);
    } else if (held->kind.load(platform::relaxed) == hold_kind::write) {
      tell(finding::read_while_writing, address(lock), "waiting for", called, held);
    } else if (!how.recursive) {
      tell(finding::nested_read, address(lock), "waiting for", called, held);
    }
    return;
  }
  if (how.until != nullptr) return;
  const bool weak = kind == hold_kind::read && how.prefers == preference::reader;
  note_order(*own, address(lock),
             weak                      ? wait_kind::weak_read
             : kind == hold_kind::read ? wait_kind::read
                                       : wait_kind::write,
             called);
}

void wait_for_upgrade(const rwlock& lock, rules how) noexcept {
  const session now;
  held_locks* const own = now.table();
  if (own == nullptr) return;
  const hold* const held = find(*own, address(lock), hold_kind::read);
  const trace called = trace_from_here();
  if (held == nullptr || held->kind.load(platform::relaxed) == hold_kind::write) {
    if (held != nullptr || own->unknown == 0) {
      tell(finding::upgrade_without_hold, address(lock), "upgrading", called, held);
    }
    return;
  }
  if (!how.try_only && how.until == nullptr) {
    note_order(*own, address(lock), wait_kind::write, called);
  }
}

void acquire(const rwlock& lock, hold_kind kind) noexcept {
  if (is_nested()) {
    ++mine->unknown;
    return;
  }
  const session now;
  if (held_locks* const own = now.table()) add(*own, address(lock), kind);
}

void upgrade(const rwlock& lock) noexcept {
  const session now;
  held_locks* const own = now.table();
  if (own == nullptr) return;
  hold* const held = find(*own, address(lock), hold_kind::read);
  if (held != nullptr) {
    held->kind.store(hold_kind::write, platform::relaxed);
  } else if (own->unknown == 0) {
    add(*own, address(lock), hold_kind::write);
  }
}

void release(const rwlock& lock, hold_kind kind) noexcept {
  if (is_nested()) {
    if (mine->unknown != 0) --mine->unknown;
    return;
  }
  const session now;
  if (held_locks* const own = now.table()) check_release(*own, address(lock), kind, true);
}

void refuse_release(const rwlock& lock, hold_kind kind) noexcept {
  const session now;
  if (held_locks* const own = now.table()) check_release(*own, address(lock), kind, false);
}

void downgrade(const rwlock& lock) noexcept {
  const session now;
  held_locks* const own = now.table();
  if (own == nullptr) return;
  check_release(*own, address(lock), hold_kind::write, false);
  hold* const held = find(*own, address(lock), hold_kind::write);
  if (held != nullptr) held->kind.store(hold_kind::read, platform::relaxed);
}

void end_thread() noexcept {
  {
    const session now;
    held_locks* const own = now.table();
    if (own == nullptr) return;
    look_for_unmapped(*own);
    for_each_hold(*own, [](hold& each, std::uintptr_t lock) {
      tell(finding::exit_while_holding, lock, "", trace{}, &each);
      each.lock.store(0, platform::relaxed);
      return true;
    });
    own->used.store(0, platform::relaxed);
    own->unknown = 0;
    for (known_edge& each : own->edges) each = {};
    departed = true;
    mine = nullptr;
    own->owned.store(0, platform::release);
  }
}

void begin_child() noexcept {
  std::uint64_t others = 0;
  for_each_table([&](held_locks& each) {
    if (&each == mine) {
      each.thread.store(platform::thread_id(), platform::relaxed);
      return;
    }
    for_each_hold(each, [&](hold& held, std::uintptr_t) {
      held.lock.store(0, platform::relaxed);
      ++others;
      return true;
    });
    if (each.used.load(platform::relaxed) != 0) each.used.store(0, platform::relaxed);
    if (each.owned.load(platform::relaxed) != 0) each.owned.store(0, platform::relaxed);
  });
  if (others != 0) inherited.fetch_add(others, platform::relaxed);
  forget_order();
}

}  // namespace readmost::detail::lock_check

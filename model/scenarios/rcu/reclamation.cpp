// SPDX-License-Identifier: Apache-2.0
// Retired objects: which thread reclaims them, and which threads wait for that.
#include "rcu/reclamation.hpp"

#include <mutex>
#include <readmost/rcu.hpp>

#include "scenarios/rcu_under_test.hpp"
#include "threads/registry.hpp"

namespace readmost::model {

namespace {

void begin_in_place(scenario& s) {
  begin_rcu(s);
  reclaim_by(default_domain, reclaiming::in_place);
}

// With a thread of the library's own, which ends after end_reclaimer().
void begin_with_reclaimer(scenario& s, std::uint64_t laziness = 0) {
  begin_rcu(s);
  limit_laziness(default_domain, laziness);
  limit_reclaimers(default_domain, 1);  // the scenarios below have a relief of their own
  s.starts_thread("reclaimer");
  start_reclaimer(default_domain);
}

// After its first collection it rests for longer than an execution lasts.
void begin_with_lazy_reclaimer(scenario& s) {
  constexpr std::uint64_t for_ever = 1'000'000'000'000;
  begin_with_reclaimer(s, for_ever);
}

void end_reclaimer() {
  barrier(default_domain);
  end_reclamation(default_domain, all_reclamation[0]);
}

template <class T>
struct deleter_of {
  void operator()(T* object) const noexcept { object->be_deleted(); }
};

void be_online_in(const rcu_domain& of) {
  come_online(*enlist(number_of(of.core())));
}

// The calling thread publishes its count with the next object that it retires.
void make_due() {
  my_record().uncounted_objects.store(63, platform::relaxed);
}
void be_due() {
  be_known();
  make_due();
}

// An object with data of its own.
retiree& make_object(scenario& s, const char* name = "object", const char* name_of_data = "data") {
  return s.make<retiree>(name, s.make<guarded>(name_of_data));
}

retiree& make_other_object(scenario& s) {
  return make_object(s, "other object", "other data");
}
retiree& make_next_object(scenario& s) {
  return make_object(s, "next object", "next data");
}

// For a thread that has retired the object before the others start.
auto having_retired(retiree& object) {
  return [&object] {
    be_known();
    retire(object);
  };
}

void wait_for_deleters() {
  barrier(default_domain);
}

void expect_reclaimed(const retiree& object) {
  expect(object.reclaimed == 1, "an object is not yet reclaimed when the barrier returns");
}

void wait_for_deleter_of(const retiree& object) {
  wait_for_deleters();
  expect_reclaimed(object);
}

// A last barrier must reclaim them, whichever threads have waited before.
template <class... Objects>
void reclaimed_at_the_end(scenario& s, const Objects&... objects) {
  s.finally([&objects...] {
    wait_for_deleters();
    expect((... && (objects.reclaimed == 1)), "an object is never reclaimed");
    expect_no_sections_left();
  });
}

}  // namespace

SCENARIO(retired_while_read, "no object is reclaimed before the section of its reader is over",
         effort::small) {
  begin_in_place(s);
  auto& versions = publish(s);
  auto& object = s.make<retiree>("object", versions.first);
  versions.add_reader("reader", be_online);
  s.thread("updater", be_known, [&] {
    versions.current.replace(versions.second);
    retire(object);
    wait_for_deleter_of(object);
  });
}

SCENARIO(reclaimed_by_who_retires,
         "a thread that retires reclaims in place the objects whose grace period is over",
         effort::medium) {
  begin_in_place(s);
  auto& versions = publish(s);
  auto& object = s.make<retiree>("object", versions.first);
  auto& other = make_other_object(s);
  versions.add_reader("reader", be_online);
  s.thread("updater", be_due, [&] {
    versions.current.replace(versions.second);
    retire(object);
    make_due();
    retire(other);
  });
}

namespace {

// A thread that retires the object and says so.
signal& add_retirer(scenario& s, const char* name, retiree& object) {
  auto& retired_it = s.make<signal>("retired");
  s.thread(name, be_known, [&object, &retired_it] {
    retire(object);
    retired_it.give();
  });
  return retired_it;
}

// A thread whose barrier must wait for the object if that was retired before.
void add_waiter(scenario& s, const signal& retired_it, const retiree& object) {
  s.thread("waits", be_known, [&] {
    const bool before = retired_it.given();
    wait_for_deleters();
    if (before) expect_reclaimed(object);
  });
}

}  // namespace

SCENARIO(barrier_waits_for_what_another_retired,
         "a barrier waits for an object that another thread has retired before", effort::small) {
  begin_in_place(s);
  auto& object = make_object(s);
  add_waiter(s, add_retirer(s, "retires", object), object);
}

SCENARIO(two_retirers_and_barrier,
         "a barrier waits for objects that two other threads have retired", effort::small) {
  begin_in_place(s);
  auto& object = make_object(s);
  auto& other = make_other_object(s);
  s.thread("first", having_retired(object), [] {});
  s.thread("second", having_retired(other), [] {});
  s.thread("waits", be_known, [&] {
    wait_for_deleter_of(object);
    expect_reclaimed(other);
  });
}

SCENARIO(two_retire_at_once, "two threads that retire and wait both find their object reclaimed",
         effort::small) {
  begin_in_place(s);
  const auto retire_and_wait = [](retiree& object) {
    return [&object] {
      retire(object);
      wait_for_deleter_of(object);
      object.data.read();
    };
  };
  s.thread("first", be_known, retire_and_wait(make_object(s)));
  s.thread("second", be_known, retire_and_wait(make_other_object(s)));
}

SCENARIO(two_barriers, "two barriers at once both return after the deleters", effort::small) {
  begin_in_place(s);
  auto& object = make_object(s);
  const auto wait = [&] { wait_for_deleter_of(object); };
  s.thread("first", having_retired(object), wait);
  s.thread("second", be_known, wait);
}

SCENARIO(barrier_served_by_another,
         "a barrier that another thread serves waits for an object that a third has retired before",
         effort::small) {
  begin_in_place(s);
  auto& object = make_object(s);
  s.thread("serves", be_known, wait_for_deleters);
  auto& retired_it = add_retirer(s, "retires", object);
  s.thread("waits", be_known, [&] {
    if (retired_it.given()) wait_for_deleter_of(object);
  });
}

SCENARIO(retire_in_a_deleter, "the next barrier waits for an object that a deleter has retired",
         effort::small) {
  begin_in_place(s);
  auto& object = make_object(s);
  auto& next = make_next_object(s);
  object.then = s.keep([&next] { retire(next); });
  s.thread("retires", be_known, [&] {
    retire(object);
    wait_for_deleters();
    wait_for_deleters();
    expect(next.reclaimed == 1, "an object that a deleter has retired is not yet reclaimed");
  });
  s.thread("waits", be_known, wait_for_deleters);
}

SCENARIO(barrier_in_a_deleter,
         "a barrier in a deleter waits for all objects but those that are being reclaimed",
         effort::small) {
  begin_in_place(s);
  auto& object = make_object(s);
  auto& next = make_next_object(s);
  object.then = s.keep([&next] {
    retire(next);
    wait_for_deleters();
    expect(next.reclaimed == 1, "a barrier in a deleter has not waited");
  });
  s.thread("retires", be_known, [&] {
    retire(object);
    wait_for_deleters();
  });
  s.thread("waits", be_known, wait_for_deleters);
}

SCENARIO(barrier_against_a_deleters_barrier,
         "a barrier does not return while a deleter waits in one of its own", effort::small) {
  begin_in_place(s);
  auto& object = make_object(s);
  object.then = s.keep(wait_for_deleters);
  s.thread("reclaims", having_retired(object), wait_for_deleters);
  s.thread("waits", be_known, [&] {
    wait_for_deleter_of(object);
    object.data.read();
  });
}

SCENARIO(exit_with_queued_objects,
         "an object is reclaimed although the thread that retired it exits", effort::small) {
  begin_in_place(s);
  auto& object = make_object(s);
  auto& retired_it = add_retirer(s, "exits", object);
  s.exits_at_once();
  add_waiter(s, retired_it, object);
  reclaimed_at_the_end(s, object);
}

SCENARIO(queue_passes_to_new_thread,
         "objects are reclaimed that two owners of the same record have retired", effort::small) {
  begin_in_place(s);
  auto& object = make_object(s);
  auto& other = make_other_object(s);
  s.thread("exits", be_known, [&] { retire(object); });
  s.exits_at_once();
  s.thread("new", [&] { retire(other); });
  s.thread("waits", be_known, wait_for_deleters);
  reclaimed_at_the_end(s, object, other);
}

SCENARIO(retired_past_its_exit, "an object is reclaimed that a thread without a record has retired",
         effort::large) {
  begin_in_place(s);
  auto& object = make_object(s);
  auto& other = make_other_object(s);
  s.thread("first", be_departed, [&] { retire(object); });
  s.thread("second", be_departed, [&] { retire(other); });
  reclaimed_at_the_end(s, object, other);
}

SCENARIO(class_rcu,
         "the classes: an object in a domain of its own is reclaimed after its reader has left",
         effort::small) {
  begin_in_place(s);
  struct object : rcu_obj_base<object, deleter_of<object>> {
    explicit object(guarded& of) : data(of) {}
    guarded& data;
    void be_deleted() { data.write(); }
  };
  auto& domain = s.make<separate_rcu_domain>("domain");
  rcu_reclaim_by(reclaiming::in_place, domain);
  auto& data = s.make<guarded>("data");
  auto& next_data = s.make<guarded>("next data");
  auto& first = s.make<object>("first object", data);
  auto& next = s.make<object>("next object", next_data);
  auto& current = s.make<platform::atomic<object*>>("current", &first);
  s.thread(
      "reader", [&domain] { be_online_in(domain); },
      [&] {
        const std::scoped_lock section(static_cast<rcu_domain&>(domain));
        current.load(platform::acquire)->data.read();
      });
  s.thread(
      "updater", [&domain] { enlist(number_of(domain.core())); },
      [&] {
        object* const old = current.load(platform::relaxed);
        current.store(&next, platform::release);
        old->retire({}, domain);
        rcu_barrier(domain);
      });
  s.finally([&] { destroy(domain); });
}

// --- With a thread of the library's own

SCENARIO(reclaimer_falls_asleep,
         "an object that is retired while the reclaimer falls asleep is reclaimed",
         effort::medium) {
  begin_with_reclaimer(s);
  auto& object = make_object(s);
  auto& reclaimed = s.make<signal>("reclaimed");
  object.then = s.keep([&reclaimed] { reclaimed.give(); });
  s.thread("retires", be_known, [&] {
    retire(object);
    reclaimed.await();
    end_reclaimer();
  });
}

SCENARIO(reclaimer_falls_asleep_over_a_full_queue,
         "two objects that a thread retires while the reclaimer falls asleep are reclaimed",
         effort::large) {
  begin_with_reclaimer(s);
  auto& object = make_object(s);
  auto& other = s.make<retiree>("other object", object.data);
  auto& reclaimed = s.make<signal>("reclaimed");
  other.then = s.keep([&reclaimed] { reclaimed.give(); });
  s.thread("retires", be_known, [&] {
    retire(object);
    retire(other);
    reclaimed.await();
    end_reclaimer();
  });
}

SCENARIO(reclaimer_ends_over_a_full_queue,
         "an object that is retired while the idle reclaimer ends is reclaimed, or a reclaimer is "
         "started for it",
         effort::large) {
  begin_with_reclaimer(s);
  s.timeouts(1);
  auto& object = make_object(s);
  auto& reclaimed = s.make<signal>("reclaimed");
  object.then = s.keep([&reclaimed] { reclaimed.give(); });
  s.thread("retires", be_known, [&] {
    retire(object);
    const bool was_refused = all_reclamation[0].start_again.load(platform::relaxed) != 0;
    if (!was_refused) reclaimed.await();
    end_reclaimer();
  });
}

SCENARIO(reclaimer_falls_asleep_against_barrier, "a barrier wakes the reclaimer and is woken by it",
         effort::small) {
  begin_with_reclaimer(s);
  s.thread("waits", be_known, end_reclaimer);
}

SCENARIO(barrier_behind_the_reclaimer, "a barrier returns after the reclaimer has run the deleters",
         effort::large) {
  begin_with_reclaimer(s);
  auto& object = make_object(s);
  s.thread("retires", be_known, [&] {
    retire(object);
    wait_for_deleter_of(object);
    end_reclaimer();
  });
}

SCENARIO(two_barriers_behind_the_reclaimer,
         "barriers of two threads return after the reclaimer has run the deleters", effort::large) {
  begin_with_reclaimer(s);
  auto& object = make_object(s);
  auto& done = s.make<signal>("done");
  s.thread("first", having_retired(object), [&] {
    wait_for_deleter_of(object);
    done.await();
    end_reclaimer();
  });
  s.thread("second", be_known, [&] {
    wait_for_deleter_of(object);
    done.give();
  });
}

SCENARIO(lazy_reclaimer_against_barrier,
         "a barrier wakes a reclaimer that waits for more objects, and is woken by it",
         effort::large) {
  begin_with_lazy_reclaimer(s);
  auto& object = make_object(s);
  s.thread("retires", having_retired(make_other_object(s)), [&] {
    retire(object);
    wait_for_deleter_of(object);
    end_reclaimer();
  });
}

SCENARIO(lazy_reclaimer_against_hurry,
         "a hurry wakes a reclaimer that waits for more objects, and it reclaims what is queued",
         effort::large) {
  begin_with_lazy_reclaimer(s);
  auto& object = make_object(s);
  auto& reclaimed = s.make<signal>("reclaimed");
  object.then = s.keep([&reclaimed] { reclaimed.give(); });
  s.thread("retires", having_retired(make_other_object(s)), [&] {
    retire(object);
    hurry(default_domain);
    reclaimed.await();
    end_reclaimer();
  });
}

SCENARIO(lazy_reclaimer_against_a_flood,
         "a reclaimer that waits for more objects is woken when enough have gathered",
         effort::large) {
  begin_with_lazy_reclaimer(s);
  // Enough: an eighth is less than what make_due() lets a thread count at once.
  limit_backlog(default_domain, {.objects = 8 * 62, .bytes = 1U << 30});
  auto& object = make_object(s);
  auto& reclaimed = s.make<signal>("reclaimed");
  object.then = s.keep([&reclaimed] { reclaimed.give(); });
  auto& other = make_other_object(s);
  s.thread(
      "retires",
      [&other] {
        be_known();
        retire(other);
        make_due();
      },
      [&] {
        retire(object);
        reclaimed.await();
        end_reclaimer();
      });
}

SCENARIO(closing_reclaims_what_deleters_retire,
         "the end of a domain waits for the objects that its deleters retire", effort::large) {
  begin_with_reclaimer(s);
  auto& object = make_object(s);
  auto& next = make_next_object(s);
  object.then = s.keep([&next] { retire(next); });
  s.thread("closes", be_known, [&] {
    retire(object);
    end_reclaimer();
    expect(next.reclaimed == 1, "an object that a deleter has retired outlives the domain");
    next.data.read();
  });
}

SCENARIO(closed_in_a_deleter,
         "a domain that one of its deleters closes is empty when the deleter goes on",
         effort::small) {
  begin_in_place(s);
  auto& object = make_object(s);
  auto& next = make_next_object(s);
  object.then = s.keep([&next] {
    retire(next);
    expect(!end_reclamation(default_domain, all_reclamation[0]),
           "the domain is given back under its executor");
    expect(next.reclaimed == 1, "an object outlives its domain");
    all_reclamation[0].ended_inside = false;  // this domain is not given back
  });
  s.thread("retires", be_known, [&] {
    retire(object);
    wait_for_deleters();
  });
}

// --- With a relief, if a deleter takes long

namespace {

// Objects that have been retired, an executor that can be replaced, and a relief.
struct relieved_scene {
  retiree& slow;
  retiree& other;
  signal& begun;   // by the deleter of `slow`
  signal& looked;  // by the relief, for which that deleter waits
};

void be_reclaimer() {
  be_known();
  take_place_of_reclaimer(default_domain);
}

void reclaim_once() {
  reclamation& r = all_reclamation[0];
  execute(default_domain, r);
  reclaim_all(default_domain, r, true);
  if (is_executing(default_domain)) stop_executing(default_domain, r);
}

// Takes the place of the reclaimer while that is in the slow deleter.
void relieve(const relieved_scene& scene) {
  scene.begun.await();
  relief_look look;
  look(default_domain, all_reclamation[0]);
  expect(look(default_domain, all_reclamation[0]) == relief_look::replaced,
         "a deleter that takes long is not noticed");
  scene.looked.give();
}

relieved_scene begin_with_slow_deleter(scenario& s) {
  begin_rcu(s);
  limit_laziness(default_domain, 0);
  limit_reclaimers(default_domain, default_reclaimers);
  auto& slow = make_object(s);
  auto& other = make_other_object(s);
  auto& begun = s.make<signal>("begun");
  auto& looked = s.make<signal>("looked");
  slow.then = s.keep([&] {
    begun.give();
    looked.await();
  });
  s.thread(
      "reclaimer",
      [&] {
        be_reclaimer();
        retire(slow);
        retire(other);
      },
      reclaim_once);
  return {slow, other, begun, looked};
}

}  // namespace

SCENARIO(relieved_in_a_deleter,
         "each object is reclaimed once while a relief takes the place of the executor",
         effort::medium) {
  const relieved_scene scene = begin_with_slow_deleter(s);
  s.thread("relief", be_known, [scene] {
    relieve(scene);
    take_barrier(all_reclamation[0]);
    reclaim_all(default_domain, all_reclamation[0], true);
    stop_executing(default_domain, all_reclamation[0]);
  });
  reclaimed_at_the_end(s, scene.slow, scene.other);
}

SCENARIO(barrier_waits_for_the_replaced,
         "a barrier waits for the deleter of an executor that has been replaced", effort::large) {
  const relieved_scene scene = begin_with_slow_deleter(s);
  s.thread("relief", be_known, [scene] {
    relieve(scene);
    stop_executing(default_domain, all_reclamation[0]);
    wait_for_deleter_of(scene.slow);
    expect_reclaimed(scene.other);
    scene.slow.data.read();
    scene.other.data.read();
  });
}

SCENARIO(barrier_in_a_deleter_that_is_replaced,
         "a barrier in a deleter waits for the others, whichever thread reclaims them",
         effort::large) {
  const relieved_scene scene = begin_with_slow_deleter(s);
  scene.slow.then = s.keep([scene] {
    scene.begun.give();
    scene.looked.await();
    wait_for_deleters();
    expect(scene.other.reclaimed == 1, "a barrier in a deleter has not waited");
    scene.other.data.read();
  });
  s.thread("relief", be_known, [scene] {
    relieve(scene);
    reclaim_all(default_domain, all_reclamation[0], true);
    stop_executing(default_domain, all_reclamation[0]);
  });
  reclaimed_at_the_end(s, scene.slow, scene.other);
}

SCENARIO(closing_waits_for_the_replaced,
         "the end of a domain waits for the deleter of an executor that has been replaced",
         effort::large) {
  begin_rcu(s);
  limit_laziness(default_domain, 0);
  limit_reclaimers(default_domain, default_reclaimers);
  auto& slow = make_object(s);
  auto& other = make_other_object(s);
  const relieved_scene scene{slow, other, s.make<signal>("begun"), s.make<signal>("looked")};
  slow.then = s.keep([scene] {
    scene.begun.give();
    scene.looked.await();
  });
  s.thread(
      "reclaimer",
      [&] {
        be_reclaimer();
        all_reclamation[0].reclaimer.store(reclamation::awake, platform::relaxed);
        all_reclamation[0].relief.store(reclamation::relief_watching, platform::relaxed);
        retire(slow);
        retire(other);
      },
      [] {
        execute(default_domain, all_reclamation[0]);
        serve(default_domain, all_reclamation[0]);
      });
  s.thread("relief", be_known, [scene] {
    relieve(scene);
    all_reclamation[0].relief.store(reclamation::no_relief, platform::relaxed);
    platform::futex_wake(platform::futex_of(all_reclamation[0].relief), INT32_MAX, ~0U);
    serve(default_domain, all_reclamation[0]);
  });
  s.thread("closes", be_known, [&] {
    end_reclamation(default_domain, all_reclamation[0]);
    expect(slow.reclaimed == 1 && other.reclaimed == 1, "an object outlives its domain");
    slow.data.read();
    other.data.read();
  });
}

SCENARIO(throttled_until_reclaimed,
         "a thread that waits for the backlog to shrink is woken when it has shrunk",
         effort::large) {
  begin_with_reclaimer(s);
  limit_backlog(default_domain, {.objects = 1'000, .bytes = sizeof(retiree) - 1});
  auto& object = make_object(s);
  s.thread("retires", be_due, [&] {
    retire(object);
    end_reclaimer();
  });
}

}  // namespace readmost::model

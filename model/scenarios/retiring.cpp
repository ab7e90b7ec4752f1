// What is retired, who reclaims it, and who waits for that.
#include <mutex>
#include <readmost/rcu.hpp>

#include "reclamation.hpp"
#include "registry.hpp"
#include "scenarios/rcu_under_test.hpp"

namespace readmost::model {

namespace {

template <class Function>
closure also(scenario& s, Function function) {
  void* const place = s.run().memory_for_scenario().take(sizeof(Function), alignof(Function));
  auto* const kept = new (place) Function(std::move(function));
  return {[](void* captured) { (*static_cast<Function*>(captured))(); }, kept};
}

void begin_in_place(scenario& s) {
  begin_rcu(s);
  reclaim_by(default_domain, reclaiming::in_place);
}

// With a thread of the library's own, that ends when somebody has called end_reclaimer().
void begin_with_reclaimer(scenario& s) {
  begin_rcu(s);
  s.starts_thread("reclaimer");
  start_reclaimer(default_domain);
}

void end_reclaimer() {
  close_reclamation(default_domain);
}

template <class T>
struct deleter_of {
  void operator()(T* object) const noexcept { object->be_deleted(); }
};

void be_online_in(const rcu_domain& of) {
  come_online(*enlist(number_of(of.core())));
}

// The calling thread's next object is one that it tells the others of.
void be_due() {
  be_known();
  my_record().uncounted_objects.store(63, platform::relaxed);
}

}  // namespace

SCENARIO(retired_while_read, "what a reader found is not reclaimed before its section is over",
         effort::small) {
  begin_in_place(s);
  const two_versions versions = publish(s);
  auto& object = s.make<retiree>("object", versions.first);
  versions.add_reader("reader", be_online);
  s.thread("updater", be_known, [versions, &object] {
    versions.current.replace(versions.second);
    retire(object);
    barrier(default_domain);
    expect(object.reclaimed == 1, "an object is not reclaimed when the barrier returns");
  });
}

SCENARIO(reclaimed_by_who_retires,
         "who retires reclaims in place what a grace period has passed for", effort::medium) {
  begin_in_place(s);
  const two_versions versions = publish(s);
  auto& object = s.make<retiree>("object", versions.first);
  auto& other_data = s.make<guarded>("other data");
  auto& other = s.make<retiree>("other object", other_data);
  versions.add_reader("reader", be_online);
  s.thread("updater", be_due, [versions, &object, &other] {
    versions.current.replace(versions.second);
    retire(object);
    my_record().uncounted_objects.store(63, platform::relaxed);
    retire(other);
  });
}

SCENARIO(barrier_waits_for_what_another_retired,
         "a barrier waits for what another thread has retired before", effort::small) {
  begin_in_place(s);
  auto& data = s.make<guarded>("data");
  auto& object = s.make<retiree>("object", data);
  auto& retired_it = s.make<platform::atomic<std::uint32_t>>("retired", 0U);
  s.thread("retires", be_known, [&] {
    retire(object);
    retired_it.store(1, platform::release);
  });
  s.thread("waits", be_known, [&] {
    const bool before = retired_it.load(platform::acquire) != 0;
    barrier(default_domain);
    if (before)
      expect(object.reclaimed == 1, "an object is not reclaimed when the barrier returns");
  });
}

SCENARIO(two_retirers_and_barrier, "a barrier waits for what two other threads have retired",
         effort::small) {
  begin_in_place(s);
  auto& data = s.make<guarded>("data");
  auto& other_data = s.make<guarded>("other data");
  auto& object = s.make<retiree>("object", data);
  auto& other = s.make<retiree>("other object", other_data);
  const auto retire_it = [](retiree& which) {
    return [&which] {
      be_known();
      retire(which);
    };
  };
  s.thread("first", retire_it(object), [] {});
  s.thread("second", retire_it(other), [] {});
  s.thread("waits", be_known, [&] {
    barrier(default_domain);
    expect(object.reclaimed == 1 && other.reclaimed == 1,
           "an object is not reclaimed when the barrier returns");
  });
}

SCENARIO(two_retire_at_once, "of two threads that retire and wait each finds its object reclaimed",
         effort::small) {
  begin_in_place(s);
  const auto retire_and_wait = [](retiree& object) {
    return [&object] {
      retire(object);
      barrier(default_domain);
      expect(object.reclaimed == 1, "an object is not reclaimed when the barrier returns");
      object.data.read();
    };
  };
  auto& data = s.make<guarded>("data");
  auto& other_data = s.make<guarded>("other data");
  s.thread("first", be_known, retire_and_wait(s.make<retiree>("object", data)));
  s.thread("second", be_known, retire_and_wait(s.make<retiree>("other object", other_data)));
}

SCENARIO(two_barriers, "of two barriers at once each returns behind the deleters", effort::small) {
  begin_in_place(s);
  auto& data = s.make<guarded>("data");
  auto& object = s.make<retiree>("object", data);
  const auto retire_it = [&] {
    be_known();
    retire(object);
  };
  const auto wait = [&] {
    barrier(default_domain);
    expect(object.reclaimed == 1, "an object is not reclaimed when the barrier returns");
  };
  s.thread("first", retire_it, wait);
  s.thread("second", be_known, wait);
}

SCENARIO(barrier_served_by_another,
         "a barrier that another thread serves waits for what a third has retired before",
         effort::small) {
  begin_in_place(s);
  auto& data = s.make<guarded>("data");
  auto& object = s.make<retiree>("object", data);
  auto& retired_it = s.make<platform::atomic<std::uint32_t>>("retired", 0U);
  s.thread("serves", be_known, [] { barrier(default_domain); });
  s.thread("retires", be_known, [&] {
    retire(object);
    retired_it.store(1, platform::release);
  });
  s.thread("waits", be_known, [&] {
    if (retired_it.load(platform::acquire) == 0) return;
    barrier(default_domain);
    expect(object.reclaimed == 1, "an object is not reclaimed when the barrier returns");
  });
}

SCENARIO(retire_in_a_deleter, "what a deleter retires is reclaimed by the next barrier",
         effort::small) {
  begin_in_place(s);
  auto& data = s.make<guarded>("data");
  auto& object = s.make<retiree>("object", data);
  auto& next_data = s.make<guarded>("next data");
  auto& next = s.make<retiree>("next object", next_data);
  object.then = also(s, [&next] { retire(next); });
  s.thread("retires", be_known, [&] {
    retire(object);
    barrier(default_domain);
    barrier(default_domain);
    expect(next.reclaimed == 1, "an object that a deleter retired is not reclaimed");
  });
  s.thread("waits", be_known, [] { barrier(default_domain); });
}

SCENARIO(barrier_in_a_deleter, "a barrier in a deleter waits for all but what is being reclaimed",
         effort::small) {
  begin_in_place(s);
  auto& data = s.make<guarded>("data");
  auto& object = s.make<retiree>("object", data);
  auto& next_data = s.make<guarded>("next data");
  auto& next = s.make<retiree>("next object", next_data);
  object.then = also(s, [&next] {
    retire(next);
    barrier(default_domain);
    expect(next.reclaimed == 1, "a barrier in a deleter has not waited");
  });
  s.thread("retires", be_known, [&] {
    retire(object);
    barrier(default_domain);
  });
  s.thread("waits", be_known, [] { barrier(default_domain); });
}

SCENARIO(barrier_against_a_deleters_barrier,
         "a barrier does not return while a deleter waits in one of its own", effort::small) {
  begin_in_place(s);
  auto& data = s.make<guarded>("data");
  auto& object = s.make<retiree>("object", data);
  object.then = also(s, [] { barrier(default_domain); });
  const auto retire_it = [&] {
    be_known();
    retire(object);
  };
  s.thread("reclaims", retire_it, [] { barrier(default_domain); });
  s.thread("waits", be_known, [&] {
    barrier(default_domain);
    expect(object.reclaimed == 1, "an object is not reclaimed when the barrier returns");
    data.read();
  });
}

SCENARIO(exit_with_queued_objects, "what a thread has retired that exits is reclaimed",
         effort::small) {
  begin_in_place(s);
  auto& data = s.make<guarded>("data");
  auto& object = s.make<retiree>("object", data);
  auto& retired_it = s.make<platform::atomic<std::uint32_t>>("retired", 0U);
  s.thread("exits", be_known, [&] {
    retire(object);
    retired_it.store(1, platform::release);
  });
  s.exits_at_once();
  s.thread("waits", be_known, [&] {
    const bool before = retired_it.load(platform::acquire) != 0;
    barrier(default_domain);
    if (before)
      expect(object.reclaimed == 1, "an object is not reclaimed when the barrier returns");
  });
  s.finally([&] {
    barrier(default_domain);
    expect(object.reclaimed == 1, "an object is never reclaimed");
    expect_no_sections_left();
  });
}

SCENARIO(queue_passes_to_new_thread,
         "what two threads have retired that had the same record is reclaimed", effort::small) {
  begin_in_place(s);
  auto& data = s.make<guarded>("data");
  auto& other_data = s.make<guarded>("other data");
  auto& object = s.make<retiree>("object", data);
  auto& other = s.make<retiree>("other object", other_data);
  s.thread("exits", be_known, [&] { retire(object); });
  s.exits_at_once();
  s.thread("new", [&] { retire(other); });
  s.thread("waits", be_known, [] { barrier(default_domain); });
  s.finally([&] {
    barrier(default_domain);
    expect(object.reclaimed == 1 && other.reclaimed == 1, "an object is never reclaimed");
    expect_no_sections_left();
  });
}

SCENARIO(retired_past_its_exit, "what a thread without a record retires is reclaimed",
         effort::medium) {
  begin_in_place(s);
  auto& data = s.make<guarded>("data");
  auto& other_data = s.make<guarded>("other data");
  auto& object = s.make<retiree>("object", data);
  auto& other = s.make<retiree>("other object", other_data);
  s.thread("first", be_departed, [&] { retire(object); });
  s.thread("second", be_departed, [&] { retire(other); });
  s.finally([&] {
    barrier(default_domain);
    expect(object.reclaimed == 1 && other.reclaimed == 1, "an object is never reclaimed");
    expect_no_sections_left();
  });
}

SCENARIO(class_rcu, "the classes: an object of a domain of its own is reclaimed behind the reader",
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

SCENARIO(reclaimer_falls_asleep, "what is retired while the reclaimer falls asleep is reclaimed",
         effort::medium) {
  begin_with_reclaimer(s);
  auto& data = s.make<guarded>("data");
  auto& object = s.make<retiree>("object", data);
  auto& reclaimed = s.make<signal>("reclaimed");
  object.then = also(s, [&reclaimed] { reclaimed.give(); });
  s.thread("retires", be_known, [&] {
    retire(object);
    reclaimed.await();
    end_reclaimer();
  });
}

SCENARIO(reclaimer_falls_asleep_over_a_full_queue,
         "the same of a thread that retires twice in a row", effort::large) {
  begin_with_reclaimer(s);
  auto& data = s.make<guarded>("data");
  auto& object = s.make<retiree>("object", data);
  auto& other = s.make<retiree>("other object", data);
  auto& reclaimed = s.make<signal>("reclaimed");
  other.then = also(s, [&reclaimed] { reclaimed.give(); });
  s.thread("retires", be_known, [&] {
    retire(object);
    retire(other);
    reclaimed.await();
    end_reclaimer();
  });
}

SCENARIO(reclaimer_falls_asleep_against_barrier, "a barrier wakes the reclaimer and is woken by it",
         effort::small) {
  begin_with_reclaimer(s);
  s.thread("waits", be_known, end_reclaimer);
}

SCENARIO(barrier_behind_the_reclaimer,
         "a barrier returns behind the deleters that the reclaimer has run", effort::large) {
  begin_with_reclaimer(s);
  auto& data = s.make<guarded>("data");
  auto& object = s.make<retiree>("object", data);
  s.thread("retires", be_known, [&] {
    retire(object);
    barrier(default_domain);
    expect(object.reclaimed == 1, "an object is not reclaimed when the barrier returns");
    end_reclaimer();
  });
}

SCENARIO(two_barriers_behind_the_reclaimer,
         "barriers of two threads return behind the deleters that the reclaimer has run",
         effort::large) {
  begin_with_reclaimer(s);
  auto& data = s.make<guarded>("data");
  auto& object = s.make<retiree>("object", data);
  auto& done = s.make<signal>("done");
  const auto retire_it = [&] {
    be_known();
    retire(object);
  };
  s.thread("first", retire_it, [&] {
    barrier(default_domain);
    expect(object.reclaimed == 1, "an object is not reclaimed when the barrier returns");
    done.await();
    end_reclaimer();
  });
  s.thread("second", be_known, [&] {
    barrier(default_domain);
    expect(object.reclaimed == 1, "an object is not reclaimed when the barrier returns");
    done.give();
  });
}

SCENARIO(throttled_until_reclaimed,
         "a thread that waits for a smaller backlog is woken when it has become smaller",
         effort::large) {
  begin_with_reclaimer(s);
  limit_backlog(default_domain, {.objects = 1'000, .bytes = sizeof(retiree) - 1});
  auto& data = s.make<guarded>("data");
  auto& object = s.make<retiree>("object", data);
  s.thread("retires", be_due, [&] {
    retire(object);
    end_reclaimer();
  });
}

}  // namespace readmost::model

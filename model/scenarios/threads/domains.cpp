// SPDX-License-Identifier: Apache-2.0
// Locks in domains of their own.
#include <readmost/lock_domain.hpp>

#include "scenarios/lock_scene.hpp"
#include "threads/registry.hpp"

namespace readmost::model {

namespace {

// A biased lock in a domain of its own.
lock_scene& scene_in(scenario& s, const lock_domain& own) {
  s.spins(0);
  rwlock& lock = biased_lock(s);
  lock.domain = static_cast<std::uint8_t>(own.number());
  return scene_on(s, lock);
}

void be_known_in_its_domain(rwlock& lock) {
  enlist(lock.domain);
}

void be_online_in_its_domain(rwlock& lock) {
  come_online(*enlist(lock.domain));
}

void try_write(lock_scene& on) {
  on.try_write();
}

}  // namespace

SCENARIO(own_domain_reader_against_writer, "a writer asks the threads of its lock's domain",
         effort::small) {
  scene_in(s, s.make<lock_domain>("own domain"))
      .thread("reader", be_online_in_its_domain, [](lock_scene& on) { on.try_read_passively(); })
      .thread("writer", be_known_in_its_domain, try_write);
}

SCENARIO(own_domain_asks_no_others, "a writer does not ask the threads of another domain",
         effort::small) {
  auto& on = scene_in(s, s.make<lock_domain>("own domain"));
  auto& other = biased_lock(s, "other");
  s.thread("reader", [&] { hold_passively(other); }, [&] { test::unlock_shared(other); });
  on.thread("writer", be_known_in_its_domain, [&] {
    on.write();
    expect(default_domain.version.load(platform::relaxed) == 0,
           "a round of one domain has been a round of another");
  });
}

SCENARIO(holds_in_two_domains, "writers of either domain wait for a reader with holds in both",
         effort::small) {
  auto& on = scene_in(s, s.make<lock_domain>("own domain"));
  auto& other = biased_lock(s, "other");
  const auto hold_both = [&](rwlock& lock) {
    be_online();
    be_online_in_its_domain(lock);
    test::lock_shared(other);
    test::lock_shared(lock);
  };
  on.thread("reader", hold_both, [&] {
    test::unlock_shared(other);
    on.finish_reading();
  });
  on.thread("writer", be_known_in_its_domain, try_write);
  s.finally([&] {
    expect_all_given_back(on.lock);
    expect_all_given_back(other);
  });
}

SCENARIO(number_of_a_domain_passes_on,
         "a domain that gets the number of one that is over finds its records", effort::small) {
  struct use {
    variable<chunk*> records;
    variable<unsigned> number;
  };
  auto& first = s.make<use>("first use");
  auto& second = s.make<use>("second use");
  const auto use_domain = [](use& of) {
    const lock_domain own;
    of.number = own.number();
    of.records = &chunk_of(*enlist(own.number()));
  };
  s.thread("first", [&, use_domain] { use_domain(first); });
  s.thread("second", [&, use_domain] { use_domain(second); });
  s.finally([&] {
    expect(first.number.get() != second.number.get() || first.records.get() == second.records.get(),
           "the records of a domain are lost");
  });
}

}  // namespace readmost::model

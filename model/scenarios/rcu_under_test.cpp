#include "scenarios/rcu_under_test.hpp"

#include "threads/registry.hpp"

namespace readmost::model {

namespace {

constexpr retired_kind kind_of_retiree{[](retired* object) noexcept {
                                         auto& self = *static_cast<retiree*>(object);
                                         self.then();
                                         self.data.write();
                                         ++self.reclaimed;
                                       },
                                       sizeof(retiree)};

}  // namespace

void begin_rcu(scenario& s) {
  s.turns(0);
  passive_possible();
  watch_forks();
  s.finally(expect_no_sections_left);
}

two_versions publish(scenario& s, const char* name) {
  auto& first = s.make<guarded>("first version");
  auto& second = s.make<guarded>("second version");
  return {s, first, second, s.make<published>(name, first)};
}

void read_in_section(const published& what) {
  enter();
  what.find().read();
  leave();
}

void read_and_leave(const guarded& found) {
  found.read();
  leave();
}

void replace_and_write(published& what, guarded& fresh, void (*wait)()) {
  guarded& old = what.replace(fresh);
  wait();
  old.write();
}

void two_versions::add_reader(const char* name, void (*before)(), unsigned sections) const {
  in.thread(name, before, [&current = current, sections] {
    for (unsigned left = sections; left != 0; --left) read_in_section(current);
  });
}

void two_versions::add_reader_inside(const char* name, void (*before)()) const {
  in.thread(name, before, [&first = first] { read_and_leave(first); });
}

void two_versions::add_updater(const char* name, void (*wait)()) const {
  in.thread(name, be_known, [versions = *this, wait] {
    replace_and_write(versions.current, versions.second, wait);
  });
}

void be_inside() {
  be_online();
  enter();
}

void be_dormant_inside() {
  be_inside();
  go_offline(my_record());
}

void be_long_idle_inside() {
  be_dormant_inside();
  seem_long_idle();
}

void be_being_retired() {
  be_dormant();
  auto& mode = my_record().mode;
  mode.store((mode.load(platform::relaxed) & ~participation_mask) |
                 static_cast<std::uint32_t>(participation::unlisting),
             platform::relaxed);
}

void be_counted_inside() {
  be_being_retired();
  enter();
}

void be_departed() {
  be_known();
  execution::current()->self().on_exit();
}

void be_departed_inside() {
  be_departed();
  enter();
}

void expect_no_sections_left() {
  const domain& d = default_domain;
  expect((d.grace_periods.load(platform::relaxed) & grace_period_led) == 0,
         "a grace period is led and nobody leads it");
  for (const auto& count : d.counted_sections) {
    expect(count.load(platform::relaxed) == 0, "a section is counted and nobody is inside");
  }
  expect(d.drain_sleepers.load(platform::relaxed) == 0, "a domain has sleepers and nobody sleeps");
  unsigned looked_at = 0;
  for_each_record(default_domain, [&](const thread_record& record, bool used) {
    if (++looked_at > max_threads || &record == &my_record()) return;
    if (used) {
      execution::current()->fail(violation_kind::leak, "a record is left to a thread that is over",
                                 std::source_location::current());
    }
    expect(record.section.load(platform::relaxed) == 0, "a section is open and nobody is inside");
  });
}

void retire(retiree& object) {
  schedule(default_domain, object, kind_of_retiree);
}

}  // namespace readmost::model

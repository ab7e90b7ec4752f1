// SPDX-License-Identifier: Apache-2.0
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
  s.spins(0);
  find_out_once();
  s.finally(expect_no_sections_left);
}

two_versions& publish(scenario& s, const char* name) {
  auto& first = s.make<guarded>("first version");
  auto& second = s.make<guarded>("second version");
  return s.make<two_versions>("versions",
                              two_versions{s, first, second, s.make<published>(name, first)});
}

two_versions& begin_with_two_versions(scenario& s) {
  begin_rcu(s);
  return publish(s);
}

void read_and_leave(const guarded& found) {
  found.read();
  leave();
}

void two_versions::read() const {
  enter();
  read_and_leave(current.find());
}

void two_versions::replace_and_write(guarded& fresh, void (*wait)()) const {
  guarded& old = current.replace(fresh);
  wait();
  old.write();
}

const two_versions& two_versions::add_reader(const char* name, void (*before)(),
                                             unsigned sections) const {
  return thread(name, before, [sections](const two_versions& versions) {
    for (unsigned left = sections; left != 0; --left) versions.read();
  });
}

const two_versions& two_versions::add_reader_inside(const char* name, void (*before)()) const {
  return thread(name, before, [](const two_versions& versions) { read_and_leave(versions.first); });
}

const two_versions& two_versions::add_updater(const char* name, void (*wait)()) const {
  return thread(name, be_known, [wait](const two_versions& versions) {
    versions.replace_and_write(versions.second, wait);
  });
}

const two_versions& two_versions::exits_at_once() const {
  in.exits_at_once();
  return *this;
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
         "a grace period has a leader, but no thread leads it");
  for (const auto& count : d.counted_sections) {
    expect(count.load(platform::relaxed) == 0, "a section is counted, but no thread is inside");
  }
  expect_no_sleepers(d);
  expect_records_given_back(default_domain, [](const thread_record& record) {
    expect(record.section.load(platform::relaxed) == 0,
           "a section is open, but no thread is inside");
  });
}

void retire(retiree& object) {
  schedule(default_domain, object, kind_of_retiree);
}

}  // namespace readmost::model

// SPDX-License-Identifier: Apache-2.0
// Readers of RCU against a grace period.
#include "scenarios/rcu_under_test.hpp"
#include "scenarios/table.hpp"
#include "threads/registry.hpp"

namespace readmost::model {

namespace {

void be_unregistered() {}

// As where the library looks for misuse.
void be_checked() {
  be_online();
  my_record().section.store(section_checked, platform::relaxed);
}

void be_checked_inside() {
  be_checked();
  enter();
  go_offline(my_record());
}

void be_in_index_from_a_section() {
  be_known();
  enter();
  leave();
}

// A reader, by what it is at the beginning and what it does, against an updater.
void reader_against_updater(scenario& s, void (*reader_is)(), void (*reads)(const two_versions&)) {
  begin_with_two_versions(s).thread("reader", reader_is, reads).add_updater();
}

// A reader that is inside already and nests.
void nest_and_leave(const two_versions& versions) {
  versions.read();
  read_and_leave(versions.first);
}

// A reader that enters and reads.
template <void (*ReaderIs)()>
void entering(scenario& s) {
  begin_with_two_versions(s).add_reader("reader", ReaderIs).add_updater();
}

// A reader that is inside already, reads and leaves.
template <void (*ReaderIs)()>
void leaving(scenario& s) {
  begin_with_two_versions(s).add_reader_inside("reader", ReaderIs).add_updater();
}

// A reader that exits inside its section.
template <void (*ReaderIs)()>
void exiting(scenario& s) {
  begin_with_two_versions(s)
      .thread("reader", ReaderIs, [](const two_versions& versions) { versions.first.read(); })
      .exits_at_once()
      .add_updater();
}

const scenario_table readers_against_updater{
    {"section_against_grace_period",
     "no updater writes what a reader has found before the reader's section is over", effort::small,
     entering<be_online>},
    {"section_of_dormant_reader", "an updater waits for a reader that is not online", effort::small,
     entering<be_dormant>},
    {"section_of_new_reader", "an updater waits for a reader that is not in the index",
     effort::small, entering<be_known>},
    {"section_that_registers", "an updater waits for a reader that has no record yet",
     effort::small, entering<be_unregistered>},
    {"section_without_a_record", "an updater waits for a reader that is past its thread's exit",
     effort::small, entering<be_departed>},
    {"section_of_record_being_retired",
     "an updater waits for a reader whose record a round is taking out of the index", effort::small,
     entering<be_being_retired>},
    {"section_while_retired",
     "an updater waits for a reader that enters while a round retires its record", effort::medium,
     entering<be_long_idle>},
    {"section_on_slow_paths", "an updater waits for a reader that takes the slow paths",
     effort::small, entering<be_checked>},
    {"section_on_slow_paths_begun_before",
     "a reader that leaves by the slow path wakes the updater that waits for it", effort::small,
     leaving<be_checked_inside>},
    {"section_begun_before", "a reader that leaves wakes the updater that waits for it",
     effort::small, leaving<be_inside>},
    {"section_of_dormant_reader_begun_before",
     "a reader that went dormant inside wakes the updater that waits for it", effort::small,
     leaving<be_dormant_inside>},
    {"counted_section_begun_before",
     "a reader whose section is counted wakes the updater that waits for it", effort::small,
     leaving<be_counted_inside>},
    {"unrecorded_section_begun_before",
     "a reader past its thread's exit wakes the updater that waits for it", effort::small,
     leaving<be_departed_inside>},
    {"section_left_open_at_exit",
     "an updater that waits for a thread that exits inside a section goes on", effort::small,
     exiting<be_inside>},
    {"counted_section_left_open_at_exit",
     "an updater that waits for a thread that exits inside a counted section goes on",
     effort::small, exiting<be_counted_inside>},
};

}  // namespace

SCENARIO(section_without_membarrier, "an updater waits for a reader where membarrier is missing",
         effort::small) {
  s.without_membarrier();
  entering<be_known>(s);
}

SCENARIO(section_without_membarrier_in_index,
         "without membarrier, an updater waits for a reader that an earlier section put in the "
         "index",
         effort::small) {
  s.without_membarrier();
  entering<be_in_index_from_a_section>(s);
}

SCENARIO(nested_sections, "the end of an inner section does not end the outer one", effort::small) {
  reader_against_updater(s, be_online, [](const two_versions& versions) {
    enter();
    const guarded& found = versions.current.find();
    enter();
    leave();
    read_and_leave(found);
  });
}

SCENARIO(nested_in_an_older_section,
         "an updater waits for a reader that nests while a round makes it dormant", effort::small) {
  reader_against_updater(s, be_inside, nest_and_leave);
}

SCENARIO(nested_while_retired,
         "an updater waits for a reader that nests while a round tries to retire its record",
         effort::small) {
  reader_against_updater(s, be_long_idle_inside, nest_and_leave);
}

// As if a signal handler interrupted the entry of a section before that had looked at its mode.
SCENARIO(counted_inside_a_noted_section,
         "an updater waits for the outer section of a reader whose inner section is counted",
         effort::small) {
  const auto be_inside_while_retired = [] {
    be_being_retired();
    my_record().section.store(1, platform::relaxed);
    enter();
  };
  reader_against_updater(s, be_inside_while_retired, [](const two_versions& versions) {
    leave();
    read_and_leave(versions.first);
  });
}

SCENARIO(two_sections_against_grace_period,
         "an updater waits for a reader that leaves and enters again", effort::small) {
  reader_against_updater(s, be_online, [](const two_versions& versions) {
    versions.read();
    versions.read();
  });
}

SCENARIO(second_section_after_one_begun_before,
         "a reader that reports when it leaves finds the new version in its next section",
         effort::small) {
  reader_against_updater(s, be_inside, [](const two_versions& versions) {
    read_and_leave(versions.first);
    versions.read();
  });
}

SCENARIO(report_inside_a_section, "an updater waits for a reader that reports while it is inside",
         effort::small) {
  begin_rcu(s);
  auto& lock = biased_lock(s);
  const auto be_inside_with_lock = [&] {
    be_inside();
    test::lock_shared(lock);
  };
  publish(s)
      .thread("reader", be_inside_with_lock,
              [&](const two_versions& versions) {
                test::unlock_shared(lock);
                read_and_leave(versions.first);
              })
      .add_updater();
}

SCENARIO(goes_offline_inside, "an updater waits for a reader that goes offline inside",
         effort::small) {
  reader_against_updater(s, be_online, [](const two_versions& versions) {
    enter();
    const guarded& found = versions.current.find();
    go_offline();
    read_and_leave(found);
  });
}

SCENARIO(offline_and_back_inside,
         "an updater waits for a reader that goes offline and comes back inside", effort::medium) {
  reader_against_updater(s, be_online, [](const two_versions& versions) {
    enter();
    const guarded& found = versions.current.find();
    go_offline();
    come_online(my_record());
    read_and_leave(found);
  });
}

SCENARIO(exit_after_a_section,
         "an updater sees the end of the sections of a thread that has exited", effort::small) {
  begin_with_two_versions(s)
      .add_reader_inside("reader", be_dormant_inside)
      .exits_at_once()
      .add_updater();
}

SCENARIO(record_retired_after_its_section,
         "an updater that does not find a record in the index sees the end of its sections",
         effort::small) {
  begin_with_two_versions(s).add_updater().add_reader_inside("reader", be_long_idle_inside);
  s.thread("writer", be_known, run_round);
}

SCENARIO(section_without_membarrier_while_retired,
         "without membarrier no record is retired while its thread is inside", effort::large) {
  s.without_membarrier();
  const auto be_idle_in_index = [] {
    be_in_index_from_a_section();
    seem_long_idle();
  };
  begin_with_two_versions(s).add_updater().add_reader("reader", be_idle_in_index);
  s.thread("writer", be_known, run_round);
}

SCENARIO(section_and_lock,
         "an updater and a writer wait for a reader that holds a lock inside a section",
         effort::large) {
  begin_rcu(s);
  auto& on = scene_on(s, biased_lock(s));
  auto& versions = publish(s);
  s.thread("reader", be_online, [&] {
    enter();
    const guarded& found = versions.current.find();
    on.try_read();
    read_and_leave(found);
  });
  versions.add_updater();
  on.add_trying_writer();
  s.finally([&] {
    expect_no_sections_left();
    expect_all_given_back(on.lock);
  });
}

}  // namespace readmost::model

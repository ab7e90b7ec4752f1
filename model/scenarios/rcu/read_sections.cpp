// Readers of RCU against a grace period.
#include "scenarios/rcu_under_test.hpp"
#include "threads/registry.hpp"

namespace readmost::model {

namespace {

void be_checked() {
  be_online();
  my_record().section.store(section_checked, platform::relaxed);
}

void be_checked_inside() {
  be_checked();
  enter();
  go_offline(my_record());
}

// A reader, as it is when it begins and what it does, against an updater.
void reader_against_updater(scenario& s, void (*reader_is)(), void (*reads)(const two_versions&)) {
  begin_rcu(s);
  const two_versions versions = publish(s);
  s.thread("reader", reader_is, [versions, reads] { reads(versions); });
  versions.add_updater("updater");
}

// What one does that is inside already.
void nest_and_leave(const two_versions& versions) {
  read_in_section(versions.current);
  read_and_leave(versions.first);
}

// One that enters and reads.
void reader_against_updater(scenario& s, void (*reader_is)()) {
  reader_against_updater(s, reader_is,
                         [](const two_versions& versions) { read_in_section(versions.current); });
}

// One that is inside already, reads and leaves.
void leaving_reader_against_updater(scenario& s, void (*reader_is)()) {
  reader_against_updater(s, reader_is,
                         [](const two_versions& versions) { read_and_leave(versions.first); });
}

}  // namespace

SCENARIO(section_against_grace_period,
         "what a reader found is not touched before its section is over", effort::small) {
  reader_against_updater(s, be_online);
}

SCENARIO(section_of_dormant_reader, "the same of a reader that is not online", effort::small) {
  reader_against_updater(s, be_dormant);
}

SCENARIO(section_of_new_reader, "the same of a reader that is not in the index", effort::small) {
  reader_against_updater(s, be_known);
}

SCENARIO(section_that_registers, "the same of a reader that has no record yet", effort::small) {
  reader_against_updater(s, [] {});
}

SCENARIO(section_without_a_record, "the same of a thread that is past its exit", effort::small) {
  reader_against_updater(s, be_departed);
}

SCENARIO(section_of_record_being_retired,
         "the same of a reader whose record a round is just taking out of the index",
         effort::small) {
  reader_against_updater(s, be_being_retired);
}

SCENARIO(section_while_retired,
         "a reader that enters while a round retires its record is waited for", effort::medium) {
  reader_against_updater(s, be_long_idle);
}

SCENARIO(section_without_membarrier, "without membarrier a reader is waited for all the same",
         effort::small) {
  s.without_membarrier();
  reader_against_updater(s, be_known);
}

SCENARIO(section_without_membarrier_in_index,
         "the same of a reader that is in the index from a section before", effort::small) {
  s.without_membarrier();
  reader_against_updater(s, [] {
    be_known();
    enter();
    leave();
  });
}

// As where misuse is looked for.
SCENARIO(section_on_slow_paths, "the same of a reader that enters and leaves by the slow paths",
         effort::small) {
  reader_against_updater(s, be_checked);
}

SCENARIO(section_on_slow_paths_begun_before,
         "a reader that leaves by the slow path is waited for, and wakes the updater",
         effort::small) {
  leaving_reader_against_updater(s, be_checked_inside);
}

SCENARIO(section_begun_before, "a reader that is inside is waited for, and wakes the updater",
         effort::small) {
  leaving_reader_against_updater(s, be_inside);
}

SCENARIO(section_of_dormant_reader_begun_before,
         "a reader that went dormant inside is waited for, and wakes the updater", effort::small) {
  leaving_reader_against_updater(s, be_dormant_inside);
}

SCENARIO(counted_section_begun_before,
         "a reader whose section is counted is waited for, and wakes the updater", effort::small) {
  leaving_reader_against_updater(s, be_counted_inside);
}

SCENARIO(unrecorded_section_begun_before, "the same of a thread that is past its exit",
         effort::small) {
  leaving_reader_against_updater(s, be_departed_inside);
}

SCENARIO(nested_sections, "the end of an inner section does not end the outer one", effort::small) {
  reader_against_updater(s, be_online, [](const two_versions& versions) {
    enter();
    const guarded& found = versions.current.find();
    enter();
    leave();
    found.read();
    leave();
  });
}

SCENARIO(nested_in_an_older_section,
         "a reader that nests while a round makes it dormant is waited for until it is out",
         effort::small) {
  reader_against_updater(s, be_inside, nest_and_leave);
}

SCENARIO(nested_while_retired,
         "a reader that nests while a round tries to retire its record is waited for",
         effort::small) {
  reader_against_updater(s, be_long_idle_inside, nest_and_leave);
}

// A signal handler interrupts the entry of a section, before that has looked at its mode.
SCENARIO(counted_inside_a_noted_section,
         "a reader whose inner section is counted is waited for until the outer one is over",
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
         "a reader that leaves and enters again is not taken for one that has left",
         effort::small) {
  reader_against_updater(s, be_online, [](const two_versions& versions) {
    read_in_section(versions.current);
    read_in_section(versions.current);
  });
}

SCENARIO(second_section_after_one_begun_before,
         "a reader that reports when it leaves sees in its next section what is new",
         effort::small) {
  reader_against_updater(s, be_inside, [](const two_versions& versions) {
    read_and_leave(versions.first);
    read_in_section(versions.current);
  });
}

SCENARIO(report_inside_a_section, "a reader that reports while it is inside is waited for",
         effort::small) {
  begin_rcu(s);
  auto& lock = biased_lock(s);
  const two_versions versions = publish(s);
  const auto be_inside_with_lock = [&lock] {
    be_inside();
    unit::lock_shared(lock);
  };
  s.thread("reader", be_inside_with_lock, [versions, &lock] {
    unit::unlock_shared(lock);
    read_and_leave(versions.first);
  });
  versions.add_updater("updater");
}

SCENARIO(goes_offline_inside, "a reader that goes offline inside is waited for", effort::small) {
  reader_against_updater(s, be_online, [](const two_versions& versions) {
    enter();
    const guarded& found = versions.current.find();
    go_offline();
    found.read();
    leave();
  });
}

SCENARIO(offline_and_back_inside, "a reader that goes offline and comes back inside is waited for",
         effort::medium) {
  reader_against_updater(s, be_online, [](const two_versions& versions) {
    enter();
    const guarded& found = versions.current.find();
    go_offline();
    come_online(my_record());
    found.read();
    leave();
  });
}

SCENARIO(section_left_open_at_exit,
         "an updater that waits for a thread that exits inside a section goes on", effort::small) {
  begin_rcu(s);
  const two_versions versions = publish(s);
  s.thread("reader", be_inside, [versions] { versions.first.read(); });
  s.exits_at_once();
  versions.add_updater("updater");
}

SCENARIO(exit_after_a_section, "an updater is behind the sections of a thread that has exited",
         effort::small) {
  begin_rcu(s);
  const two_versions versions = publish(s);
  versions.add_reader_inside("reader", be_dormant_inside);
  s.exits_at_once();
  versions.add_updater("updater");
}

SCENARIO(counted_section_left_open_at_exit,
         "the same where the section is counted: nobody waits for it any more", effort::small) {
  begin_rcu(s);
  const two_versions versions = publish(s);
  s.thread("reader", be_counted_inside, [versions] { versions.first.read(); });
  s.exits_at_once();
  versions.add_updater("updater");
}

SCENARIO(record_retired_after_its_section,
         "who does not find a record in the index is behind the sections of its thread",
         effort::small) {
  begin_rcu(s);
  const two_versions versions = publish(s);
  versions.add_updater("updater");
  versions.add_reader_inside("reader", be_long_idle_inside);
  s.thread("writer", be_known, run_round);
}

SCENARIO(section_without_membarrier_while_retired,
         "without membarrier no record is retired while its thread is inside", effort::large) {
  s.without_membarrier();
  begin_rcu(s);
  const two_versions versions = publish(s);
  const auto be_idle_in_index = [] {
    be_known();
    enter();
    leave();
    seem_long_idle();
  };
  versions.add_updater("updater");
  versions.add_reader("reader", be_idle_in_index);
  s.thread("writer", be_known, run_round);
}

SCENARIO(section_and_lock, "a reader that holds a lock and is in a section keeps both waiting",
         effort::large) {
  begin_rcu(s);
  auto& lock = biased_lock(s);
  auto& data = s.make<guarded>("data");
  const two_versions versions = publish(s);
  s.thread("reader", be_online, [versions, &lock, &data] {
    enter();
    const guarded& found = versions.current.find();
    try_read_under(lock, data);
    found.read();
    leave();
  });
  versions.add_updater("updater");
  s.thread("writer", be_known, [&lock, &data] { try_write_under(lock, data); });
  s.finally([&lock] {
    expect_no_sections_left();
    expect_all_given_back(lock);
  });
}

}  // namespace readmost::model

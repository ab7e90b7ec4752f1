// Readers of RCU against a grace period.
#include "registry.hpp"
#include "scenarios/rcu_under_test.hpp"

namespace readmost::model {

namespace {

void be_checked() {
  be_online();
  my_record().section.store(section_checked, platform::relaxed);
}

// A reader that enters and reads, and an updater.
void add_reader_and_updater(scenario& s, void (*reader_is)()) {
  begin_rcu(s);
  const two_versions versions = publish(s);
  s.thread("reader", reader_is, [versions] { read_in_section(versions.current); });
  s.thread("updater", be_known,
           [versions] { replace_and_write(versions.current, versions.second); });
  s.finally(expect_no_sections_left);
}

}  // namespace

SCENARIO(section_against_grace_period,
         "what a reader found is not touched before its section is over", effort::small) {
  add_reader_and_updater(s, be_online);
}

SCENARIO(section_of_dormant_reader, "the same of a reader that is not online", effort::small) {
  add_reader_and_updater(s, be_dormant);
}

SCENARIO(section_of_new_reader, "the same of a reader that is not in the index", effort::small) {
  add_reader_and_updater(s, be_known);
}

SCENARIO(section_that_registers, "the same of a reader that has no record yet", effort::small) {
  add_reader_and_updater(s, [] {});
}

SCENARIO(section_without_a_record, "the same of a thread that is past its exit", effort::small) {
  add_reader_and_updater(s, be_departed);
}

SCENARIO(section_of_record_being_retired,
         "the same of a reader whose record a round is just taking out of the index",
         effort::small) {
  add_reader_and_updater(s, be_being_retired);
}

SCENARIO(section_while_retired,
         "a reader that enters while a round retires its record is waited for", effort::medium) {
  add_reader_and_updater(s, be_long_idle);
}

SCENARIO(section_without_membarrier, "without membarrier a reader is waited for all the same",
         effort::small) {
  s.without_membarrier();
  add_reader_and_updater(s, be_known);
}

SCENARIO(section_without_membarrier_in_index,
         "the same of a reader that is in the index from a section before", effort::small) {
  s.without_membarrier();
  add_reader_and_updater(s, [] {
    be_known();
    enter();
    leave();
  });
}

// As where misuse is looked for.
SCENARIO(section_on_slow_paths, "the same of a reader that enters and leaves by the slow paths",
         effort::small) {
  add_reader_and_updater(s, be_checked);
}

SCENARIO(section_on_slow_paths_begun_before,
         "a reader that leaves by the slow path is waited for, and wakes the updater",
         effort::small) {
  begin_rcu(s);
  const two_versions versions = publish(s);
  const auto be_checked_inside = [] {
    be_checked();
    enter();
    go_offline(my_record());
  };
  s.thread("reader", be_checked_inside, [versions] {
    versions.first.read();
    leave();
  });
  s.thread("updater", be_known,
           [versions] { replace_and_write(versions.current, versions.second); });
  s.finally(expect_no_sections_left);
}

SCENARIO(section_begun_before, "a reader that is inside is waited for, and wakes the updater",
         effort::small) {
  begin_rcu(s);
  const two_versions versions = publish(s);
  s.thread("reader", be_inside, [versions] {
    versions.first.read();
    leave();
  });
  s.thread("updater", be_known,
           [versions] { replace_and_write(versions.current, versions.second); });
  s.finally(expect_no_sections_left);
}

SCENARIO(section_of_dormant_reader_begun_before,
         "a reader that went dormant inside is waited for, and wakes the updater", effort::small) {
  begin_rcu(s);
  const two_versions versions = publish(s);
  const auto be_dormant_inside = [] {
    be_inside();
    go_offline(my_record());
  };
  s.thread("reader", be_dormant_inside, [versions] {
    versions.first.read();
    leave();
  });
  s.thread("updater", be_known,
           [versions] { replace_and_write(versions.current, versions.second); });
  s.finally(expect_no_sections_left);
}

SCENARIO(counted_section_begun_before,
         "a reader whose section is counted is waited for, and wakes the updater", effort::small) {
  begin_rcu(s);
  const two_versions versions = publish(s);
  const auto be_counted = [] {
    be_being_retired();
    enter();
  };
  s.thread("reader", be_counted, [versions] {
    versions.first.read();
    leave();
  });
  s.thread("updater", be_known,
           [versions] { replace_and_write(versions.current, versions.second); });
  s.finally(expect_no_sections_left);
}

SCENARIO(unrecorded_section_begun_before, "the same of a thread that is past its exit",
         effort::small) {
  begin_rcu(s);
  const two_versions versions = publish(s);
  const auto be_unrecorded = [] {
    be_departed();
    enter();
  };
  s.thread("reader", be_unrecorded, [versions] {
    versions.first.read();
    leave();
  });
  s.thread("updater", be_known,
           [versions] { replace_and_write(versions.current, versions.second); });
  s.finally(expect_no_sections_left);
}

SCENARIO(nested_sections, "the end of an inner section does not end the outer one", effort::small) {
  begin_rcu(s);
  const two_versions versions = publish(s);
  s.thread("reader", be_online, [versions] {
    enter();
    const guarded& found = versions.current.find();
    enter();
    leave();
    found.read();
    leave();
  });
  s.thread("updater", be_known,
           [versions] { replace_and_write(versions.current, versions.second); });
  s.finally(expect_no_sections_left);
}

SCENARIO(nested_in_an_older_section,
         "a reader that nests while a round makes it dormant is waited for until it is out",
         effort::small) {
  begin_rcu(s);
  const two_versions versions = publish(s);
  s.thread("reader", be_inside, [versions] {
    enter();
    versions.current.find().read();
    leave();
    versions.first.read();
    leave();
  });
  s.thread("updater", be_known,
           [versions] { replace_and_write(versions.current, versions.second); });
  s.finally(expect_no_sections_left);
}

SCENARIO(nested_while_retired,
         "a reader that nests while a round tries to retire its record is waited for",
         effort::small) {
  begin_rcu(s);
  const two_versions versions = publish(s);
  s.thread("reader", be_long_idle_inside, [versions] {
    enter();
    versions.current.find().read();
    leave();
    versions.first.read();
    leave();
  });
  s.thread("updater", be_known,
           [versions] { replace_and_write(versions.current, versions.second); });
  s.finally(expect_no_sections_left);
}

// A signal handler interrupts the entry of a section, before that has looked at its mode.
SCENARIO(counted_inside_a_noted_section,
         "a reader whose inner section is counted is waited for until the outer one is over",
         effort::small) {
  begin_rcu(s);
  const two_versions versions = publish(s);
  const auto be_inside_while_retired = [] {
    be_being_retired();
    my_record().section.store(1, platform::relaxed);
    enter();
  };
  s.thread("reader", be_inside_while_retired, [versions] {
    leave();
    versions.first.read();
    leave();
  });
  s.thread("updater", be_known,
           [versions] { replace_and_write(versions.current, versions.second); });
  s.finally(expect_no_sections_left);
}

SCENARIO(two_sections_against_grace_period,
         "a reader that leaves and enters again is not taken for one that has left",
         effort::small) {
  begin_rcu(s);
  const two_versions versions = publish(s);
  s.thread("reader", be_online, [versions] {
    read_in_section(versions.current);
    read_in_section(versions.current);
  });
  s.thread("updater", be_known,
           [versions] { replace_and_write(versions.current, versions.second); });
  s.finally(expect_no_sections_left);
}

SCENARIO(second_section_after_one_begun_before,
         "a reader that reports when it leaves sees in its next section what is new",
         effort::small) {
  begin_rcu(s);
  const two_versions versions = publish(s);
  s.thread("reader", be_inside, [versions] {
    versions.first.read();
    leave();
    read_in_section(versions.current);
  });
  s.thread("updater", be_known,
           [versions] { replace_and_write(versions.current, versions.second); });
  s.finally(expect_no_sections_left);
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
    versions.first.read();
    leave();
  });
  s.thread("updater", be_known,
           [versions] { replace_and_write(versions.current, versions.second); });
  s.finally(expect_no_sections_left);
}

SCENARIO(goes_offline_inside, "a reader that goes offline inside is waited for", effort::small) {
  begin_rcu(s);
  const two_versions versions = publish(s);
  s.thread("reader", be_online, [versions] {
    enter();
    const guarded& found = versions.current.find();
    go_offline();
    found.read();
    leave();
  });
  s.thread("updater", be_known,
           [versions] { replace_and_write(versions.current, versions.second); });
  s.finally(expect_no_sections_left);
}

SCENARIO(offline_and_back_inside, "a reader that goes offline and comes back inside is waited for",
         effort::medium) {
  begin_rcu(s);
  const two_versions versions = publish(s);
  s.thread("reader", be_online, [versions] {
    enter();
    const guarded& found = versions.current.find();
    go_offline();
    come_online(my_record());
    found.read();
    leave();
  });
  s.thread("updater", be_known,
           [versions] { replace_and_write(versions.current, versions.second); });
  s.finally(expect_no_sections_left);
}

SCENARIO(section_left_open_at_exit,
         "an updater that waits for a thread that exits inside a section goes on", effort::small) {
  begin_rcu(s);
  const two_versions versions = publish(s);
  s.thread("reader", be_inside, [versions] { versions.first.read(); });
  s.exits_at_once();
  s.thread("updater", be_known,
           [versions] { replace_and_write(versions.current, versions.second); });
  s.finally(expect_no_sections_left);
}

SCENARIO(exit_after_a_section, "an updater is behind the sections of a thread that has exited",
         effort::small) {
  begin_rcu(s);
  const two_versions versions = publish(s);
  const auto be_dormant_inside = [] {
    be_inside();
    go_offline(my_record());
  };
  s.thread("reader", be_dormant_inside, [versions] {
    versions.first.read();
    leave();
  });
  s.exits_at_once();
  s.thread("updater", be_known,
           [versions] { replace_and_write(versions.current, versions.second); });
  s.finally(expect_no_sections_left);
}

SCENARIO(counted_section_left_open_at_exit,
         "the same where the section is counted: nobody waits for it any more", effort::small) {
  begin_rcu(s);
  const two_versions versions = publish(s);
  const auto be_counted = [] {
    be_being_retired();
    enter();
  };
  s.thread("reader", be_counted, [versions] { versions.first.read(); });
  s.exits_at_once();
  s.thread("updater", be_known,
           [versions] { replace_and_write(versions.current, versions.second); });
  s.finally(expect_no_sections_left);
}

SCENARIO(record_retired_after_its_section,
         "who does not find a record in the index is behind the sections of its thread",
         effort::small) {
  begin_rcu(s);
  const two_versions versions = publish(s);
  s.thread("updater", be_known,
           [versions] { replace_and_write(versions.current, versions.second); });
  s.thread("reader", be_long_idle_inside, [versions] {
    versions.first.read();
    leave();
  });
  s.thread("writer", be_known, run_round);
  s.finally(expect_no_sections_left);
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
    my_record().idle_rounds.store(7, platform::relaxed);
  };
  s.thread("updater", be_known,
           [versions] { replace_and_write(versions.current, versions.second); });
  s.thread("reader", be_idle_in_index, [versions] { read_in_section(versions.current); });
  s.thread("writer", be_known, run_round);
  s.finally(expect_no_sections_left);
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
  s.thread("updater", be_known,
           [versions] { replace_and_write(versions.current, versions.second); });
  s.thread("writer", be_known, [&lock, &data] { try_write_under(lock, data); });
  s.finally([&lock] {
    expect_no_sections_left();
    expect_all_given_back(lock);
  });
}

}  // namespace readmost::model

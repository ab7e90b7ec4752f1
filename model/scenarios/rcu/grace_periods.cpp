// SPDX-License-Identifier: Apache-2.0
// Grace periods: which thread leads one, which threads share it, and which may not.
#include "scenarios/rcu_under_test.hpp"

namespace readmost::model {

namespace {

// Short enough for some polls to be over before reports are due.
constexpr std::uint64_t clock_of_polls = 1000;

two_versions& begin_with_polls(scenario& s) {
  s.clock_step(clock_of_polls);
  return begin_with_two_versions(s);
}

// Polls up to `times` times; true if the grace period was over.
bool poll(std::uint64_t grace_period, unsigned times) {
  for (; times != 0; --times) {
    if (try_advance(default_domain, grace_period)) return true;
  }
  return false;
}

// What rcu_start_poll() does.
std::uint64_t start_poll() {
  const std::uint64_t grace_period = grace_period_from_now(default_domain);
  try_advance(default_domain, grace_period);
  return grace_period;
}

// An updater that replaces what is published a second time as soon as it may.
void add_updater_of_two(scenario& s, const two_versions& versions) {
  auto& third = s.make<guarded>("third version");
  s.thread("updater", be_known, [&versions, &third] {
    versions.replace_and_write(versions.second);
    versions.replace_and_write(third);
  });
}

// An updater that writes only if the grace period is over by its second poll.
void poll_and_write(const two_versions& versions) {
  guarded& old = versions.current.replace(versions.second);
  if (poll(start_poll(), 2)) old.write();
}

// A grace period that one thread has begun by a poll, for another to continue; zero before that.
using ticket_of_a_poll = platform::atomic<std::uint64_t>;
ticket_of_a_poll& no_ticket_yet(scenario& s) {
  return s.make<ticket_of_a_poll>("ticket", std::uint64_t{0});
}

void replace_and_start_poll(const two_versions& versions, ticket_of_a_poll& begun) {
  versions.current.replace(versions.second);
  begun.store(start_poll(), platform::release);
}

void synchronize_expedited() {
  synchronize(default_domain, urgency::hurry);
}

void await_ticket() {
  await_grace_period(default_domain, grace_period_from_now(default_domain), urgency::normal);
}

}  // namespace

SCENARIO(two_grace_periods, "two grace periods in a row each wait for the reader", effort::medium) {
  add_updater_of_two(s, begin_with_two_versions(s).add_reader("reader", be_online));
}

SCENARIO(two_grace_periods_against_two_sections,
         "two grace periods in a row wait for either section of a reader", effort::large) {
  add_updater_of_two(s, begin_with_two_versions(s).add_reader("reader", be_online, 2));
}

SCENARIO(two_grace_periods_against_counted_sections,
         "two grace periods in a row wait for either counted section of a reader, in both phases",
         effort::large) {
  add_updater_of_two(s, begin_with_two_versions(s).add_reader("reader", be_being_retired, 2));
}

SCENARIO(counted_section_in_the_second_phase,
         "a grace period waits for counted sections of the phase that is not the present one",
         effort::small) {
  const auto be_counted_in_the_first = [] {
    be_counted_inside();
    default_domain.counting_phase.store(1, platform::relaxed);
  };
  begin_with_two_versions(s).add_reader_inside("reader", be_counted_in_the_first).add_updater();
}

SCENARIO(counted_sections_one_after_the_other,
         "counted readers that follow one another without a pause keep no grace period waiting",
         effort::small) {
  auto& versions = begin_with_two_versions(s);
  auto& entered = s.make<signal>("entered");
  s.thread("first reader", be_departed_inside, [&] {
    entered.await();
    read_and_leave(versions.first);
  });
  s.thread("second reader", be_departed, [&] {
    enter();
    entered.give();
    read_and_leave(versions.current.find());
  });
  versions.add_updater();
}

SCENARIO(expedited_grace_period,
         "a grace period that does not wait for reports waits for the reader", effort::small) {
  begin_with_two_versions(s)
      .add_reader("reader", be_online)
      .add_updater("updater", synchronize_expedited);
}

SCENARIO(two_updaters, "two threads that wait for readers at once both go on", effort::small) {
  begin_rcu(s);
  s.thread("first updater", be_known, wait_for_readers);
  s.thread("second updater", be_known, wait_for_readers);
}

SCENARIO(two_updaters_and_reader,
         "two threads that wait for readers at once each get a grace period that serves them",
         effort::large) {
  begin_rcu(s);
  auto& versions = publish(s, "first pointer");
  auto& others = publish(s, "second pointer");
  versions.add_updater("first updater");
  s.thread("reader", be_online, [&] {
    enter();
    versions.current.find().read();
    read_and_leave(others.current.find());
  });
  others.add_updater("second updater");
}

SCENARIO(unlinked_while_one_is_in_progress,
         "a grace period that has begun does not serve a thread that asks later", effort::large) {
  begin_with_two_versions(s)
      .add_updater("second updater")
      .thread("first updater", be_known, wait_for_readers)
      .add_reader("reader", be_online);
}

SCENARIO(ticket_taken_while_one_is_in_progress,
         "a grace period that has begun does not serve a ticket that is taken later",
         effort::large) {
  begin_with_two_versions(s)
      .add_updater("second updater", await_ticket)
      .thread("first updater", be_known, wait_for_readers)
      .add_reader("reader", be_online);
}

SCENARIO(ticket_taken_just_before_one_begins,
         "a thread that takes a ticket before a grace period begins has also unlinked before it",
         effort::medium) {
  begin_with_two_versions(s)
      .add_reader("reader", be_dormant)
      .thread("first updater", be_known, wait_for_readers)
      .thread("second updater", be_known, [](const two_versions& versions) {
        guarded& old = versions.current.replace(versions.second);
        if (is_over(default_domain, grace_period_from_now(default_domain))) old.write();
      });
}

SCENARIO(asleep_on_the_leaders_word,
         "a thread that sleeps while another leads is woken, and gets a grace period",
         effort::medium) {
  begin_with_two_versions(s)
      .add_reader_inside("reader", be_inside)
      .thread("first updater", be_known, wait_for_readers)
      .thread("second updater", be_known, wait_for_readers);
}

SCENARIO(served_by_another,
         "a thread that another's grace period serves goes on after the sections are over",
         effort::medium) {
  begin_with_two_versions(s)
      .add_reader_inside("reader", be_inside)
      .add_updater("first updater")
      .thread("second updater", be_known, wait_for_readers);
}

SCENARIO(ticket_over_by_another, "a thread that finds its ticket over sees the end of the sections",
         effort::small) {
  auto& versions = begin_with_two_versions(s).add_reader_inside("reader", be_inside);
  auto& ticket = s.make<platform::variable<std::uint64_t>>("ticket");
  ticket = grace_period_from_now(default_domain);
  s.thread("first updater", be_known, wait_for_readers);
  s.thread("second updater", be_known, [&] {
    if (is_over(default_domain, ticket)) versions.first.write();
  });
}

SCENARIO(polled_grace_period, "a grace period that is polled waits for the reader", effort::small) {
  begin_with_two_versions(s)
      .add_reader("reader", be_online)
      .thread("updater", be_known, poll_and_write);
}

SCENARIO(polled_before_reports_are_due,
         "a grace period that is polled again and again waits for the reader", effort::small) {
  begin_with_polls(s).add_reader("reader", be_online).thread("updater", be_known, poll_and_write);
}

SCENARIO(polled_against_section_begun_before,
         "a grace period that is polled waits for a reader that is inside already", effort::small) {
  begin_with_two_versions(s)
      .add_reader_inside("reader", be_inside)
      .thread("updater", be_known, poll_and_write);
}

SCENARIO(polled_inside_a_section,
         "a grace period also waits for the section of the thread that polls it", effort::small) {
  begin_with_two_versions(s)
      .add_reader("reader", be_online)
      .thread("updater", be_online, [](const two_versions& versions) {
        enter();
        guarded& old = versions.current.replace(versions.second);
        const std::uint64_t ticket = start_poll();
        expect(!poll(ticket, 1), "a grace period is over while its initiator is inside");
        leave();
        if (poll(ticket, 2)) old.write();
      });
}

SCENARIO(poll_taken_over_by_a_waiter,
         "a thread that continues a polled grace period waits for the reader", effort::medium) {
  auto& versions = begin_with_polls(s);
  auto& begun = no_ticket_yet(s);
  versions.add_reader("reader", be_online);
  s.thread("polls", be_known, [&] { replace_and_start_poll(versions, begun); });
  s.thread("waits", be_known, [&] {
    const std::uint64_t ticket = begun.load(platform::acquire);
    if (ticket == 0) return;
    await_grace_period(default_domain, ticket, urgency::normal);
    versions.first.write();
  });
}

SCENARIO(polled_by_two, "two threads that poll one grace period by turns wait for the reader",
         effort::small) {
  auto& versions = begin_with_polls(s);
  auto& begun = no_ticket_yet(s);
  versions.add_reader("reader", be_online);
  s.thread("first poller", be_online, [&] { replace_and_start_poll(versions, begun); });
  s.thread("second poller", be_online, [&] {
    const std::uint64_t ticket = begun.load(platform::acquire);
    if (ticket != 0 && poll(ticket, 2)) versions.first.write();
  });
}

SCENARIO(poller_reads_between_its_polls,
         "a grace period waits for a reader that polls another's grace period", effort::large) {
  begin_with_polls(s)
      .thread("updater", be_online,
              [](const two_versions& versions) { versions.replace_and_write(versions.second); })
      .thread("reader", be_online, [](const two_versions& versions) {
        enter();
        const guarded& found = versions.current.find();
        poll(start_poll(), 1);
        read_and_leave(found);
        versions.read();
      });
}

SCENARIO(waiter_while_another_polls,
         "a thread that sleeps while another polls is woken when that pauses or is done",
         effort::small) {
  begin_rcu(s);
  s.clock_step(clock_of_polls);
  s.thread("polls", be_known, [] { poll(start_poll(), 1); });
  s.thread("waits", be_known, wait_for_readers);
}

SCENARIO(grace_period_and_lock_writer,
         "a grace period and a writer that share membarriers both wait for the reader",
         effort::large) {
  begin_rcu(s);
  auto& on = scene_on(s, biased_lock(s)).add_trying_writer();
  auto& versions = publish(s).add_updater();
  s.thread("reader", be_online, [&] {
    versions.read();
    on.try_read_passively();
  });
  s.finally([&] {
    expect_no_sections_left();
    expect_all_given_back(on.lock);
  });
}

SCENARIO(lock_writer_before_grace_period,
         "a grace period waits for a reader that a writer's membarrier has made dormant",
         effort::large) {
  begin_with_two_versions(s).add_updater().add_reader("reader", be_online);
  s.thread("writer", be_known, run_round);
}

SCENARIO(membarrier_fails_for_a_grace_period,
         "when membarrier fails a grace period waits until the store buffers have drained",
         effort::small) {
  auto& versions = begin_with_two_versions(s);
  s.without_membarrier();  // only now, after the process has registered for it
  versions.add_reader("reader", be_online).add_updater();
}

}  // namespace readmost::model

// Who leads a grace period, who shares one, and who may not.
#include "scenarios/rcu_under_test.hpp"

namespace readmost::model {

namespace {

// Some polls are over before reports are due.
constexpr std::uint64_t clock_of_polls = 1000;

// Asks `times` times at most; true if the grace period was over.
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

// An updater that replaces what is published again as soon as it may.
void add_updater_of_two(scenario& s, const two_versions& versions) {
  auto& third = s.make<guarded>("third version");
  s.thread("updater", be_known, [versions, &third] {
    replace_and_write(versions.current, versions.second);
    replace_and_write(versions.current, third);
  });
}

// An updater that writes only if the grace period is over by its second poll.
void add_polling_updater(scenario& s, const two_versions& versions) {
  s.thread("updater", be_known, [versions] {
    guarded& old = versions.current.replace(versions.second);
    if (poll(start_poll(), 2)) old.write();
  });
}

// A grace period that one thread has begun by a poll, for another to go on with; zero before that.
using ticket_of_a_poll = platform::atomic<std::uint64_t>;
ticket_of_a_poll& no_ticket_yet(scenario& s) {
  return s.make<ticket_of_a_poll>("ticket", std::uint64_t{0});
}

void replace_and_start_poll(const two_versions& versions, ticket_of_a_poll& begun) {
  versions.current.replace(versions.second);
  begun.store(start_poll(), platform::release);
}

}  // namespace

SCENARIO(two_grace_periods, "two grace periods in a row each wait for the reader", effort::medium) {
  begin_rcu(s);
  const two_versions versions = publish(s);
  versions.add_reader("reader", be_online);
  add_updater_of_two(s, versions);
}

SCENARIO(two_grace_periods_against_two_sections,
         "two grace periods in a row wait for either section of a reader", effort::large) {
  begin_rcu(s);
  const two_versions versions = publish(s);
  versions.add_reader("reader", be_online, 2);
  add_updater_of_two(s, versions);
}

SCENARIO(two_grace_periods_against_counted_sections,
         "the same of sections that are counted, in whichever phase", effort::large) {
  begin_rcu(s);
  const two_versions versions = publish(s);
  versions.add_reader("reader", be_being_retired, 2);
  add_updater_of_two(s, versions);
}

SCENARIO(counted_section_in_the_second_phase,
         "a grace period waits for counted sections of the phase that is not the present one",
         effort::small) {
  begin_rcu(s);
  const two_versions versions = publish(s);
  const auto be_counted_in_the_first = [] {
    be_counted_inside();
    default_domain.counting_phase.store(1, platform::relaxed);
  };
  versions.add_reader_inside("reader", be_counted_in_the_first);
  versions.add_updater("updater");
}

SCENARIO(counted_sections_one_after_the_other,
         "counted readers that follow one another without a pause keep no grace period waiting",
         effort::small) {
  begin_rcu(s);
  const two_versions versions = publish(s);
  auto& entered = s.make<signal>("entered");
  s.thread("first reader", be_departed_inside, [versions, &entered] {
    entered.await();
    read_and_leave(versions.first);
  });
  s.thread("second reader", be_departed, [versions, &entered] {
    enter();
    entered.give();
    read_and_leave(versions.current.find());
  });
  versions.add_updater("updater");
}

SCENARIO(expedited_grace_period, "one that does not wait for reports waits for the reader",
         effort::small) {
  begin_rcu(s);
  const two_versions versions = publish(s);
  versions.add_reader("reader", be_online);
  versions.add_updater("updater", [] { synchronize(default_domain, urgency::hurry); });
}

SCENARIO(two_updaters, "two threads that wait for readers at once both go on", effort::small) {
  begin_rcu(s);
  s.thread("first updater", be_known, wait_for_readers);
  s.thread("second updater", be_known, wait_for_readers);
}

SCENARIO(two_updaters_and_reader,
         "each of two threads that wait for readers at once is served by a grace period of its own",
         effort::large) {
  begin_rcu(s);
  const two_versions versions = publish(s, "first pointer");
  const two_versions others = publish(s, "second pointer");
  versions.add_updater("first updater");
  s.thread("reader", be_online, [versions, others] {
    enter();
    versions.current.find().read();
    others.current.find().read();
    leave();
  });
  others.add_updater("second updater");
}

SCENARIO(unlinked_while_one_is_in_progress,
         "a grace period that has begun does not serve who comes later", effort::large) {
  begin_rcu(s);
  const two_versions versions = publish(s);
  versions.add_updater("second updater");
  s.thread("first updater", be_known, wait_for_readers);
  versions.add_reader("reader", be_online);
}

SCENARIO(ticket_taken_while_one_is_in_progress, "the same of a ticket that is waited for later",
         effort::large) {
  begin_rcu(s);
  const two_versions versions = publish(s);
  versions.add_updater("second updater", [] {
    await_grace_period(default_domain, grace_period_from_now(default_domain), urgency::normal);
  });
  s.thread("first updater", be_known, wait_for_readers);
  versions.add_reader("reader", be_online);
}

SCENARIO(ticket_taken_just_before_one_begins,
         "who takes a ticket before a grace period begins has unlinked before that as well",
         effort::medium) {
  begin_rcu(s);
  const two_versions versions = publish(s);
  versions.add_reader("reader", be_dormant);
  s.thread("first updater", be_known, wait_for_readers);
  s.thread("second updater", be_known, [versions] {
    guarded& old = versions.current.replace(versions.second);
    if (is_over(default_domain, grace_period_from_now(default_domain))) old.write();
  });
}

SCENARIO(asleep_on_the_leaders_word,
         "who sleeps until another leads no more is woken, and gets a grace period",
         effort::medium) {
  begin_rcu(s);
  const two_versions versions = publish(s);
  versions.add_reader_inside("reader", be_inside);
  s.thread("first updater", be_known, wait_for_readers);
  s.thread("second updater", be_known, wait_for_readers);
}

SCENARIO(served_by_another,
         "who is served by a grace period that another led is behind the sections",
         effort::medium) {
  begin_rcu(s);
  const two_versions versions = publish(s);
  versions.add_reader_inside("reader", be_inside);
  versions.add_updater("first updater");
  s.thread("second updater", be_known, wait_for_readers);
}

SCENARIO(ticket_over_by_another, "who finds a ticket over is behind the sections", effort::small) {
  begin_rcu(s);
  const two_versions versions = publish(s);
  versions.add_reader_inside("reader", be_inside);
  auto& ticket = s.make<platform::variable<std::uint64_t>>("ticket");
  ticket = grace_period_from_now(default_domain);
  s.thread("first updater", be_known, wait_for_readers);
  s.thread("second updater", be_known, [versions, &ticket] {
    if (is_over(default_domain, ticket)) versions.first.write();
  });
}

SCENARIO(polled_grace_period, "a grace period that is polled waits for the reader", effort::small) {
  begin_rcu(s);
  const two_versions versions = publish(s);
  versions.add_reader("reader", be_online);
  add_polling_updater(s, versions);
}

SCENARIO(polled_before_reports_are_due,
         "a grace period that is polled again and again waits for the reader", effort::small) {
  begin_rcu(s);
  s.clock_step(clock_of_polls);
  const two_versions versions = publish(s);
  versions.add_reader("reader", be_online);
  add_polling_updater(s, versions);
}

SCENARIO(polled_against_section_begun_before, "the same of a reader that is inside already",
         effort::small) {
  begin_rcu(s);
  const two_versions versions = publish(s);
  versions.add_reader_inside("reader", be_inside);
  add_polling_updater(s, versions);
}

SCENARIO(polled_inside_a_section, "who polls in a section of its own is waited for as well",
         effort::small) {
  begin_rcu(s);
  const two_versions versions = publish(s);
  versions.add_reader("reader", be_online);
  s.thread("updater", be_online, [versions] {
    enter();
    guarded& old = versions.current.replace(versions.second);
    const std::uint64_t ticket = start_poll();
    expect(!poll(ticket, 1), "a grace period is over while its initiator is inside");
    leave();
    if (poll(ticket, 2)) old.write();
  });
}

SCENARIO(poll_taken_over_by_a_waiter,
         "who goes on with a grace period that was polled waits for the reader", effort::medium) {
  begin_rcu(s);
  s.clock_step(clock_of_polls);
  const two_versions versions = publish(s);
  auto& begun = no_ticket_yet(s);
  versions.add_reader("reader", be_online);
  s.thread("polls", be_known, [versions, &begun] { replace_and_start_poll(versions, begun); });
  s.thread("waits", be_known, [versions, &begun] {
    const std::uint64_t ticket = begun.load(platform::acquire);
    if (ticket == 0) return;
    await_grace_period(default_domain, ticket, urgency::normal);
    versions.first.write();
  });
}

SCENARIO(polled_by_two, "two threads that poll one grace period in turns wait for the reader",
         effort::small) {
  begin_rcu(s);
  s.clock_step(clock_of_polls);
  const two_versions versions = publish(s);
  auto& begun = no_ticket_yet(s);
  versions.add_reader("reader", be_online);
  s.thread("first poller", be_online,
           [versions, &begun] { replace_and_start_poll(versions, begun); });
  s.thread("second poller", be_online, [versions, &begun] {
    const std::uint64_t ticket = begun.load(platform::acquire);
    if (ticket != 0 && poll(ticket, 2)) versions.first.write();
  });
}

SCENARIO(poller_reads_between_its_polls,
         "a reader that polls the grace period of another is waited for", effort::large) {
  begin_rcu(s);
  s.clock_step(clock_of_polls);
  const two_versions versions = publish(s);
  s.thread("updater", be_online,
           [versions] { replace_and_write(versions.current, versions.second); });
  s.thread("reader", be_online, [versions] {
    enter();
    const guarded& found = versions.current.find();
    poll(start_poll(), 1);
    found.read();
    leave();
    read_in_section(versions.current);
  });
}

SCENARIO(waiter_while_another_polls,
         "who sleeps while another polls is woken when that stops or ends it", effort::small) {
  begin_rcu(s);
  s.clock_step(clock_of_polls);
  s.thread("polls", be_known, [] { poll(start_poll(), 1); });
  s.thread("waits", be_known, wait_for_readers);
}

SCENARIO(grace_period_and_lock_writer,
         "a grace period and a writer that share membarriers both wait for the reader",
         effort::large) {
  begin_rcu(s);
  auto& lock = biased_lock(s);
  auto& data = s.make<guarded>("data");
  const two_versions versions = publish(s);
  s.thread("writer", be_known, [&lock, &data] { try_write_under(lock, data); });
  versions.add_updater("updater");
  s.thread("reader", be_online, [versions, &lock, &data] {
    read_in_section(versions.current);
    try_read_passively(lock, data);
  });
  s.finally([&lock] {
    expect_no_sections_left();
    expect_all_given_back(lock);
  });
}

SCENARIO(lock_writer_before_grace_period,
         "a grace period that finds a reader dormant by a writer's membarrier waits for it",
         effort::large) {
  begin_rcu(s);
  const two_versions versions = publish(s);
  versions.add_updater("updater");
  versions.add_reader("reader", be_online);
  s.thread("writer", be_known, run_round);
}

SCENARIO(membarrier_fails_for_a_grace_period,
         "when membarrier fails a grace period waits until store buffers have drained",
         effort::small) {
  begin_rcu(s);
  const two_versions versions = publish(s);
  s.without_membarrier();  // only now: the process has registered for it
  versions.add_reader("reader", be_online);
  versions.add_updater("updater");
}

}  // namespace readmost::model

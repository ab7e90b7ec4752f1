// SPDX-License-Identifier: Apache-2.0
// One thread reports for all of its chunk (src/threads/chunk_report.hpp).
#include "scenarios/lock_scene.hpp"
#include "scenarios/taken_records.hpp"
#include "threads/chunk_report.hpp"
#include "threads/registry.hpp"

namespace readmost::model {

namespace {

// A biased lock on a machine where threads report by chunk. The threads that are added get the
// records of the second chunk in turn, and the second one reports in the first round.
lock_scene& scene_with_chunk_reports(scenario& s) {
  auto& on = biased_scene(s);
  s.cpus(chunk::capacity + 1);
  reported_from = 2;
  s.finally([&] {
    give_first_chunk_back();
    expect_all_given_back(on.lock);
  });
  return on;
}

// Releases a hold of another lock, and finds that it has to report.
void add_reporter(scenario& s) {
  auto& other = biased_lock(s, "reporter's");
  const auto hold_other = [&] {
    hold_passively(other);
    expect(chunk_of(my_record()).reports_as_one.get() && number_of(my_record()) == 1,
           "the scenario's reporter does not report for its chunk");
  };
  s.thread("reporter", hold_other, [&] { test::unlock_shared(other); });
}

void hold_in_second_chunk(rwlock& lock) {
  take_first_chunk();
  hold_passively(lock);
}

}  // namespace

SCENARIO(settled_by_report_for_chunk,
         "a writer that passes a thread, since the report for its chunk says so, sees the end of "
         "its section",
         effort::large) {
  auto& on = scene_with_chunk_reports(s).add_reader_inside("reader", hold_in_second_chunk);
  add_reporter(s);
  on.add_trying_writer();
}

SCENARIO(report_for_chunk_of_holder, "a thread that reports while it holds the lock is not passed",
         effort::large) {
  auto& on = scene_with_chunk_reports(s);
  auto& second = biased_lock(s, "second");
  const auto hold_both = [&](rwlock& lock) {
    hold_in_second_chunk(lock);
    test::lock_shared(second);
  };
  on.thread("reader", hold_both, [&](lock_scene& on) {
    test::unlock_shared(second);
    on.finish_reading();
  });
  add_reporter(s);
  on.add_trying_writer();
}

SCENARIO(report_for_chunk_of_earlier_round,
         "a thread that an earlier round has passed is not passed again", effort::large) {
  auto& on = scene_with_chunk_reports(s);
  const auto come_to_second_chunk = [] {
    take_first_chunk();
    be_online();
  };
  on.thread("reader", come_to_second_chunk, [](lock_scene& on) {
    report_where_asked();
    on.try_read_passively();
  });
  add_reporter(s);
  on.thread("writer", be_known, [](lock_scene& on) {
    run_round();
    on.try_write();
  });
}

}  // namespace readmost::model

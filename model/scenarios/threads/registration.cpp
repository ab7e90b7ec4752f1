// SPDX-License-Identifier: Apache-2.0
// Threads that lock for the first time, all at once.
#include "scenarios/lock_scene.hpp"
#include "scenarios/taken_records.hpp"
#include "threads/registry.hpp"

namespace readmost::model {

namespace {

// Has all of the first block consist of that chunk.
void take_first_block() {
  take_first_chunk();
  for (index_entry& entry : first_block().entries) entry.records.store(&first_chunk());
}

// Two threads register; calls check(record) in each, and last() at the end.
template <class Check, class Last>
void two_threads_register_and(scenario& s, Check check, Last last) {
  auto& first = s.make<variable<thread_record*>>("first's record");
  auto& second = s.make<variable<thread_record*>>("second's record");
  const auto enlist_and_check = [check](variable<thread_record*>& mine) {
    mine = enlist();
    check(*mine.get());
  };
  s.thread("first", [&, enlist_and_check] { enlist_and_check(first); });
  s.thread("second", [&, enlist_and_check] { enlist_and_check(second); });
  s.finally([&, last] {
    expect(first.get() != second.get(), "two threads have one record");
    last();
  });
}

void try_read(lock_scene& on) {
  on.try_read();
}

}  // namespace

SCENARIO(two_threads_register, "two threads that register at once get a record each",
         effort::small) {
  two_threads_register_and(s, [](const thread_record&) {}, [] {});
}

SCENARIO(two_new_readers_and_writer, "a writer misses neither of two new readers", effort::large) {
  auto& on = biased_scene(s);
  for (const char* name : {"reader", "other reader"}) on.thread(name, [] {}, try_read);
  s.thread("writer", [&] { on.try_write(); });
}

SCENARIO(unregistered_reader_against_writer,
         "a reader that has yet to register and a writer are never inside at once",
         effort::medium) {
  biased_scene(s).thread("reader", [] {}, try_read).add_trying_writer();
}

SCENARIO(two_threads_append_records,
         "two threads that find no free record append a chunk that both can use", effort::small) {
  take_first_chunk();
  const auto expect_in_domain = [](const thread_record& mine) {
    expect(&domain_of(mine) == &default_domain, "a record is in another domain");
  };
  two_threads_register_and(s, expect_in_domain, give_first_chunk_back);
}

SCENARIO(two_threads_append_a_block,
         "two threads that find no room for a chunk append a block that both can use",
         effort::small) {
  take_first_block();
  two_threads_register_and(
      s,
      [](const thread_record& mine) {
        expect(number_in_domain(mine) >= index_block::capacity * chunk::capacity,
               "a record is in the block that is full");
      },
      give_first_chunk_back);
}

SCENARIO(reader_in_appended_block,
         "a writer does not miss a reader whose record is in a block that has just been appended",
         effort::medium) {
  auto& on = biased_scene(s).add_trying_writer().thread("reader", take_first_block, try_read);
  s.finally([&] {
    give_first_chunk_back();
    expect_all_given_back(on.lock);
  });
}

SCENARIO(reader_with_appended_record,
         "a writer does not miss a reader whose record has just been appended", effort::medium) {
  auto& on = biased_scene(s).add_trying_writer().thread("reader", take_first_chunk, try_read);
  s.finally([&] {
    give_first_chunk_back();
    expect_all_given_back(on.lock);
  });
}

}  // namespace readmost::model

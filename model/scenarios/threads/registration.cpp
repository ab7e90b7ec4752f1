// Threads that lock for the first time, all at once.
#include "scenarios/lock_under_test.hpp"
#include "threads/registry.hpp"

namespace readmost::model {

namespace {

// The records of the first chunk belong to threads that are not simulated.
void take_first_chunk() {
  default_domain.chunks.load()->used.store(~std::uint64_t{0});
}

void give_first_chunk_back() {
  default_domain.chunks.load()->used.store(0);
}

}  // namespace

SCENARIO(two_threads_register, "two threads that register at once get a record each",
         effort::small) {
  auto& first = s.make<variable<thread_record*>>("first's record");
  auto& second = s.make<variable<thread_record*>>("second's record");
  s.thread("first", [&] { first = enlist(); });
  s.thread("second", [&] { second = enlist(); });
  s.finally([&] { expect(first.get() != second.get(), "two threads have one record"); });
}

SCENARIO(two_new_readers_and_writer, "a writer misses none of two readers that are new",
         effort::large) {
  s.turns(0);
  auto& lock = biased_lock(s);
  auto& data = s.make<guarded>("data");
  s.thread("reader", [&] { try_read_under(lock, data); });
  s.thread("other reader", [&] { try_read_under(lock, data); });
  s.thread("writer", [&] { try_write_under(lock, data); });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(unregistered_reader_against_writer,
         "a reader that has yet to register and a writer are never inside at once",
         effort::medium) {
  s.turns(0);
  auto& lock = biased_lock(s);
  auto& data = s.make<guarded>("data");
  s.thread("reader", [&] { try_read_under(lock, data); });
  s.thread("writer", be_known, [&] { try_write_under(lock, data); });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(two_threads_append_records,
         "two threads that find no record free append what both can use", effort::small) {
  take_first_chunk();
  auto& first = s.make<variable<thread_record*>>("first's record");
  auto& second = s.make<variable<thread_record*>>("second's record");
  const auto enlist_and_look = [](variable<thread_record*>& mine) {
    mine = enlist();
    expect(&domain_of(*mine.get()) == &default_domain, "a record is in another domain");
  };
  s.thread("first", [&, enlist_and_look] { enlist_and_look(first); });
  s.thread("second", [&, enlist_and_look] { enlist_and_look(second); });
  s.finally([&] {
    expect(first.get() != second.get(), "two threads have one record");
    give_first_chunk_back();
  });
}

SCENARIO(reader_with_appended_record,
         "a writer does not miss a reader whose record has just been appended", effort::medium) {
  s.turns(0);
  auto& lock = biased_lock(s);
  auto& data = s.make<guarded>("data");
  s.thread("writer", be_known, [&] { try_write_under(lock, data); });
  s.thread("reader", take_first_chunk, [&] { try_read_under(lock, data); });
  s.finally([&] {
    give_first_chunk_back();
    expect_all_given_back(lock);
  });
}

}  // namespace readmost::model

// SPDX-License-Identifier: Apache-2.0
// All rivals that are reader-writer locks pass the tests of all guarantees, and broken locks fail
// them.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "broken_locks.hpp"
#include "guarantees.hpp"
#include "rivals/all.hpp"

namespace {

using namespace rivals::test;

// gtest reads a minus sign in a filter as an exclusion.
std::string as_test_name(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

using test_body = std::function<void()>;

void add(const std::string& suite, const char* name, test_body body) {
  class made : public testing::Test {
   public:
    explicit made(test_body what) : body_(std::move(what)) {}
    void TestBody() override { body_(); }

   private:
    test_body body_;
  };
  testing::RegisterTest(suite.c_str(), name, nullptr, nullptr, __FILE__, __LINE__,
                        [body]() -> testing::Test* { return new made(body); });
}

template <class Lock>
constexpr bool is_recursive =
    std::is_same_v<Lock, rivals::brlock_mutexes> || std::is_same_v<Lock, rivals::brlock_flags> ||
    std::is_same_v<Lock, rivals::rmlock> || std::is_same_v<Lock, rivals::tlrw_byte_lock>;

void add_guarantees(const std::string& suite, const lock_maker& make) {
  add(suite, "keeps_writers_apart", [=] { EXPECT_TRUE(keeps_writers_apart(make, {150})); });
  add(suite, "lets_readers_in_together", [=] { EXPECT_TRUE(lets_readers_in_together(make)); });
  add(suite, "writer_waits_for_the_last_reader",
      [=] { EXPECT_TRUE(writer_waits_for_the_last_reader(make, little)); });
  add(suite, "reader_waits_for_writer",
      [=] { EXPECT_TRUE(reader_waits_for_writer(make, little)); });
  add(suite, "writer_waits_for_writer",
      [=] { EXPECT_TRUE(writer_waits_for_writer(make, little)); });
  add(suite, "trying_tells", [=] { EXPECT_TRUE(trying_tells(make)); });
  add(suite, "trying_does_not_wait", [=] { EXPECT_TRUE(trying_does_not_wait(make)); });
  add(suite, "locks_are_held_and_left_in_any_order",
      [=] { EXPECT_TRUE(are_held_and_left_in_any_order(make)); });
  add(suite, "serves_threads_that_come_and_go",
      [=] { EXPECT_TRUE(serves_threads_that_come_and_go(make)); });
}

struct add_rival {
  template <class Lock>
  void operator()(const char* name) const {
    add_guarantees(as_test_name(name), maker_of<Lock>());
    if constexpr (is_recursive<Lock>) {
      add(as_test_name(name), "lets_a_reader_in_again",
          [] { EXPECT_TRUE(lets_a_reader_in_again(maker_of<Lock>())); });
    }
  }
};

// The defect, and the guarantee that it breaks.
template <defect Defect, class Tries>
void add_broken(const char* name, Tries tries) {
  add("broken", name, [=] { EXPECT_FALSE(tries(maker_of<small_rwlock<Defect>>())); });
}

void add_broken_locks() {
  add_guarantees("unbroken", maker_of<small_rwlock<defect::none>>());
  add("unbroken", "lets_a_reader_in_again",
      [] { EXPECT_TRUE(lets_a_reader_in_again(maker_of<small_rwlock<defect::none>>())); });

  const auto apart = [](const lock_maker& make) { return keeps_writers_apart(make, much); };
  add_broken<defect::reader_does_not_look>("reader_does_not_look_and_reads_half", apart);
  add_broken<defect::writer_does_not_wait>("writer_does_not_wait_and_writes_half", apart);
  add_broken<defect::writers_together>("writers_together_lose_writes", apart);
  add_broken<defect::readers_apart>("readers_apart", lets_readers_in_together);
  const auto last = [](const lock_maker& make) {
    return writer_waits_for_the_last_reader(make, much);
  };
  add_broken<defect::writer_does_not_wait>("writer_does_not_wait", last);
  add_broken<defect::first_to_leave_is_last>("first_to_leave_is_last", last);
  add_broken<defect::reader_does_not_look>("reader_does_not_look", [](const lock_maker& make) {
    return reader_waits_for_writer(make, much);
  });
  add_broken<defect::writers_together>("writers_together", [](const lock_maker& make) {
    return writer_waits_for_writer(make, much);
  });
  add_broken<defect::try_goes_past_readers>("try_goes_past_readers", trying_tells);
  add_broken<defect::try_goes_past_writer>("try_goes_past_writer", trying_tells);
  add_broken<defect::failed_try_leaves_a_mark>("failed_try_leaves_a_mark", trying_tells);
  add_broken<defect::try_waits>("try_waits", trying_does_not_wait);
  add_broken<defect::one_for_all>("one_for_all", are_held_and_left_in_any_order);
  add_broken<defect::early_threads_only>("early_threads_only", serves_threads_that_come_and_go);
  add_broken<defect::seen_by_itself>("seen_by_itself", lets_a_reader_in_again);
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  rivals::for_each_rival(add_rival{});
  add_broken_locks();
  return RUN_ALL_TESTS();
}

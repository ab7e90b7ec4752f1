// SPDX-License-Identifier: Apache-2.0
// A violation can be reproduced by its schedule as text and by its seed, and made shorter.
#include <gtest/gtest.h>

#include <readmost/detail/platform/platform.hpp>

#include "engine/explore.hpp"
#include "engine/report.hpp"
#include "engine/shrink.hpp"

namespace readmost::model {

namespace {

using platform::atomic;

// Mutual exclusion by two flags, which needs a fence between the store and the load.
void dekker(scenario& s) {
  auto& flags = s.make<std::array<atomic<bool>, 2>>("flags");
  auto& inside = s.make<platform::variable<int>>("inside");
  const auto enter = [&](atomic<bool>& own, const atomic<bool>& other) {
    own.store(true, platform::release);
    if (other.load(platform::acquire)) return;
    inside = 1;
  };
  s.thread("left", [&, enter] { enter(flags[0], flags[1]); });
  s.thread("right", [&, enter] { enter(flags[1], flags[0]); });
}

// An update is lost, after some steps that have nothing to do with it.
void lost_update(scenario& s) {
  auto& count = s.make<atomic<int>>("count");
  auto& other = s.make<atomic<int>>("other");
  const auto raise = [&] {
    for (int i = 0; i < 3; ++i) other.fetch_add(1, platform::relaxed);
    const int seen = count.load(platform::relaxed);
    for (int i = 0; i < 3; ++i) other.fetch_add(1, platform::relaxed);
    count.store(seen + 1, platform::relaxed);
  };
  s.thread("first", raise).thread("second", raise).thread("third", raise);
  s.finally([&] { expect(count.load() == 3, "an update is lost"); });
}

exploration with(search_kind search, memory_model memory) {
  exploration how;
  how.search = search;
  how.memory = memory;
  return how;
}

std::size_t blocks_of(const std::vector<choice>& schedule) {
  std::size_t blocks = 0;
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    if (i == 0 || schedule[i].who != schedule[i - 1].who) ++blocks;
  }
  return blocks;
}

void expect_reproduced(const execution::body& scenario, memory_model memory, const finding& found) {
  exploration how = with(search_kind::replay, memory);
  how.schedule = schedule_from(to_text(found.schedule));
  how.shrinks = false;
  const result again = explore(scenario, how);
  EXPECT_TRUE(again.failed);
  EXPECT_EQ(again.found.what.kind, found.what.kind);
  EXPECT_EQ(again.found.what.what, found.what.what);
  EXPECT_EQ(interleaving(again.found.record), interleaving(found.record));
}

TEST(reproduction, by_a_schedule_as_text) {
  for (const bool shrinks : {false, true}) {
    for (const memory_model memory : {memory_model::tso, memory_model::release_acquire}) {
      for (const search_kind search :
           {search_kind::exhaustive, search_kind::random, search_kind::pct}) {
        SCOPED_TRACE(std::string(name_of(search)) + ", " + name_of(memory));
        exploration how = with(search, memory);
        how.shrinks = shrinks;
        const result found = explore(dekker, how);
        ASSERT_TRUE(found.failed);
        expect_reproduced(dekker, memory, found.found);
        const result other = explore(lost_update, how);
        ASSERT_TRUE(other.failed);
        expect_reproduced(lost_update, memory, other.found);
      }
    }
  }
}

TEST(reproduction, by_the_seed_of_an_execution) {
  for (const search_kind search : {search_kind::random, search_kind::pct}) {
    for (std::uint64_t seed = 1; seed < 20; ++seed) {
      exploration how = with(search, memory_model::tso);
      how.seed = seed;
      how.shrinks = false;
      const result found = explore(dekker, how);
      ASSERT_TRUE(found.failed);
      EXPECT_EQ(found.found.seed, seed + found.found.execution - 1);
      how.seed = found.found.seed;
      how.runs = 1;
      const result again = explore(dekker, how);
      ASSERT_TRUE(again.failed) << name_of(search) << ", seed " << how.seed;
      EXPECT_EQ(to_text(again.found.schedule), to_text(found.found.schedule));
    }
  }
}

TEST(reproduction, of_a_shrunk_schedule) {
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    for (const auto scenario : {dekker, lost_update}) {
      exploration how = with(search_kind::random, memory_model::tso);
      how.seed = seed;
      how.shrinks = false;
      const result found = explore(scenario, how);
      ASSERT_TRUE(found.failed);
      execution run(how.memory, how.bounds);
      const auto shrunk = shrink(run, scenario, found.found);
      EXPECT_LE(blocks_of(shrunk), blocks_of(found.found.schedule));
      EXPECT_LE(shrunk.size(), found.found.schedule.size());
      ASSERT_EQ(run_schedule(run, scenario, shrunk), execution::ending::violated);
      EXPECT_EQ(run.found().kind, found.found.what.kind);
    }
  }
}

TEST(reproduction, of_a_schedule_that_is_as_short_as_can_be) {
  for (const memory_model memory : {memory_model::tso, memory_model::release_acquire}) {
    const result found = explore(dekker, with(search_kind::random, memory));
    ASSERT_TRUE(found.failed);
    // One thread to its end, and then the other: no buffer drains, each load reads what is old.
    EXPECT_EQ(blocks_of(found.found.schedule), 2U) << to_text(found.found.schedule);
  }
}

TEST(reproduction, of_a_schedule_in_words) {
  for (const char* text : {"1@5", "1@5 2@3", "1@2:1 1@5 2@3", "1@5 b1 2@3 b2", "7@65:65535"}) {
    EXPECT_EQ(to_text(schedule_from(text)), text);
  }
  EXPECT_TRUE(schedule_from("").empty());
}

TEST(reproduction, names_what_cannot_be_read) {
  for (const char* wrong : {"x", "1", "1@", "@3", "0@3", "8@1", "1@2:", "1@2:65536", "b", "b0",
                            "b8", "b1@2", "1@2x", "-1@2", "1@99999999999"}) {
    try {
      schedule_from(std::string("1@5 ") + wrong + " 2@3");
      ADD_FAILURE() << wrong << " is taken for a step";
    } catch (const std::invalid_argument& failure) {
      EXPECT_NE(std::string(failure.what()).find(std::string("'") + wrong + "'"), std::string::npos)
          << failure.what();
    }
  }
}

TEST(reproduction, by_a_search_with_as_few_surprises_as_it_takes) {
  exploration how = with(search_kind::bounded, memory_model::tso);
  how.bound = 0;
  EXPECT_FALSE(explore(dekker, how).failed);
  how.bound = 1;
  EXPECT_TRUE(explore(dekker, how).failed);
}

}  // namespace

}  // namespace readmost::model

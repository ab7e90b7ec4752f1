// SPDX-License-Identifier: Apache-2.0
// Each kind of violation is found and named, and correct programs are not accused.
#include <gtest/gtest.h>

#include <readmost/detail/platform/platform.hpp>
#include <stdexcept>

#include "engine/explore.hpp"

namespace readmost::model {

namespace {

using platform::atomic;
using platform::variable;

result explore_all(memory_model memory, const execution::body& scenario) {
  exploration how;
  how.memory = memory;
  how.bounds.steps = 100;
  return explore(scenario, how);
}

void expect_violation(violation_kind kind, const char* words, const execution::body& scenario) {
  for (const memory_model memory : memory_models) {
    const result of = explore_all(memory, scenario);
    EXPECT_STREQ(name_of(of.found.what.kind), name_of(kind)) << name_of(memory);
    EXPECT_NE(of.found.what.what.find(words), std::string::npos) << of.found.what.what;
    EXPECT_FALSE(describe(of.found, "scenario", memory).empty());
  }
}

void expect_none(const execution::body& scenario) {
  for (const memory_model memory : memory_models) {
    const result of = explore_all(memory, scenario);
    EXPECT_TRUE(of.complete) << name_of(memory);
    EXPECT_FALSE(of.failed) << name_of(memory) << ": " << of.found.what.what;
  }
}

platform::place here(platform::place at = platform::place::current()) {
  return at;
}

void fence(std::memory_order order) {
  execution::current()->fence(order, here());
}

TEST(finding, an_expectation_that_does_not_hold) {
  expect_violation(violation_kind::assertion, "both came first", [](scenario& s) {
    auto& count = s.make<atomic<int>>("count");
    const auto raise = [&] {
      const int seen = count.load();
      count.store(seen + 1);
    };
    s.thread("left", raise).thread("right", raise);
    s.finally([&] { expect(count.load() == 2, "both came first"); });
  });
}

TEST(finding, a_search_that_is_larger_than_its_limit_ends_without_a_verdict) {
  exploration how;
  how.most_executions = 3;
  const result of = explore(
      [](scenario& s) {
        auto& count = s.make<atomic<int>>("count");
        const auto raise = [&] {
          for (int i = 0; i < 3; ++i) count.fetch_add(1);
        };
        s.thread("left", raise).thread("right", raise);
      },
      how);
  EXPECT_TRUE(of.too_large);
  EXPECT_FALSE(of.complete);
  EXPECT_FALSE(of.failed);
  EXPECT_EQ(of.executions + of.abandoned, 3U);
}

TEST(finding, an_exception_that_leaves_a_thread) {
  expect_violation(
      violation_kind::assertion, "an exception leaves thrower: enough",
      [](scenario& s) { s.thread("thrower", [] { throw std::runtime_error("enough"); }); });
}

TEST(finding, two_writers_of_plain_data) {
  expect_violation(violation_kind::data_race, "data is written by", [](scenario& s) {
    auto& data = s.make<variable<int>>("data");
    s.thread("left", [&] { data = 1; }).thread("right", [&] { data = 2; });
  });
}

TEST(finding, a_reader_and_a_writer_of_plain_data) {
  expect_violation(violation_kind::data_race, "data is", [](scenario& s) {
    auto& data = s.make<variable<int>>("data");
    s.thread("reader", [&] { (void)data.get(); }).thread("writer", [&] { data = 2; });
  });
}

// Message passing of plain data, in all ways to order it or not.
execution::body passing(std::memory_order store, std::memory_order load, bool fences = false) {
  return [=](scenario& s) {
    auto& data = s.make<variable<int>>("data");
    auto& ready = s.make<atomic<bool>>("ready");
    s.thread("writer", [&, store, fences] {
      data = 1;
      if (fences) fence(platform::release);
      ready.store(true, store);
    });
    s.thread("reader", [&, load, fences] {
      if (!ready.load(load)) return;
      if (fences) fence(platform::acquire);
      expect(data.get() == 1, "what was published is there");
    });
  };
}

TEST(finding, a_race_that_only_timing_prevents) {
  expect_violation(violation_kind::data_race, "data is read by reader while writer writes it",
                   passing(platform::relaxed, platform::relaxed));
  expect_violation(violation_kind::data_race, "data",
                   passing(platform::release, platform::relaxed));
  expect_violation(violation_kind::data_race, "data",
                   passing(platform::relaxed, platform::acquire));
}

TEST(finding, no_race_where_release_and_acquire_order_it) {
  expect_none(passing(platform::release, platform::acquire));
  expect_none(passing(platform::seq_cst, platform::seq_cst));
}

TEST(finding, no_race_where_fences_order_it) {
  expect_none(passing(platform::relaxed, platform::relaxed, true));
}

TEST(finding, no_race_between_readers) {
  expect_none([](scenario& s) {
    auto& data = s.make<variable<int>>("data", 3);
    const auto read = [&] { expect(data.get() == 3, "the value is there"); };
    s.thread("left", read).thread("right", read);
  });
}

TEST(finding, threads_that_wait_for_one_another) {
  expect_violation(violation_kind::lost_wake_up, "left sleeps on", [](scenario& s) {
    auto& turns = s.make<std::array<atomic<std::uint32_t>, 2>>("turns");
    const auto take_turns = [](auto& own, auto& other) {
      platform::futex_wait(platform::futex_of(own), 0, 1, nullptr);
      other.store(1);
      platform::futex_wake(platform::futex_of(other), 1, 1);
    };
    s.thread("left", [&, take_turns] { take_turns(turns[0], turns[1]); });
    s.thread("right", [&, take_turns] { take_turns(turns[1], turns[0]); });
  });
}

TEST(finding, a_sleeper_alone_before_there_is_anybody_to_wake_it) {
  expect_violation(violation_kind::deadlock, "would sleep for ever", [](scenario& s) {
    auto& word = s.make<atomic<std::uint32_t>>("word");
    s.thread(
        "sleeper", [&] { platform::futex_wait(platform::futex_of(word), 0, 1, nullptr); }, [] {});
  });
}

TEST(finding, a_wake_up_by_another_mask) {
  const auto waking = [](std::uint32_t mask) {
    return [mask](scenario& s) {
      auto& word = s.make<atomic<std::uint32_t>>("word");
      s.thread("sleeper", [&] { platform::futex_wait(platform::futex_of(word), 0, 1, nullptr); });
      s.thread("waker", [&, mask] {
        word.store(1);
        platform::futex_wake(platform::futex_of(word), 1, mask);
      });
    };
  };
  expect_violation(violation_kind::lost_wake_up, "sleeper sleeps on word", waking(2));
  expect_none(waking(3));
}

TEST(finding, a_sleeper_with_a_deadline_that_needs_it) {
  const auto sleeping = [](unsigned timeouts) {
    return [timeouts](scenario& s) {
      s.timeouts(timeouts);
      auto& word = s.make<atomic<std::uint32_t>>("word");
      s.thread("sleeper", [&] {
        const platform::deadline soon = platform::in(1000);
        expect(platform::futex_wait(platform::futex_of(word), 0, 1, &soon) ==
                   platform::wake_reason::timed_out,
               "the deadline ends the sleep");
      });
    };
  };
  expect_violation(violation_kind::lost_wake_up, "until its deadline", sleeping(0));
  expect_none(sleeping(1));
}

TEST(finding, a_loop_that_waits_for_what_nobody_does) {
  expect_violation(violation_kind::livelock, "waiting for a store that no thread will make",
                   [](scenario& s) {
                     auto& flag = s.make<atomic<bool>>("flag");
                     s.thread("waiter", [&] {
                       while (!flag.load(platform::acquire)) platform::yield();
                     });
                     s.thread("other", [&] { flag.store(false, platform::release); });
                   });
}

TEST(finding, a_loop_without_end) {
  expect_violation(violation_kind::livelock, "no end after 100 steps", [](scenario& s) {
    auto& flag = s.make<atomic<bool>>("flag");
    s.thread("waiter", [&] {
      while (!flag.load(platform::acquire)) {
      }
    });
    s.thread("other", [&] { flag.store(false, platform::release); });
  });
}

TEST(finding, no_livelock_where_somebody_ends_the_loop) {
  expect_none([](scenario& s) {
    auto& flag = s.make<atomic<bool>>("flag");
    s.thread("waiter", [&] {
      while (!flag.load(platform::relaxed)) platform::yield();
    });
    s.thread("other", [&] { flag.store(true, platform::relaxed); });
  });
}

struct node {
  atomic<int> value{1};
};

TEST(finding, an_access_after_the_end_of_a_life) {
  expect_violation(violation_kind::use_after_free, "node is touched by", [](scenario& s) {
    auto& made = s.make<node>("node");
    s.thread("user", [&] { made.value.load(); });
    s.thread("owner", [&] { destroy(made); });
  });
}

TEST(finding, a_life_that_ends_behind_the_last_access) {
  expect_none([](scenario& s) {
    auto& made = s.make<node>("node");
    auto& done = s.make<atomic<bool>>("done");
    s.thread("user", [&] {
      made.value.store(2, platform::relaxed);
      done.store(true, platform::release);
    });
    s.thread("owner", [&] {
      if (done.load(platform::acquire)) destroy(made);
    });
  });
}

TEST(finding, a_leak) {
  expect_violation(violation_kind::leak, "left behind", [](scenario& s) {
    s.thread("thread", [] {});
    s.finally([] { execution::current()->fail(violation_kind::leak, "left behind", here()); });
  });
}

}  // namespace

}  // namespace readmost::model

// SPDX-License-Identifier: Apache-2.0
// Compares the searches on random programs: the exhaustive search may leave out repetitions only.
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/explore.hpp"
#include "random_program.hpp"

namespace readmost::model {

namespace {

exploration with(memory_model memory, search_kind search, std::uint64_t runs = 0) {
  exploration how;
  how.memory = memory;
  how.search = search;
  how.runs = runs;
  how.shrinks = false;
  how.time = std::chrono::milliseconds(50);
  return how;
}

bool is_subset(const result& part, const result& whole) {
  return std::includes(whole.outcomes.begin(), whole.outcomes.end(), part.outcomes.begin(),
                       part.outcomes.end());
}

// Each test has a range of seeds of its own, so that the tests run in parallel.
class agreement : public testing::TestWithParam<std::uint32_t> {
 protected:
  static constexpr std::uint32_t seeds = 100;

  template <class Check>
  void for_each_program(Check check) const {
    for (std::uint32_t seed = GetParam(); seed < GetParam() + seeds; ++seed) {
      const random_program program(seed);
      for (const memory_model memory : memory_models) {
        SCOPED_TRACE("seed " + std::to_string(seed) + ", " + name_of(memory) + ", " +
                     program.text());
        const result exhaustive = explore(program, with(memory, search_kind::exhaustive));
        if (exhaustive.complete || exhaustive.failed) check(program, memory, exhaustive);
      }
    }
  }
};

TEST_P(agreement, of_the_exhaustive_search_with_all_executions) {
  unsigned compared = 0;
  for_each_program(
      [&](const random_program& program, memory_model memory, const result& exhaustive) {
        const result plain = explore(program, with(memory, search_kind::plain));
        if (plain.failed) {
          EXPECT_TRUE(exhaustive.failed) << plain.found.what.what;
          return;
        }
        if (plain.complete) {
          ++compared;
          EXPECT_FALSE(exhaustive.failed) << exhaustive.found.what.what;
          EXPECT_EQ(exhaustive.outcomes, plain.outcomes);
          EXPECT_LE(exhaustive.executions, plain.executions);
        } else if (!exhaustive.failed) {
          EXPECT_TRUE(is_subset(plain, exhaustive));
        }
      });
  EXPECT_GT(compared, seeds);
}

TEST_P(agreement, of_random_searches_with_the_exhaustive_one) {
  for_each_program([&](const random_program& program, memory_model memory,
                       const result& exhaustive) {
    if (exhaustive.failed) return;
    for (const search_kind kind : {search_kind::random, search_kind::pct, search_kind::bounded}) {
      const result some = explore(program, with(memory, kind, 200));
      EXPECT_FALSE(some.failed) << name_of(kind) << ": " << some.found.what.what;
      EXPECT_TRUE(is_subset(some, exhaustive)) << name_of(kind);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(random, agreement, testing::Values(1, 101, 201, 301));

}  // namespace

}  // namespace readmost::model

#include "percentiles.hpp"

#include <gtest/gtest.h>

namespace {

TEST(percentiles, are_the_smallest_values_that_so_many_do_not_exceed) {
  bench::percentiles hundred;
  for (int i = 100; i >= 1; --i) hundred.add_ns(i);
  EXPECT_EQ(hundred.at(0), 1);
  EXPECT_EQ(hundred.median(), 50);
  EXPECT_EQ(hundred.p99(), 99);
  EXPECT_EQ(hundred.highest(), 100);
  hundred.add_ns(1000);
  EXPECT_EQ(hundred.highest(), 1000);
  EXPECT_EQ(hundred.count(), 101U);
}

TEST(percentiles, of_nothing_are_refused) {
  bench::percentiles none;
  EXPECT_THROW(none.median(), std::logic_error);
}

}  // namespace

// SPDX-License-Identifier: Apache-2.0
// Checks that each configuration is what its name says; otherwise the other tests would prove less.
#include "configuration.hpp"

#include <gtest/gtest.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "locks.hpp"
#include "probe_output.hpp"

namespace {

using contract::configuration;

TEST(configuration, membarrier_is_forbidden_exactly_where_it_should_be) {
  errno = 0;
  const long result = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
  if (contract::current() == configuration::no_membarrier) {
    EXPECT_EQ(result, -1);
    EXPECT_EQ(errno, ENOSYS);
  } else {
    EXPECT_GE(result, 0) << "this kernel or sandbox has no membarrier";
  }
}

// Checks the policy by its effect; without the variable, kind 2 differs from kinds 0 and 1.
TEST(configuration, the_policy_is_the_kind_s_unless_the_environment_says_otherwise) {
  const auto newcomer = [](const char* kind) { return contract::probe_output({"newcomer", kind}); };
  const char* const at_kind_0 =
      contract::readers_pass_waiting_writers() ? "enters\n" : "is kept out\n";
  EXPECT_EQ(newcomer("0"), at_kind_0);
  EXPECT_EQ(newcomer("1"), at_kind_0);
  EXPECT_EQ(newcomer("2"), "is kept out\n");
}

// Locks that the tests call hot must be hot, or half of the tests would cover the slow path only.
TEST(configuration, hot_reads_are_passive_under_readmost) {
  if (!contract::readmost_rules()) {
    EXPECT_EQ(contract::probe_output({"hot"}), "");
    return;
  }
  std::string file = testing::TempDir() + "contract-" + std::to_string(getpid()) + ".json";
  EXPECT_EQ(contract::probe_output({"hot"}, {{"READMOST_STATS", file}}), "");
  std::ifstream stream(file);
  const auto statistics = nlohmann::json::parse(stream, nullptr, false);
  std::remove(file.c_str());
  ASSERT_TRUE(statistics.is_object()) << "no statistics in " << file;
  const long passive = statistics.at("reads").at("passive").get<long>();
  EXPECT_GT(passive, contract::hot_reads / 2);
  EXPECT_EQ(statistics.at("membarrier").get<bool>(),
            contract::current() != configuration::no_membarrier);
}

}  // namespace

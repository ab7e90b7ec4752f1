// SPDX-License-Identifier: Apache-2.0
// What doctor concludes from facts that this machine may not have.
#include "doctor/examination.hpp"

#include "launch.hpp"

namespace readmost::command_test {
namespace {

using readmost::command::cpu_times;
using readmost::command::examination;
using readmost::command::finding;
using readmost::command::meaning_of;
using readmost::command::times_of;

std::string findings_where(std::optional<double> taken) {
  examination all;
  all.machine.taken = taken;
  std::string text;
  for (const finding& each : meaning_of(all)) text += each.text + '\n';
  return text;
}

TEST(examination, tells_of_a_hypervisor_that_takes_much) {
  EXPECT_THAT(findings_where(0.2), HasSubstr("has taken 20% of the CPUs' busy time"));
  EXPECT_THAT(findings_where(0.04), Not(HasSubstr("hypervisor")));
  EXPECT_THAT(findings_where(std::nullopt), Not(HasSubstr("hypervisor")));
}

class times_of_cpus : public command {
 protected:
  std::optional<cpu_times> times_in(const std::string& text, const std::vector<int>& cpus) const {
    return times_of(cpus, write("stat", text));
  }
};

TEST_F(times_of_cpus, are_summed_over_those_asked_for) {
  // user, nice, system, idle, waiting, hard and soft interrupts, stolen, two for guests.
  const auto times = times_in(
      "cpu  111 0 0 0 0 0 0 0 0 0\n"
      "cpu0 1 2 4 1000 1000 8 16 32 0 0\n"
      "cpu1 9999 0 0 0 0 0 0 9999 0 0\n"
      "cpu2 100 0 0 0 0 0 0 200 0 0\n"
      "intr 1 2 3\n",
      {0, 2});
  ASSERT_TRUE(times);
  const auto tick = 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK));
  EXPECT_DOUBLE_EQ(times->busy.count(), (63 + 300) * tick);
  EXPECT_DOUBLE_EQ(times->taken.count(), (32 + 200) * tick);
}

TEST_F(times_of_cpus, are_unknown_where_the_kernel_does_not_tell) {
  EXPECT_FALSE(times_in("", {0}));
  EXPECT_FALSE(times_in("cpu1 1 2 3 4 5 6 7 8 9 10\n", {0}));
  EXPECT_FALSE(times_of({0}, path("missing")));
}

}  // namespace
}  // namespace readmost::command_test

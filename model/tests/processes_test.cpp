// SPDX-License-Identifier: Apache-2.0
// Tasks in several processes.
#include "processes.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/processes.hpp"

namespace {

using readmost::model::in_own_processes;
using readmost::model::in_processes;

std::string number(std::size_t i) {
  return std::to_string(i);
}

class processes : public testing::TestWithParam<unsigned> {};

INSTANTIATE_TEST_SUITE_P(as, processes, testing::Values(1U, 2U, 5U),
                         testing::PrintToStringParamName());

TEST_P(processes, give_every_answer_once_in_the_order_of_the_tasks) {
  constexpr std::size_t tasks = 40;
  std::vector<std::string> answers;
  in_processes(
      GetParam(), tasks, number,
      [](std::size_t i) {
        // Later ones first.
        std::this_thread::sleep_for(std::chrono::milliseconds(i % 4 == 0 ? 10 : 0));
        return std::string(i * 5000, 'x') + number(i);
      },
      [&](std::size_t i, const std::string& answer) {
        EXPECT_EQ(i, answers.size());
        answers.push_back(answer);
      });
  ASSERT_EQ(answers.size(), tasks);
  for (std::size_t i = 0; i < tasks; ++i) {
    EXPECT_EQ(answers[i], std::string(i * 5000, 'x') + number(i));
  }
}

TEST_P(processes, take_nothing_to_do) {
  in_processes(GetParam(), 0, number, number, [](std::size_t, const std::string&) { FAIL(); });
}

TEST_P(processes, pass_on_what_a_task_throws) {
  try {
    in_processes(
        GetParam(), 9, number,
        [](std::size_t i) -> std::string {
          if (i == 4) throw std::invalid_argument("the fifth");
          return "";
        },
        [](std::size_t i, const std::string&) { EXPECT_LT(i, 4U); });
    FAIL();
  } catch (const std::exception& problem) {
    EXPECT_STREQ(problem.what(), "the fifth");
  }
}

TEST(several_processes, share_the_tasks) {
  // A worker's first task ends when each worker has one.
  test::shared_object<std::atomic<int>> begun;
  std::set<std::string> workers;
  in_processes(
      3, 12, number,
      [&](std::size_t) {
        ++*begun.operator->();
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        while (*begun.operator->() < 3 && std::chrono::steady_clock::now() < deadline) {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return std::to_string(getpid());
      },
      [&](std::size_t, const std::string& worker) { workers.insert(worker); });
  EXPECT_EQ(workers.size(), 3U);
  EXPECT_FALSE(workers.contains(std::to_string(getpid())));
}

TEST_P(processes, of_their_own_find_nothing_that_another_task_has_left) {
  int tasks_here = 0;
  std::vector<std::string> answers;
  in_own_processes(
      GetParam(), 12, number, [&](std::size_t i) { return number(i) + " " + number(++tasks_here); },
      [&](std::size_t, const std::string& answer) { answers.push_back(answer); });
  ASSERT_EQ(answers.size(), 12U);
  for (std::size_t i = 0; i < answers.size(); ++i) EXPECT_EQ(answers[i], number(i) + " 1");
}

TEST_P(processes, of_their_own_pass_on_what_a_task_throws_and_name_one_that_dies) {
  const auto message_of = [](const std::function<std::string(std::size_t)>& task) {
    try {
      in_own_processes(
          GetParam(), 3, [](std::size_t i) { return "task " + number(i); }, task,
          [](std::size_t, const std::string&) {});
      return std::string("no exception");
    } catch (const std::exception& problem) {
      return std::string(problem.what());
    }
  };
  EXPECT_EQ(message_of([](std::size_t i) -> std::string {
              if (i == 1) throw std::invalid_argument("the second");
              return "";
            }),
            "the second");
  EXPECT_EQ(message_of([](std::size_t i) -> std::string {
              if (i == 1) _exit(3);
              return "";
            }),
            "task 1: its process ended before it did");
}

TEST(several_processes, name_the_task_at_which_one_of_them_ends) {
  try {
    in_processes(
        2, 9, [](std::size_t i) { return "task " + number(i); },
        [](std::size_t i) {
          if (i == 4) _exit(3);
          return number(i);
        },
        [](std::size_t, const std::string&) {});
    FAIL();
  } catch (const std::runtime_error& problem) {
    EXPECT_STREQ(problem.what(), "task 4: its process ended before it did");
  }
}

}  // namespace

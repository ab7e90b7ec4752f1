// SPDX-License-Identifier: Apache-2.0
#include "programs/launcher.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>

#include "process/preload.hpp"

namespace {

using bench::finished_program;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using words = std::vector<std::string>;

constexpr std::chrono::seconds a_minute{60};

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "no error";
}

class LauncherTest : public testing::Test {
 protected:
  std::string error_of_run(const std::string& lock, const words& program,
                           std::chrono::seconds limit = a_minute) {
    return error_of([&] { programs_.run(lock, program, {}, limit); });
  }

  // What a program gets that runs over this lock.
  static std::string environment_over(std::string_view name) {
    const auto all = bench::all_preloaded_with_preferences();
    const auto lock = std::ranges::find(all, name, &bench::preloaded_lock::name);
    return lock == all.end() ? "no such lock" : lock->run({"env"}, {}, a_minute).output;
  }

  bench::launcher programs_;
};

TEST_F(LauncherTest, NamesTheLocksOfTheLibraryOursFirst) {
  const words locks = bench::launcher::locks();
  EXPECT_EQ(locks.front(), "prwlock");
  EXPECT_THAT(locks, Contains("pthread"));
}

TEST_F(LauncherTest, PthreadPreloadsNothing) {
  EXPECT_THAT(programs_.run("pthread", {"env"}, {}, a_minute).output,
              AllOf(Not(HasSubstr("libreadmost")), Not(HasSubstr("READMOST_LOCK"))));
}

TEST_F(LauncherTest, PthreadLeavesOutAPreloadedLibraryOfOurs) {
  setenv("LD_PRELOAD", readmost::command::find_library({}, "prwlock").c_str(), 1);
  setenv("READMOST_LOCK", "prwlock", 1);
  const std::string environment = programs_.run("pthread", {"env"}, {}, a_minute).output;
  unsetenv("LD_PRELOAD");
  unsetenv("READMOST_LOCK");
  EXPECT_THAT(environment, AllOf(Not(HasSubstr("libreadmost")), Not(HasSubstr("READMOST_LOCK"))));
}

TEST_F(LauncherTest, AnotherLockReachesTheProgramsRwlocks) {
  const finished_program done =
      programs_.run("ba", {bench::program_folder() / "examples" / "rwbench", "--seconds", "0.05"},
                    {{"READMOST_STATS", "1"}}, a_minute);
  EXPECT_THAT(done.output, HasSubstr("every lock was left to ba"));
}

TEST_F(LauncherTest, ALockReachesTheProgramsRwlocks) {
  const finished_program done = programs_.run(
      "prwlock", {bench::program_folder() / "examples" / "rwbench", "--seconds", "0.05"},
      {{"READMOST_STATS", "1"}}, a_minute);
  EXPECT_THAT(done.output, HasSubstr("lock prwlock"));
  EXPECT_GT(done.number("writes +([0-9]+)"), 0);
  EXPECT_GT(done.cpu_seconds, 0);
  EXPECT_GT(done.seconds, 0.05);
}

TEST_F(LauncherTest, RejectsALockThatTheLibraryDoesNotKnow) {
  EXPECT_THAT(error_of_run("no-lock",
                           {bench::program_folder() / "examples" / "rwbench", "--seconds", "0.05"}),
              AllOf(HasSubstr("READMOST_LOCK=no-lock"), HasSubstr("did not get that lock")));
}

TEST_F(LauncherTest, ReadmostUnderWriterPreferenceIsAContenderWhereItMatters) {
  EXPECT_THAT(environment_over("prwlock-writer"),
              AllOf(HasSubstr("READMOST_PREFER=writer\n"), HasSubstr("READMOST_LOCK=prwlock\n")));
}

TEST_F(LauncherTest, GlibcUnderWriterPreferenceIsAContenderWhereItMatters) {
  EXPECT_THAT(environment_over("pthread-writer"),
              AllOf(HasSubstr("LD_PRELOAD=" + bench::writers_first_library().string() + "\n"),
                    Not(HasSubstr("READMOST_LOCK=")), Not(HasSubstr("READMOST_PREFER="))));
}

TEST(WritersFirst, LetsInitialisedLocksOfGlibcPreferWriters) {
  void* const library = dlopen(bench::writers_first_library().c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto init =
      reinterpret_cast<decltype(&pthread_rwlock_init)>(dlsym(library, "pthread_rwlock_init"));
  ASSERT_NE(init, nullptr);
  pthread_rwlockattr_t shared;
  pthread_rwlockattr_init(&shared);
  pthread_rwlockattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
  for (const pthread_rwlockattr_t* attributes :
       {static_cast<pthread_rwlockattr_t*>(nullptr), &shared}) {
    pthread_rwlock_t lock;
    ASSERT_EQ(init(&lock, attributes), 0);
    EXPECT_EQ(lock.__data.__flags, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    EXPECT_EQ(lock.__data.__shared != 0, attributes != nullptr);
    pthread_rwlock_destroy(&lock);
  }
}

TEST_F(LauncherTest, AFailureNamesTheCommandAndShowsItsOutput) {
  EXPECT_THAT(error_of_run("pthread", {"sh", "-c", "echo a wrong value; exit 3"}),
              HasSubstr("'sh -c 'echo a wrong value; exit 3'' failed: status 3; the end of its "
                        "output:\na wrong value"));
}

TEST_F(LauncherTest, TheCommandOfAFailureCanBeRepeated) {
  EXPECT_THAT(error_of_run("prwlock", {"false"}),
              testing::ContainsRegex("'READMOST_LOCK=prwlock LD_PRELOAD=/.*pthread.so false'"));
}

TEST_F(LauncherTest, ASignalIsNamed) {
  EXPECT_THAT(error_of_run("pthread", {"sh", "-c", "kill -SEGV $$"}),
              HasSubstr("was ended by signal 11 (Segmentation fault)"));
}

TEST_F(LauncherTest, AProgramThatDoesNotEndIsEnded) {
  EXPECT_THAT(error_of_run("pthread", {"sleep", "60"}, std::chrono::seconds(1)),
              HasSubstr("'sleep 60' had not ended after 1 seconds"));
}

TEST_F(LauncherTest, AProgramThatIsNotThereIsNamed) {
  EXPECT_THAT(error_of_run("pthread", {"no-such-program"}), HasSubstr("no-such-program"));
}

TEST(FinishedProgram, NumberIsOfTheFirstGroup) {
  const finished_program done{.command = "p", .output = "time: 1.5\nget:\ntime: 2e3\n"};
  EXPECT_EQ(done.number("^time: ([0-9.e]+)$"), 1.5);
  EXPECT_EQ(done.number("(?s)^get:.*?^time: ([0-9.e]+)$"), 2000);
}

TEST(FinishedProgram, AMissingNumberIsAnError) {
  const finished_program done{.command = "p", .output = "rate: 0\nname: x\n"};
  EXPECT_EQ(done.number("rate: (.*)"), 0);
  EXPECT_THAT(error_of([&] { done.number_above_0("rate: (.*)"); }), HasSubstr("'p' printed 0"));
  EXPECT_THAT(error_of([&] { done.number("name: (.*)"); }),
              AllOf(HasSubstr("'p' printed 'x'"), HasSubstr("no number")));
  EXPECT_THAT(error_of([&] { done.number("time: (.*)"); }),
              AllOf(HasSubstr("'p' printed nothing that"), HasSubstr("rate: 0")));
}

}  // namespace

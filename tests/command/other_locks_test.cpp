// SPDX-License-Identifier: Apache-2.0
// Tests the libraries with each lock that READMOST_LOCK accepts, under one program.
#include "launch.hpp"
#include "statistics/lock_names.hpp"

namespace readmost::command_test {
namespace {

class other_locks : public real_command, public ::testing::WithParamInterface<std::string_view> {};

TEST_P(other_locks, keep_what_every_lock_has_to_keep) {
  const std::string lock(GetParam());
  const ending end = readmost({"run", "--lock", lock, "--", READMOST_EVERY_WAY_PROGRAM});
  EXPECT_TRUE(end.exited) << "signal " << end.code;
  EXPECT_EQ(end.code, 0);
  EXPECT_EQ(end.err, "");
  const bool in_place = lock == "prwlock" || lock == "pthread";
  EXPECT_EQ(end.out, in_place ? "every way works over the lock itself\n"
                              : "every way works over a lock made for it\n");
}

TEST_P(other_locks, serve_a_malloc_that_locks) {
  const ending end =
      readmost({"run", "--lock", std::string(GetParam()), "--", READMOST_ALLOCATOR_PROGRAM});
  EXPECT_TRUE(end.exited) << "signal " << end.code;
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_EQ(end.out, "all allocations are counted\n");
}

TEST_P(other_locks, are_named_in_statistics) {
  const std::string lock(GetParam());
  const ending end =
      readmost({"run", "--lock", lock, "--stats=stats.json", "--", READMOST_RWLOCK_PROGRAM});
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_EQ(end.out, "writes: 10\n");
  const json stats = read_json("stats.json");
  EXPECT_EQ(stats["lock"], lock);
  EXPECT_EQ(stats["writes"], lock == "prwlock" ? 10 : 0);
}

INSTANTIATE_TEST_SUITE_P(all, other_locks, ::testing::ValuesIn(detail::lock_names),
                         [](const auto& info) {
                           std::string name(info.param);
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

class lock_choices : public real_command {};

TEST_F(lock_choices, the_program_notices_a_lock_that_does_not_exclude) {
  environment = {std::string("READMOST_LIBRARY=") + READMOST_BROKEN_RWLOCK};
  const ending end = readmost({"run", "--", READMOST_EVERY_WAY_PROGRAM});
  EXPECT_EQ(end.code, 1);
  EXPECT_THAT(end.out, ::testing::StartsWith("wrong: "));
}

TEST_F(lock_choices, an_unknown_name_is_told_in_one_line_and_prwlock_serves) {
  environment = {"READMOST_LOCK=brlok"};
  const ending end = readmost({"run", "--stats=stats.json", "--", READMOST_RWLOCK_PROGRAM});
  EXPECT_EQ(end.code, 0);
  EXPECT_EQ(end.out, "writes: 10\n");
  EXPECT_EQ(std::ranges::count(end.err, '\n'), 1) << end.err;
  EXPECT_THAT(end.err, HasSubstr("READMOST_LOCK=brlok is not known; it can be prwlock, pthread, "));
  for (const std::string_view name : detail::lock_names) {
    EXPECT_THAT(end.err, HasSubstr(std::string(name)));
  }
  EXPECT_EQ(read_json("stats.json")["lock"], "prwlock");
}

TEST_F(lock_choices, a_lock_of_the_other_library_is_told_in_one_line) {
  const auto run_with = [&](const std::string& library, const std::string& lock) {
    environment = {"LD_PRELOAD=" + library, "READMOST_LOCK=" + lock,
                   "READMOST_STATS=" + path("stats.json").string()};
    executable = READMOST_RWLOCK_PROGRAM;
    fs::remove(path("stats.json"));
    const ending end = wait(start({}));
    EXPECT_EQ(end.code, 0);
    EXPECT_EQ(end.out, "writes: 10\n");
    return end.err;
  };
  for (const std::string lock : {"pthread", "ba", "bravo-consensus"}) {
    const std::string told = run_with(READMOST_REAL_LIBRARY, lock);
    EXPECT_THAT(told, StartsWith("readmost: READMOST_LOCK=" + lock + " "));
    EXPECT_THAT(told, AllOf(HasSubstr("libreadmost-lab.so"), HasSubstr("--lock " + lock)));
    EXPECT_EQ(std::ranges::count(told, '\n'), 1) << told;
    EXPECT_EQ(read_json("stats.json")["lock"], "prwlock");
    EXPECT_EQ(read_json("stats.json")["writes"], 10) << "Readmost's lock serves";
  }
  const std::string told = run_with(READMOST_LAB_LIBRARY, "prwlock");
  EXPECT_THAT(told, StartsWith("readmost: READMOST_LOCK=prwlock "));
  EXPECT_THAT(told, HasSubstr("libreadmost-pthread.so"));
  EXPECT_EQ(std::ranges::count(told, '\n'), 1) << told;
  EXPECT_EQ(read_json("stats.json")["lock"], "pthread");
  EXPECT_EQ(run_with(READMOST_LAB_LIBRARY, ""), "");
  EXPECT_EQ(read_json("stats.json")["lock"], "pthread");
}

TEST_F(lock_choices, no_library_writes_to_code) {
  environment = {std::string("LD_PRELOAD=") + READMOST_REFUSED_MPROTECT};
  for (const char* lock : {"prwlock", "pthread", "ba"}) {
    const ending end = readmost({"run", "--lock", lock, "--", READMOST_EVERY_WAY_PROGRAM});
    EXPECT_EQ(end.code, 0) << end.out;
    EXPECT_THAT(end.out, HasSubstr("every way works"));
    EXPECT_EQ(end.err, "");
  }
}

TEST_F(lock_choices, all_of_them_are_compared_by_one_word) {
  const ending end =
      readmost({"compare", "--runs", "1", "--locks", "all", "--metric", "writes: ([0-9]+)",
                "--json", "result.json", "--", READMOST_RWLOCK_PROGRAM});
  EXPECT_EQ(end.code, 0) << end.err;
  const json locks = read_json("result.json")["locks"];
  ASSERT_EQ(locks.size(), detail::lock_names.size() + 1);
  EXPECT_EQ(locks[0]["lock"], "glibc");
  for (std::size_t i = 0; i < detail::lock_names.size(); ++i) {
    EXPECT_EQ(locks[i + 1]["lock"], detail::lock_names[i]);
    EXPECT_EQ(locks[i + 1]["values"], json({10}));
  }
}

TEST_F(lock_choices, cohort_rw_plays_the_nodes_it_is_told_to) {
  environment = {"RIVALS_NODES=3"};
  const ending end = readmost({"run", "--lock", "cohort-rw", "--", READMOST_EVERY_WAY_PROGRAM});
  EXPECT_EQ(end.code, 0) << end.out;
  EXPECT_EQ(end.err, "");
  environment = {"RIVALS_NODES=many"};
  const ending told = readmost({"run", "--lock", "cohort-rw", "--", READMOST_RWLOCK_PROGRAM});
  EXPECT_EQ(told.out, "writes: 10\n");
  EXPECT_THAT(told.err, HasSubstr("RIVALS_NODES=many"));
}

}  // namespace
}  // namespace readmost::command_test

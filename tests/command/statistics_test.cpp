// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launch.hpp"

namespace readmost::command_test {
namespace {

// Tests the preloaded library's reports on single locks.
class statistics : public real_command {
 protected:
  json report(const std::string& program = READMOST_LOCK_PLACES) {
    const ending end = readmost({"run", "--stats=stats.json", "--", program});
    EXPECT_EQ(end.code, 0) << end.err;
    return read_json("stats.json");
  }

  std::string table() {
    const ending end = readmost({"run", "--stats", "--", READMOST_LOCK_PLACES});
    EXPECT_EQ(end.code, 0) << end.err;
    return end.err;
  }

  static const json* at(const json& report, const std::string& symbol) {
    for (const json& lock : report["hottest"]) {
      if (lock["place"]["symbol"] == symbol) return &lock;
    }
    return nullptr;
  }

  static long reads_of(const json& figures) {
    return figures["reads"]["passive"].get<long>() + figures["reads"]["active"].get<long>();
  }
};

TEST_F(statistics, do_not_wait_for_a_reader_of_a_named_pipe) {
  const std::string pipe = path("pipe").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const ending alone = readmost({"run", "--stats=pipe", "--", READMOST_LOCK_PLACES});
  EXPECT_EQ(alone.code, 0);
  EXPECT_THAT(alone.err, HasSubstr("cannot write statistics to READMOST_STATS=" + pipe));
  EXPECT_THAT(alone.err, HasSubstr("places::routes")) << "they are shown nevertheless";

  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  EXPECT_EQ(readmost({"run", "--stats=pipe", "--", READMOST_LOCK_PLACES}).err, "");
  char begin[9] = {};
  EXPECT_EQ(::read(reader, begin, 8), 8);
  EXPECT_STREQ(begin, "readmost");
  close(reader);
}

TEST_F(statistics, of_a_forks_child_that_uses_only_its_parents_locks_are_reported) {
  const ending end = readmost({"run", "--stats=stats.json", "--", READMOST_RWLOCK_PROGRAM, "3"});
  EXPECT_EQ(end.code, 0) << end.err;
  std::istringstream lines(read(path("stats.json")));
  int children = 0;
  for (std::string line; std::getline(lines, line);) {
    const json process = json::parse(line);
    EXPECT_EQ(violations(process, READMOST_STATISTICS_SCHEMA), "");
    if (process["writes"] != 0) continue;  // the parent
    ++children;
    EXPECT_EQ(process["locks"], 0);
    EXPECT_EQ(reads_of(process), 100);
  }
  EXPECT_EQ(children, 3);
}

TEST_F(statistics, survive_a_program_name_that_is_no_text) {
  // No UTF-8 are: a byte of its own, one too long for its character, a surrogate, and a beginning.
  const fs::path strange = path("a\xff\x1b[31m\xc1\x81\xed\xa0\x80\xc3\xa9\xe2\x82");
  fs::copy_file(READMOST_LOCK_PLACES, strange);
  const json all = report(strange);
  const std::string unknown = "\xef\xbf\xbd";
  std::string expected = "a" + unknown + "\x1b[31m";
  for (int i = 0; i < 5; ++i) expected += unknown;
  expected += "\xc3\xa9" + unknown + unknown;
  EXPECT_THAT(all["program"].get<std::string>(), ::testing::EndsWith(expected));
  EXPECT_EQ(violations(all, READMOST_STATISTICS_SCHEMA), "");
  const ending end = readmost({"run", "--stats", "--", strange});
  EXPECT_THAT(end.err,
              HasSubstr("a\\xff\\x1b[31m\\xc1\\x81\\xed\\xa0\\x80\xc3\xa9\\xe2\\x82 (process"));
}

TEST_F(statistics, count_each_lock_exactly) {
  const json all = report();
  const json* routes = at(all, "places::routes");
  ASSERT_NE(routes, nullptr) << all;
  EXPECT_EQ(reads_of(*routes), 100'000);
  EXPECT_EQ((*routes)["writes"], 10);
  EXPECT_EQ((*routes)["incarnations"], 1);
  int shards = 0;
  for (const json& lock : all["hottest"]) {
    if (lock["place"]["symbol"] != "places::shard_table") continue;
    ++shards;
    EXPECT_EQ(reads_of(lock), 2'000) << lock;
    EXPECT_EQ(lock["writes"], 10) << lock;
    EXPECT_EQ((lock["place"]["symbol_offset"].get<long>() - 40) % 56, 0) << lock;
  }
  EXPECT_EQ(shards, 8) << "beside routes and the one on the heap";
  EXPECT_EQ(all["others"]["locks"], 32 - shards);
  EXPECT_EQ(reads_of(all["others"]), 2'000 * (32 - shards));
}

TEST_F(statistics, of_the_locks_add_up_to_those_of_the_process) {
  const json all = report();
  long reads = reads_of(all["others"]), writes = all["others"]["writes"];
  for (const json& lock : all["hottest"]) {
    reads += reads_of(lock);
    writes += lock["writes"].get<long>();
  }
  EXPECT_EQ(reads, reads_of(all));
  EXPECT_EQ(writes, all["writes"]);
  EXPECT_EQ(all["hottest"].size(), 10u);
}

TEST_F(statistics, of_threads_that_have_ended_are_kept) {
  const json all = report(READMOST_RWLOCK_PROGRAM);
  ASSERT_EQ(all["hottest"].size(), 1u) << all;
  EXPECT_EQ(reads_of(all["hottest"][0]), 2'000);
  EXPECT_EQ(all["hottest"][0]["writes"], 10);
}

TEST_F(statistics, say_where_a_lock_lies) {
  const json all = report();
  const json* routes = at(all, "places::routes");
  ASSERT_NE(routes, nullptr);
  EXPECT_THAT((*routes)["place"]["mapping"].get<std::string>(), HasSubstr("/command_lock_places"));
  const auto on_the_heap = std::ranges::find_if(
      all["hottest"], [](const json& lock) { return lock["place"]["mapping"] == "[heap]"; });
  ASSERT_NE(on_the_heap, all["hottest"].end());
  EXPECT_EQ((*on_the_heap)["writes"], 5'000);
  EXPECT_EQ((*on_the_heap)["place"]["symbol"], nullptr);
}

TEST_F(statistics, judge_each_lock_in_a_sentence) {
  EXPECT_THAT(table(),
              AllOf(ContainsRegex(" 1\\. places::routes \\(command_lock_places\\): read-mostly: "
                                  "biased 9[0-9.]+% of the time\n"),
                    ContainsRegex("\\[heap\\]\\+0x[0-9a-f]+: write-heavy: bias kept off\n"),
                    HasSubstr("      reads 100000, "), HasSubstr("; writes 10"),
                    HasSubstr("all 24 others:\n")));
}

TEST_F(statistics, name_who_used_a_lock_first_when_asked) {
  EXPECT_THAT(table(), Not(HasSubstr("called by")));
  const ending end = readmost({"run", "--stats", "--backtrace", "--", READMOST_LOCK_PLACES});
  EXPECT_THAT(end.err, ContainsRegex("first used in [^\n]*\\(command_lock_places\\)\n"
                                     " +called by main"));
  environment = {"READMOST_STATS_BACKTRACE=1"};
  const json all = report();
  const json* routes = at(all, "places::routes");
  ASSERT_NE(routes, nullptr);
  EXPECT_EQ(all["program"], READMOST_LOCK_PLACES) << "nothing is loaded too early";
  bool in_main = false;
  for (const json& frame : (*routes)["first_used_in"]) {
    in_main = in_main || frame["symbol"] == "main";
  }
  EXPECT_TRUE(in_main) << *routes;
  EXPECT_EQ(violations(all, READMOST_STATISTICS_SCHEMA), "");
}

TEST_F(statistics, are_as_the_schema_says) {
  EXPECT_EQ(violations(report(), READMOST_STATISTICS_SCHEMA), "");
  EXPECT_EQ(violations(report(READMOST_RWLOCK_PROGRAM), READMOST_STATISTICS_SCHEMA), "");
  environment = {"READMOST_LOCK=pthread"};
  EXPECT_EQ(violations(report(), READMOST_STATISTICS_SCHEMA), "");
}

TEST_F(statistics, that_lack_a_key_are_not_as_the_schema_says) {
  json all = report();
  all["hottest"][0].erase("verdict");
  EXPECT_THAT(violations(all, READMOST_STATISTICS_SCHEMA), HasSubstr("verdict"));
}

TEST_F(statistics, can_be_listened_to_by_probes) {
  executable = "/bin/sh";
  const ending end = wait(start({"-c", "readelf -n " READMOST_REAL_LIBRARY}));
  for (const char* probe :
       {"read_contention", "write_contention", "wait_end", "revocation", "membarrier"}) {
    EXPECT_THAT(end.out, HasSubstr(std::string("Provider: readmost\n    Name: ") + probe + "\n"));
  }
}

}  // namespace
}  // namespace readmost::command_test

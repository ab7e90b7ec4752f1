// SPDX-License-Identifier: Apache-2.0
#include <elf.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "launch.hpp"

namespace readmost::command_test {
namespace {

class holders : public real_command {
 protected:
  ~holders() override { end_program(); }

  // Starts the program, preloaded or with classes of its own.
  void hold(const std::string& how, words variables = {}) {
    variables.push_back(std::string("LD_PRELOAD=") + READMOST_REAL_LIBRARY);
    start_program(READMOST_HOLDING_PROGRAM, how, variables);
  }
  void hold_by_classes(const std::string& how, const words& variables = {}) {
    start_program(READMOST_HOLDING_CLASSES, how, variables);
  }

  void end_program() {
    if (program <= 0) return;
    kill(program, SIGKILL);
    waitpid(program, nullptr, 0);
    program = 0;
  }

  words of_program() const { return {"holders", "-p", std::to_string(program)}; }

  // What the command says once `is_there`: the threads need time to get to where they stay.
  template <class Condition>
  json report_when(Condition is_there) {
    for (int tries = 0; tries < 1000; ++tries) {
      // At first the library may not be loaded yet.
      words arguments = of_program();
      arguments.insert(arguments.end(), {"--json", "-"});
      const ending end = readmost(arguments);
      if (end.code < 2 && is_there(json::parse(end.out))) return report_of(of_program());
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ADD_FAILURE() << "it never comes to that:\n" << report_of(of_program()).dump(2);
    return json::parse(R"({"deadlocks": [], "locks": []})");
  }
  json report_when_waiting(std::size_t waiters) {
    return report_when([=](const json& report) {
      std::size_t found = 0;
      for (const json& lock : report["locks"]) {
        for (const json& each : lock["waiters"]) found += !each["since"].is_null();
      }
      return found == waiters;
    });
  }

  json report_of(words arguments) {
    arguments.insert(arguments.end(), {"--json", "-"});
    const ending end = readmost(arguments);
    EXPECT_EQ(end.err, "");
    const json report = json::parse(end.out.empty() ? "{}" : end.out);
    EXPECT_EQ(end.code, report.value("deadlocks", json::array()).empty() ? 0 : 1);
    return report;
  }

  static json lock_at(const json& report, const std::string& place) {
    for (const json& lock : report["locks"]) {
      if (lock["place"].get<std::string>().starts_with(place + " ")) return lock;
    }
    ADD_FAILURE() << "no lock " << place << " in\n" << report.dump(2);
    return json::parse(R"({"holders": [{}], "waiters": [{}]})");
  }

  // The core file of the program, which goes on.
  std::string core_file() {
    executable = READMOST_GCORE;
    const ending end = wait(start({"-o", path("core").string(), std::to_string(program)}));
    executable = READMOST_COMMAND;
    const std::string file = fmt::format("{}.{}", path("core").string(), program);
    EXPECT_TRUE(fs::exists(file)) << end.out << end.err;
    return file;
  }

  ending gdb(words arguments) {
    executable = READMOST_GDB;
    environment = {"DEBUGINFOD_URLS="};
    arguments.insert(arguments.begin(), {"-nx", "-batch", "-ex", "source " READMOST_GDB_SCRIPT});
    const ending end = wait(start(arguments));
    environment.clear();
    executable = READMOST_COMMAND;
    return end;
  }

  pid_t program = 0;

 private:
  void start_program(const std::string& file, const std::string& how, const words& variables) {
    executable = file;
    environment = variables;
    program = start({how});
    environment.clear();
    executable = READMOST_COMMAND;
    EXPECT_TRUE(becomes(program, fs::path(file).filename().string().substr(0, 15)));
  }
};

TEST_F(holders, names_a_deadlock_of_two_writers) {
  hold("deadlock");
  const json report = report_when_waiting(2);
  ASSERT_EQ(report["deadlocks"].size(), 1u) << report.dump(2);
  EXPECT_THAT(
      report["deadlocks"][0]["text"].get<std::string>(),
      MatchesRegex("deadlock: thread [0-9]+ \\((left|right)-first\\) waits to write for lock "
                   "0x[0-9a-f]+ \\(holding::(left|right) \\(.*\\)\\), held exclusively by thread "
                   "[0-9]+ \\((left|right)-first\\), which waits to write for lock 0x[0-9a-f]+ "
                   "\\(holding::(left|right) .*, held exclusively by thread [0-9]+ .*"));
  const json right = lock_at(report, "holding::right");
  EXPECT_EQ(right["kind"], "pthread_rwlock_t");
  EXPECT_EQ(right["holders"][0]["how"], "exclusively");
  EXPECT_EQ(right["holders"][0]["thread"]["name"], "right-first");
  EXPECT_EQ(right["waiters"][0]["thread"]["name"], "left-first");
  EXPECT_EQ(right["waiters"][0]["wants"], "write");
  EXPECT_EQ(violations(report, READMOST_HOLDERS_SCHEMA), "");

  const ending page = readmost(of_program());
  EXPECT_EQ(page.code, 1);
  EXPECT_THAT(page.out, AllOf(ContainsRegex("\ndeadlock: thread [0-9]+ \\("),
                              HasSubstr("\n  held exclusively by thread "),
                              HasSubstr("\n  waited for by thread ")));
  std::istringstream lines(page.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
}

TEST_F(holders, name_passive_readers_in_a_deadlock) {
  hold_by_classes("deadlock-of-readers");
  const json report = report_when_waiting(2);
  ASSERT_EQ(report["deadlocks"].size(), 1u) << report.dump(2);
  EXPECT_THAT(report["deadlocks"][0]["text"].get<std::string>(), HasSubstr("held passively by"));
  EXPECT_EQ(lock_at(report, "holding::left")["kind"], "class");
}

TEST_F(holders, follow_a_circle_over_a_writer_that_only_waits) {
  hold("deadlock-behind-a-writer");
  const json report = report_when_waiting(3);
  ASSERT_EQ(report["deadlocks"].size(), 1u) << report.dump(2);
  EXPECT_EQ(report["deadlocks"][0]["waits"].size(), 3u);
  EXPECT_THAT(report["deadlocks"][0]["text"].get<std::string>(),
              ContainsRegex("\\(holder\\),? which waits to read for lock 0x[0-9a-f]+ "
                            "\\(holding::left [^,]*, behind thread [0-9]+ \\(writer\\)|"
                            "thread [0-9]+ \\(holder\\) waits to read .* behind thread"));
}

TEST_F(holders, take_no_wait_with_a_deadline_for_a_deadlock) {
  hold("timed-deadlock");
  const json report = report_when_waiting(2);
  EXPECT_TRUE(report["deadlocks"].empty());
  EXPECT_EQ(lock_at(report, "holding::left")["waiters"][0]["has_deadline"], true);
}

TEST_F(holders, name_a_passive_reader_and_the_writer_that_waits_for_it) {
  hold("long-read");
  const json report = report_when_waiting(1);
  const json left = lock_at(report, "holding::left");
  ASSERT_EQ(left["holders"].size(), 1u);
  EXPECT_EQ(left["holders"][0]["how"], "passively");
  EXPECT_EQ(left["holders"][0]["thread"]["name"], "long-reader");
  EXPECT_EQ(left["holders"][0]["nanoseconds"], nullptr) << "not known without the check";
  EXPECT_EQ(left["waiters"][0]["thread"]["name"], "late-writer");
  const auto waited = left["waiters"][0]["nanoseconds"].get<std::uint64_t>();
  EXPECT_GT(lock_at(report_of(of_program()), "holding::left")["waiters"][0]["nanoseconds"]
                .get<std::uint64_t>(),
            waited);
#if defined(READMOST_HAS_LIBDW)
  EXPECT_THAT(left["holders"][0]["stack"].dump(), HasSubstr("holding::stay()+"));
  EXPECT_THAT(left["waiters"][0]["stack"].dump(),
              AllOf(HasSubstr("(command_holding"), Not(HasSubstr("readmost::detail"))));
#endif
  EXPECT_EQ(kill(program, 0), 0);
  EXPECT_EQ(waitpid(program, nullptr, WNOHANG), 0) << "it still runs";
}

TEST_F(holders, say_who_reads_actively_only_where_that_is_known) {
  hold("active-reads");
  const json counted = lock_at(report_when_waiting(1), "holding::fresh");
  EXPECT_EQ(counted["unknown_readers"], 2);
  EXPECT_TRUE(counted["holders"].empty());
  EXPECT_THAT(readmost(of_program()).out,
              HasSubstr("held actively by 2 readers, not known who (READMOST_LOCK_CHECK=1 tells)"));
  end_program();

  hold("active-reads", {"READMOST_LOCK_CHECK=1"});
  const json checked = lock_at(report_when_waiting(1), "holding::fresh");
  EXPECT_EQ(checked["unknown_readers"], 0);
  ASSERT_EQ(checked["holders"].size(), 2u);
  for (const json& each : checked["holders"]) {
    EXPECT_EQ(each["how"], "actively");
    EXPECT_GT(each["nanoseconds"], 0);
    EXPECT_THAT(each["taken_in"].dump(),
                AllOf(HasSubstr("command_holding"), Not(HasSubstr("libreadmost"))));
  }
  end_program();

  // Locks of classes note their active readers.
  hold_by_classes("active-reads");
  EXPECT_EQ(lock_at(report_when_waiting(1), "holding::fresh")["holders"].size(), 2u);
}

TEST_F(holders, know_the_writer_of_a_class_under_the_check) {
  hold_by_classes("deadlock");
  const json unknown = report_when_waiting(2);
  EXPECT_TRUE(unknown["deadlocks"].empty());
  EXPECT_EQ(lock_at(unknown, "holding::left")["unknown_writer"], true);
  EXPECT_THAT(readmost(of_program()).out,
              AllOf(HasSubstr("held exclusively, not known by whom (READMOST_LOCK_CHECK=1 tells)"),
                    HasSubstr("Threads wait for 2 locks whose holders are not known")));
  end_program();

  hold_by_classes("deadlock", {"READMOST_LOCK_CHECK=1"});
  const json known = report_when_waiting(2);
  EXPECT_EQ(known["deadlocks"].size(), 1u) << known.dump(2);
  EXPECT_THAT(lock_at(known, "holding::left")["holders"][0]["taken_in"].dump(),
              HasSubstr("holding::write_left_then_right()+"));
  EXPECT_EQ(violations(known, READMOST_HOLDERS_SCHEMA), "");
}

TEST_F(holders, do_not_show_waits_that_are_over) {
  hold("waited", {"READMOST_STATS=/dev/null"});
  EXPECT_EQ(read_when_written(path(".stdout")), "ready\n");
  const pid_t waited = program;
  // The command's output replaces the program's.
  const json report = report_of({"holders", "-p", std::to_string(waited)});
  ASSERT_EQ(report["locks"].size(), 1u) << report.dump(2);
  // Statistics know the lock for which nobody waits.
  EXPECT_EQ(lock_at(report, "holding::right")["unknown_readers"], 1);
  EXPECT_EQ(report["all_held_are_known"], true);
}

TEST_F(holders, show_no_wait_of_a_thread_that_is_not_in_a_fork_s_child) {
  hold_by_classes("forked");
  const pid_t parent = program;
  program = std::stoi(read_when_written(path(".stdout")));
  // By then the child has dealt with what it has inherited.
  const json report = report_when([](const json& one) {
    return std::ranges::any_of(one["locks"], [](const json& lock) {
      return lock["place"].get<std::string>().starts_with("holding::right ");
    });
  });
  EXPECT_EQ(report["locks"].size(), 1u) << report.dump(2);
  EXPECT_TRUE(lock_at(report, "holding::right")["waiters"].empty());
  EXPECT_EQ(report["threads"], 2);
  kill(program, SIGKILL);
  program = parent;
}

TEST_F(holders, say_so_when_locks_are_left_to_another_one) {
  environment = {std::string("LD_PRELOAD=") + READMOST_LAB_LIBRARY, "READMOST_LOCK=ba"};
  executable = READMOST_HOLDING_PROGRAM;
  program = start({"deadlock"});
  environment.clear();
  executable = READMOST_COMMAND;
  const json report = report_when([](const json& one) { return one["left_to"] == "ba"; });
  EXPECT_TRUE(report["locks"].empty());
  EXPECT_THAT(readmost(of_program()).out, HasSubstr("pthread_rwlock_t is left to ba"));
}

TEST_F(holders, read_a_core_file) {
  hold("deadlock");
  const json alive = report_when_waiting(2);
  const std::string core = core_file();
  end_program();
  for (const words& named : {words{core}, words{core, READMOST_HOLDING_PROGRAM}}) {
    words arguments{"holders", "--core"};
    arguments.insert(arguments.end(), named.begin(), named.end());
    const json report = report_of(arguments);
    EXPECT_EQ(violations(report, READMOST_HOLDERS_SCHEMA), "");
    EXPECT_EQ(report["core"], true);
    EXPECT_EQ(report["pid"], alive["pid"]);
    EXPECT_EQ(report["deadlocks"].size(), 1u);
    const json left = lock_at(report, "holding::left");
    EXPECT_EQ(left["address"], lock_at(alive, "holding::left")["address"]);
    EXPECT_EQ(left["waiters"][0]["thread"]["id"],
              lock_at(alive, "holding::left")["waiters"][0]["thread"]["id"]);
    EXPECT_EQ(left["waiters"][0]["nanoseconds"], nullptr);
    EXPECT_GT(left["waiters"][0]["since"], 0);
#if defined(READMOST_HAS_LIBDW)
    EXPECT_THAT(left["waiters"][0]["stack"].dump(), HasSubstr("holding::write_right_then_left()+"));
#endif
  }
}

TEST_F(holders, are_told_by_gdb_of_a_core_file) {
  hold("deadlock");
  const json alive = report_when_waiting(2);
  const std::string core = core_file();
  end_program();
  const ending end = gdb({"-ex", "readmost holders", "-ex", "print holding::left", "-ex",
                          "print holding::fresh", READMOST_HOLDING_PROGRAM, core});
  const auto id = [&](const char* lock) {
    return lock_at(alive, lock)["waiters"][0]["thread"]["id"].get<int>();
  };
  EXPECT_THAT(end.out,
              AllOf(ContainsRegex("deadlock: thread [0-9]+ waits to write for lock 0x[0-9a-f]+, "
                                  "held exclusively by thread [0-9]+, which waits to write"),
                    HasSubstr(fmt::format("$1 = held exclusively by thread {}; waited for by "
                                          "thread {}, to write, since ",
                                          id("holding::right"), id("holding::left"))),
                    HasSubstr("$2 = free")))
      << end.err;
}

TEST_F(holders, are_told_by_gdb_of_a_running_program) {
  const words questions{"-ex",   "break holding::stay", "-ex", "run",
                        "-ex",   "print holding::left", "-ex", "up",
                        "-ex",   "print domain",        "-ex", "print holding::right",
                        "-ex",   "readmost holders",    "-ex", "kill",
                        "--args"};
  words of_classes = questions;
  of_classes.insert(of_classes.end(), {READMOST_HOLDING_CLASSES, "inside"});
  const ending classes = gdb(of_classes);
  EXPECT_THAT(classes.out,
              AllOf(ContainsRegex("\\$1 = biased; held passively by thread [0-9]+ \\(inside\\)"),
                    ContainsRegex(
                        "\\$2 = .*domain 0; 1 grace periods? (is|are) over; inside a read section: "
                        "thread [0-9]+ \\(inside\\)"),
                    HasSubstr("$3 = free"),
                    ContainsRegex("0x[0-9a-f]+ holding::left [^,]*, lock of a class, biased\n"
                                  "  held passively by thread [0-9]+ \\(inside\\)")))
      << classes.err;

  words preloaded = questions;
  preloaded.insert(preloaded.begin(),
                   {"-ex", std::string("set environment LD_PRELOAD ") + READMOST_REAL_LIBRARY});
  preloaded.insert(preloaded.end(), {READMOST_HOLDING_PROGRAM, "inside"});
  const ending pthread = gdb(preloaded);
  EXPECT_THAT(
      pthread.out,
      AllOf(ContainsRegex("\\$1 = biased; held passively by thread [0-9]+ \\(inside\\)"),
            ContainsRegex("holding::left [^,]*, pthread_rwlock_t, biased\n  held passively")))
      << pthread.err;
}

TEST_F(holders, refuse_what_they_cannot_look_at) {
  const int end = waitpid(start({"--version"}), nullptr, 0);
  expect_refusal({"holders", "-p", std::to_string(end)}, 125,
                 {fmt::format("no process {}", end), "pidof"});
  expect_refusal({"holders"}, 125, {"no process is named", "--core"});
  expect_refusal({"holders", "/bin/sh"}, 125, {"requires --core"});
  expect_refusal({"holders", "--core", "missing"}, 125, {"'missing'", "No such file"});
  expect_refusal({"holders", "--core", "/bin/sh"}, 125, {"'/bin/sh'", "not a core file"});
  expect_refusal({"holders", "--core", write("text", "no core").string()}, 125,
                 {"is not a core file"});
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
  expect_refusal({"holders", "--core", "fifo"}, 125, {"'fifo' is not a file"});

  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS32;
  header.e_type = ET_CORE;
  const auto write_header = [&] {
    return write("header", std::string(reinterpret_cast<const char*>(&header), sizeof header))
        .string();
  };
  expect_refusal({"holders", "--core", write_header()}, 125, {"32-bit"});
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_machine = EM_S390;
  expect_refusal({"holders", "--core", write_header()}, 125, {"another kind of machine"});
#if defined(__x86_64__)
  header.e_machine = EM_X86_64;
#else
  header.e_machine = EM_AARCH64;
#endif
  header.e_phoff = sizeof header;
  header.e_phnum = 2;
  expect_refusal({"holders", "--core", write_header()}, 125, {"ends in the middle"});
  header.e_phnum = 0;
  expect_refusal({"holders", "--core", write_header()}, 125, {"names no thread"});
}

TEST_F(holders, refuse_a_process_without_the_library) {
  executable = "/bin/sleep";
  program = start({"1000"});
  executable = READMOST_COMMAND;
  EXPECT_TRUE(becomes(program, "sleep"));
  expect_refusal(of_program(), 125,
                 {fmt::format("process {} (/bin/sleep) runs without Readmost's locks", program),
                  "readmost run -- /bin/sleep"});
  const std::string core = core_file();
  expect_refusal({"holders", "--core", core}, 125, {"runs without Readmost's locks"});
}

TEST_F(holders, refuse_a_process_of_somebody_else) {
  expect_refusal_of_somebody_elses_process("holders");
}

}  // namespace
}  // namespace readmost::command_test

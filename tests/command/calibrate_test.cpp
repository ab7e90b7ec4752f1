// SPDX-License-Identifier: Apache-2.0

#include "launch.hpp"
#include "support/one_cpu.hpp"

namespace readmost::command_test {
namespace {

class calibrate : public real_command {
 protected:
  // The file that the command writes.
  json calibrated(const words& before = {}) {
    words arguments{"doctor", "--quick", "--calibrate", path("mine.json")};
    if (!before.empty()) {
      executable = before.front();
      arguments.insert(arguments.begin(), READMOST_COMMAND);
      arguments.insert(arguments.begin(), before.begin() + 1, before.end());
    }
    const ending end = readmost(arguments);
    EXPECT_EQ(end.code, 0) << end.err;
    EXPECT_EQ(end.err, "");
    EXPECT_THAT(end.out, HasSubstr("'" + path("mine.json").string() + "' has "));
    const json file = json::parse(read(path("mine.json")), nullptr, false);
    expect_machine_file(file);
    return file;
  }

  // The rules of machine files.
  static void expect_machine_file(const json& file) {
    ASSERT_TRUE(file.is_object()) << file;
    EXPECT_FALSE(file.at("description").get<std::string>().empty());
    EXPECT_THAT(file.at("order").get<std::string>(), ::testing::AnyOf("tso", "arm"));
    EXPECT_FALSE(file.at("topology").at("source").get<std::string>().empty());
    unsigned cpus = 1;
    for (const char* count :
         {"sockets", "clusters_per_socket", "cores_per_cluster", "threads_per_core"}) {
      ASSERT_TRUE(file["topology"].at(count).is_number_unsigned()) << count;
      cpus *= file["topology"][count].get<unsigned>();
    }
    EXPECT_GE(cpus, 1U);
    EXPECT_LE(cpus, 512U);
    for (const char* name : {"/ghz",
                             "/latency/hit",
                             "/latency/store",
                             "/latency/complete",
                             "/instruction",
                             "/kept",
                             "/spread",
                             "/latency/same_core",
                             "/latency/same_cluster",
                             "/latency/same_socket",
                             "/latency/other_socket",
                             "/latency/memory",
                             "/latency/share_more",
                             "/atomic",
                             "/fence",
                             "/store_buffer/entries",
                             "/store_buffer/drain",
                             "/relax",
                             "/clock",
                             "/interrupt/send",
                             "/interrupt/take",
                             "/interrupt/handle",
                             "/system_call",
                             "/membarrier/base",
                             "/futex/wait",
                             "/futex/wake",
                             "/futex/wake_up_latency",
                             "/futex/wake_busy",
                             "/scheduler/switch",
                             "/scheduler/slice",
                             "/scheduler/migrate"}) {
      const json& figure = file.at(json::json_pointer(name));
      ASSERT_TRUE(figure.at("value").is_number()) << name;
      EXPECT_GE(figure["value"].get<double>(), 0) << name;
      EXPECT_LE(figure["value"].get<double>(), 1e12) << name;
      EXPECT_THAT(figure.at("source").get<std::string>(),
                  ContainsRegex("^(measured by readmost doctor --calibrate, .+: .+|estimated: .+)"))
          << name;
    }
    for (const char* name : {"ghz", "atomic", "fence", "system_call"}) {
      EXPECT_GT(file[name]["value"].get<double>(), 0) << name;
    }
    EXPECT_GT(file["scheduler"]["slice"]["value"].get<double>(), 0);
    EXPECT_LE(file["kept"]["value"].get<double>(), 1);
    EXPECT_LT(file["spread"]["value"].get<double>(), 1);
    EXPECT_GE(file["store_buffer"]["entries"]["value"].get<double>(), 1);
    double nearer = file["latency"]["hit"]["value"];
    for (const char* distance : {"same_core", "same_cluster", "same_socket", "other_socket"}) {
      const double latency = file["latency"][distance]["value"];
      EXPECT_GE(latency, nearer) << distance;
      nearer = latency;
    }
  }

  static bool is_measured(const json& figure) {
    return figure.at("source").get<std::string>().starts_with("measured");
  }
};

TEST_F(calibrate, describes_this_machine) {
  const json file = calibrated();
  EXPECT_EQ(file["name"], "mine");
  EXPECT_TRUE(is_measured(file["ghz"]));
  EXPECT_TRUE(is_measured(file["latency"]["memory"]));
  EXPECT_TRUE(is_measured(file["atomic"]));
  EXPECT_TRUE(is_measured(file["membarrier"]["base"]));
  // Whatever this machine is like, memory is farther than its own cache.
  EXPECT_GT(file["latency"]["memory"]["value"], file["latency"]["hit"]["value"]);
}

TEST_F(calibrate, estimates_what_takes_two_cpus) {
  const test::one_cpu meanwhile;
  const json file = calibrated();
  const json one{1, 1, 1, 1};
  EXPECT_EQ(json({file["topology"]["sockets"], file["topology"]["clusters_per_socket"],
                  file["topology"]["cores_per_cluster"], file["topology"]["threads_per_core"]}),
            one);
  for (const char* name : {"/latency/same_core", "/latency/other_socket", "/interrupt/take",
                           "/interrupt/handle", "/futex/wake_up_latency"}) {
    EXPECT_THAT(file.at(json::json_pointer(name))["source"].get<std::string>(),
                AllOf(StartsWith("estimated: "), HasSubstr("this process has one CPU")))
        << name;
  }
}

TEST_F(calibrate, does_without_membarrier) {
  for (const char* answer : {"--eperm", "--kill"}) {
    const json file = calibrated({READMOST_WITHOUT_MEMBARRIER, answer});
    EXPECT_FALSE(is_measured(file["interrupt"]["take"])) << answer;
    EXPECT_THAT(file["membarrier"]["base"]["source"].get<std::string>(),
                StartsWith("estimated: no membarrier here"))
        << answer;
  }
}

TEST_F(calibrate, replaces_a_longer_file) {
  write("mine.json", std::string(100'000, '#'));
  calibrated();
}

TEST_F(calibrate, names_a_file_that_cannot_be_written) {
  const std::string missing = path("none") / "mine.json";
  expect_refusal({"doctor", "--calibrate", missing}, 2,
                 {"--calibrate: cannot write '" + missing + "': No such file or directory",
                  "name a file you may write"});
  expect_refusal({"doctor", "--calibrate", folder}, 2,
                 {"cannot write '" + folder.string() + "': Is a directory"});
  expect_refusal({"doctor", "--quick", "--calibrate", "/dev/full"}, 2,
                 {"cannot write '/dev/full': No space left on device"});
}

TEST_F(calibrate, refuses_options_that_make_no_sense) {
  expect_refusal({"doctor", "--calibrate", ""}, 2, {"'' is empty; give a file"});
  expect_refusal({"doctor", "--calibrate"}, 2, {"--calibrate"});
  expect_refusal({"doctor", "--json", "--calibrate", "mine.json"}, 2, {"--calibrate", "--json"});
}

TEST_F(calibrate, leaves_no_empty_file_behind) {
  executable = "/bin/sh";
  // No thread can be started, as its stack would exceed the memory.
  const ending end =
      readmost({"-c",
                "ulimit -s 1000000 && ulimit -v 500000 && exec \"$0\" doctor --quick "
                "--calibrate new.json",
                READMOST_COMMAND});
  EXPECT_EQ(end.code, 2);
  EXPECT_THAT(end.err, HasSubstr("cannot start the threads to measure with"));
  EXPECT_FALSE(fs::exists(path("new.json")));
}

}  // namespace
}  // namespace readmost::command_test

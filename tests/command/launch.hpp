// SPDX-License-Identifier: Apache-2.0
// Shared by all tests of the command: includes, names, and the fixture that starts the command.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace readmost::command_test {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;
using json = nlohmann::json;
using words = std::vector<std::string>;

struct ending {
  bool exited = false;  // otherwise killed by a signal
  int code = 0;         // the status or the signal
  pid_t pid = 0;
  std::string out;
  std::string err;
};

// Creates a folder for each test and starts the command in it as a child process; READMOST_LIBRARY
// names a library that does nothing, unless `environment` overrides it.
class command : public ::testing::Test {
 protected:
  command();
  ~command() override;

  ending readmost(const words& arguments) const { return wait(start(arguments)); }

  // Expects this exit status, an empty stdout, and one line on stderr that contains all these
  // parts.
  void expect_refusal(const words& arguments, int status, const words& parts) const;

  // Expects that the verb, for a process that only root may inspect, is refused.
  void expect_refusal_of_somebody_elses_process(const std::string& verb);

  // What the schema forbids in a file of the test's folder; empty if the file conforms to it.
  std::string violations_in(const std::string& name, const std::string& schema);
  std::string violations(const json& report, const std::string& schema) {
    write("report.json", report.dump());
    return violations_in("report.json", schema);
  }

  pid_t start(const words& arguments) const;
  ending wait(pid_t child) const;

  fs::path path(const std::string& name) const { return folder / name; }
  fs::path write(const std::string& name, const std::string& text) const;
  fs::path script(const std::string& name, const std::string& lines) const;

  static std::string read(const fs::path& file);
  json read_json(const std::string& name) const { return json::parse(read(path(name))); }

  // Waits until the file ends with a newline; the test fails if that never happens.
  static std::string read_when_written(const fs::path& file);

  // Whether the process starts to execute this program within some seconds.
  static bool becomes(pid_t process, const std::string& program);

  // Whether the process terminates within some seconds.
  static bool vanishes(pid_t process);

  fs::path folder;
  std::string executable = READMOST_COMMAND;
  std::string input;         // the child's stdin
  words environment;         // NAME=VALUE, in addition to ours without LD_PRELOAD and READMOST_*
  int error_terminal = -1;   // replaces the file for stderr when set
  int output_terminal = -1;  // the same for stdout
};

#ifdef READMOST_REAL_LIBRARY
// Starts the real command with its own library, found where the build puts it.
class real_command : public command {
 protected:
  real_command() { environment.clear(); }
};
#endif

}  // namespace readmost::command_test

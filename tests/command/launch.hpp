#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace readmost::command_test {

struct ending {
  bool exited = false;  // otherwise killed by a signal
  int code = 0;         // the status or the signal
  pid_t pid = 0;
  std::string out;
  std::string err;
};

// A folder of its own for each test, and the command started in it as a child process, with
// READMOST_LIBRARY pointing to the test's library unless `environment` says otherwise.
class command : public ::testing::Test {
 protected:
  using words = std::vector<std::string>;

  command();
  ~command() override;

  ending readmost(const words& arguments) const { return wait(start(arguments)); }

  pid_t start(const words& arguments) const;
  ending wait(pid_t child) const;

  std::filesystem::path path(const std::string& name) const { return folder / name; }
  std::filesystem::path write(const std::string& name, const std::string& text) const;
  std::filesystem::path script(const std::string& name, const std::string& lines) const;

  static std::string read(const std::filesystem::path& file);

  // Until the file holds something; the test fails when it never does.
  static std::string read_when_written(const std::filesystem::path& file);

  // Whether the process runs this program, at the latest after some seconds.
  static bool becomes(pid_t process, const std::string& program);

  // Whether the process is gone, at the latest after some seconds.
  static bool vanishes(pid_t process);

  std::filesystem::path folder;
  std::string executable = READMOST_COMMAND;
  std::string input;        // what the child finds on stdin
  words environment;        // NAME=VALUE, on top of ours without LD_PRELOAD and READMOST_*
  int error_terminal = -1;  // stderr instead of a file when set
};

}  // namespace readmost::command_test

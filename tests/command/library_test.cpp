#include "launch.hpp"

namespace readmost::command_test {
namespace {

// Tests where the command looks for the library that it preloads.
class library : public command {
 protected:
  void install_command(const std::string& root) {
    fs::create_directories(path(root) / "bin");
    fs::create_directories(path(root) / "lib");
    executable = (path(root) / "bin" / "readmost").string();
    fs::copy(READMOST_COMMAND, executable);
    environment.clear();
  }
  void install_library(const std::string& root) {
    fs::copy(READMOST_IDLE_LIBRARY, path(root) / "lib" / "libreadmost-pthread.so");
  }
};

TEST_F(library, is_found_beside_the_executable) {
  install_command("place");
  install_library("place");
  const ending end = readmost({"run", "--", "sh", "-c", "echo $LD_PRELOAD"});
  EXPECT_EQ(end.out, path("place/lib/libreadmost-pthread.so").string() + "\n");
}

TEST_F(library, that_is_missing_is_named) {
  install_command("place");
  for (const char* command_name : {"run", "compare"}) {
    expect_refusal({command_name, "--", "true"}, 125,
                   {path("place/lib/libreadmost-pthread.so").string(), "READMOST_LIBRARY"});
  }
}

TEST_F(library, is_not_needed_to_run_under_glibc) {
  install_command("place");
  EXPECT_EQ(readmost({"compare", "--runs", "1", "--locks", "glibc", "--", "true"}).code, 0);
}

TEST_F(library, from_the_environment_that_is_missing_is_named) {
  environment = {"READMOST_LIBRARY=/no/such/library.so"};
  expect_refusal({"run", "--", "true"}, 125, {"'/no/such/library.so' (from READMOST_LIBRARY)"});
}

TEST_F(library, must_be_a_shared_library) {
  environment = {"READMOST_LIBRARY=" +
                 write("text.so", "no library, only some text " + std::string(100, '.')).string()};
  expect_refusal({"run", "--", "true"}, 125, {"not a readable shared library"});
}

TEST_F(library, cannot_lie_where_the_preload_list_would_be_cut) {
  install_command("a place");
  install_library("a place");
  expect_refusal({"run", "--", "true"}, 125, {"space or a colon"});
}

}  // namespace
}  // namespace readmost::command_test

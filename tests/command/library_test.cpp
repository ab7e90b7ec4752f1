// SPDX-License-Identifier: Apache-2.0
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
  void install_library(const std::string& root,
                       const std::string& name = "libreadmost-pthread.so") {
    fs::copy(READMOST_IDLE_LIBRARY, path(root) / "lib" / name);
  }
  std::string preloaded(words options) const {
    words arguments{"run"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.insert(arguments.end(), {"--", "sh", "-c", "echo $LD_PRELOAD"});
    return readmost(arguments).out;
  }
};

TEST_F(library, is_found_beside_the_executable) {
  install_command("place");
  install_library("place");
  const ending end = readmost({"run", "--", "sh", "-c", "echo $LD_PRELOAD"});
  EXPECT_EQ(end.out, path("place/lib/libreadmost-pthread.so").string() + "\n");
}

TEST_F(library, of_other_locks_is_preloaded_for_each_lock_but_ours) {
  install_command("place");
  install_library("place");
  install_library("place", "libreadmost-lab.so");
  const std::string ours = path("place/lib/libreadmost-pthread.so").string() + "\n";
  const std::string lab = path("place/lib/libreadmost-lab.so").string() + "\n";
  EXPECT_EQ(preloaded({"--lock", "prwlock"}), ours);
  EXPECT_EQ(preloaded({"--lock", "pthread"}), lab);
  EXPECT_EQ(preloaded({"--lock", "bravo-consensus"}), lab);
  environment = {"READMOST_LOCK=ba"};
  EXPECT_EQ(preloaded({}), lab);
  EXPECT_EQ(preloaded({"--lock", "prwlock"}), ours);
  environment = {"READMOST_LOCK=unknown"};
  EXPECT_EQ(preloaded({}), ours);
}

TEST_F(library, from_the_environment_has_the_other_in_its_folder) {
  install_command("place");
  fs::create_directories(path("mine/lib"));
  install_library("mine");
  install_library("mine", "libreadmost-lab.so");
  for (const char* named : {"libreadmost-pthread.so", "libreadmost-lab.so"}) {
    environment = {"READMOST_LIBRARY=" + (path("mine/lib") / named).string()};
    EXPECT_EQ(preloaded({}), path("mine/lib/libreadmost-pthread.so").string() + "\n");
    EXPECT_EQ(preloaded({"--lock", "ba"}), path("mine/lib/libreadmost-lab.so").string() + "\n");
  }
  environment = {std::string("READMOST_LIBRARY=") + READMOST_IDLE_LIBRARY};
  EXPECT_EQ(preloaded({"--lock", "ba"}), std::string(READMOST_IDLE_LIBRARY) + "\n")
      << "a library of another name is preloaded under every lock";
}

TEST_F(library, takes_the_place_of_our_others) {
  install_command("place");
  install_library("place");
  install_library("place", "libreadmost-lab.so");
  for (const char* lock : {"prwlock", "ba"}) {
    environment = {"LD_PRELOAD=libm.so.6:" + path("place/lib/libreadmost-pthread.so").string() +
                   ":" + path("place/lib/libreadmost-lab.so").string()};
    EXPECT_THAT(preloaded({"--lock", lock}), ::testing::EndsWith(".so:libm.so.6\n"));
  }
}

TEST_F(library, that_is_missing_is_named) {
  install_command("place");
  for (const char* command_name : {"run", "compare"}) {
    expect_refusal({command_name, "--", "true"}, 125,
                   {path("place/lib/libreadmost-pthread.so").string(), "READMOST_LIBRARY"});
  }
  install_library("place");
  expect_refusal({"run", "--lock", "ba", "--", "true"}, 125,
                 {path("place/lib/libreadmost-lab.so").string(), "READMOST_LIBRARY"});
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

// The libraries of a C library that a program does not have cannot be loaded into it: the program
// would end with errors of its loader.
class library_of_a_c_library : public library {
 protected:
  library_of_a_c_library() { install_command("place"); }
  void add(const std::string& from, const std::string& name) {
    fs::copy(from, path("place/lib") / name);
  }
  std::string place(const std::string& name) const { return path("place/lib/" + name).string(); }
};

TEST_F(library_of_a_c_library, is_the_one_of_the_programs_loader) {
  add(READMOST_FOR_GLIBC, "libreadmost-pthread.so");
  add(READMOST_FOR_MUSL, "libreadmost-pthread-musl.so");
  const ending musl = readmost({"run", "--", READMOST_LOADER_PROGRAM});
  EXPECT_EQ(musl.out, place("libreadmost-pthread-musl.so") + "\n");
  const ending glibc = readmost({"run", "--", "sh", "-c", "echo $LD_PRELOAD"});
  EXPECT_EQ(glibc.out, place("libreadmost-pthread.so") + "\n");
}

TEST_F(library_of_a_c_library, may_be_either_where_the_system_is_of_musl) {
  add(READMOST_FOR_MUSL, "libreadmost-pthread.so");
  add(READMOST_FOR_GLIBC, "libreadmost-pthread-glibc.so");
  EXPECT_EQ(readmost({"run", "--", READMOST_LOADER_PROGRAM}).out,
            place("libreadmost-pthread.so") + "\n");
  EXPECT_EQ(readmost({"run", "--", "sh", "-c", "echo $LD_PRELOAD"}).out,
            place("libreadmost-pthread-glibc.so") + "\n");
}

TEST_F(library_of_a_c_library, is_that_of_a_scripts_interpreter) {
  add(READMOST_FOR_GLIBC, "libreadmost-pthread.so");
  add(READMOST_FOR_MUSL, "libreadmost-pthread-musl.so");
  write("script", std::string("#!") + READMOST_LOADER_PROGRAM + "\n");
  fs::permissions(path("script"), fs::perms::owner_all);
  EXPECT_EQ(readmost({"run", "--", "./script"}).out, place("libreadmost-pthread-musl.so") + "\n");
}

TEST_F(library_of_a_c_library, that_is_missing_is_named) {
  add(READMOST_FOR_GLIBC, "libreadmost-pthread.so");
  for (const char* command_name : {"run", "compare"}) {
    expect_refusal({command_name, "--", READMOST_LOADER_PROGRAM}, 125,
                   {READMOST_LOADER_PROGRAM, "of musl", place("libreadmost-pthread.so"),
                    "for glibc", place("libreadmost-pthread-musl.so")});
  }
  // A file of that name that is for glibc too does not serve.
  add(READMOST_FOR_GLIBC, "libreadmost-pthread-musl.so");
  expect_refusal({"run", "--", READMOST_LOADER_PROGRAM}, 125, {"of musl"});
}

TEST_F(library_of_a_c_library, takes_the_place_of_the_others) {
  add(READMOST_FOR_GLIBC, "libreadmost-pthread.so");
  environment = {"LD_PRELOAD=" + place("libreadmost-pthread-musl.so") + ":libm.so.6"};
  EXPECT_EQ(readmost({"run", "--", "sh", "-c", "echo $LD_PRELOAD"}).out,
            place("libreadmost-pthread.so") + ":libm.so.6\n");
}

}  // namespace
}  // namespace readmost::command_test

// SPDX-License-Identifier: Apache-2.0
// Checks that every_function.c and its kin use every function, and that the manual names each of
// them.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

std::string content_of(const char* path) {
  std::ostringstream content;
  content << std::ifstream(path).rdbuf();
  return content.str();
}

// The name before the first parenthesis of each declaration.
std::vector<std::string> functions_declared_in(const std::string& header) {
  static const std::string start = "\nREADMOST_API ";
  std::vector<std::string> names;
  for (auto at = header.find(start); at != std::string::npos; at = header.find(start, at)) {
    at += start.size();
    const auto end = header.find('(', at);
    const auto begin = header.find_last_of(" *\n", end) + 1;
    names.push_back(header.substr(begin, end - begin));
  }
  return names;
}

void expect_every_function(const char* header, const char* program_path, const char* page_path,
                           std::size_t least = 15) {
  const std::string program = content_of(program_path);
  const std::string page = content_of(page_path);
  const auto names = functions_declared_in(content_of(header));
  EXPECT_GE(names.size(), least) << "the header is not read as it is meant";
  for (const std::string& name : names) {
    EXPECT_EQ(name.rfind("readmost_", 0), 0U) << name;
    const bool called = program.find(" " + name + "(") != std::string::npos ||
                        program.find("(" + name + "(") != std::string::npos ||
                        program.find("!" + name + "(") != std::string::npos;
    EXPECT_TRUE(called) << name;
    EXPECT_NE(page.find(name + "("), std::string::npos) << name << " is not in the manual";
  }
}

TEST(every_function, of_the_header_is_called_by_the_program) {
  expect_every_function(C_API_HEADER, C_API_PROGRAM, C_API_PAGE);
}

TEST(every_function, of_the_header_of_rcu_is_called_by_the_program) {
  expect_every_function(RCU_HEADER, RCU_PROGRAM, RCU_PAGE);
}

TEST(every_function, of_the_header_of_hazard_pointers_is_called_by_the_program) {
  expect_every_function(HAZARD_HEADER, HAZARD_PROGRAM, HAZARD_PAGE, 10);
}

}  // namespace

// That every_function.c is what its name says.
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

// What stands before the first parenthesis of each declaration.
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

TEST(every_function, of_the_header_is_called_by_the_program) {
  const std::string program = content_of(C_API_PROGRAM);
  const auto names = functions_declared_in(content_of(C_API_HEADER));
  EXPECT_GE(names.size(), 20U) << "the header is not read as it is meant";
  for (const std::string& name : names) {
    EXPECT_EQ(name.rfind("readmost_", 0), 0U) << name;
    const bool called = program.find(" " + name + "(") != std::string::npos ||
                        program.find("(" + name + "(") != std::string::npos;
    EXPECT_TRUE(called) << name;
  }
}

}  // namespace

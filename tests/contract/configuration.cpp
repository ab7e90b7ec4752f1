#include "configuration.hpp"

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace contract {

configuration current() {
  const char* name = std::getenv("READMOST_CONTRACT");
  const std::string_view given = name != nullptr ? name : "";
  if (given == "glibc") return configuration::glibc;
  if (given == "readmost") return configuration::readmost;
  if (given == "passthrough") return configuration::passthrough;
  if (given == "no-membarrier") return configuration::no_membarrier;
  std::fprintf(
      stderr,
      "READMOST_CONTRACT is '%s'; set it to glibc, readmost, passthrough or no-membarrier, "
      "or run the tests with ctest -R contract\n",
      name != nullptr ? name : "(unset)");
  std::exit(2);
}

bool readmost_rules() {
  return current() == configuration::readmost || current() == configuration::no_membarrier;
}

bool interposed() {
  return current() != configuration::glibc;
}

}  // namespace contract

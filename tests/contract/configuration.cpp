// SPDX-License-Identifier: Apache-2.0
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
  if (given == "prefer-writer") return configuration::prefer_writer;
  if (given == "prefer-phase-fair") return configuration::prefer_phase_fair;
  std::fprintf(stderr,
               "READMOST_CONTRACT is '%s'; set it to glibc, readmost, passthrough, no-membarrier, "
               "prefer-writer or prefer-phase-fair, or run the tests with ctest -R contract\n",
               name != nullptr ? name : "(unset)");
  std::exit(2);
}

bool readmost_rules() {
  return current() != configuration::glibc && current() != configuration::passthrough;
}

bool readers_pass_waiting_writers() {
  return current() != configuration::prefer_writer && current() != configuration::prefer_phase_fair;
}

bool interposed() {
  return current() != configuration::glibc;
}

const char* provider() {
  switch (current()) {
    case configuration::glibc:
      return "libc.so.6";
    case configuration::passthrough:
      return "libreadmost-lab.so";
    default:
      return "libreadmost-pthread.so";
  }
}

}  // namespace contract

// SPDX-License-Identifier: Apache-2.0
// Contention profiles where the command is built without the libraries that they need.
#include "failure.hpp"
#include "profile/contention.hpp"
#include "profile/formats.hpp"

namespace readmost::command {

namespace {

[[noreturn]] profile_format refuse(const std::string& name) {
  throw failure(
      "--profile: '{}' is not written: this command was built without libdw, zlib or protozero; "
      "build it where they are installed",
      name);
}

}  // namespace

profile_file::profile_file(const std::string& name)
    : format_(refuse(name)), file_("--profile", name) {}

void profile_file::write(const std::vector<process_profile>&, double) {}

profile_copy profile_in_file(const std::filesystem::path&) {
  return nullptr;
}

void warn_of_other_build(int) {}

process_profile readable(const std::vector<taken_profile>&, const std::string&) {
  return {};
}

}  // namespace readmost::command
